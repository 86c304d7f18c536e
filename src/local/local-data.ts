/**
 * Maps and queues for the program that embeds the member: the engine without HTTP. The result of an
 * operation is the one that an HTTP client would get, and is not delivered earlier.
 * Tested by local-results.spec.ts.
 */
import { type Clock, TIMER_MS_MAX } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import { pathOf } from '../config/setting.ts';
import {
  type Engine,
  FOUND,
  type Lifetime,
  type OperationResult,
  type Receiver,
} from '../engine/engine.ts';
import { ENGINE_SETTINGS } from '../engine/engine-settings.ts';
import { tagOf } from '../engine/entity-tag.ts';
import { failureCode } from '../engine/failure-code.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { LocalResults } from './local-results.ts';
import { StoredEntry, StoredValue } from './local-values.ts';
import { OfferWaits } from './offer-waits.ts';
import { ContentTypes, KEY_BYTES_MAX, PlainBytes, VALUE_BYTES_MAX } from './plain-bytes.ts';

/** The engine, and the checks before each operation. @internal */
interface LocalParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, 'acceptsWrites' | 'isCutOff'>;
  /** Lifetimes of a map's entries if the program specifies none. */
  readonly lifetimes: { of(map: Span): Lifetime };
  readonly answers: LocalResults;
  /** Waiting polls and offers. */
  readonly waiting: Set<Waiter>;
  /** The engine, if it stores the data in this member. */
  readonly stored: StoredQueues | undefined;
}

/** The operations on queues that only an engine which stores the data in this member has. @internal */
export type StoredQueues = Pick<StoredEngine, 'queueEnd' | 'removeItems' | 'awaitRoom'>;

/** The services of a member for its maps and queues, shared by all of them. @internal */
export class LocalData {
  readonly engine: Engine;
  readonly lifetimes: LocalParts['lifetimes'];
  readonly answers: LocalResults;
  readonly keys = new PlainBytes('key', KEY_BYTES_MAX);
  readonly prefixes = new PlainBytes('prefix', KEY_BYTES_MAX);
  readonly values = new PlainBytes('value', VALUE_BYTES_MAX);
  readonly contentTypes = new ContentTypes();
  readonly offerWaits: OfferWaits;
  readonly #parts: LocalParts;
  readonly #waits = new Set<LocalWait>();
  /** Number of waits with a limit. */
  #limitedCount = 0;
  /** Keeps the process alive while there are any, as the timers of the clock do not. */
  #alive: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(parts: LocalParts) {
    this.engine = parts.engine;
    this.lifetimes = parts.lifetimes;
    this.answers = parts.answers;
    this.offerWaits = new OfferWaits(this, parts.clock);
    this.#parts = parts;
  }

  /** Ends waiting polls and offers, and refuses all further operations. */
  close(): void {
    this.#isClosed = true;
    for (const wait of this.#waits) wait.finish();
  }

  /** Returns the stored queues. Throws GridError DATA_ELSEWHERE if servers store them. */
  storedQueues(action: string): StoredQueues {
    const { stored } = this.#parts;
    if (stored !== undefined) return stored;
    throw new GridError('DATA_ELSEWHERE', { action, setting: pathOf(ENGINE_SETTINGS.engineUrl) });
  }

  /**
   * Throws GridError if the member has closed, or if `action` is a change in a PASSIVE cluster or
   * on a member that is cut off.
   */
  check(name: string, action?: string): void {
    if (this.#isClosed) throw new GridError('ENGINE_CLOSED', { name });
    const { cluster } = this.#parts;
    if (action !== undefined && !cluster.acceptsWrites) {
      throw new GridError(cluster.isCutOff ? 'MEMBER_CUT_OFF' : 'CLUSTER_PASSIVE', {
        action: `${action} ${name}`,
      });
    }
  }

  /**
   * Registers a waiting poll or offer until `leave`, so that it ends when the member ends or the
   * cluster becomes PASSIVE. The process remains alive until a wait with a limit ends.
   */
  enter(wait: LocalWait): void {
    this.#waits.add(wait);
    this.#parts.waiting.add(wait);
    if (!wait.hasLimit) return;
    this.#limitedCount++;
    this.#alive ??= setInterval(nothing, TIMER_MS_MAX);
  }

  leave(wait: LocalWait): void {
    if (!this.#waits.delete(wait)) return;
    this.#parts.waiting.delete(wait);
    if (!wait.hasLimit) return;
    this.#limitedCount--;
    if (this.#limitedCount > 0) return;
    clearInterval(this.#alive);
    this.#alive = undefined;
  }

  /**
   * Returns the error of a failed operation, if it failed. `name`: the map or queue as shown in
   * messages.
   */
  faultOf(answer: OperationResult, name: string): GridError | undefined {
    const code = failureCode(answer);
    return code === undefined ? undefined : new GridError(code, { name });
  }

  /** Returns a copy of the value of FOUND; undefined for any other outcome. */
  found({ outcome, value, contentType }: OperationResult): StoredValue | undefined {
    if (outcome !== FOUND) return undefined;
    const { bytes, start, end } = value;
    const copy = Buffer.allocUnsafe(end - start);
    bytes.copy(copy, 0, start, end);
    return new StoredValue(copy, this.contentTypes.textOf(contentType));
  }

  /** Returns a copy of the entry of FOUND; undefined for any other outcome. */
  foundEntry(answer: OperationResult): StoredEntry | undefined {
    const found = this.found(answer);
    if (found === undefined) return undefined;
    const { version, timeToLiveMs, maxIdleSeconds } = answer;
    const timeToLiveSeconds = Math.ceil(timeToLiveMs / 1000);
    return new StoredEntry(found, tagOf(version), timeToLiveSeconds, maxIdleSeconds);
  }

  /**
   * Runs an operation of the engine. `read` is called with the OperationResult during onResult; the promise
   * resolves with its result, or rejects with it if it is a GridError, when that may be delivered.
   * `action`: name of an operation that changes data.
   */
  ask<Result>(
    name: string,
    action: string | undefined,
    begin: (receiver: Receiver) => void,
    read: (answer: OperationResult) => Result | GridError,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.check(name, action);
      begin({
        onResult: (answer) => {
          const fault = this.faultOf(answer, name);
          if (fault !== undefined) return reject(fault);
          const result = read(answer);
          this.answers.send(answer.partition, answer.sequence, (isDurable) => {
            if (!isDurable) reject(new GridError('OUTCOME_UNKNOWN', {}));
            else if (result instanceof GridError) reject(result);
            else resolve(result);
          });
        },
      });
    });
  }

  /** Runs an operation that returns a number, under the rules of `ask`. */
  count(name: string, begin: (receiver: Receiver) => void): Promise<number> {
    return this.ask(name, undefined, begin, ({ count }) => count);
  }
}

/** A waiting poll or offer. @internal */
export interface LocalWait extends Waiter {
  /** Whether the wait ends by itself after a time. */
  readonly hasLimit: boolean;
  /** Ends the wait because the member ends. */
  finish(): void;
}

function nothing(): void {}
