/**
 * The operations of takes: holding items, removing held items, and returning an item. Each is
 * repeatable, as the store records what it has done. Tested by redis-engine.spec.ts.
 */
import type { Receiver } from '../engine.ts';
import type { CommandBuffer } from './command-buffer.ts';
import type { Failure } from './failure.ts';
import type { LocalQueue, QueueTake } from './local-queues.ts';
import { Operation, type Work } from './operation.ts';
import {
  channelsOf,
  type QueueContext,
  writeHolds,
  writeItems,
  writeNumbers,
  writeReturned,
  writeWaiting,
} from './queue-context.ts';
import { GIVE_BACK, REMOVE, TAKE, TAKES_MAX } from './queue-scripts.ts';
import { ARRAY, BULK, INTEGER, kindSet, type Reply } from './reply.ts';

const YES = Buffer.from('1');
const NO = Buffer.alloc(0);
const ITEMS_OR_OUT = kindSet(ARRAY, INTEGER);
const DIGITS = kindSet(BULK);
const INTEGERS = kindSet(INTEGER);

/** Receives the results of the operations. */
export interface TakeObserver {
  /**
   * `items`: the items of the first takes; undefined for one that must not have the next item.
   * `isExpelled`: nothing can be held for this incarnation any more.
   */
  onHeld(
    holding: Holding,
    items: readonly (Buffer | undefined)[],
    itemsRemain: boolean,
    isExpelled: boolean,
  ): void;
  /** `mayHold`: whether items may be held nevertheless. */
  onNotHeld(holding: Holding, failure: Failure, mayHold: boolean): void;
  /** Called when the replicas have the removal. */
  onRemoved(removal: Removal): void;
  onNotRemoved(removal: Removal, failure: Failure): void;
  onUnconfirmed(removal: Removal): void;
}

/** Receives the result of an item's return. */
export interface ReturnObserver {
  /** `isReturned`: whether the item was returned by this operation. */
  onReturned(itemReturn: ItemReturn, isReturned: boolean): void;
  onReturnFailed(itemReturn: ItemReturn): void;
}

/** Holds items for takes, and records whether the member waits at the queue. */
export class Holding implements Work {
  readonly replyKinds = ITEMS_OR_OUT;
  readonly operation: Operation<undefined>;
  readonly queue: LocalQueue;
  readonly takes: readonly QueueTake[];
  /** Whether its takes wait. */
  readonly isWaiting: boolean;
  readonly #incarnation: Buffer;
  readonly #turn: string;
  readonly #context: QueueContext;
  readonly #observer: TakeObserver;
  #isBegun = false;
  /** Why `send` has failed at once. */
  #failure: Failure | undefined;

  constructor(
    context: QueueContext,
    observer: TakeObserver,
    queue: LocalQueue,
    incarnation: Buffer,
    takes: readonly QueueTake[],
    isWaiting: boolean,
    turn: string,
  ) {
    this.operation = new Operation(context.dispatcher, this, undefined);
    this.#context = context;
    this.#observer = observer;
    this.queue = queue;
    this.#incarnation = incarnation;
    this.takes = takes;
    this.isWaiting = isWaiting;
    this.#turn = turn;
    this.operation.isRepeatable = true;
    this.operation.isReplicated = queue.isReplicated;
    // Without these replicas, the held items could not be removed.
    this.operation.replicasNeeded = queue.replicaCount;
  }

