/**
 * The options of a member that a program starts: the flags of `gridnode serve` as an object, and a
 * configuration file or its content.
 */
import { shownValue, typeFault, valueFault } from '../base/argument-faults.ts';
import { reasonOf } from '../base/errors.ts';
import type { LogLevel } from '../base/log-level.ts';
import type { Compatibility } from '../config/compatibility.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import {
  type Assignment,
  assignmentsOf,
  optionName,
  type SettingFlag,
} from '../config/setting-table.ts';
import { checkOptions, checkSignal, type GivingUp } from '../local/known-options.ts';
import type { ConfigRequest } from '../member/load.ts';
import { SETTING_FLAGS } from '../member/settings.ts';
import type { MemberEvents } from './member-events.ts';
import type { ProgramLog } from './program-log.ts';

/** A number of bytes, or a text such as `256m`; k, m and g are powers of 1,024. */
export type Bytes = number | string;
/** An endpoint group in any case; `all` means every group. */
export type GroupName = EndpointGroup | 'all';

/** Lifetimes of a map's entries. */
export interface MapSettings {
  /** Seconds until an entry expires after it was written; 0 for never. Up to 2^31-1. */
  readonly timeToLiveSeconds?: number;
  /** Seconds without a read or write until an entry expires; 0 for never. Up to 2^31-1. */
  readonly maxIdleSeconds?: number;
}

/**
 * The flags of `gridnode serve` in camel case, with the same ranges and defaults. These options
 * override the variables of `environment`, which override `config`.
 */
export interface MemberOptions {
  /**
   * Path of a configuration file, YAML or XML, or its content as an object that includes the root.
   * With an object, the defaults are those without a file.
   */
  readonly config?: string | object;
  /** Environment variables: settings (`GRID_…`) and values of `${…}` in a file; default none. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Logger of the member, such as a pino logger; by default nothing is logged. */
  readonly log?: ProgramLog;
  /** Gives the start up: it rejects with the signal's reason. No effect once the member has started. */
  readonly signal?: GivingUp;
  /** Whether the member listens on its ports; default true. Without, only the program has its data. */
  readonly listen?: boolean;
  /** Listeners of events from the start on. */
  readonly on?: Partial<MemberEvents>;
  /**
   * When written data is synced: before the result, at intervals, or when the system does; default
   * `interval`. Needs `dataDir`, or persistence in `config`.
   */
  readonly sync?: 'always' | 'interval' | 'never';
  /** Lifetimes of the entries of each map, by name or by pattern with `*`. */
  readonly maps?: Readonly<Record<string, MapSettings>>;
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

/** Options of the start, not of the configuration. */
const OF_START: readonly string[] = ['environment', 'log', 'signal', 'listen', 'on'];
/** Options that are not flags of settings. */
const OTHERS: readonly string[] = ['config', 'sync', 'maps', ...OF_START];
/** Settings of a map, by option. */
const MAP_KEYS = { timeToLiveSeconds: 'mapTimeToLiveSeconds', maxIdleSeconds: 'mapMaxIdleSeconds' };

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
  checkOptions(options, optionNames(), 'options of a member');
  const { config, environment = {}, maps = {}, sync } = options;
  const flagByName = flagsByOption();
  const flags = Object.entries(options).flatMap(([name, value]) => {
    const flag = flagByName.get(name);
    if (value === undefined || flag === undefined) return [];
    return textsOf(name, value).flatMap((text) => assignmentsOf(flag, text));
  });
  if (sync !== undefined) flags.push(assignment('persistenceSync', 'sync', sync));
  checkStart(options);
  const all = [...inOrder(flags), ...assignmentsOfMaps(maps)];
  return { file: fileOf(config), environment: { ...environment }, flags: all };
}

/** Throws TypeError for wrong options of the start; listeners are checked where they are added. */
function checkStart(options: MemberOptions): void {
  const { environment = {}, log, signal, listen = true } = options;
  if (!isPlainObject(environment)) {
    throw typeFault(`Cannot use environment ${shownValue(environment)}: not an object`);
  }
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || typeof value === 'string') continue;
    throw typeFault(`Cannot use ${name} ${shownValue(value)} in environment: not text`);
  }
  if (log !== undefined && typeof (log as ProgramLog | null)?.child !== 'function') {
    throw typeFault('Cannot use log: it has no child(), which a pino logger has');
  }
  checkSignal(signal);
  if (typeof listen !== 'boolean') {
    throw typeFault(`Cannot use listen ${shownValue(listen)}: not true or false`);
  }
  if (listen) return;
  for (const name of ['port', 'healthPort'] as const) {
    const port = options[name];
    if (port !== undefined) {
      throw valueFault(`Cannot use ${name} ${shownValue(port)}: listen is false`);
    }
  }
}

function assignmentsOfMaps(maps: Exclude<MemberOptions['maps'], undefined>): Assignment[] {
  if (!isPlainObject(maps)) throw typeFault(`Cannot use maps ${shownValue(maps)}: not an object`);
  return Object.entries<object>(maps).flatMap(([map, settings]) => {
    checkOptions(settings, Object.keys(MAP_KEYS), `map ${shownValue(map)}`);
    return Object.entries(settings).flatMap(([name, value]) => {
      if (value === undefined) return [];
      const key = MAP_KEYS[name as keyof typeof MAP_KEYS];
      return [{ ...assignment(key, `maps.${map}.${name}`, value), name: map }];
    });
  });
}

function assignment(key: string, option: string, value: unknown): Assignment {
  return { key, text: textOf(option, value), source: { kind: 'flag', name: option } };
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
  if (!isPlainObject(config)) {
    throw typeFault(`Cannot use config ${shownValue(config)}: not a path or an object`);
  }
  try {
    // JSON is a subset of YAML.
    return { text: JSON.stringify(config, noFunctions, 2), keepsDefaults: true };
  } catch (cause) {
    const [reason] = reasonOf(cause).split('\n', 1);
    throw typeFault(`Cannot use config: it has no JSON text: ${reason}`, { cause });
  }
}

function noFunctions(name: string, value: unknown): unknown {
  if (typeof value === 'function') throw new TypeError(`${shownValue(name)} is a function`);
  return value;
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
    throw typeFault(`Cannot use ${name} ${shownValue(value)}: not an array of names`);
  }
  return [textOf(name, value)];
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw typeFault(`Cannot use ${name} ${shownValue(value)}: not text or a number`);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
