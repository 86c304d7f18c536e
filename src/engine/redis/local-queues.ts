/**
 * What a member knows of the queues that it uses: their settings, and its own takes that wait at each, first
 * come first served. A queue that was not used lately is forgotten.
 *
 * A take that waits is either asked for, by a script under way that has its hold, or it was found that no
 * item is there for it, or for one before it; then the store knows that this member waits. Those asked
 * for come first: nobody may take before the others, as an item that comes is theirs.
 */
import { Span } from '../../base/span.ts';
import type { Receiver } from '../engine.ts';
import type { Layout } from './layout.ts';

/** So many queues are known before unused ones are looked for. */
const QUEUES_MAX = 10_000;

export interface QueueSettings {
  /** Items that the queue may have, or Infinity. */
  queueCapacity(queue: Buffer): number;
  /** Replicas that must have a change of the queue. */
  queueReplicaCount(queue: Buffer): number;
}

/** No item is known to be held for it. */
export const OPEN = 1;
/** Its item is held, and being removed. */
export const REMOVING = 2;
/** It was answered FOUND; whether its client got the item is not known. */
export const LEAVING = 3;
/** It has ended. */
export const OVER = 4;

/** A take, from its call until its item is gone or back. */
export class QueueTake {
  readonly queue: LocalQueue;
  readonly receiver: Receiver;
  /** Rises from take to take. */
  readonly hold: number;
  readonly holdText: string;
  /** The member incarnation that the item is held for. */
  incarnation: Buffer;
  /** Where it stands among the takes of the engine. */
  readonly place: number;
  state: 1 | 2 | 3 | 4 = OPEN;
  /** Whether it waits, in the list of its queue. */
  isListed = false;
  previous: QueueTake | undefined;
  next: QueueTake | undefined;
  /** Scripts under way that may hold an item for it. */
  askedCount = 0;
  /** Whether a script has found no item for it, so that it waits. */
  isWaiting = false;
  /** Whether a script that has failed may hold an item for it. */
  mayHold = false;
  /** The id of its deadline; 0 for none. */
  deadline = 0;
  /** Its time is over; it ends with the reply under way. */
  isDue = false;
  /** As the store has it; from REMOVING on. */
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

/** Offers of a queue that gather. */
export interface GatheredOffers {
  readonly count: number;
  /** Where they fail at once, their receivers are told later. */
  send(): void;
}

export class LocalQueue {
  readonly name: Buffer;
  readonly span = new Span();
  readonly partition: number;
  /** Items that it may have; 0 for no limit. */
  capacity = 0;
  replicaCount = 0;
  /** See Operation: fixed, as the operations on the queue stay in order. */
  readonly isReplicated: boolean;
  first: QueueTake | undefined;
  last: QueueTake | undefined;
  /** The last take in the list that a script under way has. */
  lastAsked: QueueTake | undefined;
  /** Scripts under way that take for those that wait. */
  askedCount = 0;
  /** Takes whose items are neither gone nor back, and takes that are not answered. */
  takeCount = 0;
  /** Holds whose marks are of no use any more. */
  drops: string[] = [];
  /** Offers, and takes that do not wait, which gather in this turn: queue-turn.ts. */
  offers: GatheredOffers | undefined;
  takes: QueueTake[] = [];
  /** Whether it is being looked at. */
  isLookedAt = false;
  /** Whether it was used since it was looked at last. */
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

  /** Asks for its settings anew. */
  refresh(): void {
    const capacity = this.#settings.queueCapacity(this.name);
    this.capacity = capacity === Number.POSITIVE_INFINITY ? 0 : capacity;
    this.replicaCount = this.#settings.queueReplicaCount(this.name);
  }

  /** The first take that no script has asked for; undefined where there is none. */
  get firstUnasked(): QueueTake | undefined {
    return this.lastAsked === undefined ? this.first : this.lastAsked.next;
  }

  /** Whether it may be forgotten. */
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
    if (this.lastAsked === take) this.lastAsked = previous;
    take.previous = undefined;
    take.next = undefined;
    take.isListed = false;
  }

  /** The takes up to that one, at most so many. */
  upTo(take: QueueTake, count: number): QueueTake[] {
    const takes: QueueTake[] = [];
    for (let each: QueueTake | undefined = take; each !== undefined; each = each.previous) {
      if (takes.push(each) === count) break;
    }
    return takes.reverse();
  }

  /** A script asks for the takes up to that one; for none where it is undefined. */
  ask(last: QueueTake | undefined): void {
    this.askedCount++;
    if (last === undefined) return;
    if (this.lastAsked === undefined || this.lastAsked.hold < last.hold) this.lastAsked = last;
  }

  /** The script has its reply, or none will come. */
  endAsking(): void {
    if (--this.askedCount === 0) this.lastAsked = undefined;
  }

  /** The holds whose marks are to be dropped next, one behind the other, at most so many. */
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

  /** Forgets queues not used since the last call; the others have their settings as they are now. */
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
