/**
 * The write-ahead log: a sink of the engine that writes every mutation to the current segment
 * before any response that depends on it is sent.
 *
 * The log admits a mutation only if its record fits into a segment that has already been filled on
 * the disk. Records of a turn of the event loop are gathered and written at the end of the turn, in
 * one call. A written record survives the end of the process; a synced one survives a crash of the
 * machine. The mode determines when records are synced: `always` syncs after each turn, as soon as
 * the previous sync has ended, and responses wait for it; `interval` syncs some time later; `never`
 * leaves it to the system.
 *
 * After each sync a MARK in the log records the synced position: a fault before it is damage, not
 * the torn end of the log, which was never guaranteed. After a failed write or sync the state of
 * the disk is unknown: nothing is written or synced again, `durable` does not advance for the
 * affected partitions, and mutations are refused.
 *
 * A write may find no space although the segment has been filled, as some file systems write to new
 * blocks (segment-supply.ts). Then the supply frees space, and the write is repeated. If that is
 * not enough, the records stay in memory and are written once there is space. Until then no
 * response is sent, and nothing is admitted or synced. Tested by disk-faults.spec.ts.
 */

import assert from 'node:assert/strict';
import type { Clock, Timer } from '../base/clock.ts';
import { ViewedBytes } from '../base/copy-bytes.ts';
import { DurationHistogram } from '../base/duration-histogram.ts';
import { FROM_REPLAY, type Mutation, OFFER, SET } from '../engine/mutation.ts';
import {
  ADMITTED,
  DISK_ERROR,
  DISK_FAILED,
  DISK_FULL,
  type MutationSink,
  type Veto,
} from '../engine/mutation-sink.ts';
import { DurableSequences } from './durable-sequences.ts';
import type { LogEndFile } from './log-end-file.ts';
import {
  CONTROL_RECORD_BYTES,
  MARK,
  recordBytes,
  SEAL,
  writeControlRecord,
  writeMutation,
} from './record-codec.ts';
import { NEXT_DURABLE, NEXT_NOT_DURABLE } from './seals.ts';
import { HEADER_BYTES, type LogPosition } from './segment.ts';
import type { LogSegment } from './segment-maker.ts';
import type { SegmentSupply } from './segment-supply.ts';
import { isFullDisk, type StoredFile } from './storage.ts';

/**
 * Length of the page in which records are gathered, in bytes; a longer record is written
 * separately.
 */
const PAGE_BYTES = 262_144;
/** Delay before a write that has found no space is retried, in ms. */
const WRITE_RETRY_MS = 100;
/**
 * Bytes that remain free at the end of a segment, for a MARK and two SEALs: one written at a stop,
 * one that names the next segment.
 */
const END_BYTES = 3 * CONTROL_RECORD_BYTES;

/** Bytes that could not be written for lack of space. */
interface Unwritten {
  readonly segment: LogSegment;
  readonly bytes: Buffer;
  readonly position: number;
}

/** A full segment that has not been synced, and the end of its records. */
interface SealedSegment {
  readonly number: number;
  readonly file: StoredFile;
  readonly end: number;
}

