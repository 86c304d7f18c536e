/**
 * Persists a member's data: the log, the snapshots, and their recovery into the engine. It is
 * created before the engine, which consults the log from the start; opened when there is an engine
 * to fill; and closed last.
 *
 *     lock → recovery → the recovered files are synced → obsolete files are removed → the reserve for
 *     compaction is filled → a new segment is created → the SEAL of the log's last segment names it →
 *     the manifest is written → the log continues
 *
 * Recovery only reads: a start that refuses the data changes nothing. Each later step is durable
 * before the next, so that a crash between any two leaves a directory that recovers to the same
 * data. The new segment is valid once the manifest is written: if an earlier step fails, it can be
 * removed again (seals.ts). If the disk is too full for a step, the engine serves reads
 * and refuses mutations until there is room.
 *
 * A snapshot is written when the log has grown by the size of the last snapshot, and at least by a
 * minimum. Then the log is synced, the manifest is updated to name both, and older files are
 * removed.
 *
 * The queues of WAN publishers are persistent too (../engine/durable-queues.ts): their marks are
 * written before the log continues, as a crash may have lost changes that were already sent; then
 * whenever they change, and at the end. Tested by compaction.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError, OutcomeUnknown } from '../base/errors.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import type { DurableQueue, DurableQueues } from '../engine/durable-queues.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Cut } from './backup.ts';
import { recoverEngine } from './engine-recovery.ts';
import { checkComplete } from './fill-directory.ts';
import { finishForcedStart } from './forced-start.ts';
import { checkAllAreFiles, foreignFiles, isUnfinished } from './foreign-files.ts';
import { Housekeeping, type HousekeepingObserver } from './housekeeping.ts';
import { LogEndFile } from './log-end-file.ts';
import { LogFiles } from './log-files.ts';
import { linkSegment, syncRecovered, truncateAfterSeal, truncateTail } from './log-takeover.ts';
import { ManifestFile } from './manifest.ts';
import { UNSYNCED_MARKS } from './marks-file.ts';
import { MarksWriter } from './marks-writer.ts';
import { MemberFile } from './member-file.ts';
import { isStaleOfQueues } from './queue-restore.ts';
import type { Recovered, RecoveryProgress } from './recovery.ts';
import { Reserve } from './reserve.ts';
import { HEADER_BYTES, type LogPosition } from './segment.ts';
import type { LogSegment } from './segment-maker.ts';
import { SegmentSupply, segmentBytesFor } from './segment-supply.ts';
import { snapshotMsOf } from './snapshot.ts';
import { moveStaleSegments } from './stale-data.ts';
import { isFullDisk, type Storage } from './storage.ts';
import { parseQueueFileName, queueFileIn } from './wan-queue-file.ts';
import { type LogObserver, type SyncMode, WriteAheadLog } from './write-ahead-log.ts';

/**
 * Log length from which a snapshot is written, in bytes. Replaying a shorter log is faster than
 * writing a snapshot.
 */
const SNAPSHOT_BYTES_MIN = 268_435_456;
/** Maximum of SNAPSHOT_BYTES_MIN as a share of the disk. */
const SNAPSHOT_SHARE_MIN = 1 / 8;
/** Delay before creating the first segment is retried, in ms. */
const SPACE_RETRY_MS = 1000;

interface PersistenceOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly partitionCount: number;
  readonly sync: SyncMode;
  readonly syncIntervalMs: number;
  /** Whether a start moves obsolete segments into a directory instead of removing them. */
  readonly keepsStaleData?: boolean;
  /**
   * Maximum number of bytes that recovery reads at a time, which also limits the length of new
   * segments. Unlimited by default.
   */
  readonly readBytesMax?: number;
  /** Length of a segment, for tests. By default it depends on the size of the disk. */
  readonly segmentBytes?: number;
  readonly snapshotBytesMin?: number;
}

/** Receives the events. Its methods are never called from within a call of the engine. */
interface PersistenceObserver extends LogObserver, HousekeepingObserver {
  /** Called every second during recovery. */
  onProgress(progress: RecoveryProgress): void;
}

export interface Opened extends Recovered {
  /** Names of foreign files in the directory (foreign-files.ts). */
  readonly foreign: readonly string[];
}

/** Sizes and times of a recovered directory. */
interface DirectoryFacts {
  readonly segmentBytes: number;
  readonly totalBytes: number;
  readonly snapshotMs: number | undefined;
}

