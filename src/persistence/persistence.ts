/**
 * Keeps a member's data: its log, its snapshots, and their recovery into the engine. It is made before the
 * engine, which consults the log from the beginning; opened when there is an engine to fill; closed last.
 *
 *     lock → recovery → the recovered files are synced → files that do not count are removed → the reserve of
 *     compaction → a new segment → the SEAL of the log's last segment names it → manifest → the log continues
 *
 * Recovery only reads: a start that refuses the data has changed nothing. Each later step is durable before
 * the next, so that a crash between any two leaves a directory that recovers to the same data. The new
 * segment counts from the manifest on: where an earlier step fails, it can be removed again
 * (segment-notes.ts). Where the disk is too full for a step, the engine serves reads and refuses mutations
 * until there is room.
 *
 * The next snapshot is written when the log has grown by as much as the last snapshot, and by a minimum. Then
 * the log is synced, the manifest names both, and older files are removed.
 *
 * Queues of changes outlive the process, too (../engine/kept-queues.ts): their marks are written before the
 * log continues, as a crash may have lost changes that have left already; then while they change, and at the
 * end.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError, OutcomeUnknown } from '../base/errors.ts';
import { InTurn } from '../base/in-turn.ts';
import type { KeptQueue, KeptQueues } from '../engine/kept-queues.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Cut } from './backup.ts';
import { recoverEngine } from './engine-recovery.ts';
import { checkFilled } from './fill-directory.ts';
import { finishForcedStart } from './forced-start.ts';
import { checkAllAreFiles, foreignFiles, isUnfinished } from './foreign-files.ts';
import { Housekeeping, type HousekeepingObserver } from './housekeeping.ts';
import { LogEndFile } from './log-end-file.ts';
import type { LogPlace } from './log-place.ts';
import { cutBehindSeal, cutTail, leadOn, syncRecovered } from './log-takeover.ts';
import { ManifestFile } from './manifest.ts';
import { UNSYNCED_MARKS } from './marks-file.ts';
import { MarksKeeper } from './marks-keeper.ts';
import { MemberFile } from './member-file.ts';
import { isStaleOfQueues } from './queue-restore.ts';
import type { Recovered, RecoveryProgress } from './recovery.ts';
import { Reserve } from './reserve.ts';
import { HEADER_BYTES } from './segment.ts';
import type { LogSegment } from './segment-maker.ts';
import { SegmentSupply, segmentBytesFor } from './segment-supply.ts';
import { setStaleAside } from './stale-data.ts';
import { isFullDisk, type Storage } from './storage.ts';
import { parseWaitingName, waitingIn } from './waiting-file.ts';
import { type SyncMode, WriteAheadLog } from './write-ahead-log.ts';

/** A shorter log is quicker to replay than to replace, in bytes. */
const SNAPSHOT_BYTES_MIN = 268_435_456;
/** On a small disk the minimum is this share of the disk. */
const SNAPSHOT_SHARE_MIN = 1 / 8;
/** Delay before the first segment is tried again, in ms. */
const SPACE_RETRY_MS = 1000;

interface PersistenceOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly partitionCount: number;
  readonly sync: SyncMode;
  readonly syncIntervalMs: number;
  /** A start moves segments that no longer count aside, and does not remove them. */
  readonly keepsStaleData?: boolean;
  /** Bytes that recovery may read at a time; segments are made no longer. No bound unless given. */
  readonly readBytesMax?: number;
  /** For tests; otherwise the size of the disk decides. */
  readonly segmentBytes?: number;
  readonly snapshotBytesMin?: number;
}

/** Receives the events. Never called from inside a call of the engine. */
interface PersistenceObserver extends HousekeepingObserver {
  /** More answers may be sent. */
  onReleased(): void;
  /** From now on mutations are refused for want of space, or no longer. `fault`: why there is none. */
  onRefusing(isRefusing: boolean, fault: Error | undefined): void;
  /** A write or a sync has failed: the member has to be restarted. */
  onFailed(error: Error): void;
  /** Every second while recovering. */
  onProgress(progress: RecoveryProgress): void;
}

