/**
 * Locks of the CP subsystem for the program that embeds the member, without HTTP. Each lock has a
 * session of its own, which this file keeps by heartbeats until the lock is released.
 */
import { hostname } from 'node:os';
import { valueFault } from '../base/argument-faults.ts';
import { type Clock, TIMER_MS_MAX, TIMER_SECONDS_MAX } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import type { Waiter } from '../cluster/cluster.ts';
import { type CpGroup, METADATA } from '../cp/cp-groups.ts';
import type { Cp } from '../cp/cp-part.ts';
import type { TakenLock } from '../cp/cp-state.ts';
import { KeptSession } from '../cp/kept-session.ts';
import type { LockWaiter } from '../cp/lock-wait.ts';
import { HELD, NO_SESSION } from '../cp/lock-work.ts';
import { promised } from '../cp/steps.ts';
import { checkOptions, checkSignal, checkWait, type GivingUp } from '../local/known-options.ts';
import { LocalName } from '../local/local-name.ts';
import type { LocalResults } from '../local/local-results.ts';
import { type BytesOrText, PlainBytes } from '../local/plain-bytes.ts';
import { GridLock } from './grid-lock.ts';

/** Maximum length of the name of a group or a lock, in bytes. */
const NAME_BYTES_MAX = 255;
const LOCK_OPTIONS = ['group', 'waitSeconds', 'signal'];

/** How to take a lock. */
export interface LockOptions {
  /** CP group of the lock, 1 to 255 bytes; default `default`. */
  readonly group?: BytesOrText;
  /** Time to wait for the lock, 0 to 2,147,483 seconds, or Infinity, the default. */
  readonly waitSeconds?: number;
  /** Ends the wait, which then takes nothing and rejects with the signal's reason. */
  readonly signal?: GivingUp;
}

/** @internal */
interface LocksParts {
  readonly cp: Cp;
  readonly clock: Clock;
  readonly answers: LocalResults;
  /** Waiting requests. */
  readonly waiting: Set<Waiter>;
  /** The address of the member. */
  readonly address: string;
  /** Throws GridError if the member has closed, or `action` is a change that it does not accept. */
  check(name: string, action: string): void;
}

/** The lock, and the session that wants it. */
interface WantedLock {
  readonly group: CpGroup;
  /** One character per byte. */
  readonly name: string;
  readonly session: KeptSession;
}

/** @internal */
export class MemberLocks {
  readonly #parts: LocksParts;
  readonly #names = new PlainBytes('lock', NAME_BYTES_MAX);
  readonly #groups = new PlainBytes('group', NAME_BYTES_MAX);
  /** Calls that have not ended. */
  readonly #calls = new Set<Promise<unknown>>();
  /** Ends the waits and the locks when the member ends. */
  readonly #end = new AbortController();
  readonly #locks = new Set<GridLock>();

  constructor(parts: LocksParts) {
    this.#parts = parts;
  }

