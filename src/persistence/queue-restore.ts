/**
 * Fills kept queues in a recovery (../engine/kept-queues.ts): with what waited when the snapshot was written,
 * then with the records of the log.
 */
import type { KeptQueue, KeptQueues } from '../engine/kept-queues.ts';
import type { Mutation } from '../engine/mutation.ts';
import { DamagedData } from './damage.ts';
import type { Manifest } from './manifest.ts';
import { MARKS, type Marks, readMarks, readUnsyncedMarks, UNSYNCED_MARKS } from './marks-file.ts';
import type { Storage } from './storage.ts';
import { readWaiting } from './waiting-file.ts';

const NONE: Marks = new Map();

export class QueueRestore {
  readonly #storage: Storage;
  readonly #partitionCount: number;
  readonly #all: KeptQueues;
  readonly #queues: readonly KeptQueue[];

  constructor(storage: Storage, partitionCount: number, queues: KeptQueues) {
    this.#storage = storage;
    this.#partitionCount = partitionCount;
    this.#all = queues;
    this.#queues = queues.queues();
  }

  /**
   * Empties the queues, and queues what the file of the snapshot has. `manifest`: undefined for a new
   * directory. Rejects with DamagedData, as checkFormat throws, or with the system's error.
   */
  async begin(manifest: Manifest | undefined): Promise<void> {
    const hasMarks = manifest?.hasMarks === true;
    const marks = hasMarks ? await this.#readMarks() : NONE;
    for (const queue of this.#queues) {
      const lost = new Float64Array(this.#partitionCount);
      queue.beginRestore(marks === undefined ? lost : marks.get(queue.name));
    }
    const { number, hasWaiting } = manifest?.snapshot ?? {};
    // Without marks, nothing is known of any queue.
    if (number === undefined || hasWaiting !== true || !hasMarks) return;
    let queue: KeptQueue | undefined;
    await readWaiting(this.#storage, number, this.#partitionCount, {
      onQueue: (name) => {
        queue = this.#queues.find((each) => each.name === name);
      },
      onLane: (...content) => queue?.restore(...content) ?? true,
      onCut: (queuedUpTo) => queue?.isRestored(queuedUpTo),
    });
  }

  /** Queues the record of the log. */
  replay(mutation: Mutation): void {
    for (const queue of this.#queues) queue.replay(mutation);
  }

  /** Undefined where the marks are lost. */
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

/** Of each queue of `marks` the higher mark of each partition. */
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

/** Whether the file is of queues, and does not count. `waiting`: the snapshot of which it has what waited. */
export function isStaleOfQueues(
  name: string,
  waiting: number | undefined,
  manifest: Manifest | undefined,
): boolean {
  if (name === MARKS || name === UNSYNCED_MARKS) return manifest?.hasMarks !== true;
  if (waiting === undefined) return false;
  return manifest?.snapshot?.hasWaiting !== true || manifest.snapshot.number !== waiting;
}
