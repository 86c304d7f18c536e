/**
 * A snapshot: all stored data, written partition by partition while the member serves requests.
 * Each partition starts with the sequence at which its visit started; the log's later records are
 * replayed over it. So the snapshot does not have to represent a single point in time, and does
 * not.
 *
 * The visit proceeds in small steps, and the event loop runs between them: a step ends when it has
 * gathered enough bytes or used up its time. The parts are segments; the last record of each is a
 * SEAL. After the visit, the WAN queue file is written (wan-queue-file.ts), because the log that
 * contains the waiting changes is removed once the snapshot is complete.
 * Tested by compaction.spec.ts.
 */

import type { Clock } from '../base/clock.ts';
import { ViewedBytes } from '../base/copy-bytes.ts';
import type { DurableQueues } from '../engine/durable-queues.ts';
import type { Mutation } from '../engine/mutation.ts';
import {
  type StoredEngine,
  type StoredVisitor,
  TombstoneCursor,
  VisitCursor,
} from '../engine/stored-engine.ts';
import { AtomicFile } from './atomic-file.ts';
import type { Manifest, SnapshotFiles } from './manifest.ts';
import {
  CONTROL_RECORD_BYTES,
  PARTITION,
  recordBytes,
  SEAL,
  writeControlRecord,
  writeMutation,
} from './record-codec.ts';
import { HEADER_BYTES, SNAPSHOT, segmentHeader, segmentName, segmentSeed } from './segment.ts';
import type { Storage } from './storage.ts';
import { queueFileName, writeQueueFile } from './wan-queue-file.ts';

/** Maximum number of entries and items per visit: enough to be fast, few enough to stop in time. */
const VISIT_BUDGET = 32;
/** Maximum number of tombstones per step. */
const TOMBSTONE_BUDGET = 256;
/** Maximum duration of one step, in ms. */
const STEP_MS = 0.25;
/** Length of the page in which records are gathered, in bytes. It grows for longer records. */
const PAGE_BYTES = 262_144;

export class Snapshot {
  readonly #storage: Storage;
  readonly #engine: StoredEngine;
  readonly #clock: Clock;
  readonly #number: number;
  readonly #partBytes: number;
  /**
   * Called before each part with the number of bytes written so far; false cancels the snapshot.
   */
  readonly #hasRoom: (bytes: number) => Promise<boolean>;
  readonly #queues: DurableQueues | undefined;
  readonly #visitor: StoredVisitor = { onStored: (stored) => this.#gather(stored) };
  readonly #usualPage = new ViewedBytes(PAGE_BYTES);
  #page = this.#usualPage;
  #gathered = 0;
  #part = 0;
  #whole: AtomicFile | undefined;
  #position = 0;
  #bytes = 0;
  #isCancelled = false;

  constructor(
    storage: Storage,
    engine: StoredEngine,
    clock: Clock,
    number: number,
    partBytes: number,
    hasRoom: (bytes: number) => Promise<boolean>,
    queues?: DurableQueues,
  ) {
    this.#storage = storage;
    this.#engine = engine;
    this.#clock = clock;
    this.#number = number;
    this.#partBytes = partBytes;
    this.#hasRoom = hasRoom;
    this.#queues = queues;
  }

