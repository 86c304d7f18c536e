/**
 * Wins space back where there is none for a snapshot: rewrites the parts of the snapshot and the full
 * segments of the log, from the first on, without the entries and items that are no longer as they say.
 * Segments that are short then are merged: a group of them becomes one, with the number of the first,
 * whose SEAL leads to what follows the last. Records stay in their order, so nothing else has to know.
 *
 * A removal stays as long as an earlier segment or the snapshot may hold what it ends. Those that end nothing
 * any more go, too: all that was recorded before the pass began, and is dead, has either gone by then or is
 * listed (left-behind.ts).
 *
 * Each step rewrites one group on the blocks of the reserve, and fills that again before others get of the
 * space that was won.
 */
import type { Clock } from '../base/clock.ts';
import type { InTurn } from '../base/in-turn.ts';
import { Mutation, OFFER, RETURN, SET } from '../engine/mutation.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import { SummedMemory } from './checksum.ts';
import { hashOfName, hashOfThing, LeftBehind } from './left-behind.ts';
import {
  checkRecord,
  finish,
  lengthAt,
  MARK,
  NOTE_BYTES,
  PARTITION,
  Page,
  readMutation,
  SEAL,
  SURE,
  sealAt,
  typeAt,
  writeNote,
} from './record-codec.ts';
import type { Reserve } from './reserve.ts';
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

/** Segments of which less is dead are not worth the writing. */
const DEAD_SHARE_MIN = 0.1;
const RECORDS_PER_TURN = 256;

export interface CompactionOptions {
  readonly storage: Storage;
  readonly engine: StoredEngine;
  readonly clock: Clock;
  readonly segmentBytes: number;
  readonly reserve: Reserve;
  readonly space: InTurn;
  /** Resolves when everything recorded so far is durable. */
  syncLog(): Promise<void>;
}

/** What a pass goes over. */
export interface CompactionRange {
  /** Parts of the snapshot. */
  readonly parts: readonly SegmentId[];
  /** The log's segments from here on, each as the SEAL of the one before says. */
  readonly first: number;
  /** The first one only says where the others begin. */
  readonly isFirstKept: boolean;
  /** Up to here, exclusively; those before are full and durable. */
  readonly before: number;
}

/** Segments that are to become one. */
interface Group {
  readonly ids: SegmentId[];
  /** Of their files. */
  bytes: number;
  /** Where what counts of them ends in the page. */
  end: number;
  /** What follows the last one. */
  next: number;
  /** Hashes of what is dead in them. */
  readonly dead: number[];
}

export class Compaction {
  readonly #options: CompactionOptions;
  readonly #reader: SegmentReader;
  readonly #mutation = new Mutation();
  readonly #left: LeftBehind;
  readonly #parts: SegmentId[];
  readonly #before: number;
  /** The segment of the log that comes next. */
  #next: number;
  #isNextKept: boolean;
  #page: Page;
  #group: Group | undefined;

  constructor(options: CompactionOptions, range: CompactionRange) {
    this.#options = options;
    this.#reader = new SegmentReader(options.storage);
    this.#left = new LeftBehind(!range.isFirstKept);
    this.#parts = [...range.parts];
    this.#next = range.first;
    this.#isNextKept = range.isFirstKept;
    this.#before = range.before;
    this.#page = pageOf(options.segmentBytes);
  }

