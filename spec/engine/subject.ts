/** The engine that a test of the contract uses. */
import { it } from 'node:test';
import type { Engine } from '../../src/engine/engine.ts';
import type { StoredEngine } from '../../src/engine/stored-engine.ts';
import { Asker } from './results.ts';

/** An empty engine. Its queues have the capacity that subjectCapacity returns. */
export interface Subject {
  readonly engine: Engine;
  /** Number of repetitions in a test of many operations; fewer if each has to wait for a turn. */
  readonly many: number;
  /** Ends the turn, and waits until nothing is in progress. */
  quiet(): Promise<void>;
  /** Advances the time for waiting takes; by more than `ms` if the time is real. */
  advance(ms: number): Promise<void>;
  /** Returns the time that `advance` advances, in ms. */
  now(): number;
}

export type OpenSubject = () => Promise<Subject>;

/** An engine with stored data: the sequences in its results are those of `stored`. */
export interface SequencedSubject extends Subject {
  readonly stored: Pick<StoredEngine, 'sequences'>;
}

export const SMALL_CAPACITY = 3;
/** Number of repetitions for an engine whose results arrive at once. */
export const MANY = 1000;

/** Returns SMALL_CAPACITY for queues whose names begin with `small`; others have no limit. */
export function subjectCapacity(queue: Buffer): number {
  return queue.toString().startsWith('small') ? SMALL_CAPACITY : Number.POSITIVE_INFINITY;
}

/** Returns a function that defines a test on a separate engine, which is closed at the end. */
export function subjectTests<Opened extends Subject>(open: () => Promise<Opened>) {
  return (title: string, test: (asker: Asker, subject: Opened) => Promise<void>): void => {
    it(title, async () => {
      const subject = await open();
      try {
        await test(new Asker(subject.engine), subject);
      } finally {
        await subject.engine.close();
      }
    });
  };
}
