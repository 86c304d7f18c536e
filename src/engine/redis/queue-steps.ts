/**
 * Operations on queues that are one step: offers, peeks and counts. Takes are in queue-takes.ts. An
 * offer that may have been done is not sent again. Offers of short items are collected for a turn
 * (queue-turn.ts). Tested by redis-engine.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import type { Span } from '../../base/span.ts';
import {
  ABSENT,
  APPLIED,
  COUNTED,
  FOUND,
  NOBODY,
  type Outcome,
  QUEUE_FULL,
  type Receiver,
} from '../engine.ts';
import { Version } from '../version.ts';
import { CommandBuffer } from './command-buffer.ts';
import { type Failure, FOREIGN, UNCONFIRMED } from './failure.ts';
import type { GatheredOffers, LocalQueue, LocalQueues } from './local-queues.ts';
import { Operation, type Work } from './operation.ts';
import {
  channelsOf,
  type QueueContext,
  writeItems,
  writeNumbers,
  writeWaiting,
} from './queue-context.ts';
import { COUNT, OFFER, PEEK } from './queue-scripts.ts';
import type { QueueTakes } from './queue-takes.ts';
import type { QueueTurn } from './queue-turn.ts';
import { BULK, INTEGER, kindSet, NIL, type Reply } from './reply.ts';
import { HeaderWriter, NUMBER_END, StoredValue } from './stored-value.ts';

const NO_VERSION = new Version();
const FOR_EVER = { endMs: 0, maxIdleSeconds: 0, lastMs: 0 };
const YES = Buffer.from('1');
const NO = Buffer.alloc(0);
/** Maximum length of an item that is collected, in bytes; collecting copies it once more. */
const GATHERED_BYTES_MAX = 4096;
const FIRST_ITEMS_BYTES = 1024;
/** Maximum number of spare buffers for items collected in later turns. */
const SPARES_MAX = 16;
const INTEGERS = kindSet(INTEGER);
/** Kinds of the replies to a peek and to a count. */
const ITEMS = kindSet(BULK, NIL);
const COUNTS = INTEGERS;
/** Number of arguments per item. */
const ITEM_ARGUMENTS = 2;

export class QueueSteps {
  readonly #context: QueueContext;
  readonly #clock: Clock;
  readonly #queues: LocalQueues;
  readonly #turn: QueueTurn;
  readonly #takes: QueueTakes;
  readonly #header = new HeaderWriter();
  readonly #offers: Offers[] = [];
  readonly #spares: CommandBuffer[] = [];
  readonly #reads: Operation<Receiver>[] = [];
  readonly #reading: Work<Receiver>;

  constructor(
    context: QueueContext,
    clock: Clock,
    queues: LocalQueues,
    turn: QueueTurn,
    takes: QueueTakes,
  ) {
    this.#context = context;
    this.#clock = clock;
    this.#queues = queues;
    this.#turn = turn;
    this.#takes = takes;
    this.#reading = new QueueReads(context, (read) => this.#reads.push(read));
  }

  offer(name: Span, value: Span, contentType: Span, receiver: Receiver): void {
    const queue = this.#queues.get(name);
    const head = this.#header.write(NO_VERSION, FOR_EVER, contentType);
    const isFollowed = queue.first !== undefined;
    if (isFollowed || head.length + value.length > GATHERED_BYTES_MAX) {
      this.#turn.send(queue);
      this.#begin(queue).sendOne(head, value, receiver);
      if (isFollowed) this.#takes.follow(queue);
      return;
    }
    const offers = (queue.offers as Offers | undefined) ?? this.#begin(queue);
    queue.offers = offers;
    offers.add(head, value, receiver);
    this.#turn.onOffer(queue);
  }

  peek(name: Span, receiver: Receiver): void {
    const { results, dispatcher } = this.#context;
    const queue = this.#queues.get(name);
    this.#turn.send(queue);
    // The next item belongs to the waiting takes.
    if (queue.firstUnserved !== undefined && !dispatcher.isUnreachable(queue)) {
      return results.deliver(receiver, results.begin(ABSENT));
    }
    this.#read(queue, true, receiver);
  }

  size(name: Span, receiver: Receiver): void {
    const queue = this.#queues.get(name);
    this.#turn.send(queue);
    this.#read(queue, false, receiver);
  }

  /** Returns a buffer for collected items; releaseBuffer takes it back. */
  takeBuffer(): CommandBuffer {
    return this.#spares.pop() ?? new CommandBuffer(FIRST_ITEMS_BYTES);
  }

  releaseBuffer(buffer: CommandBuffer): void {
    buffer.clear();
    if (this.#spares.length < SPARES_MAX) this.#spares.push(buffer);
  }

  recycleOffers(offers: Offers): void {
    this.#offers.push(offers);
  }

  #begin(queue: LocalQueue): Offers {
    return (this.#offers.pop() ?? new Offers(this.#context, this.#clock, this)).begin(queue);
  }

  /** Peeks and counts change nothing, but are executed in the order of the changes. */
  #newRead(): Operation<Receiver> {
    const read = new Operation(this.#context.dispatcher, this.#reading, NOBODY);
    read.isRepeatable = true;
    read.changesData = false;
    return read;
  }

  #read(queue: LocalQueue, isPeek: boolean, receiver: Receiver): void {
    const { dispatcher, layout } = this.#context;
    const read = this.#reads.pop() ?? this.#newRead();
    read.subject = receiver;
    read.replyKinds = isPeek ? ITEMS : COUNTS;
    read.isReplicated = queue.isReplicated;
    const commands = dispatcher.begin(read, queue.partition);
    if (commands === undefined) return;
    commands.begin(isPeek ? PEEK.header : COUNT.header);
    writeItems(commands, layout, queue);
    dispatcher.end(read);
  }
}

