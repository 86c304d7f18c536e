/**
 * The queues that a member uses: for each its settings and the waiting takes of this member, first
 * come first served. Queues that have not been used recently are removed.
 *
 * A waiting take is in one of two states. Either a script under way has its hold and may find an
 * item for it, or a script has found no item for it or for an earlier take; the store then records
 * that this member waits. Takes of the first kind precede the others in the list, and no other may
 * overtake them, as the next item is theirs. Tested by redis-engine.spec.ts.
 */
import { Span } from '../../base/span.ts';
import type { Receiver } from '../engine.ts';
import type { Layout } from './layout.ts';

/** Number of queues from which on unused ones are removed. */
const QUEUES_MAX = 10_000;

export interface QueueSettings {
  /** Capacity of the queue in items, or Infinity. */
  queueCapacity(queue: Buffer): number;
  /** Replicas that must have a change of the queue. */
  queueReplicaCount(queue: Buffer): number;
}

/** No item is known to be held for the take. */
export const OPEN = 1;
/** The take's item is held and is being removed. */
export const REMOVING = 2;
/** The take's result was FOUND; its delivery to the client is not acknowledged yet. */
export const LEAVING = 3;
/** The take has ended. */
export const OVER = 4;

/** A take, from its call until its item is delivered or returned. */
export class QueueTake {
  readonly queue: LocalQueue;
  readonly receiver: Receiver;
  /** The hold's number, which increases from take to take. */
  readonly hold: number;
  readonly holdText: string;
  /** The member incarnation that the item is held for. */
  incarnation: Buffer;
  /** Index among the takes of the engine. */
  readonly place: number;
  state: 1 | 2 | 3 | 4 = OPEN;
  /** If it is collected with offers of its turn, the number of those that precede it. */
  offersBefore = 0;
  /** Whether it waits in the list of its queue. */
  isListed = false;
  previous: QueueTake | undefined;
  next: QueueTake | undefined;
  /** Scripts under way that may hold an item for it. */
  scriptCount = 0;
  /** Whether a script has found no item for it, so that it waits. */
  isWaiting = false;
  /** Whether a script that failed may hold an item for it. */
  mayHold = false;
  /** The id of its deadline; 0 for none. */
  deadline = 0;
  /** Whether its time has elapsed; it ends with the reply to the script under way. */
  isDue = false;
  /** The item in its stored form; from REMOVING on. */
  item: Buffer | undefined;

  constructor(
    queue: LocalQueue,
    receiver: Receiver,
    hold: number,
    incarnation: Buffer,
    place: number,
  ) {
    this.queue = queue;
    this.receiver = receiver;
    this.hold = hold;
    this.holdText = String(hold);
    this.incarnation = incarnation;
    this.place = place;
  }
}

/** Offers that are collected for a queue. */
export interface GatheredOffers {
  readonly count: number;
  /**
   * Sends the offers. If they fail at once, their receivers are notified later. `turn`: see
   * queue-turn.ts.
   */
  send(turn: string): void;
}

export class LocalQueue {
  readonly name: Buffer;
  readonly span = new Span();
  readonly partition: number;
  /** Capacity in items; 0 for no limit. */
  capacity = 0;
  replicaCount = 0;
  /** See Operation. Constant, to preserve the order of the queue's operations. */
  readonly isReplicated: boolean;
  first: QueueTake | undefined;
  last: QueueTake | undefined;
  /** The last take in the list that a script under way serves. */
  lastServed: QueueTake | undefined;
  /** Scripts under way that serve waiting takes. */
  scriptCount = 0;
  /** Takes without a result, and takes whose items are neither delivered nor returned. */
  takeCount = 0;
  /** Holds whose marks are no longer needed. */
  drops: string[] = [];
  /** Offers, and takes that do not wait, collected in this turn: see queue-turn.ts. */
  offers: GatheredOffers | undefined;
  takes: QueueTake[] = [];
  /** Whether a check for its items is under way. */
  isBeingChecked = false;
  /** Whether it was used since the last sweep. */
  isUsed = true;
  readonly #settings: QueueSettings;