  async take(name: BytesOrText, options: LockOptions): Promise<GridLock> {
    checkOptions(options, LOCK_OPTIONS);
    const { group = 'default', waitSeconds = Number.POSITIVE_INFINITY, signal } = options;
    const lock = nameIn(this.#names, name);
    const groupName = nameIn(this.#groups, group).span.toBuffer().toString('latin1');
    if (groupName === METADATA) throw valueFault('Cannot use group METADATA: it has no locks');
    checkWait(waitSeconds, TIMER_SECONDS_MAX, 'wait');
    checkSignal(signal);
    if (signal?.aborted === true) throw signal.reason;
    this.#parts.check(lock.shown, 'lock');
    if (this.#end.signal.aborted) throw closed(lock);
    const call = this.#take(lock, groupName, waitSeconds, signal);
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Ends waits with ENGINE_CLOSED, and the locks with their sessions. Never rejects. */
  async close(): Promise<void> {
    this.#end.abort();
    await Promise.allSettled(this.#calls);
    await Promise.allSettled([...this.#locks].map((lock) => lock.release()));
  }

  async #take(
    lock: LocalName,
    groupName: string,
    waitSeconds: number,
    signal: GivingUp | undefined,
  ): Promise<GridLock> {
    const { cp } = this.#parts;
    const group = await promised(cp.groups.open(groupName));
    const session = await this.#openSession(group);
    const wanted = { group, name: lock.span.toBuffer().toString('latin1'), session };
    try {
      const { fence } = await this.#wait(wanted, lock, waitSeconds, signal);
      await this.#untilDurable();
      if (this.#end.signal.aborted) throw closed(lock);
      if (signal?.aborted === true) throw signal.reason;
      if (session.lost.aborted) throw lost(session);
      return this.#lockOf(wanted, lock, fence);
    } catch (error) {
      await this.#release(wanted, false).catch(ignored);
      throw error;
    }
  }

  async #openSession(group: CpGroup): Promise<KeptSession> {
    const { cp, clock, address } = this.#parts;
    const sentMs = clock.now();
    const opened = await promised(
      cp.state.openSession(group, address, `${hostname()}/${process.pid}`),
    );
    const { id, creationTime, expirationTime } = opened;
    cp.onSession(group, id);
    const timeToLiveMs = expirationTime - creationTime;
    const renew = async () => {
      const isThere = await promised(cp.state.heartbeat(group, id));
      if (isThere) cp.onSession(group, id);
      return isThere;
    };
    return new KeptSession(clock, { id, timeToLiveMs, sentMs, renew });
  }

  /** Takes the lock, at once or later. */
  async #wait(
    wanted: WantedLock,
    lock: LocalName,
    waitSeconds: number,
    signal: GivingUp | undefined,
  ): Promise<TakenLock> {
    const { cp } = this.#parts;
    const { group, name, session } = wanted;
    const isFirst = !cp.waits.has(group, name);
    const found = await cp.state.lock(group, name, session.id, isFirst);
    if (found === NO_SESSION) throw lost(session);
    if (found !== HELD) return found;
    if (waitSeconds === 0) throw held(lock);
    return await this.#waitInTurn(wanted, lock, waitSeconds, signal);
  }

  #waitInTurn(
    { group, name, session }: WantedLock,
    lock: LocalName,
    waitSeconds: number,
    signal: GivingUp | undefined,
  ): Promise<TakenLock> {
    const { cp, clock, waiting } = this.#parts;
    return new Promise((resolve, reject) => {
      const leaving: (() => void)[] = [];
      const leave = () => {
        for (const each of leaving.splice(0)) each();
      };
      const end = (reason: unknown) => {
        leave();
        reject(reason);
      };
      const wait: LockWaiter & Waiter = {
        session: session.id,
        onTaken(taken) {
          leave();
          resolve(taken);
        },
        onSessionEnded: () => end(lost(session)),
        onFault: end,
        endWait: () => end(new GridError('CLUSTER_PASSIVE', { action: `lock ${lock.shown}` })),
      };
      const endWith = (aborting: GivingUp, reasonOf: () => unknown) => {
        // The wait has ended already.
        if (leaving.length === 0) return;
        const onAbort = () => end(reasonOf());
        if (aborting.aborted) return onAbort();
        aborting.addEventListener('abort', onAbort);
        leaving.push(() => aborting.removeEventListener('abort', onAbort));
      };
      waiting.add(wait);
      cp.waits.add(group, name, wait);
      leaving.push(() => {
        waiting.delete(wait);
        cp.waits.remove(group, name, wait);
      });
      if (waitSeconds !== Number.POSITIVE_INFINITY) {
        const timer = clock.after(waitSeconds * 1000, () => end(held(lock)));
        // The timers of the clock do not keep the process alive.
        const alive = setInterval(ignored, TIMER_MS_MAX);
        leaving.push(() => {
          timer.cancel();
          clearInterval(alive);
        });
      }
      endWith(session.lost, () => lost(session));
      endWith(this.#end.signal, () => closed(lock));
      if (signal !== undefined) endWith(signal, () => signal.reason);
      // The lock may have been released since it was found to be held.
      cp.waits.onFree(group, name);
    });
  }

  #lockOf(wanted: WantedLock, lock: LocalName, fence: number): GridLock {
    const { session } = wanted;
    const loss = new AbortController();
    const onLost = () => loss.abort(lost(session));
    const onEnd = () => loss.abort(closed(lock));
    session.lost.addEventListener('abort', onLost);
    this.#end.signal.addEventListener('abort', onEnd);
    const taken = new GridLock(lock.text, fence, loss.signal, async () => {
      session.lost.removeEventListener('abort', onLost);
      this.#end.signal.removeEventListener('abort', onEnd);
      this.#locks.delete(taken);
      await this.#release(wanted, true);
      await this.#untilDurable();
    });
    this.#locks.add(taken);
    return taken;
  }

  /** Releases the lock, if the session has got it, and closes the session. */
  async #release({ group, name, session }: WantedLock, hasLock: boolean): Promise<void> {
    const { cp } = this.#parts;
    session.stop();
    if (session.hasEnded) return;
    if (hasLock && (await cp.state.release(group, name, session.id))) cp.waits.onFree(group, name);
    const isClosed = await promised(cp.state.closeSession(group, session.id));
    if (isClosed) cp.onSessionClosed(group, session.id);
  }

  /** Resolves once a crash can no longer undo what has been done. */
  #untilDurable(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#parts.answers.send(EVERY_PARTITION, 0, (isDurable) => {
        if (isDurable) resolve();
        else reject(new GridError('OUTCOME_UNKNOWN', {}));
      });
    });
  }
}

function nameIn(names: PlainBytes, name: BytesOrText): LocalName {
  const span = names.of(name);
  if (span.length === 0) throw valueFault('Cannot use an empty name');
  return new LocalName(span);
}

function held({ shown: lock }: LocalName): GridError {
  return new GridError('CP_LOCK_HELD', { lock });
}

function lost({ id }: KeptSession): GridError {
  return new GridError('CP_SESSION_UNKNOWN', { id });
}

function closed({ shown: name }: LocalName): GridError {
  return new GridError('ENGINE_CLOSED', { name });
}

function ignored(): void {}