  /**
   * Returns why it has failed at once, in which case the observer is not called; otherwise
   * undefined.
   */
  send(): Failure | undefined {
    const { dispatcher, layout, listener } = this.#context;
    const { queue, takes } = this;
    const { partition } = queue;
    const commands = dispatcher.begin(this.operation, partition);
    if (commands === undefined) return this.#failure;
    const hasMore = this.isWaiting && takes.at(-1)?.next !== undefined;
    this.#isBegun = true;
    commands.begin(TAKE.header);
    writeItems(commands, layout, queue);
    writeNumbers(commands, layout, queue);
    writeWaiting(commands, layout, queue);
    writeHolds(commands, layout, partition, this.#incarnation);
    commands.bytes(queue.name);
    writeTexts(commands, takes);
    commands.text(queue.takeDrops(TAKES_MAX));
    commands.bytes(this.isWaiting ? listener : NO);
    commands.bytes(hasMore ? YES : NO);
    commands.span(channelsOf(layout, partition));
    commands.text(this.#turn);
    commands.text(this.#turn === '' ? '' : precedingOffers(takes));
    dispatcher.end(this.operation);
    return undefined;
  }

  onResult(reply: Reply): void {
    const isExpelled = reply.kind === INTEGER;
    const itemCount = isExpelled ? 0 : reply.integer - 1;
    const itemsRemain = !isExpelled && reply.next().integer === 1;
    const items: (Buffer | undefined)[] = [];
    while (items.length < itemCount) {
      items.push(reply.next().kind === BULK ? reply.bytes.toBuffer() : undefined);
    }
    this.#observer.onHeld(this, items, itemsRemain, isExpelled);
  }

  onFailed(failure: Failure): void {
    this.#failure = failure;
    if (this.#isBegun) this.#observer.onNotHeld(this, failure, wasSentAgain(this.operation));
  }
}

/** Removes the items held for takes of a queue. */
export class Removal implements Work {
  readonly replyKinds = DIGITS;
  readonly operation: Operation<undefined>;
  readonly queue: LocalQueue;
  readonly takes: readonly QueueTake[];
  /** Time after which it is not sent again, by `clock.now()`. */
  readonly end: number;
  readonly #context: QueueContext;
  readonly #observer: TakeObserver;
  readonly #isAgain: boolean;
  /** One character per take: `1` if its item is removed, `0` if there was none. */
  #removed = '';

  constructor(
    context: QueueContext,
    observer: TakeObserver,
    queue: LocalQueue,
    takes: readonly QueueTake[],
    end: number,
    isAgain: boolean,
  ) {
    this.operation = new Operation(context.dispatcher, this, undefined);
    this.#context = context;
    this.#observer = observer;
    this.queue = queue;
    this.takes = takes;
    this.end = end;
    this.#isAgain = isAgain;
    this.operation.isRepeatable = true;
    this.operation.isReplicated = queue.isReplicated;
    this.operation.replicaCount = queue.replicaCount;
  }

  /** Marks the removal as continuing the change that `former` began. */
  follow(former: Operation<undefined>): this {
    this.operation.follow(former);
    return this;
  }

  /** Sends the removal. If it fails at once, the observer is called during the call. */
  send(): void {
    const { dispatcher, layout } = this.#context;
    const { queue, takes } = this;
    const commands = dispatcher.begin(this.operation, queue.partition);
    if (commands === undefined) return;
    commands.begin(REMOVE.header);
    writeItems(commands, layout, queue);
    writeNumbers(commands, layout, queue);
    writeHolds(commands, layout, queue.partition, takes[0]!.incarnation);
    commands.bytes(queue.name);
    writeTexts(commands, takes);
    commands.text(queue.takeDrops(TAKES_MAX));
    dispatcher.end(this.operation);
  }

  /** Whether the item of the take was removed for it; false if it no longer existed. */
  isRemoved(index: number): boolean {
    return this.#removed[index] === '1';
  }

  /** Whether items may be removed although it has failed. */
  get mayBeRemoved(): boolean {
    return this.#isAgain || wasSentAgain(this.operation);
  }

  onResult(reply: Reply): void {
    this.#removed = reply.text;
    if (this.operation.group === undefined) this.onConfirmed();
  }

  onConfirmed(): void {
    this.#observer.onRemoved(this);
  }

  onUnconfirmed(): void {
    this.#observer.onUnconfirmed(this);
  }

  onFailed(failure: Failure): void {
    this.#observer.onNotRemoved(this, failure);
  }
}

/** Returns an item to its queue that is held or was removed. */
export class ItemReturn implements Work {
  readonly replyKinds = INTEGERS;
  readonly operation: Operation<undefined>;
  readonly queue: LocalQueue;
  readonly hold: string;
  /** Undefined if its removal was not requested. */
  readonly item: Buffer | undefined;
  /** Notified once of the result. */
  receiver: Receiver | undefined;
  readonly #incarnation: Buffer;
  readonly #context: QueueContext;
  readonly #observer: ReturnObserver;
  #isReturned = false;

  constructor(
    context: QueueContext,
    observer: ReturnObserver,
    queue: LocalQueue,
    incarnation: Buffer,
    hold: string,
    item: Buffer | undefined,
    receiver: Receiver | undefined,
  ) {
    this.operation = new Operation(context.dispatcher, this, undefined);
    this.#context = context;
    this.#observer = observer;
    this.queue = queue;
    this.hold = hold;
    this.item = item;
    this.receiver = receiver;
    this.#incarnation = incarnation;
    this.operation.isRepeatable = true;
    this.operation.isReplicated = queue.isReplicated;
    this.operation.replicaCount = queue.replicaCount;
  }

  /** Sends the return. If it fails at once, the observer is called during the call. */
  send(): void {
    const { dispatcher, layout } = this.#context;
    const { queue } = this;
    const { partition } = queue;
    const commands = dispatcher.begin(this.operation, partition);
    if (commands === undefined) return;
    commands.begin(GIVE_BACK.header);
    writeReturned(commands, layout, queue);
    writeNumbers(commands, layout, queue);
    writeWaiting(commands, layout, queue);
    writeHolds(commands, layout, partition, this.#incarnation);
    commands.bytes(queue.name);
    commands.text(this.hold);
    commands.bytes(this.item ?? NO);
    commands.span(channelsOf(layout, partition));
    commands.bytes(queue.first === undefined ? NO : YES);
    dispatcher.end(this.operation);
  }

  onResult(reply: Reply): void {
    // When sent again, the reply is 0 if the item was already returned.
    this.#isReturned = reply.integer === 1 || wasSentAgain(this.operation);
    if (this.operation.group === undefined) this.onConfirmed();
  }

  onConfirmed(): void {
    this.#observer.onReturned(this, this.#isReturned);
  }

  onUnconfirmed(): void {
    this.#observer.onReturnFailed(this);
  }

  onFailed(): void {
    this.#observer.onReturnFailed(this);
  }
}

/** Writes the concatenated holds of takes. */
function writeTexts(commands: CommandBuffer, takes: readonly QueueTake[]): void {
  let text = '';
  for (const take of takes) text += take.holdText;
  commands.text(text);
}

/** Returns how many offers of the turn precede each take, in two digits. */
function precedingOffers(takes: readonly QueueTake[]): string {
  return takes.map(({ offersBefore }) => String(offersBefore).padStart(2, '0')).join('');
}

/** Whether it may have been sent more than once. */
function wasSentAgain({ until }: Operation<undefined>): boolean {
  return until !== 0;
}