export class Persistence {
  /** The log, which is a sink of the engine. */
  readonly log: WriteAheadLog;
  /** The file `member`, which `begin` loads. */
  readonly member: MemberFile;
  readonly #options: PersistenceOptions;
  readonly #observer: PersistenceObserver;
  readonly #manifest: ManifestFile;
  /**
   * Serializes the users of disk space, so that space freed by compaction refills its reserve
   * first.
   */
  readonly #space = new SerialQueue();
  readonly #files = new LogFiles();
  #engine!: StoredEngine;
  #supply: SegmentSupply | undefined;
  #housekeeping: Housekeeping | undefined;
  /** The segment in which the log will start. */
  #firstSegment: LogSegment | undefined;
  #endFile: LogEndFile | undefined;
  #marks: MarksWriter | undefined;
  /** The end of the log of the previous process. */
  #end: LogPosition | undefined;
  /** Whether the bytes after that end have been truncated. */
  #isTailTruncated = false;
  /** The current attempt to start the log. */
  #beginning: Promise<void> | undefined;
  #retryTimer: Timer | undefined;
  #isLocked = false;
  #isOpen = false;
  /** The current call of `begin` or `open`. */
  #opening: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: PersistenceOptions, observer: PersistenceObserver) {
    const { storage } = options;
    this.#options = options;
    this.#observer = observer;
    this.#manifest = new ManifestFile(storage);
    this.member = new MemberFile(storage, async () => {
      if (this.#isOpen) await this.#manifest.change({ hasMember: true });
    });
    this.log = new WriteAheadLog(options, observer, () => this.#housekeeping?.work());
  }

  /** Length of the log's files, in bytes, those of prepared segments included. */
  get logBytes(): number {
    return this.#files.bytes;
  }

  /** Time when the last snapshot was complete, in ms since 1970; undefined if there is none. */
  get snapshotMs(): number | undefined {
    return this.#housekeeping?.snapshotMs;
  }

  get storage(): Storage {
    return this.#options.storage;
  }

  /**
   * Captures the current data for a backup. Its files are neither removed nor rewritten until
   * `releaseFiles`. Rejects with GridError BACKUP_FAILED if the disk cannot be written.
   */
  async retainFiles(): Promise<Cut> {
    // A running compaction may drop records that are removed only after the captured position.
    await this.#housekeeping?.pause();
    const end = this.log.cut();
    if (!this.#isOpen || this.#closing !== undefined || end === undefined) {
      this.#housekeeping?.releaseFiles();
      throw new GridError('BACKUP_FAILED', { reason: 'the disk cannot be written' });
    }
    const wallMs = this.#options.clock.wall();
    const cut = { manifest: this.#manifest.content, member: this.member.values, end, wallMs };
    this.#housekeeping?.retainFiles(cut);
    return cut;
  }

  releaseFiles(): void {
    this.#housekeeping?.releaseFiles();
  }

  /**
   * Locks the directory and reads the file `member`. Called before `open`. Rejects as
   * readCheckedFile does, or with GridError DATA_DIRECTORY_LOCKED, DATA_DIRECTORY_UNUSABLE or
   * DATA_NOT_WHOLE. It can be called again after it rejects.
   */
  begin(): Promise<void> {
    return this.#whileOpening(async () => {
      const { storage } = this.#options;
      if (!this.#isLocked) await storage.lock();
      this.#isLocked = true;
      await checkAllAreFiles(storage);
      await checkComplete(storage);
      const manifest = await finishForcedStart(storage);
      await this.member.load(manifest?.hasMember);
    });
  }

  /**
   * Fills the engine, which must be empty, and the queues, then starts to log. Queues that are
   * added later are persisted too. Rejects as Recovery.run does.
   */
  open(engine: StoredEngine, queues?: DurableQueues): Promise<Opened> {
    return this.#whileOpening(() => this.#openWith(engine, queues));
  }

  /** Runs a part of the start; `close` waits for its end. */
  async #whileOpening<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = work();
    this.#opening = result.then(ignored, ignored);
    return await result;
  }

