/**
 * The options of a member that a program starts: the flags of `gridnode serve` as an object, and a
 * configuration file or its content.
 */
import type { LogLevel } from '../base/log-level.ts';
import type { Compatibility } from '../config/compatibility.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import { hintOf, nearestNames } from '../config/nearest-name.ts';
import {
  type Assignment,
  assignmentsOf,
  optionName,
  type SettingFlag,
} from '../config/setting-table.ts';
import type { ConfigRequest } from '../member/load.ts';
import { SETTING_FLAGS } from '../member/settings.ts';
import type { ProgramLog } from './program-log.ts';

/** A number of bytes, or a text such as `256m`; k, m and g are powers of 1,024. */
export type Bytes = number | string;
/** An endpoint group in any case; `all` means every group. */
export type GroupName = EndpointGroup | 'all';

/**
 * The flags of `gridnode serve` in camel case, with the same ranges and defaults. These options
 * override the variables of `environment`, which override `config`.
 */
export interface MemberOptions {
  /**
   * Path of a configuration file, YAML or XML, or its content as an object that includes the root.
   */
  readonly config?: string | object;
  /** Environment variables: settings (`GRID_…`) and values of `${…}` in a file; default none. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Logger of the member, such as a pino logger; by default nothing is logged. */
  readonly log?: ProgramLog;
  /**
   * Address or host name to listen on; default 127.0.0.1 without a file, all interfaces with one.
   */
  readonly host?: string;
  /** Port to listen on, 0 to 65535; 0 for any free port; default 5701. */
  readonly port?: number;
  /** Second port, which serves only health and metrics; 0 for any free port; default none. */
  readonly healthPort?: number;
  /** Endpoint groups that are enabled in addition to the default ones. */
  readonly groups?: readonly GroupName[];
  /** Endpoint groups that are disabled; applied after `groups`. */
  readonly disabledGroups?: readonly GroupName[];
  /** Maximum number of items of each queue, by name or by pattern with `*`; 0 means no limit. */
  readonly queues?: Readonly<Record<string, number>>;
  /** Name of the cluster; default `dev`. */
  readonly clusterName?: string;
  /** Name of this member; default `gridnode-<port>`. */
  readonly instanceName?: string;
  /** Lowest level that is logged; default INFO. */
  readonly logLevel?: LogLevel;
  /**
   * Names that Host may have in addition to those of the machine; `*.example.org` and `*` are
   * patterns.
   */
  readonly allowedHosts?: readonly string[];
  /** First part of every path; default `grid`. */
  readonly pathSegment?: string;
  /** System whose clients get the responses that they expect; default `none`. */
  readonly compatibility?: Compatibility;
  /**
   * URL of Redis or Valkey servers that store the data of several members; by default the member
   * stores it.
   */
  readonly engine?: string;
  /** Directory in which data is stored; by default data is only in memory. */
  readonly dataDir?: string;
  /** Directory of the backups; by default there are none. */
  readonly backupDir?: string;
  /** Maximum amount of memory for stored data. */
  readonly maxMemory?: Bytes;
  /** Number of partitions; default 271. */
  readonly partitionCount?: number;
  /**
   * Time for which `drain` continues to serve, with `ready` 503, before it drains, in seconds;
   * default 0.
   */
  readonly shutdownDelaySeconds?: number;
  /** Path of the certificate, in PEM; with `tlsKey`, the member serves over TLS. */
  readonly tlsCertificate?: string;
  /** Path of the certificate's private key, in PEM. */
  readonly tlsKey?: string;
  /**
   * Path of the certificates, in PEM, of authorities that client certificates must be issued by.
   */
  readonly tlsClientCa?: string;
  /** Maximum size of a request's header fields, including their line ends, in bytes. */
  readonly headerBytesMax?: Bytes;
  /** Maximum length of the request target, in bytes. */
  readonly targetBytesMax?: Bytes;
  /** Maximum size of a request's body, in bytes. */
  readonly bodyBytesMax?: Bytes;
  /** Maximum number of open connections. */
  readonly connectionsMax?: number;
  /** Maximum number of requests that wait on one connection. */
  readonly pipelineMax?: number;
  /** Time limit from the first byte of a request to the end of its header. */
  readonly headerTimeoutSeconds?: number;
  /** Time limit without receiving a byte of a body. */
  readonly bodyProgressTimeoutSeconds?: number;
  /** Time limit without the client reading any part of a response. */
  readonly writeProgressTimeoutSeconds?: number;
  /** Time limit without a request. */
  readonly keepAliveTimeoutSeconds?: number;
  /**
   * Maximum amount of memory that all connections together use for bodies being received, responses
   * not yet read, and whatever exceeds 4 KiB of headers and waiting polls per connection, in bytes.
   */
  readonly inFlightBytesMax?: Bytes;
}

