/**
 * A member in the process of another program: `startMember`, and the member that it resolves with.
 */
import { setTimeout as passed } from 'node:timers/promises';
import type { Span } from '../base/span.ts';
import { linesOf } from '../config/finding.ts';
import { GridMap } from '../local/grid-map.ts';
import { GridQueue } from '../local/grid-queue.ts';
import { LocalData } from '../local/local-data.ts';
import { type ListedMap, type ListOptions, listMaps } from '../local/local-lists.ts';
import { LocalResults } from '../local/local-results.ts';
import { type BytesOrText, KEY_BYTES_MAX, PlainBytes } from '../local/plain-bytes.ts';
import { loadConfig, refusedFault } from '../member/load.ts';
import { type Member, startMember as start } from '../member/member.ts';
import type { GridLock } from './grid-lock.ts';
import { type LockOptions, MemberLocks } from './member-locks.ts';
import { configRequestOf, type MemberOptions } from './member-options.ts';
import { memberAudit, memberLog } from './program-log.ts';

/**
 * A member that serves its maps and queues over HTTP and to the program in the same process. It
 * handles no signals and never ends the process. Permissions apply only to HTTP clients.
 */
export class EmbeddedMember {
  readonly #member: Member;
  readonly #data: LocalData;
  readonly #locks: MemberLocks;
  readonly #names = new PlainBytes('name', KEY_BYTES_MAX);
  readonly #delaySeconds: number;
  #drained: Promise<void> | undefined;

  /** @internal */
  constructor(member: Member, shutdownDelaySeconds: number) {
    const { inProcess } = member;
    const answers = new LocalResults(inProcess.delay);
    inProcess.delay?.addSender(answers);
    this.#member = member;
    this.#data = new LocalData({ ...inProcess, answers });
    const check = (name: string, action: string) => this.#data.check(name, action);
    const { address } = member;
    this.#locks = new MemberLocks({ ...inProcess, answers, address, check });
    this.#delaySeconds = shutdownDelaySeconds;
  }

  /** The bound address. */
  get address(): string {
    return this.#member.address;
  }

  /** The bound port. */
  get port(): number {
    return this.#member.port;
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

  /** Returns the map of that name, 1 to 65,536 bytes. A map exists while it has entries. */
  map(name: BytesOrText): GridMap {
    return new GridMap(this.#data, this.#nameOf(name));
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

  /** Reads `config` again and applies the settings that may change; the result is logged. */
  reload(): Promise<void> {
    return this.#member.reload();
  }

  /**
   * Ends the member. After the shutdown delay, its locks end, waiting polls resolve with undefined,
   * other operations in the process reject with ENGINE_CLOSED, and received HTTP requests are answered.
   * Resolves when every connection is closed and all data to be stored is on the disk.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Closes the connections that `drain` is waiting for. */
  abort(): void {
    this.#member.abort();
  }

  #nameOf(name: BytesOrText): Span {
    const span = this.#names.of(name);
    if (span.length === 0) throw new TypeError('Cannot use an empty name');
    return span;
  }

  async #drain(): Promise<void> {
    this.#member.withdraw();
    if (this.#delaySeconds > 0) await passed(this.#delaySeconds * 1000);
    await this.#locks.close();
    this.#data.close();
    await this.#member.drain();
  }
}

/**
 * Starts a member; resolves once its data is recovered and it serves requests. Rejects with
 * TypeError, RangeError or ConfigFault for invalid options or an invalid configuration, with
 * GridError if an address, a file or the data cannot be used, or with the system's error.
 */
export async function startMember(options: MemberOptions = {}): Promise<EmbeddedMember> {
  const request = configRequestOf(options);
  const { config, findings } = await loadConfig(request);
  const fault = refusedFault(findings);
  if (fault !== undefined) throw fault;
  const log = memberLog(options.log, config.logLevel);
  for (const warning of linesOf(findings, 'warning')) log.warn(warning);
  const load = async () => (await import('../member/reading-thread.ts')).loadInThread(request);
  const member = await start(config, log, load, undefined, memberAudit(options.log));
  return new EmbeddedMember(member, config.shutdownDelaySeconds);
}
