/**
 * The store of the CP subsystem: entries of the reserved map. Keys and values are texts with one
 * character per byte. An operation that the engine has not done, or may not have done, throws GridError.
 * Tested by cp-state.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { RESERVED_MAP } from '../base/reserved-map.ts';
import { NO_SPAN, Span } from '../base/span.ts';
import type { EntryCondition } from '../engine/condition.ts';
import {
  APPLIED,
  type Engine,
  FOREVER,
  FOUND,
  LIST_START,
  type Lifetime,
  type OperationResult,
} from '../engine/engine.ts';
import { Version } from '../engine/version.ts';
import { spanOf, textOf } from './byte-text.ts';
import { promised, Step, type Steps } from './steps.ts';

/** Number of entries of a step of a list. */
const STEP_COUNT = 100;

export interface CpEntry {
  readonly text: string;
  readonly version: Version;
  /** Time left of its time to live, in ms; 0 for no limit. */
  readonly timeToLiveMs: number;
}

/** The operations of an engine that the store needs. */
export type StoreEngine = Pick<Engine, 'get' | 'set' | 'add' | 'delete' | 'entries'>;

export class CpStore {
  readonly engine: StoreEngine;
  readonly #clock: Pick<Clock, 'endOfTurn'>;

  constructor(engine: StoreEngine, clock: Pick<Clock, 'endOfTurn'>) {
    this.engine = engine;
    this.#clock = clock;
  }

  get(key: string): Steps<CpEntry | undefined> {
    return new Step((to) => this.engine.get(RESERVED_MAP, spanOf(key), to), entryIn);
  }

  /** Returns whether there is an entry. */
  has(key: string): Steps<boolean> {
    return new Step((to) => this.engine.get(RESERVED_MAP, spanOf(key), to), isFound);
  }

  /** Sets an entry, and returns its version; undefined if it did not meet the condition. */
  set(
    key: string,
    text: string,
    condition: EntryCondition,
    lifetime: Lifetime = FOREVER,
  ): Steps<Version | undefined> {
    return new Step((to) => {
      const value = spanOf(text);
      this.engine.set(RESERVED_MAP, spanOf(key), value, NO_SPAN, lifetime, condition, to);
    }, versionIn);
  }

  /** Removes an entry, and returns whether it met the condition. */
  delete(key: string, condition: EntryCondition): Steps<boolean> {
    return new Step(
      (to) => this.engine.delete(RESERVED_MAP, spanOf(key), condition, to),
      isApplied,
    );
  }

  /** Adds to a number, which is 0 at first, and returns the sum and the version of its entry. */
  add(key: string, by: number): Steps<{ sum: number; version: Version }> {
    return new Step(
      (to) => this.engine.add(RESERVED_MAP, spanOf(key), BigInt(by), FOREVER, to),
      sumIn,
    );
  }

  /** Passes the entries whose keys begin with the prefix, in steps, one after the other. */
  async entries(
    prefix: string,
    onEntry: (key: string, entry: CpEntry) => Promise<void> | void,
  ): Promise<void> {
    const start = spanOf(prefix);
    for (let place = LIST_START; place.length > 0; ) {
      const listed: [key: string, entry: CpEntry][] = [];
      const listing = new Step(
        (to) => {
          const receiver = {
            onResult: (answer: OperationResult) => to.onResult(answer),
            onEntry(key: Span, entry: OperationResult) {
              listed.push([textOf(key), entryIn(entry)!]);
            },
          };
          this.engine.entries(RESERVED_MAP, start, place, STEP_COUNT, receiver);
        },
        (answer) => Span.of(answer.place.toBuffer()),
      );
      place = await promised(listing);
      for (const [key, entry] of listed) await onEntry(key, entry);
      if (place.length > 0) await this.nextTurn();
    }
  }

  /** Resolves at the end of the turn. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#clock.endOfTurn(resolve));
  }
}

function entryIn({ outcome, value, version, timeToLiveMs }: OperationResult): CpEntry | undefined {
  if (outcome !== FOUND) return undefined;
  return { text: textOf(value), version: copyOf(version), timeToLiveMs };
}

function isFound({ outcome }: OperationResult): boolean {
  return outcome === FOUND;
}

function isApplied({ outcome }: OperationResult): boolean {
  return outcome === APPLIED;
}

function versionIn({ outcome, version }: OperationResult): Version | undefined {
  return outcome === APPLIED ? copyOf(version) : undefined;
}

function sumIn({ value, version }: OperationResult): { sum: number; version: Version } {
  return { sum: Number(textOf(value)), version: copyOf(version) };
}

function copyOf({ low, high }: Version): Version {
  return new Version().set(low, high);
}
