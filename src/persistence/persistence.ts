/**
 * What keeps a member's data: its log, its snapshots, and their way back into the engine. Made first,
 * as the engine asks its log from the begin; opened when there is an engine to fill; closed last.
 *
 *     lock → recovery → what it found is synced → what counts for nothing is removed → a new segment
 *     → the SEAL of the log's last one names it → manifest → the log goes on
 *
 * Each step is durable before the next, so that a crash between any two leaves a directory that is
 * recovered to the same. Where the disk is too full for a new segment, the engine is read until there
 * is one, and mutations are refused.
 *
 * When the log has grown by as much as the last snapshot, and by enough to be worth it, the next
 * snapshot is written; then the log is synced, the manifest names both, and older files are removed.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { InTurn } from '../base/in-turn.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Cut } from './backup.ts';
import { EndRecord } from './end-record.ts';
import { recoverEngine } from './engine-recovery.ts';
import { checkFilled } from './filling.ts';
import { finishForcedStart, NEW_SUFFIX } from './forced-start.ts';
import { foreignFiles } from './foreign-files.ts';
import { Housekeeping, type HousekeepingObserver } from './housekeeping.ts';
import { cutTail, leadOn, syncRecovered } from './log-end.ts';
import { ManifestFile } from './manifest.ts';
import { MemberFile } from './member-file.ts';
import type { Recovered, RecoveryProgress } from './recovery.ts';
import { HEADER_BYTES } from './segment.ts';
import { type LogSegment, SegmentSupply, segmentBytesFor, UNNAMED } from './segment-supply.ts';
import { setStaleAside } from './stale-data.ts';
import { isFullDisk, type Storage } from './storage.ts';
import { TEMPORARY_SUFFIX } from './whole-file.ts';
import { type LogPlace, type SyncMode, WriteAheadLog } from './write-ahead-log.ts';

/** Log that is shorter is quicker to replay than to replace, in bytes. */
const SNAPSHOT_BYTES_MIN = 268_435_456;
/** On a small disk it is this share of it. */
const SNAPSHOT_SHARE_MIN = 1 / 8;
/** Until a segment to begin with is tried again, in ms. */
const SPACE_RETRY_MS = 1000;

export interface PersistenceOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly partitionCount: number;
  readonly sync: SyncMode;
  readonly syncIntervalMs: number;
  /** Segments that do not count any more are set aside by a start, not removed. */
  readonly keepsStaleData?: boolean;
  /** What recovery may read at a time, which segments are no longer than; any unless given. */
  readonly readBytesMax?: number;
  /** For tests; otherwise by the size of the disk. */
  readonly segmentBytes?: number;
  readonly snapshotBytesMin?: number;
}

/** Who is told of what. Never called from inside a call of the engine. */
export interface PersistenceObserver extends HousekeepingObserver {
  /** More answers may leave. */
  onReleased(): void;
  /** Mutations are refused for want of space from now on, or no longer; `fault`: why there is none. */
  onRefusing(isRefusing: boolean, fault: Error | undefined): void;
  /** A write or a sync has failed: the member has to be restarted. */
  onFailed(error: Error): void;
  /** Every second while recovering. */
  onProgress(progress: RecoveryProgress): void;
}

export interface Opened extends Recovered {
  /** Files in the directory that mean nothing to a member. */
  readonly foreign: readonly string[];
}

