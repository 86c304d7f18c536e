/** The engine that a test of the contract runs on. */
import type { Engine } from '../../src/engine/engine.ts';
import type { StoredEngine } from '../../src/engine/stored-engine.ts';
import { Asker } from './answers.ts';

/** An empty engine. Its queues have the capacity that subjectCapacity says. */
export interface Subject {
  readonly engine: Engine;
  /** Repetitions of a test of many; fewer where each has to wait for its turn. */
  readonly many: number;
  /** Ends the turn, and waits until nothing is under way. */
  quiet(): Promise<void>;
  /** Lets time pass for takes that wait. */
  advance(ms: number): Promise<void>;
}

export type OpenSubject = () => Promise<Subject>;

/** An engine with stored data: the sequences in its answers are those of `stored`. */
export interface SequencedSubject extends Subject {
  readonly stored: Pick<StoredEngine, 'sequences'>;
}

export const SMALL_CAPACITY = 3;
/** Of an engine that answers at once. */
export const MANY = 3000;

/** SMALL_CAPACITY for queues whose names begin with `small`; the others have no limit. */
export function subjectCapacity(queue: Buffer): number {
  return queue.toString().startsWith('small') ? SMALL_CAPACITY : Number.POSITIVE_INFINITY;
}

/** A test on an engine of its own, which is closed at the end. */
export function withSubject<Opened extends Subject>(
  open: () => Promise<Opened>,
  test: (asker: Asker, subject: Opened) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const subject = await open();
    try {
      await test(new Asker(subject.engine), subject);
    } finally {
      await subject.engine.close();
    }
  };
}