/** Receives the events of the log. Its methods are never called from within a call of the engine. */
export interface LogObserver {
  /** Delayed responses may be sent. */
  onReleased(): void;
  /** Mutations start or stop being refused for lack of space. `fault`: the reason. */
  onRefusing(isRefusing: boolean, fault: Error | undefined): void;
  /** A write or a sync has failed: the member must be restarted. */
  onFailed(error: Error): void;
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
  /** Whether all responses are delayed, because changes of this turn have not been written. */
  delaysAll = false;
  /** The error after which writing stopped. */
  failure: Error | undefined;
  /** Everything before this position is durable. */
  synced: LogPosition = { segment: 0, offset: 0 };
  /** Number of bytes written since the start. */
  writtenBytes = 0;
  /** The syncs of its files since the start; failed ones do not count. */
  readonly syncs = new DurationHistogram();
  readonly #clock: Clock;
  readonly #mode: SyncMode;
  readonly #intervalMs: number;
  readonly #observer: LogObserver;
  readonly #onSegment: () => void;
  readonly #sequences: DurableSequences;
  readonly #page = new ViewedBytes(PAGE_BYTES);
  readonly #endOfTurn = () => this.#endTurn();
  #supply: SegmentSupply | undefined;
  #segment!: LogSegment;
  /** Offset of the next record in the segment. */
  #position = 0;
  /** Number of bytes in the page that have not been written. Their position ends at `#position`. */
  #pending = 0;
  /** Bytes to write before any others, in order: at most the bytes of one turn. */
  #unwritten: Unwritten[] = [];
  #writeRetry: Timer | undefined;
  /** Length of the admitted record, until it is recorded or abandoned; 0 if there is none. */
  #admittedBytes = 0;
  /** Whether the current segment is reserved for removals. */
  #isForRemovals = false;
  #isRefusing = false;
  #isTurnOpen = false;
  #hasNewSegment = false;
  #isFailureReported = false;
  #isStarted = false;
  #isClosed = false;
  /** Whether anything has been recorded since the last sync began. */
  #isDirty = false;
  /** Full segments that have not been synced, in order. */
  #sealed: SealedSegment[] = [];
  #syncing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #endFile: LogEndFile | undefined;

  /** `onSegment` is called when the log continues in another segment. */
  constructor(options: WriteAheadLogOptions, observer: LogObserver, onSegment: () => void) {
    this.#clock = options.clock;
    this.#mode = options.sync;
    this.#intervalMs = options.syncIntervalMs;
    this.#sequences = new DurableSequences(options.partitionCount);
    this.#observer = observer;
    this.#onSegment = onSegment;
  }