export class Persistence {
  /** The engine's sink. */
  readonly log: WriteAheadLog;
  /** Loaded by begin. */
  readonly member: MemberFile;
  readonly #options: PersistenceOptions;
  readonly #observer: PersistenceObserver;
  readonly #manifest: ManifestFile;
  /** Space is taken in turn, so that what compaction wins makes its reserve first. */
  readonly #space = new InTurn();
  #engine!: StoredEngine;
  #supply: SegmentSupply | undefined;
  #housekeeping: Housekeeping | undefined;
  /** The one that the log begins in. */
  #firstSegment: LogSegment | undefined;
  #endRecord: EndRecord | undefined;
  /** Where the log of the process before ends. */
  #end: LogPlace | undefined;
  /** What goes on under way to the log's beginning. */
  #beginning: Promise<void> | undefined;
  #again: Timer | undefined;
  #isLocked = false;
  #isOpen = false;
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
   * What is stored at this moment: of that, nothing is removed or rewritten until release. Rejects with
   * GridError BACKUP_FAILED where nothing is written.
   */
  async hold(): Promise<Cut> {
    // A compaction under way may have left out what has been ended since it looked.
    await this.#housekeeping?.pause();
    const end = this.log.cut();
    if (!this.#isOpen || this.#closing !== undefined || end === undefined) {
      this.#housekeeping?.release();
      throw new GridError('BACKUP_FAILED', { reason: 'the disk takes no writes' });
    }
    const wallMs = this.#options.clock.wall();
    const cut = { manifest: this.#manifest.content, member: this.member.record, end, wallMs };
    this.#housekeeping?.hold(cut);
    return cut;
  }

  release(): void {
    this.#housekeeping?.release();
  }

  /**
   * Takes the directory, and reads what belongs to the member. Before open; can be called again when
   * it has rejected, as readCheckedFile does, or with GridError DATA_DIRECTORY_LOCKED or DATA_NOT_WHOLE.
   */
  async begin(): Promise<void> {
    const { storage } = this.#options;
    if (!this.#isLocked) await storage.lock();
    this.#isLocked = true;
    await checkFilled(storage);
    const manifest = await finishForcedStart(storage);
    await this.member.load(manifest?.hasMember);
  }

  /** Fills the engine, which must be empty, and begins to log. Rejects as Recovery.run does. */
  async open(engine: StoredEngine): Promise<Opened> {
    const { storage, clock, keepsStaleData, readBytesMax } = this.#options;
    this.#engine = engine;
    const { totalBytes } = await storage.space();
    const { segmentBytes = segmentBytesFor(totalBytes, readBytesMax) } = this.#options;
    const space = this.#space;
    const onFault = (): void => {
      if (this.#isOpen) this.log.onSupply();
      this.#housekeeping?.onSupply();
    };
    const supply = new SegmentSupply({ storage, clock, segmentBytes, space, onFault });
    this.#supply = supply;
    const recovered = await this.#recover().catch(async (error) => {
      await supply.close();
      throw error;
    });
    await syncRecovered(storage, recovered);
    // Before anything is made, as it makes room where the disk is full.
    const { leftOver } = recovered;
    const stale = keepsStaleData ? await setStaleAside(storage, leftOver) : leftOver;
    const names = await storage.list();
    await this.#removeFiles([...stale, ...names.filter(isTemporary)]);
    await storage.syncDirectory();
    this.#manifest.hasRead(recovered.manifest);
    this.#end = recovered.end;
    this.#housekeeping = this.#makeHousekeeping(recovered, supply, segmentBytes, totalBytes);
    if (!(await this.#goOn(recovered, supply))) {
      this.log.wait(supply);
      this.#goOnLater(recovered, supply);
    }
    this.#housekeeping.work();
    return { ...recovered, foreign: foreignFiles(names) };
  }

  #makeHousekeeping(
    recovered: Recovered,
    supply: SegmentSupply,
    segmentBytes: number,
    totalBytes: number,
  ): Housekeeping {
    const { storage, clock, snapshotBytesMin } = this.#options;
    return new Housekeeping({
      ...{ storage, clock, supply, segmentBytes, engine: this.#engine, log: this.log },
      ...{ manifest: this.#manifest, space: this.#space, observer: this.#observer },
      snapshotBytesMin:
        snapshotBytesMin ?? Math.min(SNAPSHOT_BYTES_MIN, totalBytes * SNAPSHOT_SHARE_MIN),
      nextNumber: recovered.nextNumber,
      logBytes: recovered.bytes - (recovered.manifest?.snapshot?.bytes ?? 0),
      endSegment: recovered.end?.segment ?? 0,
      onRoom: () => this.#goOnNow(recovered, supply),
    });
  }

  /** The log goes on, in a new segment. False where there is no space for that. */
  async #goOn(recovered: Recovered, supply: SegmentSupply): Promise<boolean> {
    try {
      let segment = await this.#makeFirst(recovered, supply);
      this.#firstSegment = segment;
      while (!(await this.#namesFirst(segment, recovered))) {
        this.#firstSegment = undefined;
        const shorter = await supply.shorter(segment);
        if (shorter === undefined) return false;
        segment = shorter;
        this.#firstSegment = segment;
      }
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      return false;
    }
    supply.retry();
    this.log.start(supply, this.#firstSegment, this.#endRecord);
    this.#firstSegment = undefined;
    this.#isOpen = true;
    return true;
  }

  /** What lies behind the end of the log is given up for it, and a short one will do. */
  async #makeFirst(
    { isSealed, nextNumber: number }: Recovered,
    supply: SegmentSupply,
  ): Promise<LogSegment> {
    try {
      return await supply.first(number);
    } catch (error) {
      if (!isFullDisk(error)) throw error;
      const end = this.#end;
      if (end !== undefined) this.#end = await cutTail(this.storage, { end, isSealed });
      return await supply.first(number, true);
    }
  }

  /** Tries again until there is space; a disk that fails otherwise leaves it at that. */
  #goOnLater(recovered: Recovered, supply: SegmentSupply): void {
    this.#again = this.#options.clock.after(SPACE_RETRY_MS, () => {
      this.#goOnNow(recovered, supply);
    });
  }

