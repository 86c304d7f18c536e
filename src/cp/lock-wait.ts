/**
 * Requests that wait for locks, in turn for each lock. The first one of a lock looks when the lock is
 * released by this member, when a session of this member is closed, and once a second, as other members
 * release locks and sessions end by themselves. Tested by cp-actions.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { CpGroup } from './cp-groups.ts';
import { type CpState, HELD, NO_SESSION, type TakenLock } from './cp-state.ts';

/** Interval at which the first request of each lock looks, in ms. */
const LOOK_MS = 1000;

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
  readonly waiters: LockWaiter[] = [];
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
  /** Number of requests that wait. */
  count = 0;

  constructor(state: CpState, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  /** Whether requests wait for the lock. */
  has(group: CpGroup, name: string): boolean {
    return this.#queues.has(keyOf(group, name));
  }

  /** Adds a request that waits after all others of the lock. */
  add(group: CpGroup, name: string, waiter: LockWaiter): void {
    const key = keyOf(group, name);
    const queue = this.#queues.get(key) ?? new LockQueue(group, name);
    this.#queues.set(key, queue);
    queue.waiters.push(waiter);
    this.count++;
    this.#timer ??= this.#clock.after(LOOK_MS, () => this.#onTime());
  }

  /** Removes a request that no longer waits. */
  remove(group: CpGroup, name: string, waiter: LockWaiter): void {
    const key = keyOf(group, name);
    const queue = this.#queues.get(key);
    const index = queue?.waiters.indexOf(waiter) ?? -1;
    if (queue === undefined || index < 0) return;
    queue.waiters.splice(index, 1);
    this.count--;
    if (queue.waiters.length === 0) this.#queues.delete(key);
    if (this.count > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Called when the lock may be free. */
  onFree(group: CpGroup, name: string): void {
    const queue = this.#queues.get(keyOf(group, name));
    if (queue !== undefined) void this.#look(queue);
  }

  /** Called when any lock may be free, or a session has ended. */
  onChange(): void {
    for (const queue of [...this.#queues.values()]) void this.#look(queue);
  }

  #onTime(): void {
    this.#timer = this.#clock.after(LOOK_MS, () => this.#onTime());
    this.onChange();
    for (const queue of this.#queues.values()) void this.#checkSessions(queue);
  }

  /** Lets the requests of a lock look, one after the other, until one finds that it is held. */
  async #look(queue: LockQueue): Promise<void> {
    queue.mustLookAgain = true;
    if (queue.isLooking) return;
    queue.isLooking = true;
    for (let [first] = queue.waiters; first !== undefined && queue.mustLookAgain; ) {
      queue.mustLookAgain = false;
      const waiter = first;
      try {
        const found = await this.#state.lock(queue.group, queue.name, waiter.session, true);
        if (found !== HELD) this.#end(queue, waiter, found);
      } catch (error) {
        if (this.#take(queue, waiter)) waiter.onFault(error);
      }
      [first] = queue.waiters;
      queue.mustLookAgain ||= first !== waiter;
    }
    queue.isLooking = false;
  }

  #end(queue: LockQueue, waiter: LockWaiter, found: TakenLock | typeof NO_SESSION): void {
    if (this.#take(queue, waiter)) {
      if (found === NO_SESSION) waiter.onSessionEnded();
      else waiter.onTaken(found);
      return;
    }
    // Its request has ended meanwhile, and its client does not know of the lock.
    if (found === NO_SESSION || !found.isNew) return;
    const { group, name } = queue;
    queue.mustLookAgain = true;
    void this.#giveBack(group, name, waiter.session);
  }

  async #giveBack(group: CpGroup, name: string, session: number): Promise<void> {
    try {
      await this.#state.release(group, name, session);
    } catch {
      // The lock is free once the session has ended.
    }
    this.onFree(group, name);
  }

  /** Removes the request, and returns whether it still waited. */
  #take(queue: LockQueue, waiter: LockWaiter): boolean {
    const isWaiting = queue.waiters.includes(waiter);
    this.remove(queue.group, queue.name, waiter);
    return isWaiting;
  }

  /** Ends the waits of requests whose sessions have ended. */
  async #checkSessions({ group, name, waiters }: LockQueue): Promise<void> {
    const ended = new Set<number>();
    for (const session of new Set(waiters.map((each) => each.session))) {
      const isThere = await this.#state.hasSession(group, session).catch(() => true);
      if (!isThere) ended.add(session);
    }
    for (const waiter of waiters.filter((each) => ended.has(each.session))) {
      this.remove(group, name, waiter);
      waiter.onSessionEnded();
    }
  }
}

function keyOf({ id }: CpGroup, name: string): string {
  return `${id}/${name}`;
}