  /**
   * Starts writing at the beginning of the segment. Before that, only replayed mutations are
   * admitted.
   */
  start(supply: SegmentSupply, segment: LogSegment, endFile?: LogEndFile): void {
    if (this.#isStarted) assert.fail('a log starts once');
    this.#supply = supply;
    this.#endFile = endFile;
    this.#open(segment);
    this.synced = { segment: segment.number, offset: HEADER_BYTES };
    this.#isStarted = true;
    this.#setRefusing(false);
  }

  /** Refuses mutations. Called when there is no space to start. */
  refuseUntilSpace(supply: SegmentSupply): void {
    this.#supply = supply;
    this.#setRefusing(true);
  }

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Whether the log has started and is not closed; it may have failed. */
  get isWriting(): boolean {
    return this.#isStarted && !this.#isClosed;
  }

  get writtenEnd(): LogPosition {
    const [first] = this.#unwritten;
    if (first !== undefined) return { segment: first.segment.number, offset: first.position };
    return { segment: this.#segment.number, offset: this.#position - this.#pending };
  }

  /** The file that contains `writtenEnd`. */
  get writtenFile(): StoredFile {
    return (this.#unwritten[0]?.segment ?? this.#segment).file;
  }

  /** The number of the current segment. */
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
    const mayContinue = isRemoval || !this.#isForRemovals;
    if (mayContinue && (hasRoom || this.#continueInNext(bytes, isRemoval))) {
      this.#admittedBytes = bytes;
      return ADMITTED;
    }
    this.#setRefusing(true);
    return this.failure === undefined ? this.#veto() : DISK_FAILED;
  }

  /** Returns the reason why there is no room. */
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
    const page = bytes > PAGE_BYTES ? new ViewedBytes(bytes) : this.#page;
    const end = writeMutation(page, this.#pending, mutation, this.#segment.seed);
    if (end - this.#pending !== bytes) assert.fail('a recorded mutation equals the admitted one');
    this.#pending = end;
    this.#position += bytes;
    if (page !== this.#page) this.#write(page);
  }

  durable(partition: number): number {
    if (this.#mode !== 'always' && this.failure === undefined) return Number.POSITIVE_INFINITY;
    return this.#sequences.durable(partition);
  }

  /** Whether mutations are refused, for any reason. */
  get refusesWrites(): boolean {
    return this.#isRefusing || this.failure !== undefined;
  }

  /** Whether mutations are refused because there is no room for them, until there is. */
  get isDiskFull(): boolean {
    return this.#isRefusing && this.failure === undefined;
  }

  /** Called when the state of the supply has changed: refused mutations may be retried. */
  onSupply(): void {
    if (this.#supply?.fault === undefined) this.#setRefusing(false);
  }

  /**
   * Writes everything recorded and returns the end of the log; undefined if the log cannot be
   * written.
   */
  cut(): LogPosition | undefined {
    if (!this.#isStarted || this.#isClosed) return undefined;
    this.#write();
    if (this.failure !== undefined || this.#unwritten.length > 0) return undefined;
    return { segment: this.#segment.number, offset: this.#position };
  }

  /** Makes everything recorded so far durable. Rejects if that fails. */
  async sync(): Promise<void> {
    await this.#syncing;
    if (this.#syncing === undefined && this.#isDirty) this.#beginSync();
    await this.#syncing;
    if (this.failure !== undefined) throw this.failure;
    if (this.#unwritten.length > 0) throw this.#supply?.fault ?? new Error('the disk is full');
  }

  /**
   * Makes everything durable, seals the end of the log and closes the files. Nothing may be
   * recorded afterwards. Resolves with the end; undefined if the log never started.
   */
  async close(): Promise<LogPosition | undefined> {
    this.#isClosed = true;
    this.#timer?.cancel();
    if (!this.#isStarted) return undefined;
    const { file } = this.#segment;
    try {
      if (this.#unwritten.length > 0) this.#retryWrites();
      await this.sync();
      this.#writeControlRecord(SEAL, 0, NEXT_DURABLE);
      this.#write();
      if (this.failure !== undefined) throw this.failure;
      if (this.#unwritten.length > 0) throw this.#supply?.fault ?? new Error('the disk is full');
      await this.#syncFile(file);
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

  /**
   * Asserts that all records fit into the segment, and that no mutation is admitted without being
   * recorded or abandoned.
   */
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

  /**
   * Seals the current segment and continues in the next one. Returns false if there is none or the
   * write fails.
   */
  #continueInNext(bytes: number, isRemoval: boolean): boolean {
    const next = this.#supply?.acquire(bytes + END_BYTES, isRemoval);
    if (next === undefined) return false;
    if (next.number <= this.#segment.number) assert.fail('segments are in the order of numbers');
    this.#writeControlRecord(SEAL, next.number, next.isDurable ? NEXT_DURABLE : NEXT_NOT_DURABLE);
    this.#write();
    const { number, file } = this.#segment;
    this.#sealed.push({ number, file, end: this.#position });
    this.#open(next);
    this.#isDirty = true;
    this.#hasNewSegment = true;
    this.#openTurn();
    return this.failure === undefined;
  }

  #writeControlRecord(
    type: typeof MARK | typeof SEAL,
    sequence: number,
    position: typeof NEXT_DURABLE,
  ): void {
    if (PAGE_BYTES - this.#pending < CONTROL_RECORD_BYTES) this.#write();
    const { seed } = this.#segment;
    this.#pending = writeControlRecord(
      this.#page,
      this.#pending,
      type,
      0,
      sequence,
      position,
      seed,
    );
    this.#position += CONTROL_RECORD_BYTES;
  }

  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    this.#clock.endOfTurn(this.#endOfTurn);
  }

  #endTurn(): void {
    this.#isTurnOpen = false;
    this.#write();
    if (this.failure !== undefined) this.#reportFailure();
    else if (this.#isDirty) this.#scheduleSync();
    this.#endFile?.schedule(this);
    this.delaysAll = this.#unwritten.length > 0;
    if (this.#hasNewSegment) {
      this.#hasNewSegment = false;
      this.#onSegment();
    }
    this.#observer.onReleased();
  }

  /** Writes the pending bytes. */
  #write(page = this.#page): void {
    const bytes = this.#pending;
    this.#pending = 0;
    if (bytes === 0 || this.failure !== undefined) return;
    const position = this.#position - bytes;
    if (this.#unwritten.length === 0 && this.#tryWrite(this.#segment, page.bytes, bytes, position))
      return;
    if (this.failure !== undefined) return;
    const copy = Buffer.from(page.bytes.subarray(0, bytes));
    this.#unwritten.push({ segment: this.#segment, bytes: copy, position });
    this.#setRefusing(true);
    this.delaysAll = true;
    this.#writeRetry ??= this.#clock.after(WRITE_RETRY_MS, () => this.#retryWrites());
  }

  /**
   * Writes the bytes. Returns false if there is no space or the disk fails; then none or a part is
   * written.
   */
  #tryWrite({ file }: LogSegment, bytes: Buffer, end: number, position: number): boolean {
    for (;;) {
      try {
        file.writeNow(bytes, 0, end, position);
        this.writtenBytes += end;
        return true;
      } catch (error) {
        if (!isFullDisk(error)) this.failure = error as Error;
        else {
          this.#isForRemovals = true;
          if (this.#supply?.freeSpaceNow(error as Error)) continue;
        }
        return false;
      }
    }
  }

  /** Writes the bytes that have found no space, in order, as far as there is space now. */
  #retryWrites(): void {
    this.#writeRetry?.cancel();
    this.#writeRetry = undefined;
    for (let [next] = this.#unwritten; next !== undefined; [next] = this.#unwritten) {
      const { segment, bytes, position } = next;
      if (!this.#tryWrite(segment, bytes, bytes.length, position)) break;
      this.#unwritten.shift();
    }
    if (this.failure === undefined && this.#unwritten.length > 0) {
      this.#writeRetry = this.#clock.after(WRITE_RETRY_MS, () => this.#retryWrites());
    } else this.#openTurn();
  }

  #scheduleSync(): void {
    if (this.#syncing !== undefined) return;
    if (this.#mode === 'always') this.#beginSync();
    else if (this.#mode === 'never') {
      // Even in this mode a full segment is synced, so that its file can be closed.
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
    if (this.failure !== undefined) return this.#reportFailure();
    if (this.#unwritten.length > 0) return;
    this.#isDirty = false;
    this.#sequences.begin();
    this.#syncing = this.#sync().finally(() => {
      this.#syncing = undefined;
      if (this.failure !== undefined) this.#reportFailure();
      else if (this.#isDirty) this.#scheduleSync();
      this.#observer.onReleased();
    });
  }

  async #sync(): Promise<void> {
    const position = { segment: this.#segment.number, offset: this.#position };
    const sealed = this.#sealed.splice(0);
    const { file } = this.#segment;
    try {
      for (const before of sealed) await this.#syncFile(before.file);
      await this.#syncFile(file);
    } catch (error) {
      this.failure ??= error as Error;
    }
    // After a failed write nothing more is durable, even if the sync succeeded.
    if (this.failure === undefined) {
      this.synced = position;
      this.#sequences.end();
      for (const { number, end } of sealed) this.#supply?.files.set(number, end);
      this.#writeMark(position);
    }
    // If the SEAL could not be written, the file keeps its full length, which recovery checks.
    const isWhole = this.failure === undefined;
    for (const { file: each, end } of sealed) await retire(each, isWhole ? end : each.length);
  }

  async #syncFile(file: StoredFile): Promise<void> {
    const beginMs = this.#clock.now();
    await file.sync();
    this.syncs.add(this.#clock.now() - beginMs);
  }

  /** Records in the log the position up to which it is durable. */
  #writeMark({ segment, offset }: LogPosition): void {
    if (this.#position + END_BYTES > this.#segment.bytes) return;
    this.#writeControlRecord(MARK, 0, { low: offset, high: segment });
    this.#openTurn();
  }

  #setRefusing(isRefusing: boolean): void {
    if (this.#isRefusing === isRefusing) return;
    this.#isRefusing = isRefusing;
    this.#clock.endOfTurn(() => this.#observer.onRefusing(this.#isRefusing, this.#supply?.fault));
  }

  #reportFailure(): void {
    if (this.#isFailureReported || this.failure === undefined) return;
    this.#isFailureReported = true;
    this.#observer.onFailed(this.failure);
  }
}

/** Truncates the unused end of a full and durable file, and closes it. */
async function retire(file: StoredFile, end: number): Promise<void> {
  // It does no harm if the file keeps its length.
  if (end < file.length) await file.truncate(end).catch(ignored);
  await file.close().catch(ignored);
}

/** An error of the cleanup is not reported. */
function ignored(): void {}
