/**
 * The options of a member that a program starts: the flags of `gridnode serve` as an object, and a
 * configuration file or its content.
 */
import type { LogLevel } from '../base/log-level.ts';
import type { Compatibility } from '../config/compatibility.ts';
import { type Assignment, optionName } from '../config/config.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import { assignmentsOf, SETTING_FLAGS, type SettingFlag } from '../config/flags.ts';
import type { ConfigRequest } from '../config/load.ts';
import { hintOf, nearestNames } from '../config/nearest-name.ts';
import type { ProgramLog } from './program-log.ts';

/** A number of bytes, or a text such as `256m`: k, m and g stand for powers of 1,024. */
export type Bytes = number | string;
/** An endpoint group in any case; `all` stands for every group. */
export type GroupName = EndpointGroup | 'all';

/**
 * The flags of `gridnode serve` in camel case, with the same ranges and defaults. These options
 * outweigh the variables of `environment`, which outweigh `config`.
 */
export interface MemberOptions {
  /** The path of a configuration file, YAML or XML, or its content as an object, with the root. */
  readonly config?: string | object;
  /** Variables: settings (`GRID_…`) and values of `${…}` in a file; none unless given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The log of the member, such as a pino logger; nothing is logged unless given. */
  readonly log?: ProgramLog;
  /** Address or host name to listen on; 127.0.0.1 without a file, all interfaces with one. */
  readonly host?: string;
  /** Port to listen on, 0 to 65535; 0 takes a free one; 5701 unless given. */
  readonly port?: number;
  /** A second port, which serves health alone; 0 takes a free one; none unless given. */
  readonly healthPort?: number;
  /** Endpoint groups that are served besides the default ones. */
  readonly groups?: readonly GroupName[];
  /** Endpoint groups that are not served, after `groups`. */
  readonly disabledGroups?: readonly GroupName[];
  /** The largest number of items of each queue, by name or by pattern with `*`; 0 is no limit. */
  readonly queues?: Readonly<Record<string, number>>;
  /** Name of the cluster; `dev` unless given. */
  readonly clusterName?: string;
  /** Name of this member; `gridnode-<port>` unless given. */
  readonly instanceName?: string;
  /** The lowest level that is logged; INFO unless given. */
  readonly logLevel?: LogLevel;
  /** Names that Host may have besides those of the machine; `*.example.org` and `*` stand for many. */
  readonly allowedHosts?: readonly string[];
  /** The first part of every path; `grid` unless given. */
  readonly pathSegment?: string;
  /** System whose clients get the answers that they expect; `none` unless given. */
  readonly compatibility?: Compatibility;
  /** Redis or Valkey servers that keep the data of several members; the member keeps it unless given. */
  readonly engine?: string;
  /** Directory in which data is kept; data is in memory only unless given. */
  readonly dataDir?: string;
  /** Directory of the backups; there are none unless given. */
  readonly backupDir?: string;
  /** Memory for stored data. */
  readonly maxMemory?: Bytes;
  /** Number of partitions; 271 unless given. */
  readonly partitionCount?: number;
  /**
   * How long `drain` continues to serve, with `ready` 503, before it drains, in seconds; 0 unless
   * given.
   */
  readonly shutdownDelaySeconds?: number;
  /** Certificate in PEM; serves over TLS, with `tlsKey`. */
  readonly tlsCertificate?: string;
  /** Its key in PEM. */
  readonly tlsKey?: string;
  /** Authorities, in PEM, that must have issued the certificates of clients. */
  readonly tlsClientCa?: string;
  /** All header fields of a request with their line ends, in bytes. */
  readonly headerBytesMax?: Bytes;
  /** Request target, in bytes. */
  readonly targetBytesMax?: Bytes;
  /** Body of a request, in bytes. */
  readonly bodyBytesMax?: Bytes;
  /** Open connections. */
  readonly connectionsMax?: number;
  /** Requests that wait on one connection. */
  readonly pipelineMax?: number;
  /** Time limit from the first byte of a request to the end of its header. */
  readonly headerTimeoutSeconds?: number;
  /** Time limit without a byte of a body. */
  readonly bodyProgressTimeoutSeconds?: number;
  /** Time limit without a piece of a response taken. */
  readonly writeProgressTimeoutSeconds?: number;
  /** Time limit without a request. */
  readonly keepAliveTimeoutSeconds?: number;
  /**
   * Bodies being received, responses not yet taken, and what connections hold beyond 4 KiB of headers and
   * waiting polls, of all connections, in bytes.
   */
  readonly inFlightBytesMax?: Bytes;
}

/** Flags that may be repeated; an option has all their values. */
const PLURALS: ReadonlyMap<string, string> = new Map([
  ['enableGroup', 'groups'],
  ['disableGroup', 'disabledGroups'],
  ['queue', 'queues'],
]);

/** Options that are not the flag of a setting. */
const OTHERS: readonly string[] = ['config', 'environment', 'log'];

/** Every flag, by the option's name. */
function flagsByOption(): ReadonlyMap<string, SettingFlag> {
  return new Map(
    SETTING_FLAGS.map((settingFlag) => {
      const name = optionOf(settingFlag.flag.name);
      return [name, { ...settingFlag, flag: { ...settingFlag.flag, name } }];
    }),
  );
}

/** Every name of an option. @internal */
export function optionNames(): readonly string[] {
  return [...OTHERS, ...flagsByOption().keys()];
}

/**
 * The configuration request of the options. Throws TypeError for an unknown option, with the nearest
 * name, and for a value of the wrong type; other faults of values are reported when they are loaded.
 * @internal
 */
export function configRequestOf(options: MemberOptions): ConfigRequest {
  const { config, environment = {} } = options;
  const known = flagsByOption();
  const flags = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || OTHERS.includes(name)) return [];
    const flag = known.get(name);
    if (flag === undefined) {
      const hint = hintOf(nearestNames(name, optionNames()));
      throw new TypeError(`Cannot use option ${JSON.stringify(name)}: no such option${hint}`);
    }
    return textsOf(name, value).flatMap((text) => assignmentsOf(flag, text));
  });
  return { file: fileOf(config), environment: { ...environment }, flags: inOrder(flags) };
}

/** Groups are disabled after others are enabled, in whatever order the object has them. */
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
  // JSON is a part of YAML.
  return { text: JSON.stringify(config, null, 2) };
}

/** The texts that the flag would be given, one or more. */
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