/** Option names of the flags that may be repeated; an option contains all their values. */
const PLURALS: ReadonlyMap<string, string> = new Map([
  ['enableGroup', 'groups'],
  ['disableGroup', 'disabledGroups'],
  ['queue', 'queues'],
]);

/** Options that are not flags of settings. */
const OTHERS: readonly string[] = ['config', 'environment', 'log'];

/** Returns every flag, by the option's name. */
function flagsByOption(): ReadonlyMap<string, SettingFlag> {
  return new Map(
    SETTING_FLAGS.map((settingFlag) => {
      const name = optionOf(settingFlag.flag.name);
      return [name, { ...settingFlag, flag: { ...settingFlag.flag, name } }];
    }),
  );
}

/** Returns the names of all options. @internal */
export function optionNames(): readonly string[] {
  return [...OTHERS, ...flagsByOption().keys()];
}

/**
 * Returns the configuration request of the options. Throws TypeError for an unknown option, with
 * the nearest name, and for a value of the wrong type; other invalid values are reported when the
 * configuration is loaded. @internal
 */
export function configRequestOf(options: MemberOptions): ConfigRequest {
  const { config, environment = {} } = options;
  const flagByName = flagsByOption();
  const flags = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || OTHERS.includes(name)) return [];
    const flag = flagByName.get(name);
    if (flag === undefined) {
      const hint = hintOf(nearestNames(name, optionNames()));
      throw new TypeError(`Cannot use option ${JSON.stringify(name)}: no such option${hint}`);
    }
    return textsOf(name, value).flatMap((text) => assignmentsOf(flag, text));
  });
  return { file: fileOf(config), environment: { ...environment }, flags: inOrder(flags) };
}

/**
 * Moves `disabledGroups` to the end: groups are disabled after others are enabled, regardless of
 * the order in the object.
 */
function inOrder(flags: readonly Assignment[]): readonly Assignment[] {
  const isLast = ({ source }: Assignment): boolean => source.name === 'disabledGroups';
  return [...flags.filter((each) => !isLast(each)), ...flags.filter(isLast)];
}

function optionOf(flag: string): string {
  const name = optionName(flag);
  return PLURALS.get(name) ?? name;
}

function fileOf(config: string | object | undefined): ConfigRequest['file'] {
  if (config === undefined || typeof config === 'string') return config;
  if (config === null || typeof config !== 'object') {
    throw new TypeError(`Cannot use config ${String(config)}: not a path or an object`);
  }
  // JSON is a subset of YAML.
  return { text: JSON.stringify(config, null, 2) };
}

/** Returns the option's value as one or more values of the flag. */
function textsOf(name: string, value: unknown): readonly string[] {
  if (name === 'queues' && isPlainObject(value)) {
    return Object.entries(value).map(([queue, most]) => `${queue}=${textOf(name, most)}`);
  }
  if (name === 'allowedHosts' && Array.isArray(value)) {
    return [value.map((host) => textOf(name, host)).join(',')];
  }
  if (name === 'groups' || name === 'disabledGroups') {
    if (Array.isArray(value)) return value.map((group) => textOf(name, group));
    throw new TypeError(`Cannot use ${name} ${JSON.stringify(value)}: not an array of names`);
  }
  return [textOf(name, value)];
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const seen = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
  throw new TypeError(`Cannot use ${name} ${seen ?? typeof value}: not text or a number`);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
