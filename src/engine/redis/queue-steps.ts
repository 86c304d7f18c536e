/**
 * Queues in the store: what is done in one step, an offer, a look at the next item, and the count. Takes
 * are in queue-takes.ts. An offer that may have been done is not sent again.
 */
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
  UNKNOWN,
} from '../engine.ts';
import { Version } from '../version.ts';
import type { LocalQueue, LocalQueues } from './local-queues.ts';
import { type Failure, Operation } from './operation.ts';
import {
  channelsOf,
  type QueueContext,
  writeItems,
  writeNumbers,
  writeWaiting,
} from './queue-context.ts';
import { COUNT, OFFER, PEEK } from './queue-scripts.ts';
import type { QueueTakes } from './queue-takes.ts';
import { BULK, INTEGER, type Reply } from './reply.ts';
import { HeaderWriter, NUMBER_END, StoredValue } from './stored-value.ts';

const NO_VERSION = new Version();
const FOR_EVER = { endMs: 0, maxIdleSeconds: 0, lastMs: 0 };
const YES = Buffer.from('1');
const NO = Buffer.alloc(0);

export class QueueSteps {
  readonly #context: QueueContext;
  readonly #queues: LocalQueues;
  readonly #takes: QueueTakes;
  readonly #header = new HeaderWriter();
  readonly #offers: Offer[] = [];
  readonly #looks: Look[] = [];

  constructor(context: QueueContext, queues: LocalQueues, takes: QueueTakes) {
    this.#context = context;
    this.#queues = queues;
    this.#takes = takes;
  }

  offer(name: Span, value: Span, contentType: Span, receiver: Receiver): void {
    const { dispatcher, layout } = this.#context;
    const queue = this.#queues.get(name);
    const { partition } = queue;
    const offer = (this.#offers.pop() ?? new Offer(this.#context, this)).begin(queue, receiver);
    const commands = dispatcher.begin(offer, partition);
    if (commands === undefined) return;
    const head = this.#header.write(NO_VERSION, FOR_EVER, contentType);
    const isFollowed = queue.first !== undefined;
    commands.begin(OFFER.header);
    writeItems(commands, layout, queue);
    writeNumbers(commands, layout, queue);
    writeWaiting(commands, layout, queue);
    commands.number(queue.capacity);
    commands.open(1);
    commands.part(head.bytes, 0, 1);
    commands.close();
    commands.open(head.length - NUMBER_END + value.length);
    commands.part(head.bytes, NUMBER_END, head.length);
    commands.part(value.bytes, value.start, value.end);
    commands.close();
    commands.bytes(channelsOf(layout, partition));
    commands.bytes(queue.name);
    commands.bytes(isFollowed ? YES : NO);
    dispatcher.end(offer);
    if (isFollowed) this.#takes.follow(queue);
  }

  peek(name: Span, receiver: Receiver): void {
    const { answers, dispatcher } = this.#context;
    const queue = this.#queues.get(name);
    // What comes next belongs to the takes that wait.
    if (queue.firstUnasked !== undefined && !dispatcher.isAway(queue.partition)) {
      return answers.tell(receiver, answers.begin(ABSENT));
    }
    this.#look(queue, true, receiver);
  }

  size(name: Span, receiver: Receiver): void {
    this.#look(this.#queues.get(name), false, receiver);
  }

  recycleOffer(offer: Offer): void {
    this.#offers.push(offer);
  }

  recycleLook(look: Look): void {
    this.#looks.push(look);
  }

  #look(queue: LocalQueue, isPeek: boolean, receiver: Receiver): void {
    const { dispatcher, layout } = this.#context;
    const look = (this.#looks.pop() ?? new Look(this.#context, this)).begin(receiver);
    const commands = dispatcher.begin(look, queue.partition);
    if (commands === undefined) return;
    commands.begin(isPeek ? PEEK.header : COUNT.header);
    writeItems(commands, layout, queue);
    dispatcher.end(look);
  }
}

class Offer extends Operation {
  readonly #context: QueueContext;
  readonly #steps: QueueSteps;
  #receiver: Receiver = NOBODY;

  constructor(context: QueueContext, steps: QueueSteps) {
    super(context.dispatcher);
    this.#context = context;
    this.#steps = steps;
  }

  begin(queue: LocalQueue, receiver: Receiver): this {
    this.#receiver = receiver;
    this.replicaCount = queue.replicaCount;
    return this;
  }

  onResult(reply: Reply): void {
    if (reply.kind !== INTEGER) {
      this.group = undefined;
      return this.onFailed(UNKNOWN);
    }
    if (reply.integer === 0) {
      this.group = undefined;
      return this.#tell(QUEUE_FULL);
    }
    if (this.group === undefined) this.onConfirmed();
  }

  override onConfirmed(): void {
    this.#tell(APPLIED);
  }

  override onUnconfirmed(): void {
    this.onFailed(UNKNOWN);
  }

  onFailed(failure: Failure): void {
    this.#steps.recycleOffer(this);
    this.#context.fail(this.#receiver, failure);
  }

  #tell(outcome: Outcome): void {
    const { answers } = this.#context;
    this.#steps.recycleOffer(this);
    answers.tell(this.#receiver, answers.begin(outcome));
  }
}

/** A peek, or a count of the items. Both are reads, but stay in the order of the changes. */
class Look extends Operation {
  readonly #context: QueueContext;
  readonly #steps: QueueSteps;
  readonly #stored = new StoredValue();
  readonly #keep: () => void;
  #receiver: Receiver = NOBODY;

  constructor(context: QueueContext, steps: QueueSteps) {
    super(context.dispatcher);
    this.#context = context;
    this.#steps = steps;
    this.isRepeatable = true;
    this.changesData = false;
    this.#keep = () => this.connection?.keepBytes();
  }

  begin(receiver: Receiver): this {
    this.#receiver = receiver;
    return this;
  }

  onResult(reply: Reply): void {
    const { answers } = this.#context;
    const answer = answers.begin(ABSENT, this.#keep);
    if (reply.kind === INTEGER) {
      answer.outcome = COUNTED;
      answer.count = reply.integer;
    } else if (reply.kind === BULK) {
      if (!this.#stored.read(reply.bytes)) return this.onFailed(UNKNOWN);
      answer.outcome = FOUND;
      answer.value.copyFrom(this.#stored.value);
      answer.contentType.copyFrom(this.#stored.contentType);
    }
    answers.tell(this.#receiver, answer);
    this.#steps.recycleLook(this);
  }

  onFailed(failure: Failure): void {
    this.#steps.recycleLook(this);
    this.#context.fail(this.#receiver, failure);
  }
}
