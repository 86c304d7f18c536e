/**
 * A member in the process of another program: `startMember`, and the member that it resolves with.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { setTimeout as passed } from 'node:timers/promises';
import { type InspectOptions, inspect } from 'node:util';
import { shownValue, valueFault } from '../base/argument-faults.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import { publicAddress } from '../cluster/address.ts';
import { CLUSTER_STATES, type SettledState } from '../cluster/cluster.ts';
import { ConfigFault, configFault, linesOf } from '../config/finding.ts';
import { pathOf } from '../config/setting.ts';
import { GridMap } from '../local/grid-map.ts';
import { GridQueue } from '../local/grid-queue.ts';
import { checkOptions, type GivingUp, unknownName } from '../local/known-options.ts';
import { LocalData } from '../local/local-data.ts';
import { type ListedMap, type ListOptions, listMaps } from '../local/local-lists.ts';
import { LocalResults } from '../local/local-results.ts';
import { AS_BYTES, FORMS, StoredEntry, StoredValue } from '../local/local-values.ts';
import { type BytesOrText, KEY_BYTES_MAX, PlainBytes } from '../local/plain-bytes.ts';
import type { Config } from '../member/config.ts';
import { type ConfigRequest, type LoadedConfig, loadConfig, refusedFault } from '../member/load.ts';
import { type BoundPorts, type Member, startMember as start } from '../member/member.ts';
import { memberUrl } from '../member/member-url.ts';
import { NO_PORT } from '../member/parts.ts';
import { SETTINGS } from '../member/settings.ts';
import type { MemberStatus } from '../monitoring/status-report.ts';
import type { BackupMade } from '../persistence/maintenance.ts';
import { listenError } from '../servers/listen-error.ts';
import { GridLock } from './grid-lock.ts';
import { type ListeningAt, type MemberEvents, MemberListeners } from './member-events.ts';
import { type LockOptions, MemberLocks } from './member-locks.ts';
import { configRequestOf, type MemberOptions } from './member-options.ts';
import { memberAudit, memberLog } from './program-log.ts';

/** The values of a map that are text or JSON. */
export interface MapOptions<As extends 'text' | 'json' = 'text' | 'json'> {
  /** `text`: values are strings, in UTF-8. `json`: values are what their JSON text describes. */
  readonly as: As;
}

/**
 * A member that serves its maps and queues over HTTP and to the program in the same process. It
 * handles no signals and never ends the process. Permissions apply only to HTTP clients.
 */
export class EmbeddedMember {
  readonly #member: Member;
  readonly #data: LocalData;
  readonly #locks: MemberLocks;
  readonly #names = new PlainBytes('name', KEY_BYTES_MAX);
  readonly #config: Config;
  readonly #listeners: MemberListeners;
  #isStopping = false;
  #drained: Promise<void> | undefined;