export interface Opened extends Recovered {
  /** Names of foreign files in the directory (foreign-files.ts). */
  readonly foreign: readonly string[];
}

export class Persistence {
  /** The engine's sink. */
  readonly log: WriteAheadLog;
  /** Loaded by `begin`. */
  readonly member: MemberFile;
  readonly #options: PersistenceOptions;
  readonly #observer: PersistenceObserver;
  readonly #manifest: ManifestFile;
  /** Each user of space takes its turn, so that the space freed by compaction fills its reserve first. */
  readonly #space = new InTurn();
  #engine!: StoredEngine;
  #supply: SegmentSupply | undefined;
  #housekeeping: Housekeeping | undefined;
  /** The segment in which the log begins. */
  #firstSegment: LogSegment | undefined;
  #endFile: LogEndFile | undefined;
  #marks: MarksKeeper | undefined;
  /** Where the log of the previous process ends. */
  #end: LogPlace | undefined;
  /** Whether the bytes behind that place are cut off. */
  #isTailCut = false;
  /** The attempt under way to begin the log. */
  #beginning: Promise<void> | undefined;
  #again: Timer | undefined;
  #isLocked = false;
  #isOpen = false;
  /** The call of `begin` or `open` under way. */
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
    this.log = new WriteAheadLog(options, {
      onReleased: () => observer.onReleased(),
      onRefusing: (isRefusing, fault) => observer.onRefusing(isRefusing, fault),
      onFailed: (error) => observer.onFailed(error),
      onSegment: () => this.#housekeeping?.work(),
    });
  }

  get storage(): Storage {
    return this.#options.storage;
  }

  /**
   * The data of this moment. Its files are neither removed nor rewritten until `releaseFiles`. Rejects with
   * GridError BACKUP_FAILED where the disk takes no writes.
   */
  async keepFiles(): Promise<Cut> {
    // A compaction under way may drop records that are ended only after the cut.
    await this.#housekeeping?.pause();
    const end = this.log.cut();
    if (!this.#isOpen || this.#closing !== undefined || end === undefined) {
      this.#housekeeping?.releaseFiles();
      throw new GridError('BACKUP_FAILED', { reason: 'the disk takes no writes' });
    }
    const wallMs = this.#options.clock.wall();
    const cut = { manifest: this.#manifest.content, member: this.member.values, end, wallMs };
    this.#housekeeping?.keepFiles(cut);
    return cut;
  }

  releaseFiles(): void {
    this.#housekeeping?.releaseFiles();
  }

  /**
   * Locks the directory and reads the file `member`. Called before `open`. Rejects as readCheckedFile does,
   * or with GridError DATA_DIRECTORY_LOCKED, DATA_DIRECTORY_UNUSABLE or DATA_NOT_WHOLE; then it can be called
   * again.
   */
  begin(): Promise<void> {
    return this.#whileOpening(async () => {
      const { storage } = this.#options;
      if (!this.#isLocked) await storage.lock();
      this.#isLocked = true;
      await checkAllAreFiles(storage);
      await checkFilled(storage);
      const manifest = await finishForcedStart(storage);
      await this.member.load(manifest?.hasMember);
    });
  }

  /**
   * Fills the engine, which must be empty, and the queues, and begins to log. Queues that come later are
   * kept, too. Rejects as Recovery.run does.
   */
  open(engine: StoredEngine, queues?: KeptQueues): Promise<Opened> {
    return this.#whileOpening(() => this.#openWith(engine, queues));
  }

  /** Runs work of a start: `close` waits for its end. */
  async #whileOpening<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = work();
    this.#opening = result.then(ignored, ignored);
    return await result;
  }

  async #openWith(engine: StoredEngine, queues?: KeptQueues): Promise<Opened> {
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
    const supply = new SegmentSupply({ storage, clock, segmentBytes, space, reserve, onFault });
    this.#supply = supply;
    await syncRecovered(storage, recovered);
    // Before any file is made, as removal makes room on a full disk.
    const { leftOver } = recovered;
    const stale = keepsStaleData ? await setStaleAside(storage, leftOver) : leftOver;
    const names = await storage.list();
    const { manifest } = recovered;
    const foreign = [...foreignFiles(names), ...recovered.misnamed];
    const old: string[] = [];
    for (const name of names) {
      const waiting = await waitingIn(storage, name);
      if (isUnfinished(name) || isStaleOfQueues(name, waiting, manifest)) old.push(name);
      else if (waiting === undefined && parseWaitingName(name) !== undefined) foreign.push(name);
    }
    await this.#removeFiles([...stale, ...old]);
    await storage.syncDirectory();
    // The reserve gets what is free before the log does: a kill may have left a full disk without it.
    await space.run(() => reserve.fill());
    this.#checkNotClosing();
    this.#manifest.hasRead(recovered.manifest);
    this.#end = recovered.end;
    if (queues !== undefined) this.#marks = this.#keeperOf(queues);
    const sizes = { segmentBytes, totalBytes };
    this.#housekeeping = this.#makeHousekeeping(recovered, supply, reserve, queues, sizes);
    if (!(await this.#goOn(recovered, supply))) {
      this.log.wait(supply);
      this.#goOnLater(recovered, supply);
    }
    this.#marks?.begin();
    this.#housekeeping.work();
    return { ...recovered, foreign: foreign.sort() };
  }

  #makeHousekeeping(
    recovered: Recovered,
    supply: SegmentSupply,
    reserve: Reserve,
    queues: KeptQueues | undefined,
    { segmentBytes, totalBytes }: { readonly segmentBytes: number; readonly totalBytes: number },
  ): Housekeeping {
    const { storage, clock, snapshotBytesMin } = this.#options;
    return new Housekeeping({
      ...{ storage, clock, supply, reserve, segmentBytes, engine: this.#engine, log: this.log },
      ...{ manifest: this.#manifest, space: this.#space, observer: this.#observer, queues },
      snapshotBytesMin:
        snapshotBytesMin ?? Math.min(SNAPSHOT_BYTES_MIN, totalBytes * SNAPSHOT_SHARE_MIN),
      nextNumber: recovered.nextNumber,
      logBytes: recovered.bytes - (recovered.manifest?.snapshot?.bytes ?? 0),
      endSegment: recovered.end?.segment ?? 0,
      onRoom: () => this.#goOnNow(recovered, supply),
    });
  }

  /** Continues the log in a new segment. False where there is no space for that. */
  async #goOn(recovered: Recovered, supply: SegmentSupply): Promise<boolean> {
    try {
      this.#firstSegment ??= await this.#makeFirst(recovered, supply);
      while (!(await this.#isNamed(this.#firstSegment))) {
        if (await this.#cutTail(recovered)) continue;
        const tooLong: LogSegment = this.#firstSegment;
        this.#firstSegment = undefined;
        this.#firstSegment = await supply.shorter(tooLong);
        if (this.#firstSegment === undefined) return false;
      }
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      return false;
    }
    // A file that keeps its length does no harm.
    if (this.#end !== undefined) await cutBehindSeal(this.storage, this.#end).catch(ignored);
    supply.begin();
    this.log.start(supply, this.#firstSegment, this.#endFile);
    this.#firstSegment = undefined;
    this.#isOpen = true;
    return true;
  }

  /** On a full disk, cuts off the bytes behind the log's end and accepts a shorter segment. */
  async #makeFirst(recovered: Recovered, supply: SegmentSupply): Promise<LogSegment> {
    try {
      return await supply.first(recovered.nextNumber);
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      await this.#cutTail(recovered);
      return await supply.first(recovered.nextNumber, true);
    }
  }

  /**
   * Cuts off the bytes behind the log's end, once. False where that has been done, or has no space itself.
   */
  async #cutTail({ isSealed }: Recovered): Promise<boolean> {
    const end = this.#end;
    if (end === undefined || this.#isTailCut) return false;
    try {
      this.#end = await cutTail(this.storage, { end, isSealed });
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      return false;
    }
    this.#isTailCut = true;
    return true;
  }

  /** Tries again until there is space. Another fault of the disk ends the attempts. */
  #goOnLater(recovered: Recovered, supply: SegmentSupply): void {
    this.#again = this.#options.clock.after(SPACE_RETRY_MS, () => {
      this.#goOnNow(recovered, supply);
    });
  }

  /** Tries again at once, if the next attempt is awaited. */
  #goOnNow(recovered: Recovered, supply: SegmentSupply): void {
    if (this.#again === undefined || this.#closing !== undefined) return;
    this.#again.cancel();
    this.#again = undefined;
    this.#beginning = this.#goOn(recovered, supply)
      .then((hasBegun) => {
        if (hasBegun) this.#housekeeping?.work();
        else if (this.#closing === undefined) this.#goOnLater(recovered, supply);
      })
      .catch((error: unknown) => this.#observer.onFailed(error as Error));
  }

  /**
   * False where there is no space for the files that name the segment: they do not name it. Rejects also
   * where they may name it: then it is kept, and tried again.
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

  /** The manifest comes last: the segment counts from then on. */
  async #name({ number }: LogSegment): Promise<void> {
    const { storage, clock, partitionCount } = this.#options;
    const begin = { segment: number, offset: HEADER_BYTES };
    if (this.#end !== undefined) await leadOn(storage, this.#end, number);
    this.#endFile ??= await LogEndFile.open(storage, clock, this.#end ?? begin);
    await this.#marks?.write();
    // The manifest's sync of the directory makes that last, before any sequence is given.
    await storage.remove(UNSYNCED_MARKS);
    const manifest = this.#manifest;
    await manifest.change({
      partitionCount,
      memoryBytesMax: Math.min(this.#engine.memoryBytesMax, Number.MAX_SAFE_INTEGER),
      firstSegment: manifest.isThere ? manifest.content.firstSegment : number,
      synced: begin,
      isStopped: false,
      hasEndRecord: this.#endFile !== undefined,
      hasMember: this.member.isThere,
      hasMarks: this.#marks?.hasQueues ?? false,
    });
  }

  /**
   * Makes everything durable and releases the directory. A start under way ends first: it rejects with
   * GridError STOPPED_RECOVERING where it can. Rejects where making durable fails.
   */
  close(): Promise<void> {
    this.#closing ??= this.#opening.then(() => this.#close());
    return this.#closing;
  }

  #checkNotClosing(): void {
    if (this.#closing !== undefined) throw new GridError('STOPPED_RECOVERING', {});
  }

  async #close(): Promise<void> {
    this.#again?.cancel();
    await this.#beginning;
    await this.#housekeeping?.close();
    await this.#marks?.close();
    try {
      const end = await this.log.close();
      const stopped = { isStopped: true, stoppedMs: this.#options.clock.wall() };
      if (end !== undefined) await this.#marks?.keep().catch(ignored);
      // On a full disk the log's last record and the file `log-end` suffice.
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

  /** Resolves once the marks of the queues would survive a crash. Rejects as writeWhole does. */
  async keepMarks(): Promise<void> {
    await this.#marks?.keep();
  }

  /** Empties a queue, durably. Rejects as writeWhole does, and the queue is as before. */
  async clearQueue(queue: KeptQueue): Promise<void> {
    await this.#marks?.clear(queue);
  }

  #keeperOf(queues: KeptQueues): MarksKeeper {
    const { storage, clock, sync } = this.#options;
    return new MarksKeeper({
      ...{ storage, clock, queues },
      sequences: () => this.#engine.sequences(),
      syncLog: async () => {
        if (sync !== 'never' && this.log.isWriting) await this.log.sync();
      },
      isNoted: () => this.#manifest.isThere && this.#manifest.content.hasMarks === true,
      note: async () => {
        const manifest = this.#manifest;
        if (!manifest.isThere || manifest.content.hasMarks === true) return;
        await manifest.change({ hasMarks: true });
      },
    });
  }

  async #recover(queues: KeptQueues | undefined): Promise<Recovered> {
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

/** The failure has been reported, or does no harm. */
function ignored(): void {}

/** Rethrows all errors but that of a full disk. */
function notFull(error: unknown): void {
  if (!isFullDisk(error)) throw error;
}
