/** A map of the member, for the program that embeds the member. Tested by local-results.spec.ts. */
import assert from 'node:assert';
import { rangeFault, shownValue, valueFault } from '../base/argument-faults.ts';
import { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import type { Condition } from '../engine/condition.ts';
import { isInt64 } from '../engine/decimal.ts';
import {
  APPLIED,
  FOUND,
  type Lifetime,
  NO_NUMBER,
  type OperationResult,
  type Receiver,
} from '../engine/engine.ts';
import { ANY, conditionOf, INVALID_MATCH, tagOf } from '../engine/entity-tag.ts';
import { checkOptions } from './known-options.ts';
import type { LocalData } from './local-data.ts';
import { type ListedEntry, type ListOptions, listEntries, listKeys } from './local-lists.ts';
import { LocalName } from './local-name.ts';
import { type StoredBytes, type StoredEntry, StoredValue, type ValueForm } from './local-values.ts';
import type { BytesOrText } from './plain-bytes.ts';

/**
 * Conditions of a change. Each one given must hold, otherwise nothing is changed. A change is checked
 * and made in one step.
 */
export interface ChangeConditions {
  /**
   * The entry must have one of these entity tags: 1 to 16 in quotes, as `etag` returns them,
   * separated by commas. With `*` there must be an entry.
   */
  readonly ifMatch?: string;
  /** The entry may have none of these entity tags. With `*` there must be no entry. */
  readonly ifNoneMatch?: string;
}

/** Properties of a value, and the conditions for setting it. */
export interface SetOptions extends ChangeConditions {
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
 * TypeError or RangeError for an invalid key, value or option. Operations take effect in the order of
 * the calls.
 *
 * `Written` and `Read`: types of the values in calls and in results. Those of a map of text or JSON
 * are the program's own; a read of any other value rejects with GridError VALUE_UNREADABLE.
 */
export class GridMap<Written = BytesOrText, Read = StoredValue> {
  /** The name as text. */
  readonly name: string;
  readonly #fullName: LocalName;
  readonly #name: Span;
  /** The name as shown in messages. */
  readonly #shown: string;
  readonly #data: LocalData;
  readonly #form: ValueForm<Written, Read>;
  readonly #syncGet = new SyncReceiver((data, answer) => data.found(answer));
  readonly #syncSet = new SyncReceiver((_, answer) => etagOf(answer));

  /** @internal */
  constructor(data: LocalData, name: Span, form: ValueForm<Written, Read>) {
    this.#form = form;
    this.#fullName = new LocalName(name);
    const { span, text, shown } = this.#fullName;
    this.name = text;
    this.#name = span;
    this.#shown = shown;
    this.#data = data;
  }

  /** Resolves with the value, or with undefined. */
  get(key: BytesOrText): Promise<Read | undefined> {
    return this.#ask(key, (answer) => {
      const found = this.#data.found(answer);
      if (found === undefined) return undefined;
      try {
        return this.#read(key, found);
      } catch (error) {
        return error as GridError;
      }
    });
  }

  /** Resolves with whether there is an entry. Counts as a read. */
  has(key: BytesOrText): Promise<boolean> {
    return this.#ask(key, ({ outcome }) => outcome === FOUND);
  }

  /** Resolves with the entry: its bytes, entity tag and lifetime; or with undefined. */
  getEntry(key: BytesOrText): Promise<StoredEntry | undefined> {
    return this.#ask(key, (answer) => this.#data.foundEntry(answer));
  }

  /**
   * Returns the value, or undefined, synchronously. Unlike `get` it does not wait for the disk: the
   * value may be lost in a crash. Throws the errors that the promises reject with.
   */
  getSync(key: BytesOrText): Read | undefined {
    const data = this.#data;
    data.check(this.#shown);
    const receiver = this.#syncGet.begin(data, this.#shown);
    data.engine.get(this.#name, data.keys.of(key), receiver);
    const found = receiver.end();
    return found === undefined ? undefined : this.#read(key, found);
  }

  /**
   * Sets or replaces the entry. Resolves with its new entity tag, or with undefined if the entry did
   * not meet the conditions.
   */
  set(
    key: BytesOrText,
    value: Written,
    options: SetOptions = NO_OPTIONS,
  ): Promise<string | undefined> {
    return this.#data.ask(
      this.#shown,
      'set in',
      (receiver) => this.#set(key, value, options, receiver),
      etagOf,
    );
  }

  /**
   * Sets the entry synchronously, and returns as `set` resolves. Unlike `set` it does not wait for
   * the disk: when it returns, `get` finds the value, but a crash before the next sync may undo the
   * change. Throws the errors that the promises reject with.
   */
  setSync(key: BytesOrText, value: Written, options: SetOptions = NO_OPTIONS): string | undefined {
    const data = this.#data;
    data.check(this.#shown, 'set in');
    const receiver = this.#syncSet.begin(data, this.#shown);
    this.#set(key, value, options, receiver);
    return receiver.end();
  }

  /**
   * Adds to the number that is the entry's value, as text, and resolves with the sum. An entry that
   * does not exist is 0; it gets the content type `text/plain` and the map's lifetime. That of an
   * existing entry remains. Rejects with RangeError if `by` is not a 64-bit integer, and with GridError
   * VALUE_NO_NUMBER if the value or the sum is not one: then nothing is changed.
   */
  add(key: BytesOrText, by = 1n): Promise<bigint> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      'add to',
      (receiver) => {
        checkAddend(by);
        const lifetime = data.lifetimes.of(this.#name);
        data.engine.add(this.#name, data.keys.of(key), by, lifetime, receiver);
      },
      ({ outcome, value }) =>
        outcome === NO_NUMBER
          ? new GridError('VALUE_NO_NUMBER', { action: `add to ${this.#shown}` })
          : BigInt(value.toBuffer().toString()),
    );
  }

  /**
   * Removes the entry. Resolves with whether it did: with false if there was no entry, or if it did not
   * meet the conditions.
   */
  delete(key: BytesOrText, conditions: ChangeConditions = NO_OPTIONS): Promise<boolean> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      'delete from',
      (receiver) => {
        const condition = removalCondition(conditions);
        data.engine.delete(this.#name, data.keys.of(key), condition, receiver);
      },
      isApplied,
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

  /**
   * Iterates over the keys, in no order. A key that exists throughout is returned at least once, by
   * an embedded engine exactly once. The map may change meanwhile. Each step rejects with the errors
   * that `get` rejects with.
   */
  keys(options: ListOptions = {}): AsyncIterableIterator<StoredBytes> {
    return listKeys(this.#data, this.#fullName, options);
  }

  /** Iterates over the entries, as `keys` does over keys. */
  entries(options: ListOptions = {}): AsyncIterableIterator<ListedEntry> {
    return listEntries(this.#data, this.#fullName, options);
  }

  /**
   * Iterates over the keys and values, as `keys` does over keys. Unlike `entries` it also returns
   * values of more than 1 MiB.
   */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<[key: StoredBytes, value: Read]> {
    for await (const { key, value, contentType } of this.entries()) {
      const found =
        value === undefined
          ? await this.#ask(key, (answer) => this.#data.found(answer))
          : new StoredValue(value as Buffer, contentType);
      if (found !== undefined) yield [key, this.#read(key, found)];
    }
  }

  /** Gets the entry; see LocalData.ask. */
  #ask<Result>(
    key: BytesOrText,
    read: (answer: OperationResult) => Result | GridError,
  ): Promise<Result> {
    const data = this.#data;
    return data.ask(
      this.#shown,
      undefined,
      (receiver) => data.engine.get(this.#name, data.keys.of(key), receiver),
      read,
    );
  }

  #read(key: BytesOrText, found: StoredValue): Read {
    return this.#form.read(
      found,
      () => `the value of ${shownValue(textOf(key))} in ${this.#shown}`,
    );
  }

  #set(key: BytesOrText, written: Written, options: SetOptions, receiver: Receiver): void {
    const { engine, keys, values, contentTypes, lifetimes } = this.#data;
    if (options !== NO_OPTIONS) checkOptions(options, SET_OPTIONS);
    const { contentType = this.#form.contentType } = options;
    const value = this.#form.write(written);
    const lifetime = lifetimeOf(options, lifetimes.of(this.#name));
    const condition = conditionFrom(options);
    const type = contentTypes.bytesOf(contentType);
    engine.set(this.#name, keys.of(key), values.of(value), type, lifetime, condition, receiver);
  }
}

/**
 * Receives the result of an operation that the engine completes during the call; reused for each
 * operation.
 */
class SyncReceiver<Result> implements Receiver {
  readonly #read: (data: LocalData, answer: OperationResult) => Result;
  #data: LocalData | undefined;
  #name = '';
  #isAnswered = false;
  #result: Result | undefined;
  #fault: GridError | undefined;

  /** `read`: reads the result of an operation that has not failed. */
  constructor(read: (data: LocalData, answer: OperationResult) => Result) {
    this.#read = read;
  }

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
    this.#result = this.#fault === undefined ? this.#read(data, answer) : undefined;
  }

  end(): Result | undefined {
    assert(this.#isAnswered, 'the engine completes the operation during the call');
    const result = this.#result;
    this.#result = undefined;
    if (this.#fault !== undefined) throw this.#fault;
    return result;
  }
}

const NO_OPTIONS: SetOptions = {};
const CONDITIONS: readonly string[] = ['ifMatch', 'ifNoneMatch'];
const SET_OPTIONS = ['contentType', 'timeToLiveSeconds', 'maxIdleSeconds', ...CONDITIONS];
const IS_PRESENT: Condition = { isPresent: true };
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
  throw rangeFault(
    `Cannot use ${option} ${shownValue(seconds)}: not an integer from 0 to ${LIFETIME_MAX}`,
  );
}

/**
 * Returns the condition of a change. A condition that is present but is no text is refused: it would
 * else be ignored, and another program's change overwritten.
 */
function conditionFrom(conditions: ChangeConditions): Condition {
  if (!('ifMatch' in conditions) && !('ifNoneMatch' in conditions)) return undefined;
  const { ifMatch, ifNoneMatch } = conditions;
  if ('ifMatch' in conditions && typeof ifMatch !== 'string') throw tagFault('ifMatch', ifMatch);
  if ('ifNoneMatch' in conditions && typeof ifNoneMatch !== 'string')
    throw tagFault('ifNoneMatch', ifNoneMatch);
  const condition = conditionOf(ifMatch, ifNoneMatch);
  if (typeof condition !== 'string') return condition;
  throw condition === INVALID_MATCH
    ? tagFault('ifMatch', ifMatch)
    : tagFault('ifNoneMatch', ifNoneMatch);
}

/**
 * Returns the condition of a removal: besides the given ones, that there is an entry, so that the
 * result shows whether there was one.
 */
function removalCondition(conditions: ChangeConditions): Condition {
  if (conditions === NO_OPTIONS) return IS_PRESENT;
  checkOptions(conditions, CONDITIONS);
  return conditionFrom('ifMatch' in conditions ? conditions : { ...conditions, ifMatch: ANY });
}

function tagFault(option: string, value: unknown): TypeError {
  const seen = shownValue(value);
  return valueFault(`Cannot use ${option} ${seen}: neither * nor 1 to 16 entity tags in quotes`);
}

function checkAddend(by: unknown): void {
  if (typeof by === 'bigint' && isInt64(by)) return;
  const message = `Cannot add ${typeof by === 'bigint' ? by : shownValue(by)}: not a bigint of 64 bits`;
  throw rangeFault(message);
}

/** Returns the new tag of a set entry; undefined if it did not meet the conditions. */
function etagOf({ outcome, version }: OperationResult): string | undefined {
  return outcome === APPLIED ? tagOf(version) : undefined;
}

function isApplied({ outcome }: OperationResult): boolean {
  return outcome === APPLIED;
}

function textOf(key: BytesOrText): string {
  return typeof key === 'string' ? key : Buffer.from(key).toString();
}

function nothing(): void {}
