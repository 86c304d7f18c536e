/**
 * Frees disk space if there is too little for a snapshot. A pass rewrites the parts of the snapshot
 * and the full segments of the log, starting with the oldest, without dead records: those of
 * entries and items that have since changed or been removed. Short rewritten segments are merged: a
 * group of them becomes one segment with the number of the first, whose SEAL names the successor of
 * the last. Records keep their order, so other code is not affected.
 *
 * A removal is retained while an earlier segment or the snapshot may have a record that it removes.
 * Other removals are dropped as well: by then, every dead record from before the pass has been
 * dropped or is listed (dead-record-hashes.ts). A removal whose tombstone is stored is retained. So
 * is a change that may be waiting in a persistent queue (../engine/durable-queues.ts), except a value
 * without a lifetime, because a later change of its key is also waiting.
 *
 * Each step rewrites one group into the blocks of the reserve file, then refills the reserve before
 * any other user of disk space can use the freed space.
 */

import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.ts';
import { type Viewed, ViewedBytes } from '../base/copy-bytes.ts';
import type { SerialQueue } from '../base/serial-queue.ts';
import type { DurableQueues } from '../engine/durable-queues.ts';
import { CLEAR, DELETE, Mutation, OFFER, RETURN, SET } from '../engine/mutation.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { AtomicFile } from './atomic-file.ts';
import type { LogFiles } from './log-files.ts';
import {
  CONTROL_RECORD_BYTES,
  checkRecord,
  MARK,
  PARTITION,
  readMutation,
  reseal,
  SEAL,
  SKIPPED_TYPE_MIN,
  typeAt,
  writeControlRecord,
} from './record-codec.ts';
import type { Reserve } from './reserve.ts';
import { NEXT_DURABLE, sealAt } from './seals.ts';
import {
  HEADER_BYTES,
  LOG,
  type SegmentId,
  SNAPSHOT,
  segmentHeader,
  segmentName,
  segmentSeed,
} from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import { isFullDisk, type Storage } from './storage.ts';

/** Minimum share of dead bytes for which a group is rewritten. */
const DEAD_SHARE_MIN = 0.1;
/** Records that are processed before the event loop runs. */
const RECORDS_PER_TURN = 256;

interface CompactionOptions {
  readonly storage: Storage;
  readonly engine: StoredEngine;
  readonly clock: Clock;
  readonly segmentBytes: number;
  readonly files: LogFiles;
  readonly reserve: Reserve;
  readonly space: SerialQueue;
  readonly queues: DurableQueues | undefined;
  /** Makes everything recorded so far durable. */
  syncLog(): Promise<void>;
}

/** The segments of a pass. */
interface CompactionRange {
  /** Parts of the snapshot. */
  readonly parts: readonly SegmentId[];
  /**
   * Number of the first segment of the log; each later segment is named by the SEAL of its
   * predecessor.
   */
  readonly first: number;
  /**
   * Whether the first segment remains unchanged: only its SEAL is read, for the number of the next
   * one.
   */
  readonly isFirstUnchanged: boolean;
  /** The segment number before which the pass ends; all segments before it are full and durable. */
  readonly before: number;
}

/** Segments that are merged into one. */
interface Group {
  readonly ids: SegmentId[];
  /** Total length of their files, in bytes. */
  bytes: number;
  /** Offset in the page after their live records. */
  end: number;
  /** Number of the segment after the last one. */
  next: number;
  /** Hashes of their dead entries and items, in pairs (dead-record-hashes.ts). */
  readonly dead: number[];
}

export class Compaction {
  /** Whether a group had dead records but was not rewritten for lack of space. */
  lacksSpace = false;
  readonly #options: CompactionOptions;
  readonly #reader: SegmentReader;
  readonly #mutation = new Mutation();
  readonly #deadHashes: DeadRecordHashes;
  readonly #parts: SegmentId[];
  readonly #before: number;
  /** Number of the next segment of the log. */
  #next: number;
  #isNextUnchanged: boolean;
  #page: Viewed;
  #group: Group | undefined;

  constructor(options: CompactionOptions, range: CompactionRange) {
    this.#options = options;
    this.#reader = new SegmentReader(options.storage);
    this.#deadHashes = new DeadRecordHashes(!range.isFirstUnchanged);
    this.#parts = [...range.parts];
    this.#next = range.first;
    this.#isNextUnchanged = range.isFirstUnchanged;
    this.#before = range.before;
    this.#page = new ViewedBytes(options.segmentBytes);
  }

  /**
   * Rewrites one group, if that is worthwhile. Resolves with the number of bytes freed, or with
   * undefined at the end of the pass.
   */
  async step(): Promise<number | undefined> {
    for (;;) {
      const id = this.#nextId();
      if (id === undefined) {
        const last = this.#group;
        this.#group = undefined;
        return last === undefined ? undefined : await this.#end(last);
      }
      const segment = await this.#reader.read(id, undefined);
      const freedBytes =
        id.kind === LOG ? await this.#addToGroup(segment) : await this.#addPart(segment);
      if (freedBytes !== undefined) return freedBytes;
    }
  }

