/**
 * A queue of the member, for the program that embeds the member. Tested by local-results.spec.ts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TIMER_SECONDS_MAX } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { Span } from '../base/span.ts';
import { NO_HOLD, NO_TICKET, NOBODY, type OperationResult, QUEUE_FULL } from '../engine/engine.ts';
import { checkOptions, checkSignal, checkWait, type GivingUp } from './known-options.ts';
import type { LocalData, LocalWait } from './local-data.ts';
import { LocalName } from './local-name.ts';
import type { StoredValue } from './local-values.ts';
import type { BytesOrText } from './plain-bytes.ts';
import { QueueItems } from './queue-items.ts';

/** Properties of an item. */
export interface OfferOptions {
  /** Content type sent to HTTP clients; none by default. At most 8,192 characters of Latin-1. */
  readonly contentType?: string;
  /**
   * Time to wait for room in a full queue, 0 to 2,147,483 seconds, or Infinity; default 0. Only in
   * a member that stores its queues itself.
   */
  readonly waitSeconds?: number;
  /** Ends the wait, which then adds nothing and rejects with the signal's reason. */
  readonly signal?: GivingUp;
}

/** How to poll. */
export interface PollOptions {
  /** Aborts the poll, which then takes nothing and rejects with the signal's reason. */
  readonly signal?: GivingUp;
}

/** Maximum time for which a poll waits, in seconds. */
const POLL_SECONDS_MAX = 2 ** 31 - 1;
const POLL_OPTIONS = ['signal'];
const OFFER_OPTIONS = ['contentType', 'waitSeconds', 'signal'];
const NO_OPTIONS = {};

/**
 * Items are returned in the order in which they were offered, each once, to this program or to an
 * HTTP client. Items and names have the types and limits of a map's values and names (see GridMap).
 * Promises resolve like those of GridMap: a poll resolves, and its item is removed for good, when
 * an HTTP client would be sent the item.
 */
export class GridQueue {
  /** The name as text. */
  readonly name: string;
  readonly #fullName: LocalName;
  readonly #name: Span;
  /** The name as shown in messages. */
  readonly #shown: string;
  readonly #data: LocalData;

  /** @internal */
  constructor(data: LocalData, name: Span) {
    this.#fullName = new LocalName(name);
    const { span, text, shown } = this.#fullName;
    this.name = text;
    this.#name = span;
    this.#shown = shown;
    this.#data = data;
  }