  async #openWith(engine: StoredEngine, queues?: DurableQueues): Promise<Opened> {
    const { storage, clock, keepsStaleData, readBytesMax } = this.#options;
    this.#engine = engine;
    const recovered = await this.#recover(queues);
    const { totalBytes } = await storage.space();
    const { segmentBytes = segmentBytesFor(totalBytes, readBytesMax) } = this.#options;
    const space = this.#space;
    const onFault = (): void => {
      if (this.#isOpen) this.log.onSupply();
      this.#housekeeping?.onSupply();
    };
    const reserve = new Reserve(storage, segmentBytes);
    const files = this.#files;
    const options = { storage, clock, segmentBytes, files, space, reserve, onFault };
    const supply = new SegmentSupply(options);
    this.#supply = supply;
    await syncRecovered(storage, recovered, files);
    // Files are removed before any is created, as this makes room on a full disk.
    const { leftOver } = recovered;
    const stale = keepsStaleData ? await moveStaleSegments(storage, leftOver) : leftOver;
    const names = await storage.list();
    const { manifest } = recovered;
    const foreign = [...foreignFiles(names), ...recovered.misnamed];
    const old: string[] = [];
    for (const name of names) {
      const waiting = await queueFileIn(storage, name);
      if (isUnfinished(name) || isStaleOfQueues(name, waiting, manifest)) old.push(name);
      else if (waiting === undefined && parseQueueFileName(name) !== undefined) foreign.push(name);
    }
    await this.#removeFiles([...stale, ...old]);
    await storage.syncDirectory();
    // The reserve is filled before the log gets space: a kill may have left a full disk without a
    // reserve.
    await space.run(() => reserve.fill());
    this.#checkNotClosing();
    this.#manifest.setContent(recovered.manifest);
    this.#end = recovered.end;
    if (queues !== undefined) this.#marks = this.#makeMarksWriter(queues);
    const snapshotMs = await snapshotMsOf(storage, recovered.manifest);
    const facts = { segmentBytes, totalBytes, snapshotMs };
    this.#housekeeping = this.#makeHousekeeping(recovered, supply, reserve, queues, facts);
    if (!(await this.#continueLog(recovered, supply))) {
      this.log.refuseUntilSpace(supply);
      this.#continueLogLater(recovered, supply);
    }
    this.#marks?.begin();
    this.#housekeeping.work();
    return { ...recovered, foreign: foreign.sort() };
  }

  #makeHousekeeping(
    recovered: Recovered,
    supply: SegmentSupply,
    reserve: Reserve,
    queues: DurableQueues | undefined,
    { segmentBytes, totalBytes, snapshotMs }: DirectoryFacts,
  ): Housekeeping {
    const { storage, clock, snapshotBytesMin } = this.#options;
    return new Housekeeping({
      storage,
      clock,
      supply,
      reserve,
      segmentBytes,
      engine: this.#engine,
      log: this.log,
      manifest: this.#manifest,
      space: this.#space,
      observer: this.#observer,
      queues,
      snapshotBytesMin:
        snapshotBytesMin ?? Math.min(SNAPSHOT_BYTES_MIN, totalBytes * SNAPSHOT_SHARE_MIN),
      nextNumber: recovered.nextNumber,
      logBytes: recovered.bytes - (recovered.manifest?.snapshot?.bytes ?? 0),
      endSegment: recovered.end?.segment ?? 0,
      snapshotMs,
      onSpaceFreed: () => this.#continueLogNow(recovered, supply),
    });
  }