  #nextId(): SegmentId | undefined {
    const part = this.#parts.shift();
    if (part !== undefined) return part;
    if (this.#next >= this.#before) return undefined;
    return { kind: LOG, number: this.#next, part: 0 };
  }

  async #addPart(segment: ReadSegment): Promise<number> {
    const group = newGroup();
    const isWhole = await this.#copy(segment, group);
    if (isWhole) return await this.#end(group);
    this.#deadHashes.stopListing();
    return 0;
  }

  /**
   * Adds the segment to the group. If the group is full, it is rewritten instead, and the promise
   * resolves with the number of bytes freed.
   */
  async #addToGroup(segment: ReadSegment): Promise<number | undefined> {
    if (this.#isNextUnchanged) return this.#skip(segment);
    const group = this.#group ?? newGroup();
    this.#group = group;
    const isWhole = await this.#copy(segment, group);
    if (isWhole) {
      this.#next = group.next;
      return undefined;
    }
    this.#group = undefined;
    if (group.ids.length > 0) return await this.#end(group);
    // The segment is damaged, or longer than any other: it remains unchanged.
    this.#deadHashes.stopListing();
    return this.#skip(segment);
  }

  /** Leaves the segment unchanged and continues with the next one. */
  async #skip({ page, length, seed, id }: ReadSegment): Promise<number | undefined> {
    let at = HEADER_BYTES;
    for (let count = 1; typeAt(page, at) !== SEAL; count++) {
      const paddedLength = checkRecord(page, at, length, seed);
      if (paddedLength === 0) break;
      at += paddedLength;
      if (count % RECORDS_PER_TURN === 0) await this.#yieldToEventLoop();
    }
    const { next = this.#before } = sealAt(page, at, length, seed);
    this.#isNextUnchanged = false;
    this.#next = Math.max(next, id.number + 1);
    return undefined;
  }

  /**
   * Appends the live records to those of the group. False: not copied, because the segment is
   * damaged or there is no room.
   */
  async #copy({ id, page, length, seed, fault }: ReadSegment, group: Group): Promise<boolean> {
    if (fault !== undefined) return false;
    this.#makeRoom(group, length);
    const live = this.#page;
    const bytesMax = this.#bytesMax(group);
    const dead: number[] = [];
    let end = group.end;
    let at = HEADER_BYTES;
    for (let count = 1; ; count++) {
      const paddedLength = checkRecord(page, at, length, seed);
      if (paddedLength === 0) return false;
      if (typeAt(page, at) === SEAL) break;
      if (this.#isLive(page, at, dead)) {
        if (end + paddedLength + CONTROL_RECORD_BYTES > bytesMax) return false;
        end += page.bytes.copy(live.bytes, end, at, at + paddedLength);
      }
      at += paddedLength;
      if (count % RECORDS_PER_TURN === 0) await this.#yieldToEventLoop();
    }
    const { next } = sealAt(page, at, length, seed);
    if (next === undefined) return false;
    group.ids.push(id);
    group.bytes += length;
    group.end = end;
    group.next = next;
    for (const hash of dead) group.dead.push(hash);
    return true;
  }

  /** Enlarges the page for a segment that is longer than the others and has the page to itself. */
  #makeRoom({ ids }: Group, length: number): void {
    const needed = (length + CONTROL_RECORD_BYTES + 7) & ~7;
    if (ids.length === 0 && this.#page.bytes.length < needed) this.#page = new ViewedBytes(needed);
  }

  /**
   * Returns the maximum length of the group. Segments are merged only as far as they fit into the
   * reserve; a single segment may find free space elsewhere.
   */
  #bytesMax({ ids }: Group): number {
    const { length } = this.#page.bytes;
    return ids.length === 0 ? length : Math.min(length, this.#options.reserve.filledBytes);
  }

  #isLive(page: Viewed, at: number, dead: number[]): boolean {
    const type = typeAt(page, at);
    if (type === MARK || type >= SKIPPED_TYPE_MIN) return false;
    if (type === PARTITION) return true;
    const mutation = this.#mutation;
    if (!readMutation(page, at, mutation)) return true;
    const { engine } = this.#options;
    if (type !== SET && type !== OFFER && type !== RETURN) {
      if (this.#deadHashes.mayRemove(mutation) || engine.isStored(mutation)) return true;
      return (type === DELETE || type === CLEAR) && this.#mayWait(mutation);
    }
    if (engine.isStored(mutation)) return true;
    const hashes = [hashOfName(mutation), hashOfEntryOrItem(mutation)] as const;
    // Expiries are not replicated, so the target needs this value to end the one before it.
    const hasLifetime = mutation.expiryMs !== 0 || mutation.maxIdleSeconds !== 0;
    if (type === SET && hasLifetime && this.#mayWait(mutation)) {
      this.#deadHashes.add(hashes);
      return true;
    }
    dead.push(...hashes);
    return false;
  }

  /** Whether the change may be waiting in a persistent queue. */
  #mayWait({ partition, sequence }: Mutation): boolean {
    const queues = this.#options.queues?.queues() ?? [];
    return queues.some((queue) => queue.mayWait(partition, sequence));
  }

  /** Replaces the segments of the group, if that frees enough space. */
  async #end(group: Group): Promise<number> {
    const freedBytes = group.bytes - group.end - CONTROL_RECORD_BYTES;
    if (freedBytes < group.bytes * DEAD_SHARE_MIN) {
      this.#deadHashes.add(group.dead);
      return 0;
    }
    try {
      await this.#options.space.run(() => this.#replace(group));
      return freedBytes;
    } catch (error) {
      // The disk has no free space for the live records of a long segment.
      if (!isFullDisk(error)) throw error;
      this.lacksSpace = true;
      this.#deadHashes.add(group.dead);
      return 0;
    }
  }

  async #replace(group: Group): Promise<void> {
    const { storage, files, reserve, syncLog } = this.#options;
    const [id, ...others] = group.ids as [SegmentId, ...SegmentId[]];
    const length = await this.#finish(group, id);
    // The records that replaced the dropped ones must be durable before the dropped ones are
    // deleted.
    await syncLog();
    try {
      const whole = await this.#write(segmentName(id), length);
      await whole.complete();
      if (id.kind === LOG) files.set(id.number, length);
      for (const other of others) {
        await storage.remove(segmentName(other));
        files.delete(other.number);
      }
      await storage.syncDirectory();
    } finally {
      await reserve.fill();
    }
  }

  /**
   * Writes the page into the blocks of the reserve. If the file system allocates new blocks and has
   * none, the reserve has been removed by then, so the second attempt writes a new file into its
   * space.
   */
  async #write(name: string, length: number): Promise<AtomicFile> {
    for (let isAgain = false; ; isAgain = true) {
      const whole = await this.#options.reserve.beginFile(name);
      try {
        await whole.file.write(this.#page.bytes, 0, length, 0);
        await whole.file.truncate(length);
        return whole;
      } catch (error) {
        await whole.discard();
        if (isAgain || !isFullDisk(error)) throw error;
      }
    }
  }

  /** Completes the page to a segment and resolves with its length in bytes. */
  async #finish({ end, next }: Group, id: SegmentId): Promise<number> {
    const page = this.#page;
    const seed = segmentSeed(id);
    let at = HEADER_BYTES;
    for (let count = 1; at < end; count++) {
      at = reseal(page, at, seed);
      if (count % RECORDS_PER_TURN === 0) await this.#yieldToEventLoop();
    }
    const length = writeControlRecord(page, end, SEAL, 0, next, NEXT_DURABLE, seed);
    segmentHeader(id, id.kind === SNAPSHOT ? 0 : length).copy(page.bytes);
    return length;
  }

  #yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.endOfTurn(resolve));
  }
}

