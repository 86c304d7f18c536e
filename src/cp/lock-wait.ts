/**
 * Requests that wait for locks, in turn for each lock. The first one of a lock looks when the lock is
 * released by this member, when a session of this member is closed, and once a second, as other members
 * release locks and sessions end by themselves.
 * Tested by cp-state.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Span } from '../base/span.ts';
import { textOf } from './byte-text.ts';
import type { CpGroup } from './cp-groups.ts';
import type { CpState, TakenLock } from './cp-state.ts';
import { HELD, NO_SESSION } from './lock-work.ts';
import { promised } from './steps.ts';

/** Interval at which the first request of each lock looks, in ms. */
const LOOK_MS = 1000;
/** Number of locks, or of sessions, that are checked in one turn of the event loop. */
const STEP_COUNT = 100;

/** A request that waits. Each method ends its wait, and is called at most once. */
export interface LockWaiter {
  readonly session: number;
  onTaken(lock: TakenLock): void;
  /** The session has ended. */
  onSessionEnded(): void;
  /** The store has failed. */
  onFault(error: unknown): void;
}

/** The requests that wait for a lock, first come, first served. */
class LockQueue {
  readonly group: CpGroup;
  readonly name: string;
  readonly waiters = new Set<LockWaiter>();
  /** Whether the first one looks now, and whether it must look again. */
  isLooking = false;
  mustLookAgain = false;

  constructor(group: CpGroup, name: string) {
    this.group = group;
    this.name = name;
  }
}

export class LockWaits {
  readonly #state: CpState;
  readonly #clock: Clock;
  readonly #queues = new Map<string, LockQueue>();
  #timer: Timer | undefined;
  /** Whether all queues are checked now, and whether they must be checked again. */
  #isChecking = false;
  #mustCheckAgain = false;
  /** Number of requests that wait. */
  count = 0;

  constructor(state: CpState, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  /** Whether requests wait for the lock. */
  has(group: CpGroup, name: string | Span): boolean {
    return this.count > 0 && this.#queues.has(keyOf(group, name));
  }

  /** Adds a request that waits after all others of the lock. */
  add(group: CpGroup, name: string, waiter: LockWaiter): void {
    const key = keyOf(group, name);
    const queue = this.#queues.get(key) ?? new LockQueue(group, name);
    this.#queues.set(key, queue);
    queue.waiters.add(waiter);
    this.count++;
    this.#timer ??= this.#clock.after(LOOK_MS, () => this.#onTime());
    // The lock may have been released since it was found to be held.
    if (queue.waiters.size === 1) void this.#look(queue);
  }

  /** Removes a request that no longer waits. */
  remove(group: CpGroup, name: string, waiter: LockWaiter): void {
    const key = keyOf(group, name);
    const queue = this.#queues.get(key);
    if (queue?.waiters.delete(waiter) !== true) return;
    this.count--;
    if (queue.waiters.size === 0) this.#queues.delete(key);
    if (this.count > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Called when the lock may be free. */
  onFree(group: CpGroup, name: string | Span): void {
    if (this.count === 0) return;
    const queue = this.#queues.get(keyOf(group, name));
    if (queue !== undefined) void this.#look(queue);
  }

  /** Called when any lock may be free, or a session has ended. */
  onChange(): void {
    this.#mustCheckAgain = true;
    if (!this.#isChecking && this.count > 0) void this.#checkAll();
  }

  #onTime(): void {
    this.#timer = this.#clock.after(LOOK_MS, () => this.#onTime());
    this.onChange();
  }

  /** Lets all locks look, and ends the waits of sessions that have ended, in steps. */
  async #checkAll(): Promise<void> {
    this.#isChecking = true;
    while (this.#mustCheckAgain) {
      this.#mustCheckAgain = false;
      await this.#inSteps([...this.#queues.values()], (queue) => this.#look(queue));
      const sessions = new Map<string, [queue: LockQueue, session: number]>();
      for (const queue of this.#queues.values()) {
        for (const { session } of queue.waiters)
          sessions.set(`${queue.group.id}/${session}`, [queue, session]);
      }
      const ended = new Set<string>();
      await this.#inSteps([...sessions], async ([key, [{ group }, session]]) => {
        const isThere = await promised(this.#state.hasSession(group, session)).catch(() => true);
        if (!isThere) ended.add(key);
      });
      if (ended.size > 0) this.#endWaitsOf(ended);
    }
    this.#isChecking = false;
  }

  async #inSteps<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
    for (let start = 0; start < items.length; start += STEP_COUNT) {
      await Promise.all(items.slice(start, start + STEP_COUNT).map(run));
      await new Promise<void>((resolve) => this.#clock.endOfTurn(resolve));
    }
  }

  /** Lets the requests of a lock look, one after the other, until one finds that it is held. */
  async #look(queue: LockQueue): Promise<void> {
    queue.mustLookAgain = true;
    if (queue.isLooking) return;
    queue.isLooking = true;
    for (let [first] = queue.waiters; first !== undefined && queue.mustLookAgain; ) {
      queue.mustLookAgain = false;
      const waiter = first;
      const taking = this.#state.lock(queue.group, queue.name, waiter.session, true);
      const found = await taking.catch((error: unknown) => new Fault(error));
      if (found !== HELD) this.#end(queue, waiter, found);
      [first] = queue.waiters;
      queue.mustLookAgain ||= first !== waiter;
    }
    queue.isLooking = false;
  }

  #end(queue: LockQueue, waiter: LockWaiter, found: TakenLock | Fault | typeof NO_SESSION): void {
    const isWaiting = queue.waiters.has(waiter);
    this.remove(queue.group, queue.name, waiter);
    if (found instanceof Fault) {
      if (isWaiting) waiter.onFault(found.error);
    } else if (found === NO_SESSION) {
      if (isWaiting) waiter.onSessionEnded();
    } else if (isWaiting) waiter.onTaken(found);
    // Its request has ended meanwhile, and its client does not know of the lock.
    else if (found.isNew) void this.#giveBack(queue, found);
  }

  async #giveBack({ group, name }: LockQueue, taken: TakenLock): Promise<void> {
    // If the engine cannot do it, the lock is free once the session has ended.
    await promised(this.#state.giveBack(group, name, taken)).catch(() => {});
    this.onFree(group, name);
  }

  /** Ends the waits of requests whose sessions have ended. */
  #endWaitsOf(sessions: ReadonlySet<string>): void {
    for (const { group, name, waiters } of [...this.#queues.values()]) {
      for (const waiter of waiters) {
        if (!sessions.has(`${group.id}/${waiter.session}`)) continue;
        this.remove(group, name, waiter);
        waiter.onSessionEnded();
      }
    }
  }
}

/** The reason why the store has not done its work. */
class Fault {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

function keyOf({ id }: CpGroup, name: string | Span): string {
  return `${id}/${typeof name === 'string' ? name : textOf(name)}`;
}