  constructor(name: Buffer, partition: number, settings: QueueSettings) {
    this.name = name;
    this.span.set(name, 0, name.length);
    this.partition = partition;
    this.#settings = settings;
    this.refresh();
    this.isReplicated = this.replicaCount > 0;
  }

  /** Reads the settings of the queue again. */
  refresh(): void {
    const capacity = this.#settings.queueCapacity(this.name);
    this.capacity = capacity === Number.POSITIVE_INFINITY ? 0 : capacity;
    this.replicaCount = this.#settings.queueReplicaCount(this.name);
  }

  /** The first take that no script under way serves; undefined if there is none. */
  get firstUnserved(): QueueTake | undefined {
    return this.lastServed === undefined ? this.first : this.lastServed.next;
  }

  /** Whether it may be removed. */
  get isIdle(): boolean {
    return this.takeCount === 0 && this.drops.length === 0 && !this.isUsed;
  }

  append(take: QueueTake): void {
    take.previous = this.last;
    if (this.last === undefined) this.first = take;
    else this.last.next = take;
    this.last = take;
    take.isListed = true;
  }

  remove(take: QueueTake): void {
    const { previous, next } = take;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    if (this.lastServed === take) this.lastServed = previous;
    take.previous = undefined;
    take.next = undefined;
    take.isListed = false;
  }

  /** Returns the waiting takes up to and including `take`, at most `count`. */
  upTo(take: QueueTake, count: number): QueueTake[] {
    const takes: QueueTake[] = [];
    for (let each: QueueTake | undefined = take; each !== undefined; each = each.previous) {
      if (takes.push(each) === count) break;
    }
    return takes.reverse();
  }

  /** Records that a script serves the takes up to `last`, or none if undefined. */
  beginScript(last: QueueTake | undefined): void {
    this.scriptCount++;
    if (last === undefined) return;
    if (this.lastServed === undefined || this.lastServed.hold < last.hold) this.lastServed = last;
  }

  /** Records that the script has its reply, or will have none. */
  endScript(): void {
    if (--this.scriptCount === 0) this.lastServed = undefined;
  }

  /**
   * Removes and returns up to `count` holds whose marks the next script is to drop, concatenated.
   */
  takeDrops(count: number): string {
    if (this.drops.length === 0) return '';
    return this.drops.splice(0, count).join('');
  }
}

export class LocalQueues {
  readonly #layout: Layout;
  readonly #settings: QueueSettings;
  readonly #byName = new Map<string, LocalQueue>();
  #sizeMax = QUEUES_MAX;

  constructor(layout: Layout, settings: QueueSettings) {
    this.#layout = layout;
    this.#settings = settings;
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: Span): LocalQueue {
    const key = keyOf(name);
    const queue = this.#byName.get(key) ?? this.#add(key, name);
    queue.isUsed = true;
    return queue;
  }

  find(name: Span): LocalQueue | undefined {
    return this.#byName.get(keyOf(name));
  }

  all(): IterableIterator<LocalQueue> {
    return this.#byName.values();
  }

  /**
   * Removes queues that were not used since the last call, and reads the settings of the others
   * again.
   */
  sweep(): void {
    for (const [key, queue] of this.#byName) {
      if (queue.isIdle) this.#byName.delete(key);
      else queue.refresh();
      queue.isUsed = false;
    }
  }

  #add(key: string, name: Span): LocalQueue {
    if (this.#byName.size >= this.#sizeMax) this.#shrink();
    const queue = new LocalQueue(name.toBuffer(), this.#layout.partitionOf(name), this.#settings);
    this.#byName.set(key, queue);
    return queue;
  }

  #shrink(): void {
    for (const queue of this.#byName.values()) queue.isUsed = false;
    this.sweep();
    this.#sizeMax = Math.max(QUEUES_MAX, 2 * this.#byName.size);
  }
}

function keyOf({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, end);
}