  /** @internal */
  constructor(member: Member, config: Config, listeners: MemberListeners) {
    const { inProcess } = member;
    this.#config = config;
    this.#listeners = listeners;
    const answers = new LocalResults(inProcess.delay);
    inProcess.delay?.addSender(answers);
    this.#member = member;
    this.#data = new LocalData({ ...inProcess, answers });
    const check = (name: string, action: string) => this.#data.check(name, action);
    const { address } = member;
    this.#locks = new MemberLocks({ ...inProcess, answers, address, check });
    let last = inProcess.record.values.state;
    inProcess.record.onChange(({ state }) => {
      if (state !== last) listeners.emit('state', state);
      last = state;
    });
    void member.stopRequested.then((request) => this.#reportStop(request));
  }

  /** The bound address; empty if the member does not listen. */
  get address(): string {
    return this.#member.address;
  }

  /** The bound port; 0 if the member does not listen. */
  get port(): number {
    return this.#member.port;
  }

  /** The URL of the member, with the first part of every path; undefined if it does not listen. */
  get url(): string | undefined {
    const { address, port } = this.#member;
    return port === 0 ? undefined : memberUrl(this.#config, address, port);
  }

  /** The port of the health listener; undefined if there is none. */
  get healthPort(): number | undefined {
    return this.#member.healthPort;
  }

  /**
   * Resolves with the path of the request when an HTTP client asks the member to stop; the program
   * should then call `drain`.
   */
  get stopRequested(): Promise<string> {
    return this.#member.stopRequested;
  }

  /**
   * Returns the map of that name, 1 to 65,536 bytes. A map exists while it has entries. With `as`, its
   * values are text or JSON, which `set` and `get` convert.
   */
  map(name: BytesOrText): GridMap;
  map(name: BytesOrText, options: MapOptions<'text'>): GridMap<string, string>;
  map<Value = unknown>(name: BytesOrText, options: MapOptions<'json'>): GridMap<Value, Value>;
  map(name: BytesOrText, options?: MapOptions): unknown {
    const span = this.#nameOf(name);
    if (options === undefined) return new GridMap(this.#data, span, AS_BYTES);
    checkOptions(options, ['as']);
    const { as } = options;
    const forms = Object.keys(FORMS);
    if (!forms.includes(as)) throw valueFault(unknownName('form of values', as, forms));
    return new GridMap(this.#data, span, FORMS[as]);
  }

  /**
   * Iterates over the maps that have entries, in no order. A map that has entries throughout is
   * returned at least once, by an embedded engine exactly once.
   */
  maps(options: ListOptions = {}): AsyncIterableIterator<ListedMap> {
    return listMaps(this.#data, options);
  }

  /** Returns the queue of that name, 1 to 65,536 bytes. A queue exists while it has items. */
  queue(name: BytesOrText): GridQueue {
    return new GridQueue(this.#data, this.#nameOf(name));
  }

  /**
   * Takes a lock of the CP subsystem, of that name, 1 to 255 bytes. Waits until it is free, in turn.
   * The program holds it until it releases it; heartbeats do not keep the process alive. Two calls
   * never hold one lock at once, also in one program. Rejects with the reason of `signal`, or with
   * GridError: CP_LOCK_HELD if `waitSeconds` are over, CP_SESSION_UNKNOWN if the session of the lock has
   * ended meanwhile, CP_GROUPS_MAX, or those of changes of maps.
   */
  lock(name: BytesOrText, options: LockOptions = {}): Promise<GridLock> {
    return this.#locks.take(name, options);
  }

  /** Returns the status of the member, as `v1/status` does over HTTP. */
  status(): MemberStatus {
    return this.#member.inProcess.monitoring.status();
  }

  /**
   * Creates a backup in `backupDir`; resolves once it is complete. Rejects with GridError:
   * PERSISTENCE_OFF, DATA_ELSEWHERE, BACKUP_NOWHERE, BACKUP_UNDER_WAY, BACKUP_INTERRUPTED or
   * BACKUP_FAILED.
   */
  backup(): Promise<BackupMade> {
    return this.#member.inProcess.backUp();
  }

  /**
   * Changes the state of the cluster; resolves when every member is in that state. Rejects with
   * GridError STATE_UNCHANGED, STATE_CHANGING or STATE_NOT_REACHED.
   */
  async changeState(state: SettledState): Promise<void> {
    if (!CLUSTER_STATES.includes(state)) {
      throw valueFault(unknownName('state', state, CLUSTER_STATES));
    }
    await this.#member.inProcess.cluster.changeState(state);
  }

  /** Adds a listener of the event. */
  on<Name extends keyof MemberEvents>(event: Name, listener: MemberEvents[Name]): this {
    this.#listeners.add(event, listener);
    return this;
  }

  /** Adds a listener of the next event of this name. */
  once<Name extends keyof MemberEvents>(event: Name, listener: MemberEvents[Name]): this {
    this.#listeners.add(event, listener, true);
    return this;
  }

  /** Removes a listener of the event. */
  off<Name extends keyof MemberEvents>(event: Name, listener: MemberEvents[Name]): this {
    this.#listeners.remove(event, listener);
    return this;
  }

  /** Reads `config` again and applies the settings that may change; the result is logged. */
  reload(): Promise<void> {
    return this.#member.reload();
  }

  /**
   * Ends the member. After the shutdown delay, its locks end, waiting polls resolve with undefined,
   * other operations in the process reject with ENGINE_CLOSED, and received HTTP requests are answered.
   * Resolves when every connection is closed and all data to be stored is on the disk. Further calls
   * return the same promise.
   */
  close(): Promise<void> {
    return this.drain();
  }

  /** Closes the member; see `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.drain();
  }

  /** Closes the member; see `close`. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Closes the connections that `close` is waiting for. */
  abort(): void {
    this.#member.abort();
  }

  #nameOf(name: BytesOrText): Span {
    const span = this.#names.of(name);
    if (span.length === 0) throw valueFault('Cannot use an empty name');
    return span;
  }

  /** Shows the address, the port, the state and counts of the member. @internal */
  [inspect.custom](depth: number, options: InspectOptions): string {
    if (depth < 0) return '[EmbeddedMember]';
    const { address, port, healthPort, inProcess } = this.#member;
    const { cluster, stored, monitoring } = inProcess;
    const state = this.#drained === undefined ? cluster.state : 'STOPPING';
    const { connections } = monitoring.status().http;
    const shown = { address, port, healthPort, state, connections };
    const counts = stored && {
      maps: stored.maps.count,
      entries: stored.entryCount,
      queues: stored.queues.count,
      items: stored.itemCount,
    };
    return `EmbeddedMember ${inspect({ ...shown, ...counts }, options)}`;
  }

  #reportStop(request?: string): void {
    if (!this.#isStopping) this.#listeners.emit('stopping', request);
    this.#isStopping = true;
  }

  async #drain(): Promise<void> {
    this.#reportStop();
    this.#member.withdraw();
    const { shutdownDelaySeconds } = this.#config;
    if (shutdownDelaySeconds > 0) await passed(shutdownDelaySeconds * 1000);
    await this.#locks.close();
    this.#data.close();
    await this.#member.drain();
  }
}

/**
 * Starts a member; resolves once its data is recovered and it serves requests. Rejects with TypeError or
 * RangeError for wrong options, with ConfigFault for an invalid configuration, with the reason of
 * `signal`, or with GridError if the member cannot start.
 */
export async function startMember(options: MemberOptions = {}): Promise<EmbeddedMember> {
  const request = configRequestOf(options);
  const { signal, listen: listens = true, on = {} } = options;
  const listeners = new MemberListeners(on);
  const stop = stopOf(signal);
  const isGivenUp = () => signal?.aborted === true;
  let config: Config | undefined;
  try {
    if (isGivenUp()) throw signal?.reason;
    const loaded = await usableConfig(request, options);
    if (isGivenUp()) throw signal?.reason;
    config = loaded.config;
    const onListening = placeReporter(config, listeners);
    const log = memberLog(options.log, config.logLevel);
    for (const warning of linesOf(loaded.findings, 'warning')) log.warn(warning);
    const load = async () => (await import('../member/reading-thread.ts')).loadInThread(request);
    const hosting = { listens, onListening };
    const audit = memberAudit(options.log);
    const member = await start(config, log, load, stop.requested, audit, hosting);
    if (!isGivenUp()) return new EmbeddedMember(member, config, listeners);
    await member.drain();
    throw signal?.reason;
  } catch (error) {
    throw isGivenUp() ? signal?.reason : faultOf(error, config);
  } finally {
    stop.end();
  }
}

/** Loads the configuration. Rejects with ConfigFault if it cannot be used. */
async function usableConfig(
  request: ConfigRequest,
  { sync, listen }: MemberOptions,
): Promise<LoadedConfig> {
  const loaded = await loadConfig(request);
  const fault = refusedFault(loaded.findings);
  if (fault !== undefined) throw fault;
  if (sync !== undefined && !loaded.config.persistenceEnabled) {
    throw configFault(`Cannot use sync ${shownValue(sync)}: dataDir is not given`);
  }
  if (listen === false) checkAddress(loaded.config);
  return loaded;
}

/**
 * Throws ConfigFault if a member that does not listen has no port in its address. Members on servers
 * need different addresses: one with the address of another replaces it.
 */
function checkAddress({ engineUrl, publicAddress: configured, host: address }: Config): void {
  if (engineUrl === undefined) return;
  if (!publicAddress(configured, { address, port: NO_PORT }).endsWith(`:${NO_PORT}`)) return;
  const setting = pathOf(SETTINGS.publicAddress);
  const reason = `members on servers need different addresses; set ${setting} to HOST:PORT`;
  throw configFault(`Cannot use listen false with engine: ${reason}`);
}

function placeReporter(config: Config, listeners: MemberListeners): (ports: BoundPorts) => void {
  return ({ address, port, healthPort }) => {
    const at: ListeningAt = { address, port, healthPort, url: memberUrl(config, address, port) };
    listeners.emit('listening', at);
  };
}

/** Returns a promise that resolves when the signal aborts, and `end`, which removes the listener. */
function stopOf(signal: GivingUp | undefined): { requested: Promise<void>; end(): void } {
  let onAbort = () => {};
  const requested = new Promise<void>((resolve) => {
    onAbort = resolve;
  });
  signal?.addEventListener('abort', onAbort);
  return { requested, end: () => signal?.removeEventListener('abort', onAbort) };
}

/** Returns the error with which a start rejects. */
function faultOf(error: unknown, config: Config | undefined): unknown {
  if (error instanceof GridError || error instanceof ConfigFault) return error;
  const refused = config && listenError(error, config.host, config.port);
  const values = { start: 'start', reason: reasonOf(error) };
  return refused ?? new GridError('START_FAILED', values, { cause: error });
}

// The bundle shortens the names of classes.
const CLASSES = { ConfigFault, EmbeddedMember, GridError, GridLock, GridMap, GridQueue };
for (const [name, shortened] of Object.entries({ ...CLASSES, StoredEntry, StoredValue })) {
  Object.defineProperty(shortened, 'name', { value: name });
}
