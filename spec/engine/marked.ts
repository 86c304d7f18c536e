/** Publishers and references for engines that mark changes; see src/engine/marked-changes.ts. */
import type {
  MapReference,
  MapReferences,
  MarkedChanges,
  MarkedPublisher,
  WaitingChange,
} from '../../src/engine/marked-changes.ts';
import type { Subject } from './subject.ts';

/** A publisher whose fields a spec may change. */
export type TestPublisher = { -readonly [Field in keyof MarkedPublisher]: MarkedPublisher[Field] };

const ROOM = { count: 1000, bytes: 1_000_000 };

/** Returns a publisher with this name, of up to 16 characters; its queue is never full. */
export function publisherOf(name: string, fields: Partial<TestPublisher> = {}): TestPublisher {
  return {
    name: Buffer.from(name.padEnd(16)),
    partitionCapacity: 1_000_000,
    isMarking: true,
    refusesWhenFull: false,
    targetDataSet: undefined,
    ...fields,
  };
}

/** Returns references of all maps to the publishers. */
export function referencesTo(
  publishers: readonly MarkedPublisher[],
  fields: Partial<MapReference> = {},
): MapReferences {
  const always = { republishing: true, keepsEarlier: false, accepts: () => true };
  const reference = { publishers, ...always, ...fields };
  return () => reference;
}

/** Lets the engine of the subject mark all changes for two publishers. */
export async function withMarks(opened: Promise<Subject>): Promise<Subject> {
  const subject = await opened;
  const publishers = [publisherOf('first'), publisherOf('second', { refusesWhenFull: true })];
  (subject.engine as unknown as MarkedChanges).setReferences(referencesTo(publishers));
  return subject;
}

/** Resolves with everything that waits in all partitions, by number in each. */
export async function allWaiting(
  engine: MarkedChanges,
  publisher: MarkedPublisher,
  room = ROOM,
): Promise<readonly WaitingChange[]> {
  const all: WaitingChange[] = [];
  for (let partition = 0; partition < engine.partitionCount; partition++) {
    for (let after = 0, hasMore = true; hasMore; ) {
      const found = await engine.readWaiting(publisher, partition, after, room);
      if (found === undefined) throw new Error('what waits cannot be read');
      for (const change of found.changes) all.push(change);
      after = found.readTo;
      hasMore = found.hasMore;
    }
  }
  return all;
}
