/** A map of the member, for the program that embeds the member. Tested by local-results.spec.ts. */
import assert from 'node:assert';
import type { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import type { Lifetime, OperationResult, Receiver } from '../engine/engine.ts';
import type { LocalData, StoredValue } from './local-data.ts';
import { LocalName } from './local-name.ts';
import type { BytesOrText } from './plain-bytes.ts';

/** Properties of a value. */
export interface SetOptions {
  /** Content type sent to HTTP clients; none by default. At most 8,192 characters of Latin-1. */
  readonly contentType?: string;
  /**
   * Seconds until the entry expires; 0 for never. Up to 2^31-1. The default is the map's
   * configuration.
   */
  readonly timeToLiveSeconds?: number;
  /**
   * Seconds without a read or write until the entry expires; range and default as for
   * `timeToLiveSeconds`.
   */
  readonly maxIdleSeconds?: number;
}

/**
 * Names, keys and values are bytes, or text, which is encoded as UTF-8: up to 65,536 bytes for a
 * key, 1 GiB for a value. Promises resolve when an HTTP client would get the response, so with
 * `persistence.sync: always` a change is then on the disk. They reject with GridError: MEMORY_FULL,
 * DISK_FULL, DISK_ERROR, DISK_FAILED, OUTCOME_UNKNOWN, CLUSTER_PASSIVE, ENGINE_CLOSED; with
 * TypeError or RangeError for an invalid key or value. Operations take effect in the order of the
 * calls.
 */
export class GridMap {
  readonly name: string;
  readonly #name: Span;
  /** The name as shown in messages. */
  readonly #shown: string;
  readonly #data: LocalData;
  readonly #sync = new SyncReceiver();

  /** @internal */
  constructor(data: LocalData, name: Span) {
    const { span, text, shown } = new LocalName(name);
    this.name = text;
    this.#name = span;
    this.#shown = shown;
    this.#data = data;
  }

  /** Returns the entry, or undefined. */
  get(key: BytesOrText): Promise<StoredValue | undefined> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      undefined,
      (receiver) => data.engine.get(this.#name, data.keys.of(key), receiver),
      (answer) => data.found(answer),
    );
  }

  /**
   * Returns the entry, or undefined, synchronously. Unlike `get` it does not wait for the disk: the
   * value may be lost in a crash. Throws the errors that the promises reject with.
   */
  getSync(key: BytesOrText): StoredValue | undefined {
    const data = this.#data;
    data.check(this.#shown);
    const receiver = this.#sync.begin(data, this.#shown);
    data.engine.get(this.#name, data.keys.of(key), receiver);
    return receiver.end();
  }

  /** Sets or replaces the entry. */
  set(key: BytesOrText, value: BytesOrText, options: SetOptions = NO_OPTIONS): Promise<void> {
    return this.#data.ask(
      this.#shown,
      'set in',
      (receiver) => this.#set(key, value, options, receiver),
      nothing,
    );
  }

  /**
   * Sets the entry synchronously. Unlike `set` it does not wait for the disk: when it returns,
   * `get` finds the value, but a crash before the next sync may undo the change. Throws the errors
   * that the promises reject with.
   */
  setSync(key: BytesOrText, value: BytesOrText, options: SetOptions = NO_OPTIONS): void {
    const data = this.#data;
    data.check(this.#shown, 'set in');
    const receiver = this.#sync.begin(data, this.#shown);
    this.#set(key, value, options, receiver);
    receiver.end();
  }

  /** Removes the entry, if it exists. */
  delete(key: BytesOrText): Promise<void> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      'delete from',
      (receiver) => data.engine.delete(this.#name, data.keys.of(key), undefined, receiver),
      nothing,
    );
  }

  /** Removes every entry. */
  clear(): Promise<void> {
    const { engine } = this.#data;
    return this.#data.ask(
      this.#shown,
      'clear',
      (receiver) => engine.clear(this.#name, receiver),
      nothing,
    );
  }

  /** Returns the number of entries. */
  size(): Promise<number> {
    const { engine } = this.#data;
    return this.#data.count(this.#shown, (receiver) => engine.size(this.#name, receiver));
  }

  #set(key: BytesOrText, value: BytesOrText, options: SetOptions, receiver: Receiver): void {
    const { engine, keys, values, contentTypes, lifetimes } = this.#data;
    const { contentType = '' } = options;
    const lifetime = lifetimeOf(options, lifetimes.of(this.#name));
    const type = contentTypes.bytesOf(contentType);
    engine.set(this.#name, keys.of(key), values.of(value), type, lifetime, undefined, receiver);
  }
}

/**
 * Receives the result of an operation that the engine completes during the call; reused for each
 * operation.
 */
class SyncReceiver implements Receiver {
  #data: LocalData | undefined;
  #name = '';
  #isAnswered = false;
  #found: StoredValue | undefined;
  #fault: GridError | undefined;

  begin(data: LocalData, name: string): this {
    this.#data = data;
    this.#name = name;
    this.#isAnswered = false;
    return this;
  }

  onResult(answer: OperationResult): void {
    const data = this.#data as LocalData;
    this.#isAnswered = true;
    this.#fault = data.faultOf(answer, this.#name);
    this.#found = this.#fault === undefined ? data.found(answer) : undefined;
  }

  end(): StoredValue | undefined {
    assert(this.#isAnswered, 'the engine completes the operation during the call');
    const found = this.#found;
    this.#found = undefined;
    if (this.#fault !== undefined) throw this.#fault;
    return found;
  }
}

const NO_OPTIONS: SetOptions = {};
const LIFETIME_MAX = 2 ** 31 - 1;

function lifetimeOf(options: SetOptions, configured: Lifetime): Lifetime {
  const { timeToLiveSeconds, maxIdleSeconds } = options;
  if (timeToLiveSeconds === undefined && maxIdleSeconds === undefined) return configured;
  checkSeconds('timeToLiveSeconds', timeToLiveSeconds);
  checkSeconds('maxIdleSeconds', maxIdleSeconds);
  return {
    timeToLiveMs:
      timeToLiveSeconds === undefined ? configured.timeToLiveMs : timeToLiveSeconds * 1000,
    maxIdleSeconds: maxIdleSeconds ?? configured.maxIdleSeconds,
  };
}

function checkSeconds(option: string, seconds: number | undefined): void {
  if (
    seconds === undefined ||
    (Number.isInteger(seconds) && seconds >= 0 && seconds <= LIFETIME_MAX)
  )
    return;
  throw new RangeError(`Cannot use ${option} ${seconds}: not an integer from 0 to ${LIFETIME_MAX}`);
}

function nothing(): void {}