  /** Continues the log in a new segment. Resolves with false if there is no space. */
  async #continueLog(recovered: Recovered, supply: SegmentSupply): Promise<boolean> {
    try {
      this.#firstSegment ??= await this.#makeFirst(recovered, supply);
      while (!(await this.#isNamed(this.#firstSegment))) {
        if (await this.#truncateTail(recovered)) continue;
        const tooLong: LogSegment = this.#firstSegment;
        this.#firstSegment = undefined;
        this.#firstSegment = await supply.shorter(tooLong);
        if (this.#firstSegment === undefined) return false;
      }
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      return false;
    }
    const files = this.#files;
    // It does no harm if the file keeps its length.
    if (this.#end !== undefined)
      await truncateAfterSeal(this.storage, this.#end, files).catch(ignored);
    supply.begin();
    this.log.start(supply, this.#firstSegment, this.#endFile);
    this.#firstSegment = undefined;
    this.#isOpen = true;
    return true;
  }

  /**
   * Creates the first segment. On a full disk, truncates the bytes after the end of the log and
   * accepts a shorter segment.
   */
  async #makeFirst(recovered: Recovered, supply: SegmentSupply): Promise<LogSegment> {
    try {
      return await supply.first(recovered.nextNumber);
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      await this.#truncateTail(recovered);
      return await supply.first(recovered.nextNumber, true);
    }
  }

  /**
   * Truncates the bytes after the end of the log, once. Resolves with false if that was done
   * before, or needs space that the disk does not have.
   */
  async #truncateTail({ isSealed }: Recovered): Promise<boolean> {
    const end = this.#end;
    if (end === undefined || this.#isTailTruncated) return false;
    try {
      this.#end = await truncateTail(this.storage, { end, isSealed }, this.#files);
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      return false;
    }
    this.#isTailTruncated = true;
    return true;
  }

  /** Retries until there is space. Another error of the disk ends the attempts. */
  #continueLogLater(recovered: Recovered, supply: SegmentSupply): void {
    this.#retryTimer = this.#options.clock.after(SPACE_RETRY_MS, () => {
      this.#continueLogNow(recovered, supply);
    });
  }

  /** Retries at once, if an attempt is scheduled. */
  #continueLogNow(recovered: Recovered, supply: SegmentSupply): void {
    if (this.#retryTimer === undefined || this.#closing !== undefined) return;
    this.#retryTimer.cancel();
    this.#retryTimer = undefined;
    this.#beginning = this.#continueLog(recovered, supply)
      .then((hasBegun) => {
        if (hasBegun) this.#housekeeping?.work();
        else if (this.#closing === undefined) this.#continueLogLater(recovered, supply);
      })
      .catch((error: unknown) => this.#observer.onFailed(error as Error));
  }

  /**
   * Makes the files name the segment. Resolves with false if there is no space for them; then they
   * do not name it. Also rejects if they may name it: then the segment is retained and used by the
   * next attempt.
   */
  async #isNamed(segment: LogSegment): Promise<boolean> {
    try {
      await this.#name(segment);
      return true;
    } catch (error) {
      if (isFullDisk(error) && !(error instanceof OutcomeUnknown)) return false;
      throw error;
    }
  }

  /** Writes the files that name the segment, the manifest last: it makes the segment valid. */
  async #name({ number }: LogSegment): Promise<void> {
    const { storage, clock, partitionCount } = this.#options;
    const begin = { segment: number, offset: HEADER_BYTES };
    if (this.#end !== undefined) await linkSegment(storage, this.#end, number, this.#files);
    this.#endFile ??= await LogEndFile.open(storage, clock, this.#end ?? begin);
    await this.#marks?.write();
    // The sync of the manifest's directory makes this durable, before any sequence is assigned.
    await storage.remove(UNSYNCED_MARKS);
    const manifest = this.#manifest;
    await manifest.change({
      partitionCount,
      memoryBytesMax: Math.min(this.#engine.memoryBytesMax, Number.MAX_SAFE_INTEGER),
      firstSegment: manifest.exists ? manifest.content.firstSegment : number,
      synced: begin,
      isStopped: false,
      hasEndRecord: this.#endFile !== undefined,
      hasMember: this.member.exists,
      hasMarks: this.#marks?.hasQueues ?? false,
    });
  }

  /**
   * Makes everything durable and releases the directory. A running start ends first, and rejects
   * with GridError STOPPED_RECOVERING where possible. Rejects if making the data durable fails.
   */
  close(): Promise<void> {
    this.#closing ??= this.#opening.then(() => this.#close());
    return this.#closing;
  }

  #checkNotClosing(): void {
    if (this.#closing !== undefined) throw new GridError('STOPPED_RECOVERING', {});
  }

  async #close(): Promise<void> {
    this.#retryTimer?.cancel();
    await this.#beginning;
    await this.#housekeeping?.close();
    await this.#marks?.close();
    try {
      const end = await this.log.close();
      const stopped = { isStopped: true, stoppedMs: this.#options.clock.wall() };
      if (end !== undefined) await this.#marks?.store().catch(ignored);
      // On a full disk, the last record of the log and the file `log-end` are sufficient.
      if (end !== undefined) {
        await this.#manifest.change({ synced: end, ...stopped }).catch(notFull);
      }
    } finally {
      if (!this.log.isStarted) {
        await this.#firstSegment?.file.close();
        await this.#endFile?.close();
      }
      await this.#supply?.close();
      await this.#options.storage.close();
    }
  }

  /**
   * Stores the marks of the queues. Resolves once they would survive a crash. Rejects as
   * writeAtomically does.
   *
   */
  async storeMarks(): Promise<void> {
    await this.#marks?.store();
  }

  /** Empties a queue durably. If it rejects, as writeAtomically does, the queue is unchanged. */
  async clearQueue(queue: DurableQueue): Promise<void> {
    await this.#marks?.clear(queue);
  }

  #makeMarksWriter(queues: DurableQueues): MarksWriter {
    const { storage, clock, sync } = this.#options;
    return new MarksWriter({
      storage,
      clock,
      queues,
      sequences: () => this.#engine.sequences(),
      syncLog: async () => {
        if (sync !== 'never' && this.log.isWriting) await this.log.sync();
      },
      isRecorded: () => this.#manifest.exists && this.#manifest.content.hasMarks === true,
      record: async () => {
        const manifest = this.#manifest;
        if (!manifest.exists || manifest.content.hasMarks === true) return;
        await manifest.change({ hasMarks: true });
      },
    });
  }

  async #recover(queues: DurableQueues | undefined): Promise<Recovered> {
    const recovered = await recoverEngine(this.#options, this.#engine, queues, {
      onSlice: () => this.#checkNotClosing(),
      onProgress: (progress) => this.#observer.onProgress(progress),
    });
    this.#checkNotClosing();
    return recovered;
  }

  async #removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#options.storage.remove(name);
  }
}

/** The error has been reported or is harmless. */
function ignored(): void {}

/** Rethrows all errors except that of a full disk. */
function notFull(error: unknown): void {
  if (!isFullDisk(error)) throw error;
}
