/**
 * A queue of the member, for the program that embeds the member. Tested by local-results.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import { NO_HOLD, NO_TICKET, NOBODY, type OperationResult, QUEUE_FULL } from '../engine/engine.ts';
import type { LocalData, LocalWait, StoredValue } from './local-data.ts';
import { LocalName } from './local-name.ts';
import type { BytesOrText } from './plain-bytes.ts';

/** Properties of an item. */
export interface OfferOptions {
  /** Content type sent to HTTP clients; none by default. At most 8,192 characters of Latin-1. */
  readonly contentType?: string;
}

/** The part of an AbortSignal that a poll needs. */
export interface GivingUp {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface PollOptions {
  /** Aborts the poll, which then takes nothing and rejects with the signal's reason. */
  readonly signal?: GivingUp;
}

/** Maximum time for which a poll waits, in seconds. */
const POLL_SECONDS_MAX = 2 ** 31 - 1;

/**
 * Items are returned in the order in which they were offered, each once, to this program or to an
 * HTTP client. Items and names have the types and limits of a map's values and names (see GridMap).
 * Promises resolve like those of GridMap: a poll resolves, and its item is removed for good, when
 * an HTTP client would be sent the item.
 */
export class GridQueue {
  readonly name: string;
  readonly #name: Span;
  /** The name as shown in messages. */
  readonly #shown: string;
  readonly #data: LocalData;

  /** @internal */
  constructor(data: LocalData, name: Span) {
    const { span, text, shown } = new LocalName(name);
    this.name = text;
    this.#name = span;
    this.#shown = shown;
    this.#data = data;
  }

  /** Appends an item. Resolves with false if the queue is full; then nothing was added. */
  offer(value: BytesOrText, { contentType = '' }: OfferOptions = {}): Promise<boolean> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      'offer to',
      (receiver) => {
        const type = data.contentTypes.bytesOf(contentType);
        data.engine.offer(this.#name, data.values.of(value), type, receiver);
      },
      ({ outcome }) => outcome !== QUEUE_FULL,
    );
  }

  /**
   * Removes and returns the first item. Resolves with undefined if there is none within this many
   * seconds (0 to 2^31-1, fractions allowed), or if the member ends.
   */
  poll(seconds = 0, { signal }: PollOptions = {}): Promise<StoredValue | undefined> {
    return new Promise((resolve, reject) => {
      if (!(seconds >= 0 && seconds <= POLL_SECONDS_MAX)) {
        throw new RangeError(`Cannot poll for ${seconds} seconds: not 0 to ${POLL_SECONDS_MAX}`);
      }
      if (signal?.aborted === true) throw signal.reason;
      this.#data.check(this.#shown, 'poll');
      const poll = new Poll(this.#data, this.#shown, resolve, reject, signal);
      poll.begin(this.#name, seconds * 1000);
    });
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

  begin(queue: Span, timeoutMs: number): void {
    const receiver = { onResult: (answer: OperationResult) => this.#onTaken(answer) };
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