  /** Rewrites one group, if it is worth that. How many bytes that has won; undefined at the end. */
  async step(): Promise<number | undefined> {
    for (;;) {
      const id = this.#nextId();
      if (id === undefined) {
        const last = this.#group;
        this.#group = undefined;
        return last === undefined ? undefined : await this.#end(last);
      }
      const segment = await this.#reader.read(id, undefined);
      const won = id.kind === LOG ? await this.#addToGroup(segment) : await this.#addPart(segment);
      if (won !== undefined) return won;
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
    this.#left.giveUp();
    return 0;
  }

  /** Adds the segment to the group; where that is full ends it, and what it has won is returned. */
  async #addToGroup(segment: ReadSegment): Promise<number | undefined> {
    if (this.#isNextKept) return this.#skip(segment);
    const group = this.#group ?? newGroup();
    this.#group = group;
    const isWhole = await this.#copy(segment, group);
    if (isWhole) {
      this.#next = group.next;
      return undefined;
    }
    this.#group = undefined;
    if (group.ids.length > 0) return await this.#end(group);
    // It is damaged, or longer than any other: it stays as it is.
    this.#left.giveUp();
    return this.#skip(segment);
  }

  /** Goes on behind the segment. */
  async #skip({ page, length, seed, id }: ReadSegment): Promise<number | undefined> {
    let at = HEADER_BYTES;
    for (let count = 1; typeAt(page, at) !== SEAL; count++) {
      const taken = checkRecord(page, at, length, seed);
      if (taken === 0) break;
      at += taken;
      if (count % RECORDS_PER_TURN === 0) await this.#breathe();
    }
    const { next = this.#before } = sealAt(page, at, length, seed);
    this.#isNextKept = false;
    this.#next = Math.max(next, id.number + 1);
    return undefined;
  }

  /** Copies what counts behind what the group has. False: it stays as it was, for want of room, or whole. */
  async #copy({ id, page, length, seed, fault }: ReadSegment, group: Group): Promise<boolean> {
    if (fault !== undefined) return false;
    this.#makeRoom(group, length);
    const live = this.#page;
    const dead: number[] = [];
    let end = group.end;
    let at = HEADER_BYTES;
    for (let count = 1; ; count++) {
      const taken = checkRecord(page, at, length, seed);
      if (taken === 0) return false;
      if (typeAt(page, at) === SEAL) break;
      if (this.#counts(page, at, dead)) {
        if (end + taken + NOTE_BYTES > live.bytes.length) return false;
        end += page.bytes.copy(live.bytes, end, at, at + taken);
      }
      at += taken;
      if (count % RECORDS_PER_TURN === 0) await this.#breathe();
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

  /** A segment that is longer than the others has the page for itself. */
  #makeRoom({ ids }: Group, length: number): void {
    const needed = (length + NOTE_BYTES + 7) & ~7;
    if (ids.length === 0 && this.#page.bytes.length < needed) this.#page = pageOf(needed);
  }

  #counts(page: Page, at: number, dead: number[]): boolean {
    const type = typeAt(page, at);
    if (type === MARK) return false;
    if (type === PARTITION) return true;
    const mutation = this.#mutation;
    readMutation(page, at, mutation);
    if (type !== SET && type !== OFFER && type !== RETURN) return this.#left.mayEnd(mutation);
    if (this.#options.engine.isStored(mutation)) return true;
    dead.push(hashOfName(mutation), hashOfThing(mutation));
    return false;
  }

  /** Puts the group in the place of its segments, if that wins enough. */
  async #end(group: Group): Promise<number> {
    const won = group.bytes - group.end - NOTE_BYTES;
    if (won < group.bytes * DEAD_SHARE_MIN) {
      this.#left.add(group.dead);
      return 0;
    }
    try {
      await this.#options.space.run(() => this.#replace(group));
      return won;
    } catch (error) {
      // What counts of a long segment has not found room beside it.
      if (!isFullDisk(error)) throw error;
      this.#left.add(group.dead);
      return 0;
    }
  }

  async #replace(group: Group): Promise<void> {
    const { storage, reserve, syncLog } = this.#options;
    const [id, ...others] = group.ids as [SegmentId, ...SegmentId[]];
    const length = await this.#finish(group, id);
    // What has ended the others must not be lost while they already are.
    await syncLog();
    try {
      const whole = await reserve.spend(segmentName(id));
      try {
        await whole.file.write(this.#page.bytes, 0, length, 0);
        await whole.file.truncate(length);
      } catch (error) {
        await whole.drop();
        throw error;
      }
      await whole.keep();
      for (const other of others) await storage.remove(segmentName(other));
      await storage.syncDirectory();
    } finally {
      await reserve.fill();
    }
  }

  /** Makes a segment of what the page holds. Returns its length. */
  async #finish({ end, next }: Group, id: SegmentId): Promise<number> {
    const page = this.#page;
    const seed = segmentSeed(id);
    for (let [at, count] = [HEADER_BYTES, 1]; at < end; count++) {
      at = finish(page, at, at + lengthAt(page, at), seed);
      if (count % RECORDS_PER_TURN === 0) await this.#breathe();
    }
    const length = writeNote(page, end, SEAL, 0, next, SURE, seed);
    segmentHeader(id, id.kind === SNAPSHOT ? 0 : length).copy(page.bytes);
    return length;
  }

  #breathe(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.endOfTurn(resolve));
  }
}

function pageOf(bytes: number): Page {
  return new Page(bytes, new SummedMemory(bytes));
}

function newGroup(): Group {
  return { ids: [], bytes: 0, end: HEADER_BYTES, next: 0, dead: [] };
}