  /** Tries again, if that is what is waited for. */
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

  /** False where there is no space for it. */
  async #namesFirst(segment: LogSegment, recovered: Recovered): Promise<boolean> {
    try {
      await this.#goOnIn(segment, recovered);
      return true;
    } catch (error) {
      if (isFullDisk(error)) return false;
      throw error;
    }
  }

  async #goOnIn(segment: LogSegment, recovered: Recovered): Promise<void> {
    const { manifest, misnamed } = recovered;
    const { storage, clock, partitionCount } = this.#options;
    const begin = { segment: segment.number, offset: HEADER_BYTES };
    if (this.#end !== undefined) await leadOn(storage, this.#end, segment.number);
    this.#endRecord ??= await EndRecord.open(storage, clock, begin);
    await this.#manifest.change({
      partitionCount,
      memoryBytesMax: Math.min(this.#engine.memoryBytesMax, Number.MAX_SAFE_INTEGER),
      firstSegment: manifest?.firstSegment ?? segment.number,
      synced: begin,
      isStopped: false,
      hasEndRecord: this.#endRecord !== undefined,
      hasMember: this.member.isThere,
    });
    if (misnamed !== undefined) await storage.remove(misnamed);
  }

  /** Makes everything durable and lets go of the directory. Rejects where that can't be. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#again?.cancel();
    await this.#beginning;
    await this.#housekeeping?.close();
    try {
      const end = await this.log.close();
      const stopped = { isStopped: true, stoppedMs: this.#options.clock.wall() };
      // Where there is no space for that, the log's last record and that of its end tell it, too.
      if (end !== undefined) {
        await this.#manifest.change({ synced: end, ...stopped }).catch(notFull);
      }
    } finally {
      if (!this.log.isStarted) {
        await this.#firstSegment?.file.close();
        await this.#endRecord?.close();
      }
      await this.#supply?.close();
      await this.#options.storage.close();
    }
  }

  async #recover(): Promise<Recovered> {
    const recovered = await recoverEngine(this.#options, this.#engine, (progress) =>
      this.#observer.onProgress(progress),
    );
    if (this.#closing !== undefined) throw new GridError('STOPPED_RECOVERING', {});
    return recovered;
  }

  async #removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#options.storage.remove(name);
  }
}

function isTemporary(name: string): boolean {
  return name !== UNNAMED && (name.endsWith(TEMPORARY_SUFFIX) || name.endsWith(NEW_SUFFIX));
}

/** Another error is told. */
function notFull(error: unknown): void {
  if (!isFullDisk(error)) throw error;
}
