/**
 * The store of the CP subsystem: entries of the reserved map. Keys and values are texts with one
 * character per byte. An operation that the engine has not done, or may not have done, rejects with
 * GridError. Tested by cp-state.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
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
  type Receiver,
} from '../engine/engine.ts';
import { failureCode } from '../engine/failure-code.ts';
import { Version } from '../engine/version.ts';

/** Name of the subsystem in the messages of errors. */
const NAME = 'the CP subsystem';
/** Number of entries of a step of a list. */
const STEP_COUNT = 100;

export interface CpEntry {
  readonly text: string;
  readonly version: Version;
  /** Time left of its time to live, in ms; 0 for no limit. */
  readonly timeToLiveMs: number;
}

/** The operations of an engine that the store needs. */
type StoreEngine = Pick<Engine, 'get' | 'set' | 'add' | 'delete' | 'entries'>;

export class CpStore {
  readonly #engine: StoreEngine;
  readonly #clock: Pick<Clock, 'endOfTurn'>;

  constructor(engine: StoreEngine, clock: Pick<Clock, 'endOfTurn'>) {
    this.#engine = engine;
    this.#clock = clock;
  }

  get(key: string): Promise<CpEntry | undefined> {
    return asked((to) => this.#engine.get(RESERVED_MAP, spanOf(key), to), entryIn);
  }

  /** Returns whether there is an entry. */
  has(key: string): Promise<boolean> {
    return asked((to) => this.#engine.get(RESERVED_MAP, spanOf(key), to), isFound);
  }

  /** Sets an entry, and returns its version; undefined if it did not meet the condition. */
  set(
    key: string,
    text: string,
    condition: EntryCondition,
    lifetime: Lifetime = FOREVER,
  ): Promise<Version | undefined> {
    return asked(
      (to) =>
        this.#engine.set(RESERVED_MAP, spanOf(key), spanOf(text), NO_SPAN, lifetime, condition, to),
      versionIn,
    );
  }

  /** Removes an entry, and returns whether it met the condition. */
  delete(key: string, condition: EntryCondition): Promise<boolean> {
    return asked((to) => this.#engine.delete(RESERVED_MAP, spanOf(key), condition, to), isApplied);
  }

  /** Adds to a number, which is 0 at first, and returns the sum and the version of its entry. */
  add(key: string, by: number): Promise<{ sum: number; version: Version }> {
    return asked(
      (to) => this.#engine.add(RESERVED_MAP, spanOf(key), BigInt(by), FOREVER, to),
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
      place = await asked(
        (to) => {
          const receiver = {
            onResult: (answer: OperationResult) => to.onResult(answer),
            onEntry(key: Span, entry: OperationResult) {
              listed.push([textOf(key), entryIn(entry)!]);
            },
          };
          this.#engine.entries(RESERVED_MAP, start, place, STEP_COUNT, receiver);
        },
        (answer) => Span.of(answer.place.toBuffer()),
      );
      for (const [key, entry] of listed) await onEntry(key, entry);
      if (place.length > 0) await this.nextTurn();
    }
  }

  /** Resolves at the end of the turn. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#clock.endOfTurn(resolve));
  }
}

/** Resolves with a part of the engine's result. */
function asked<Part>(
  begin: (receiver: Receiver) => void,
  read: (answer: OperationResult) => Part,
): Promise<Part> {
  return new Promise((resolve, reject) => {
    begin({
      onResult(answer) {
        const code = failureCode(answer);
        if (code === undefined) resolve(read(answer));
        else reject(new GridError(code, { name: NAME }));
      },
    });
  });
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

function spanOf(text: string): Span {
  return Span.of(Buffer.from(text, 'latin1'));
}

function textOf({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, end);
}