  /**
   * Appends an item. Resolves with false if the queue is full, also after `waitSeconds`; then nothing
   * was added. Offers that wait are made in their order. Rejects with DATA_ELSEWHERE if an offer is to
   * wait and servers store the queue.
   */
  async offer(value: BytesOrText, options: OfferOptions = NO_OPTIONS): Promise<boolean> {
    const data = this.#data;
    if (options !== NO_OPTIONS) checkOptions(options, OFFER_OPTIONS);
    const { contentType = '', waitSeconds = 0, signal } = options;
    checkWait(waitSeconds, TIMER_SECONDS_MAX, 'wait');
    checkSignal(signal);
    if (signal?.aborted === true) throw signal.reason;
    const action = 'offer to';
    if (waitSeconds > 0) {
      data.check(this.#shown, action);
      const stored = data.storedQueues(`wait to ${action} ${this.#shown}`);
      const bytes = data.values.copyOf(value);
      const type = Span.of(data.contentTypes.bytesOf(contentType).toBuffer());
      const item = { queue: this.#fullName, value: bytes, contentType: type, waitSeconds, signal };
      return await data.offerWaits.offer(item, stored);
    }
    return await data.ask(
      this.#shown,
      action,
      (receiver) => {
        const type = data.contentTypes.bytesOf(contentType);
        data.engine.offer(this.#name, data.values.of(value), type, receiver);
      },
      ({ outcome }) => outcome !== QUEUE_FULL,
    );
  }

  /**
   * Removes and returns the first item. Resolves with undefined if there is none within this many
   * seconds (0 to 2^31-1, fractions allowed, or Infinity), or if the member ends.
   */
  poll(seconds = 0, options: PollOptions = NO_OPTIONS): Promise<StoredValue | undefined> {
    return new Promise((resolve, reject) => {
      checkWait(seconds, POLL_SECONDS_MAX, 'poll for');
      checkOptions(options, POLL_OPTIONS);
      const { signal } = options;
      checkSignal(signal);
      if (signal?.aborted === true) throw signal.reason;
      this.#data.check(this.#shown, 'poll');
      const poll = new Poll(this.#data, this.#shown, resolve, reject, signal);
      poll.begin(this.#name, seconds);
    });
  }

  /** Resolves with the item that the next poll would return, which remains, or with undefined. */
  peek(): Promise<StoredValue | undefined> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      undefined,
      (receiver) => data.engine.peek(this.#name, receiver),
      (answer) => data.found(answer),
    );
  }

  /**
   * Returns an iterator over the items, which removes each one as `poll` does, and waits for more. It
   * ends when the member ends, and rejects with the reason of `signal`. Leaving the loop takes no
   * further item.
   */
  items(options: PollOptions = NO_OPTIONS): AsyncIterableIterator<StoredValue> {
    checkOptions(options, POLL_OPTIONS);
    checkSignal(options.signal);
    const poll = (signal: GivingUp) => this.poll(Number.POSITIVE_INFINITY, { signal });
    return new QueueItems(poll, options.signal);
  }

  /**
   * Removes the items that were offered before the call, in steps, and resolves with their number. An
   * item that another poll has taken but not received may still return. Rejects with DATA_ELSEWHERE if
   * servers store the queue; if it rejects with another code, some items may be removed.
   */
  async clear(): Promise<number> {
    const data = this.#data;
    data.check(this.#shown, 'clear');
    const stored = data.storedQueues(`clear ${this.#shown}`);
    const end = stored.queueEnd(this.#name);
    let total = 0;
    for (let count = -1; count !== 0; total += count) {
      count = await data.ask(
        this.#shown,
        'clear',
        (receiver) => stored.removeItems(this.#name, end, receiver),
        (answer) => answer.count,
      );
      await nextTurn();
    }
    return total;
  }

  /** Returns the number of items. */
  size(): Promise<number> {
    const { engine } = this.#data;
    return this.#data.count(this.#shown, (receiver) => engine.queueSize(this.#name, receiver));
  }
}

/**
 * One poll: takes an item, or waits for one, and resolves with it when its removal can no longer be
 * undone.
 */
class Poll implements LocalWait {
  hasLimit = true;
  readonly #data: LocalData;
  readonly #name: string;
  readonly #resolve: (item: StoredValue | undefined) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #signal: GivingUp | undefined;
  readonly #onAbort = () => this.#abort();
  #ticket = NO_TICKET;
  #isAborted = false;

  constructor(
    data: LocalData,
    name: string,
    resolve: (item: StoredValue | undefined) => void,
    reject: (reason: unknown) => void,
    signal: GivingUp | undefined,
  ) {
    this.#data = data;
    this.#name = name;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort);
  }

  begin(queue: Span, seconds: number): void {
    const receiver = { onResult: (answer: OperationResult) => this.#onTaken(answer) };
    this.hasLimit = seconds !== Number.POSITIVE_INFINITY;
    const timeoutMs = Math.min(seconds, POLL_SECONDS_MAX) * 1000;
    this.#ticket = this.#data.engine.take(queue, timeoutMs, receiver);
    if (this.#ticket !== NO_TICKET) this.#data.enter(this);
  }

  endWait(): void {
    this.#cancel();
    this.#fail(new GridError('CLUSTER_PASSIVE', { action: `poll ${this.#name}` }));
  }

  finish(): void {
    this.#cancel();
    this.#end(undefined);
  }

  /**
   * Receives the result. The caller gets the item, if there is one, once its removal is confirmed.
   */
  #onTaken(answer: OperationResult): void {
    const data = this.#data;
    const { partition, sequence, hold } = answer;
    this.#leave();
    const fault = data.faultOf(answer, this.#name);
    if (fault !== undefined) return this.#fail(fault);
    const item = data.found(answer);
    // Without a hold the item cannot be returned to the queue, so the poll can no longer be
    // aborted.
    if (item !== undefined && hold === NO_HOLD) this.#ignoreSignal();
    data.answers.send(partition, sequence, (isDurable) => {
      if (hold !== NO_HOLD) {
        data.engine.acknowledge(hold, isDurable && !this.#isAborted, NOBODY);
      }
      this.#settle(isDurable, item);
    });
  }

  #settle(isDurable: boolean, item?: StoredValue): void {
    if (isDurable) this.#end(item);
    else this.#fail(new GridError('OUTCOME_UNKNOWN', {}));
  }

  /** Aborts the poll. An item that is still held is returned to the queue. */
  #abort(): void {
    this.#cancel();
    this.#isAborted = true;
    this.#fail(this.#signal?.reason);
  }

  #cancel(): void {
    if (this.#ticket === NO_TICKET) return;
    this.#data.engine.cancel(this.#ticket);
    this.#leave();
  }

  #leave(): void {
    if (this.#ticket === NO_TICKET) return;
    this.#ticket = NO_TICKET;
    this.#data.leave(this);
  }

  #end(item: StoredValue | undefined): void {
    this.#ignoreSignal();
    this.#resolve(item);
  }

  #fail(reason: unknown): void {
    this.#ignoreSignal();
    this.#reject(reason);
  }

  #ignoreSignal(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}