  /**
   * Writes the snapshot. Resolves once every part is durable, or with undefined if it is cancelled.
   * Removes its files unless it succeeds.
   */
  async write(): Promise<SnapshotFiles | undefined> {
    try {
      await this.#beginPart();
      for (let partition = 0; partition < this.#engine.partitionCount; partition++) {
        await this.#writePartition(partition);
        if (this.#isCancelled) break;
      }
      await this.#writeTombstones();
      if (!this.#isCancelled) await this.#endPart();
      const hasWaiting = !this.#isCancelled && (await this.#writeQueueFile());
      if (!this.#isCancelled) {
        const files = { number: this.#number, parts: this.#part, bytes: this.#bytes };
        return hasWaiting ? { ...files, hasWaiting } : files;
      }
      await this.remove();
      return undefined;
    } catch (error) {
      await this.remove();
      throw error;
    }
  }

  /**
   * Makes `write` end at its next step. Called when the member stops or the log needs the space.
   */
  cancel(): void {
    this.#isCancelled = true;
  }

  async #writePartition(partition: number): Promise<void> {
    const engine = this.#engine;
    const cursor = new VisitCursor();
    this.#writeControlRecord(PARTITION, partition, engine.sequences()[partition]!);
    for (let isMore = true; isMore && !this.#isCancelled; ) {
      const endMs = this.#clock.now() + STEP_MS;
      do {
        isMore = engine.visit(partition, cursor, VISIT_BUDGET, this.#visitor);
      } while (isMore && this.#gathered < PAGE_BYTES / 2 && this.#clock.now() < endMs);
      if (this.#gathered >= PAGE_BYTES / 2) await this.#write();
      if (isMore) await this.#yieldToEventLoop();
    }
    if (partition % 8 === 0) await this.#yieldToEventLoop();
  }

  /** Writes the tombstones, which are the last records. */
  async #writeTombstones(): Promise<void> {
    const cursor = new TombstoneCursor();
    for (let isMore = true; isMore && !this.#isCancelled; ) {
      isMore = this.#engine.visitTombstones(cursor, TOMBSTONE_BUDGET, this.#visitor);
      if (this.#gathered >= PAGE_BYTES / 2) await this.#write();
      if (isMore) await this.#yieldToEventLoop();
    }
  }

  /**
   * Writes the WAN queue file, and checks whether there is room as before each part. Resolves with
   * whether the file exists.
   */
  async #writeQueueFile(): Promise<boolean> {
    const queues = this.#queues;
    if (queues === undefined) return false;
    let checkedBytes = 0;
    const mayWrite = async (bytes: number): Promise<boolean> => {
      if (bytes > checkedBytes) {
        checkedBytes += this.#partBytes;
        if (!(await this.#hasRoom(this.#bytes + bytes))) this.cancel();
      }
      return !this.#isCancelled;
    };
    const sequences = () => this.#engine.sequences();
    const parts = { storage: this.#storage, clock: this.#clock, queues, sequences, mayWrite };
    const bytes = await writeQueueFile(parts, this.#number);
    return bytes !== undefined && bytes > 0;
  }

  #gather(stored: Mutation): void {
    this.#makeRoom(recordBytes(stored));
    this.#gathered = writeMutation(this.#page, this.#gathered, stored, this.#seed());
  }

  #writeControlRecord(
    type: typeof PARTITION | typeof SEAL,
    partition: number,
    sequence: number,
  ): void {
    this.#makeRoom(CONTROL_RECORD_BYTES);
    const at = this.#gathered;
    const seed = this.#seed();
    this.#gathered = writeControlRecord(
      this.#page,
      at,
      type,
      partition,
      sequence,
      NO_POSITION,
      seed,
    );
  }

  /**
   * Enlarges a page that is too small for the records of a step; the next write returns to the
   * usual one.
   */
  #makeRoom(bytes: number): void {
    const { length } = this.#page.bytes;
    if (this.#gathered + bytes <= length) return;
    const longer = new ViewedBytes(Math.max(length * 2, (this.#gathered + bytes + 7) & ~7));
    this.#page.bytes.copy(longer.bytes, 0, 0, this.#gathered);
    this.#page = longer;
  }

  async #write(): Promise<void> {
    const bytes = this.#gathered;
    const page = this.#page;
    this.#gathered = 0;
    await this.#whole?.file.write(page.bytes, 0, bytes, this.#position);
    this.#page = this.#usualPage;
    this.#position += bytes;
    this.#bytes += bytes;
    if (this.#position < this.#partBytes) return;
    await this.#endPart();
    await this.#beginPart();
  }

  async #beginPart(): Promise<void> {
    if (!(await this.#hasRoom(this.#bytes))) this.cancel();
    this.#whole = await AtomicFile.begin(this.#storage, segmentName(this.#id()));
    await this.#whole.file.write(segmentHeader(this.#id(), 0), 0, HEADER_BYTES, 0);
    this.#position = HEADER_BYTES;
  }

  async #endPart(): Promise<void> {
    this.#writeControlRecord(SEAL, 0, this.#part + 1);
    const whole = this.#whole;
    await whole?.file.write(this.#page.bytes, 0, this.#gathered, this.#position);
    this.#bytes += this.#gathered;
    this.#gathered = 0;
    this.#whole = undefined;
    await whole?.complete();
    this.#part++;
  }

  /** Removes the files of the snapshot. */
  async remove(): Promise<void> {
    // If removing files fails, the next start removes them, as no manifest names them.
    await this.#whole?.discard();
    for (let part = 0; part <= this.#part; part++) {
      const name = segmentName({ kind: SNAPSHOT, number: this.#number, part });
      await this.#storage.remove(name).catch(ignored);
    }
    if (this.#queues !== undefined) {
      await this.#storage.remove(queueFileName(this.#number)).catch(ignored);
    }
  }

  #yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => this.#clock.endOfTurn(resolve));
  }

  #id(): { kind: typeof SNAPSHOT; number: number; part: number } {
    return { kind: SNAPSHOT, number: this.#number, part: this.#part };
  }

  #seed(): number {
    return segmentSeed(this.#id());
  }
}

/**
 * Returns the time when the snapshot of an earlier process was complete, in ms since 1970, by its
 * last file. Undefined if there is none or its time cannot be read: only a metric needs it.
 */
export async function snapshotMsOf(
  storage: Storage,
  manifest: Manifest | undefined,
): Promise<number | undefined> {
  if (manifest?.snapshot === undefined) return undefined;
  const { number, parts } = manifest.snapshot;
  const last = segmentName({ kind: SNAPSHOT, number, part: parts - 1 });
  return await storage.modifiedMs(last).then(Math.floor, () => undefined);
}

const NO_POSITION = { low: 0, high: 0 };

function ignored(): void {}
