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

export class CpStore {
  readonly #engine: Engine;
  readonly #clock: Pick<Clock, 'endOfTurn'>;

  constructor(engine: Engine, clock: Pick<Clock, 'endOfTurn'>) {
    this.#engine = engine;
    this.#clock = clock;
  }

  async get(key: string): Promise<CpEntry | undefined> {
    return await asked((to) => this.#engine.get(RESERVED_MAP, spanOf(key), to), entryIn);
  }

  /** Sets an entry, and returns its version; undefined if it did not meet the condition. */
  async set(
    key: string,
    text: string,
    condition: EntryCondition,
    lifetime: Lifetime = FOREVER,
  ): Promise<Version | undefined> {
    return await asked(
      (to) =>
        this.#engine.set(RESERVED_MAP, spanOf(key), spanOf(text), NO_SPAN, lifetime, condition, to),
      ({ outcome, version }) => (outcome === APPLIED ? copyOf(version) : undefined),
    );
  }

  /** Removes an entry, and returns whether it met the condition. */
  async delete(key: string, condition: EntryCondition): Promise<boolean> {
    return await asked(
      (to) => this.#engine.delete(RESERVED_MAP, spanOf(key), condition, to),
      ({ outcome }) => outcome === APPLIED,
    );
  }

  /** Adds to a number, which is 0 at first, and returns the sum. */
  async add(key: string, by: number): Promise<number> {
    return await asked(
      (to) => this.#engine.add(RESERVED_MAP, spanOf(key), BigInt(by), FOREVER, to),
      ({ value }) => Number(textOf(value)),
    );
  }

  /** Passes the entries whose keys begin with the prefix, in steps. */
  async entries(prefix: string, onEntry: (key: string, entry: CpEntry) => void): Promise<void> {
    const start = spanOf(prefix);
    for (let place = LIST_START; place.length > 0; ) {
      place = await asked(
        (to) => {
          const receiver = {
            onResult: (answer: OperationResult) => to.onResult(answer),
            onEntry: (key: Span, entry: OperationResult) => onEntry(textOf(key), entryIn(entry)!),
          };
          this.#engine.entries(RESERVED_MAP, start, place, STEP_COUNT, receiver);
        },
        (answer) => Span.of(answer.place.toBuffer()),
      );
      if (place.length > 0) await new Promise<void>((resolve) => this.#clock.endOfTurn(resolve));
    }
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

function copyOf({ low, high }: Version): Version {
  return new Version().set(low, high);
}

function spanOf(text: string): Span {
  return Span.of(Buffer.from(text, 'latin1'));
}

function textOf({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, end);
}