/** Offers to a queue in one step: the first ones are applied, as many as the capacity allows. */
class Offers implements Work, GatheredOffers {
  readonly replyKinds = INTEGERS;
  readonly #operation: Operation<undefined>;
  readonly #context: QueueContext;
  readonly #clock: Clock;
  readonly #steps: QueueSteps;
  readonly #receivers: Receiver[] = [];
  /** The arguments of the collected offers. */
  #items: CommandBuffer | undefined;
  #queue!: LocalQueue;
  #isBeingSent = false;
  #addedCount = 0;

  constructor(context: QueueContext, clock: Clock, steps: QueueSteps) {
    this.#operation = new Operation(context.dispatcher, this, undefined);
    this.#context = context;
    this.#clock = clock;
    this.#steps = steps;
  }

  begin(queue: LocalQueue): this {
    this.#queue = queue;
    this.#operation.replicaCount = queue.replicaCount;
    this.#operation.isReplicated = queue.isReplicated;
    return this;
  }

  get count(): number {
    return this.#receivers.length;
  }

  add(head: HeaderWriter, value: Span, receiver: Receiver): void {
    this.#receivers.push(receiver);
    this.#items ??= this.#steps.takeBuffer();
    writeItem(this.#items, head, value);
  }

  send(turn: string): void {
    const items = this.#items!;
    this.#items = undefined;
    this.#isBeingSent = true;
    const commands = this.#beginCommand(turn);
    this.#isBeingSent = false;
    if (commands !== undefined) {
      commands.copyOf(items);
      this.#context.dispatcher.end(this.#operation);
    }
    this.#steps.releaseBuffer(items);
  }

  /** Sends one offer. If it fails at once, its receiver is notified during the call. */
  sendOne(head: HeaderWriter, value: Span, receiver: Receiver): void {
    this.#receivers.push(receiver);
    const commands = this.#beginCommand('');
    if (commands === undefined) return;
    writeItem(commands, head, value);
    this.#context.dispatcher.end(this.#operation);
  }

  onResult(reply: Reply): void {
    this.#addedCount = reply.integer;
    if (this.#addedCount === 0) this.#operation.group = undefined;
    if (this.#operation.group === undefined) return this.onConfirmed();
    const full = this.#receivers.splice(this.#addedCount);
    for (const receiver of full) this.#deliver(receiver, QUEUE_FULL);
  }

  onConfirmed(): void {
    const receivers = this.#end();
    const addedCount = this.#addedCount;
    for (const [index, receiver] of receivers.entries()) {
      this.#deliver(receiver, index < addedCount ? APPLIED : QUEUE_FULL);
    }
  }

  onUnconfirmed(): void {
    this.onFailed(UNCONFIRMED);
  }

  onFailed(failure: Failure): void {
    if (this.#isBeingSent) return this.#clock.endOfTurn(() => this.onFailed(failure));
    for (const receiver of this.#end()) this.#context.fail(receiver, failure);
  }

  #beginCommand(turn: string): CommandBuffer | undefined {
    const { dispatcher, layout } = this.#context;
    const queue = this.#queue;
    const { partition } = queue;
    const commands = dispatcher.begin(this.#operation, partition);
    if (commands === undefined) return undefined;
    commands.begin(OFFER.headerWith(ITEM_ARGUMENTS * this.count));
    writeItems(commands, layout, queue);
    writeNumbers(commands, layout, queue);
    writeWaiting(commands, layout, queue);
    commands.number(queue.capacity);
    commands.span(channelsOf(layout, partition));
    commands.bytes(queue.name);
    commands.bytes(queue.first === undefined ? NO : YES);
    commands.text(turn);
    return commands;
  }

  /** Ends the step and returns its receivers; the object can then be reused. */
  #end(): Receiver[] {
    const receivers = this.#receivers.splice(0);
    this.#steps.recycleOffers(this);
    return receivers;
  }

  #deliver(receiver: Receiver, outcome: Outcome): void {
    const { results } = this.#context;
    results.deliver(receiver, results.begin(outcome));
  }
}

function writeItem(commands: CommandBuffer, head: HeaderWriter, value: Span): void {
  commands.open(1);
  commands.part(head.bytes, 0, 1);
  commands.close();
  commands.open(head.length - NUMBER_END + value.length);
  commands.part(head.bytes, NUMBER_END, head.length);
  commands.part(value.bytes, value.start, value.end, value.view);
  commands.close();
}

/** Executes peeks and counts. */
class QueueReads implements Work<Receiver> {
  readonly replyKinds = COUNTS;
  readonly #context: QueueContext;
  readonly #recycle: (read: Operation<Receiver>) => void;
  readonly #stored = new StoredValue();

  constructor(context: QueueContext, recycle: (read: Operation<Receiver>) => void) {
    this.#context = context;
    this.#recycle = recycle;
  }

  onResult(reply: Reply, read: Operation<Receiver>): void {
    const { results } = this.#context;
    const result = results.begin(ABSENT, read.connection);
    if (reply.kind === INTEGER) {
      result.outcome = COUNTED;
      result.count = reply.integer;
    } else if (reply.kind === BULK) {
      if (!this.#stored.read(reply.bytes)) return this.onFailed(FOREIGN, read);
      result.outcome = FOUND;
      result.value.copyFrom(this.#stored.value);
      result.contentType.copyFrom(this.#stored.contentType);
    }
    results.deliver(read.subject, result);
    this.#recycle(read);
  }

  onFailed(failure: Failure, read: Operation<Receiver>): void {
    this.#recycle(read);
    this.#context.fail(read.subject, failure);
  }
}
