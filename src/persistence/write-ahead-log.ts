/**
 * The write-ahead log: a sink of the engine that writes every mutation into the present segment before any
 * answer that tells of it is sent.
 *
 * The log admits a mutation only when its record has room in a segment that is written out already.
 * Records of a turn of the event loop are gathered and written at the turn's end, in one call. A written
 * record survives the end of the process; a synced one survives the end of the machine. The mode decides
 * when records are synced: with `always` after each turn, as soon as the sync before is done, and answers
 * wait for it; with `interval` some time later; with `never` when the system does.
 *
 * After each sync a MARK in the log says how far it went: a fault before that place is damage, not the
 * torn end of the log, for which nothing was promised. After a failed write or sync the state of the disk is
 * unknown: nothing is written or synced again, `durable` stays where it was for the partitions concerned, and
 * mutations are refused.
 *
 * A write may find no space, although the segment is written out: some file systems write to new blocks
 * (segment-supply.ts). The supply gives space up for it then, and the write is repeated. Where that does not
 * suffice, the records are kept in memory and written once there is space. Until then no answer is sent, and
 * nothing is admitted or synced.
 */
import assert from 'node:assert/strict';
import type { Clock, Timer } from '../base/clock.ts';
import { FROM_REPLAY, type Mutation, OFFER, SET } from '../engine/mutation.ts';
import {
  ADMITTED,
  DISK_ERROR,
  DISK_FAILED,
  DISK_FULL,
  type MutationSink,
  type Veto,
} from '../engine/mutation-sink.ts';
import { SummedMemory } from './checksum.ts';
import { DurableSequences } from './durable-sequences.ts';
import type { LogEndFile } from './log-end-file.ts';
import type { LogObserver } from './log-observer.ts';
import type { LogPlace } from './log-place.ts';
import { Page } from './page.ts';
import { MARK, NOTE_BYTES, recordBytes, SEAL, writeMutation } from './record-codec.ts';
import { HEADER_BYTES } from './segment.ts';
import type { LogSegment } from './segment-maker.ts';
import { SURE, UNSURE, writeNote } from './segment-notes.ts';
import type { SegmentSupply } from './segment-supply.ts';
import { isFullDisk, type StoredFile } from './storage.ts';

/** Records are gathered up to this many bytes; a longer one is written on its own. */
const PAGE_BYTES = 262_144;
/** Delay before a write that has found no space is repeated, in ms. */
const WRITE_RETRY_MS = 100;
/** Bytes kept free at the end of a segment, for a MARK and two SEALs: one of a stop, one that leads on. */
const END_BYTES = 3 * NOTE_BYTES;

/** Bytes that have found no space. */
interface Unwritten {
  readonly segment: LogSegment;
  readonly bytes: Buffer;
  readonly position: number;
}

export type SyncMode = 'always' | 'interval' | 'never';

interface WriteAheadLogOptions {
  readonly partitionCount: number;
  readonly clock: Clock;
  readonly sync: SyncMode;
  readonly syncIntervalMs: number;
}

export class WriteAheadLog implements MutationSink {
  readonly ignoresReplay = true;
  /** Whether no answer at all may be sent yet, as changes of this turn are still to be written. */
  delaysAll = false;
  /** The error since which nothing is written. */
  failure: Error | undefined;
  /** Everything before this place is durable. */
  synced: LogPlace = { segment: 0, offset: 0 };
  /** Bytes written since the start. */
  writtenBytes = 0;
  readonly #clock: Clock;
  readonly #mode: SyncMode;
  readonly #intervalMs: number;
  readonly #observer: LogObserver;
  readonly #sequences: DurableSequences;
  readonly #page = new Page(PAGE_BYTES, new SummedMemory(PAGE_BYTES));
  readonly #endOfTurn = () => this.#endTurn();
  #supply: SegmentSupply | undefined;
  #segment!: LogSegment;
  /** Offset of the next record in the segment. */
  #position = 0;
  /** Bytes of the page that are still to be written, right before `#position`. */
  #pending = 0;
  /** Bytes that are to be written first, in order: those of a turn at most. */
  #unwritten: Unwritten[] = [];
  #writeRetry: Timer | undefined;
  /** Length of the record that has been admitted, until it is recorded or abandoned; 0 for none. */
  #admittedBytes = 0;
  /** Whether the present segment is the one kept for removals. */
  #isForRemovals = false;
  #isRefusing = false;
  #isTurnOpen = false;
  #hasNewSegment = false;
  #isFailureTold = false;
  #isStarted = false;
  #isClosed = false;
  /** Whether anything has been recorded since the last sync began. */
  #isDirty = false;
  /** Full segments that are not yet synced, and where their records end. */
  #sealed: { readonly file: StoredFile; readonly end: number }[] = [];
  #syncing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #endFile: LogEndFile | undefined;

