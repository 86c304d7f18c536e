/**
 * Fills the persistent queues during recovery (../engine/durable-queues.ts): first with the queue file
 * of the snapshot, then with the records of the log. Tested by wan/persistent-queues.spec.ts.
 */
import type { DurableQueue, DurableQueues } from '../engine/durable-queues.ts';
import type { Mutation } from '../engine/mutation.ts';
import { DamagedData } from './damage.ts';
import type { Manifest } from './manifest.ts';
import { MARKS, type Marks, readMarks, readUnsyncedMarks, UNSYNCED_MARKS } from './marks-file.ts';
import type { Storage } from './storage.ts';
import { readQueueFile } from './wan-queue-file.ts';

const NONE: Marks = new Map();

export class QueueRestore {
  readonly #storage: Storage;
  readonly #partitionCount: number;
  readonly #all: DurableQueues;
  readonly #queues: readonly DurableQueue[];

  constructor(storage: Storage, partitionCount: number, queues: DurableQueues) {
    this.#storage = storage;
    this.#partitionCount = partitionCount;
    this.#all = queues;
    this.#queues = queues.queues();
  }

  /**
   * Empties the queues, then fills them from the queue file of the snapshot. `manifest`: undefined
   * for a new directory. Rejects with DamagedData, as checkFormat throws, or with the system's
   * error.
   */
  async begin(manifest: Manifest | undefined): Promise<void> {
    const hasMarks = manifest?.hasMarks === true;
    const marks = hasMarks ? await this.#readMarks() : NONE;
    for (const queue of this.#queues) {
      const lost = new Float64Array(this.#partitionCount);
      queue.beginRestore(marks === undefined ? lost : marks.get(queue.name));
    }
    const { number, hasWaiting } = manifest?.snapshot ?? {};
    // Without marks, the file cannot be used.
    if (number === undefined || hasWaiting !== true || !hasMarks) return;
    let queue: DurableQueue | undefined;
    await readQueueFile(this.#storage, number, this.#partitionCount, {
      onQueue: (name) => {
        queue = this.#queues.find((each) => each.name === name);
      },
      onLane: (...content) => queue?.restore(...content) ?? true,
      onCut: (queuedUpTo) => queue?.isRestored(queuedUpTo),
    });
  }

  /** Adds a record of the log to the queues. */
  replay(mutation: Mutation): void {
    for (const queue of this.#queues) queue.replay(mutation);
  }

  /** Reads the marks. Resolves with undefined if they are lost. */
  async #readMarks(): Promise<Marks | undefined> {
    try {
      const marks = await readMarks(this.#storage, this.#partitionCount);
      return higher(marks, await readUnsyncedMarks(this.#storage, this.#partitionCount));
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      const lost = isMissing ? new DamagedData(this.#storage, MARKS, 0, 'is missing') : error;
      if (!(lost instanceof DamagedData)) throw error;
      this.#all.onMarksLost(lost);
      return undefined;
    }
  }
}

/** Returns, for each queue of `marks`, the higher mark of each partition. */
function higher(marks: Marks, others: Marks): Marks {
  const found = new Map(marks);
  for (const [name, own] of marks) {
    const other = others.get(name);
    if (other === undefined) continue;
    found.set(
      name,
      own.map((mark, partition) => Math.max(mark, other[partition]!)),
    );
  }
  return found;
}

/**
 * Whether the file belongs to queues and is obsolete. `waiting`: the snapshot to which the queue
 * file belongs.
 */
export function isStaleOfQueues(
  name: string,
  waiting: number | undefined,
  manifest: Manifest | undefined,
): boolean {
  if (name === MARKS || name === UNSYNCED_MARKS) return manifest?.hasMarks !== true;
  if (waiting === undefined) return false;
  return manifest?.snapshot?.hasWaiting !== true || manifest.snapshot.number !== waiting;
}