function newGroup(): Group {
  return { ids: [], bytes: 0, end: HEADER_BYTES, next: 0, dead: [] };
}

/** Maximum number of hashes of dead records; beyond it every removal is retained. */
const HASHES_MAX = 100_000;

/**
 * Hashes of the dead entries and items whose records are still in earlier segments or the snapshot.
 * A removal of anything else is no longer needed. A hash collision only retains a removal without
 * need.
 */
class DeadRecordHashes {
  readonly #contents = new Set<number>();
  readonly #names = new Set<number>();
  /** Whether all dead records are listed. */
  #isComplete: boolean;

  constructor(isComplete: boolean) {
    this.#isComplete = isComplete;
  }

  /**
   * Adds hashes in pairs: the hash of the name of the map or queue, then that of the entry or item.
   */
  add(hashes: readonly number[]): void {
    for (let at = 0; at < hashes.length && this.#isComplete; at += 2) {
      this.#names.add(hashes[at] as number);
      this.#contents.add(hashes[at + 1] as number);
      if (this.#contents.size > HASHES_MAX) this.stopListing();
    }
  }

  /**
   * Stops listing, after which every removal is retained. Called if dead records cannot be listed.
   */
  stopListing(): void {
    this.#isComplete = false;
    this.#contents.clear();
    this.#names.clear();
  }

  /** Whether the DELETE, EXPIRE, CLEAR or REMOVE may remove one of the listed entries or items. */
  mayRemove(removal: Mutation): boolean {
    if (!this.#isComplete) return true;
    if (removal.operation === CLEAR) return this.#names.has(hashOfName(removal));
    return this.#contents.has(hashOfEntryOrItem(removal));
  }
}

function hashOfName({ operation, name }: Mutation): number {
  return crc32(name.toBuffer(), operation >= OFFER ? 1 : 0);
}

/** Returns the hash of an entry's key, or of an item's number, combined with the name. */
function hashOfEntryOrItem(mutation: Mutation): number {
  const { operation, key, item } = mutation;
  const named = hashOfName(mutation);
  return operation >= OFFER ? crc32(String(item), named) : crc32(key.toBuffer(), named);
}