  constructor(options: WriteAheadLogOptions, observer: LogObserver) {
    this.#clock = options.clock;
    this.#mode = options.sync;
    this.#intervalMs = options.syncIntervalMs;
    this.#sequences = new DurableSequences(options.partitionCount);
    this.#observer = observer;
  }

  /** Begins to write, at the beginning of the segment. Before that, only replayed mutations are admitted. */
  start(supply: SegmentSupply, segment: LogSegment, endFile?: LogEndFile): void {
    if (this.#isStarted) assert.fail('a log starts once');
    this.#supply = supply;
    this.#endFile = endFile;
    this.#open(segment);
    this.synced = { segment: segment.number, offset: HEADER_BYTES };
    this.#isStarted = true;
    this.#setRefusing(false);
  }

  /** Called when there is no space to start: mutations are refused. */
  wait(supply: SegmentSupply): void {
    this.#supply = supply;
    this.#setRefusing(true);
  }

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Whether it takes mutations, or did until it failed. */
  get isWriting(): boolean {
    return this.#isStarted && !this.#isClosed;
  }

  get writtenEnd(): LogPlace {
    const [first] = this.#unwritten;
    if (first !== undefined) return { segment: first.segment.number, offset: first.position };
    return { segment: this.#segment.number, offset: this.#position - this.#pending };
  }

  /** The file of that place. */
  get writtenFile(): StoredFile {
    return (this.#unwritten[0]?.segment ?? this.#segment).file;
  }

  /** The number of the segment that is written to. */
  get segment(): number {
    return this.#segment.number;
  }

  admit(mutation: Mutation): typeof ADMITTED | Veto {
    if (mutation.origin === FROM_REPLAY) return ADMITTED;
    if (this.failure !== undefined || this.#isClosed) return DISK_FAILED;
    if (!this.#isStarted) return this.#veto();
    if (this.#unwritten.length > 0) return DISK_FULL;
    const bytes = recordBytes(mutation);
    const isRemoval = mutation.operation !== SET && mutation.operation !== OFFER;
    if (this.#isForRemovals) this.#isForRemovals = this.#supply?.fault !== undefined;
    const hasRoom = this.#position + bytes + END_BYTES <= this.#segment.bytes;
    const mayGoOn = isRemoval || !this.#isForRemovals;
    if (mayGoOn && (hasRoom || this.#goOn(bytes, isRemoval))) {
      this.#admittedBytes = bytes;
      return ADMITTED;
    }
    this.#setRefusing(true);
    return this.failure === undefined ? this.#veto() : DISK_FAILED;
  }

  /** Why there is no room. */
  #veto(): Veto {
    const fault = this.#supply?.fault;
    return fault === undefined || isFullDisk(fault) ? DISK_FULL : DISK_ERROR;
  }

  abandon(): void {
    this.#admittedBytes = 0;
  }

  record(mutation: Mutation): void {
    if (mutation.origin === FROM_REPLAY) return;
    const bytes = this.#admittedBytes;
    if (bytes === 0) assert.fail('a mutation is admitted before it is recorded');
    this.#admittedBytes = 0;
    this.#sequences.record(mutation.partition, mutation.sequence);
    this.#isDirty = true;
    this.delaysAll = this.#mode !== 'always';
    this.#openTurn();
    if (this.failure !== undefined) return;
    if (bytes > PAGE_BYTES - this.#pending) this.#write();
    const page = bytes > PAGE_BYTES ? new Page(bytes) : this.#page;
    const end = writeMutation(page, this.#pending, mutation, this.#segment.seed);
    if (end - this.#pending !== bytes) assert.fail('a mutation is recorded as it was admitted');
    this.#pending = end;
    this.#position += bytes;
    if (page !== this.#page) this.#write(page);
  }

  durable(partition: number): number {
    if (this.#mode !== 'always' && this.failure === undefined) return Number.POSITIVE_INFINITY;
    return this.#sequences.durable(partition);
  }

  /** Whether mutations are refused, for whatever reason. */
  get refusesWrites(): boolean {
    return this.#isRefusing || this.failure !== undefined;
  }

  /** Called when space was found or lost: refused mutations may be tried again. */
  onSupply(): void {
    if (this.#supply?.fault === undefined) this.#setRefusing(false);
  }

  /**
   * The end of the log, before which everything recorded is written. Undefined where the log does not
   * write, or no longer.
   */
  cut(): LogPlace | undefined {
    if (!this.#isStarted || this.#isClosed) return undefined;
    this.#write();
    if (this.failure !== undefined || this.#unwritten.length > 0) return undefined;
    return { segment: this.#segment.number, offset: this.#position };
  }

  /** Continues in another segment. False when there is none. */
  beginSegment(): boolean {
    const isWriting = this.failure === undefined && this.#unwritten.length === 0;
    return isWriting && this.#goOn(0, false);
  }

  /** Resolves when everything recorded so far is durable; rejects when that fails. */
  async sync(): Promise<void> {
    await this.#syncing;
    if (this.#syncing === undefined && this.#isDirty) this.#beginSync();
    await this.#syncing;
    if (this.failure !== undefined) throw this.failure;
    if (this.#unwritten.length > 0) throw this.#supply?.fault ?? new Error('the disk is full');
  }

  /**
   * Makes everything durable, seals the log's end and closes the files. Nothing may be recorded
   * afterwards. Resolves with the end; undefined where nothing was ever written.
   */
  async close(): Promise<LogPlace | undefined> {
    this.#isClosed = true;
    this.#timer?.cancel();
    if (!this.#isStarted) return undefined;
    const { file } = this.#segment;
    try {
      if (this.#unwritten.length > 0) this.#writeAgain();
      await this.sync();
      this.#note(SEAL, 0, SURE);
      this.#write();
      if (this.failure !== undefined) throw this.failure;
      if (this.#unwritten.length > 0) throw this.#supply?.fault ?? new Error('the disk is full');
      await file.sync();
      this.synced = this.writtenEnd;
      await this.#endFile?.stop(this);
      return this.synced;
    } finally {
      this.#writeRetry?.cancel();
      for (const each of this.#sealed.splice(0)) await each.file.close().catch(ignored);
      await this.#segment.file.close().catch(ignored);
      await this.#endFile?.close().catch(ignored);
    }
  }

  /** Asserts that what is recorded has its place in the segment, and that nothing is admitted alone. */
  invariants(): void {
    this.#sequences.invariants();
    this.#supply?.invariants();
    assert.equal(this.#admittedBytes, 0, 'every admitted mutation was recorded or abandoned');
    if (!this.#isStarted) return;
    assert.ok(this.#position <= this.#segment.bytes, 'the end of the segment');
  }

  #open(segment: LogSegment): void {
    this.#segment = segment;
    this.#position = HEADER_BYTES;
    this.#isForRemovals = this.#supply?.fault !== undefined;
  }

  /** Seals the present segment and continues in the next one. */
  #goOn(bytes: number, isRemoval: boolean): boolean {
    const next = this.#supply?.take(bytes + END_BYTES, isRemoval);
    if (next === undefined) return false;
    if (next.number <= this.#segment.number) assert.fail('segments are in the order of numbers');
    this.#note(SEAL, next.number, next.isDurable ? SURE : UNSURE);
    this.#write();
    this.#sealed.push({ file: this.#segment.file, end: this.#position });
    this.#open(next);
    this.#isDirty = true;
    this.#hasNewSegment = true;
    this.#openTurn();
    return this.failure === undefined;
  }

  #note(type: typeof MARK | typeof SEAL, sequence: number, place: typeof SURE): void {
    if (PAGE_BYTES - this.#pending < NOTE_BYTES) this.#write();
    const { seed } = this.#segment;
    this.#pending = writeNote(this.#page, this.#pending, type, 0, sequence, place, seed);
    this.#position += NOTE_BYTES;
  }

  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    this.#clock.endOfTurn(this.#endOfTurn);
  }

  #endTurn(): void {
    this.#isTurnOpen = false;
    this.#write();
    if (this.failure !== undefined) this.#tellFailure();
    else if (this.#isDirty) this.#planSync();
    this.#endFile?.plan(this);
    this.delaysAll = this.#unwritten.length > 0;
    if (this.#hasNewSegment) {
      this.#hasNewSegment = false;
      this.#observer.onSegment();
    }
    this.#observer.onReleased();
  }

  /** Writes the pending bytes. */
  #write(page = this.#page): void {
    const bytes = this.#pending;
    this.#pending = 0;
    if (bytes === 0 || this.failure !== undefined) return;
    const position = this.#position - bytes;
    if (this.#unwritten.length === 0 && this.#isWritten(this.#segment, page.bytes, bytes, position))
      return;
    if (this.failure !== undefined) return;
    const copy = Buffer.from(page.bytes.subarray(0, bytes));
    this.#unwritten.push({ segment: this.#segment, bytes: copy, position });
    this.#setRefusing(true);
    this.delaysAll = true;
    this.#writeRetry ??= this.#clock.after(WRITE_RETRY_MS, () => this.#writeAgain());
  }

  /** False where there is no space, or the disk has failed. Nothing or a part is written then. */
  #isWritten({ file }: LogSegment, bytes: Buffer, end: number, position: number): boolean {
    for (;;) {
      try {
        file.writeNow(bytes, 0, end, position);
        this.writtenBytes += end;
        return true;
      } catch (error) {
        if (!isFullDisk(error)) this.failure = error as Error;
        else {
          this.#isForRemovals = true;
          if (this.#supply?.giveUpNow(error as Error)) continue;
        }
        return false;
      }
    }
  }

  /** Writes the bytes that have found no space, in order, as far as there is some now. */
  #writeAgain(): void {
    this.#writeRetry?.cancel();
    this.#writeRetry = undefined;
    for (let [next] = this.#unwritten; next !== undefined; [next] = this.#unwritten) {
      const { segment, bytes, position } = next;
      if (!this.#isWritten(segment, bytes, bytes.length, position)) break;
      this.#unwritten.shift();
    }
    if (this.failure === undefined && this.#unwritten.length > 0) {
      this.#writeRetry = this.#clock.after(WRITE_RETRY_MS, () => this.#writeAgain());
    } else this.#openTurn();
  }

  #planSync(): void {
    if (this.#syncing !== undefined) return;
    if (this.#mode === 'always') this.#beginSync();
    else if (this.#mode === 'never') {
      // A full segment is synced in this mode, too, so that its file can be closed.
      if (this.#sealed.length > 0) this.#beginSync();
    } else if (this.#timer === undefined) {
      this.#timer = this.#clock.after(this.#intervalMs, () => {
        this.#timer = undefined;
        if (this.#syncing === undefined && this.#isDirty) this.#beginSync();
      });
    }
  }

  #beginSync(): void {
    this.#write();
    if (this.failure !== undefined) return this.#tellFailure();
    if (this.#unwritten.length > 0) return;
    this.#isDirty = false;
    this.#sequences.begin();
    this.#syncing = this.#sync().finally(() => {
      this.#syncing = undefined;
      if (this.failure !== undefined) this.#tellFailure();
      else if (this.#isDirty) this.#planSync();
      this.#observer.onReleased();
    });
  }

  async #sync(): Promise<void> {
    const place = { segment: this.#segment.number, offset: this.#position };
    const sealed = this.#sealed.splice(0);
    const { file } = this.#segment;
    try {
      for (const before of sealed) await before.file.sync();
      await file.sync();
    } catch (error) {
      this.failure ??= error as Error;
    }
    // After a failed write nothing more is durable, whatever the sync says.
    if (this.failure === undefined) {
      this.synced = place;
      this.#sequences.end();
      this.#mark(place);
    }
    // A log that ends in one, as its SEAL could not be written, is as long as it was made.
    const isWhole = this.failure === undefined;
    for (const { file: each, end } of sealed) await retire(each, isWhole ? end : each.length);
  }

  /** Notes in the log how far it is durable. */
  #mark({ segment, offset }: LogPlace): void {
    if (this.#position + END_BYTES > this.#segment.bytes) return;
    this.#note(MARK, 0, { low: offset, high: segment });
    this.#openTurn();
  }

  #setRefusing(isRefusing: boolean): void {
    if (this.#isRefusing === isRefusing) return;
    this.#isRefusing = isRefusing;
    this.#clock.endOfTurn(() => this.#observer.onRefusing(this.#isRefusing, this.#supply?.fault));
  }

  #tellFailure(): void {
    if (this.#isFailureTold || this.failure === undefined) return;
    this.#isFailureTold = true;
    this.#observer.onFailed(this.failure);
  }
}

/** Frees the empty end of a full and durable file, and closes it. */
async function retire(file: StoredFile, end: number): Promise<void> {
  // A file that keeps its length does no harm.
  if (end < file.length) await file.truncate(end).catch(ignored);
  await file.close().catch(ignored);
}

/** An error of cleaning up adds nothing. */
function ignored(): void {}
