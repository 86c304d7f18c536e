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
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Cut } from './backup.ts';
import { TEMPORARY_SUFFIX } from './checked-file.ts';
import { Compaction, RESERVE } from './compaction.ts';
import { recoverEngine } from './engine-recovery.ts';
import { checkFilled } from './filling.ts';
import { finishForcedStart, NEW_SUFFIX } from './forced-start.ts';
import { sealEnd, syncRecovered } from './log-end.ts';
import { type Manifest, writeManifest } from './manifest.ts';
import { MemberFile } from './member-file.ts';
import type { Recovered, RecoveryProgress } from './recovery.ts';
import { HEADER_BYTES, LOG, parseSegmentName } from './segment.ts';
import { type LogSegment, SegmentSupply, segmentBytesFor, UNNAMED } from './segment-supply.ts';
import { Snapshot } from './snapshot.ts';
import { setStaleAside } from './stale-data.ts';
import type { Storage } from './storage.ts';
import { type SyncMode, WriteAheadLog } from './write-ahead-log.ts';

/** Log that is shorter is quicker to replay than to replace, in bytes. */
const SNAPSHOT_BYTES_MIN = 268_435_456;
/** On a small disk it is this share of it. */
const SNAPSHOT_SHARE_MIN = 1 / 8;
/** Until what could not be done is tried again, in ms. */
const RETRY_MS = 5000;
/** The same, for a segment to begin with. */
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
export interface PersistenceObserver {
  /** More answers may leave. */
  onReleased(): void;
  /** Mutations are refused for want of space from now on, or no longer. */
  onRefusing(isRefusing: boolean): void;
  /** A write or a sync has failed: the member has to be restarted. */
  onFailed(error: Error): void;
  /** Every second while recovering. */
  onProgress(progress: RecoveryProgress): void;
  onSnapshot(bytes: number): void;
  /** Bytes that were won back on a full disk. */
  onCompacted(bytes: number): void;
  /** No snapshot could be written; it will be tried again. */
  onSnapshotFailed(error: Error): void;
}

export class Persistence {
  /** The engine's sink. */
  readonly log: WriteAheadLog;
  /** Loaded by begin. */
  readonly member: MemberFile;
  readonly #options: PersistenceOptions;
  readonly #observer: PersistenceObserver;
  #engine!: StoredEngine;
  #supply: SegmentSupply | undefined;
  /** The one that the log begins in. */
  #firstSegment: LogSegment | undefined;
  #segmentBytes!: number;
  #snapshotBytesMin = SNAPSHOT_BYTES_MIN;
  #manifest!: Manifest;
  #nextSnapshot = 1;
  #snapshot: Snapshot | undefined;
  #compaction!: Compaction;
  /** Snapshot or compaction under way: one at a time. */
  #working: Promise<void> | undefined;
  /** Whether that may rewrite segments. */
  #isKeepingSpace = false;
  #again: Timer | undefined;
  #isLocked = false;
  #isOpen = false;
  /** `writtenBytes` of the log at the begin of the last snapshot, less what came before the start. */
  #snapshotAtBytes = 0;
  #snapshotNotBeforeMs = Number.NEGATIVE_INFINITY;
  #isClosing = false;
  /** What is being copied. */
  #held: Cut | undefined;
  /** Whether there are files that have only been kept for that. */
  #owesRemoval = false;

  constructor(options: PersistenceOptions, observer: PersistenceObserver) {
    this.#options = options;
    this.#observer = observer;
    this.member = new MemberFile(options.storage);
    this.log = new WriteAheadLog(options, {
      onReleased: () => observer.onReleased(),
      onRefusing: (isRefusing) => observer.onRefusing(isRefusing),
      onFailed: (error) => observer.onFailed(error),
      onSegment: () => this.#work(),
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
    while (this.#isKeepingSpace) await this.#working;
    const end = this.log.cut();
    if (!this.#isOpen || this.#isClosing || end === undefined) {
      throw new GridError('BACKUP_FAILED', { reason: 'the disk takes no writes' });
    }
    const wallMs = this.#options.clock.wall();
    this.#held = { manifest: this.#manifest, member: this.member.record, end, wallMs };
    return this.#held;
  }

  release(): void {
    this.#held = undefined;
    this.#work();
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
    await finishForcedStart(storage);
    await this.member.load();
  }

  /** Fills the engine, which must be empty, and begins to log. Rejects as Recovery.run does. */
  async open(engine: StoredEngine): Promise<Recovered> {
    const { storage, clock, segmentBytes, snapshotBytesMin, keepsStaleData } = this.#options;
    const { readBytesMax } = this.#options;
    this.#engine = engine;
    const { totalBytes } = await storage.space();
    this.#segmentBytes = segmentBytes ?? segmentBytesFor(totalBytes, readBytesMax);
    this.#snapshotBytesMin =
      snapshotBytesMin ?? Math.min(SNAPSHOT_BYTES_MIN, totalBytes * SNAPSHOT_SHARE_MIN);
    const supply = new SegmentSupply(storage, clock, this.#segmentBytes, () => {
      if (!this.#isOpen) return;
      this.log.onSupply();
      this.#work();
    });
    const recovering = recoverEngine(this.#options, engine, (progress) =>
      this.#observer.onProgress(progress),
    );
    const recovered = await recovering.catch(async (error) => {
      await supply.close();
      throw error;
    });
    if (this.#isClosing) {
      await supply.close();
      throw new GridError('STOPPED_RECOVERING', {});
    }
    await syncRecovered(storage, recovered);
    // Before anything is made, as it makes room where the disk is full.
    const { leftOver } = recovered;
    const stale = keepsStaleData ? await setStaleAside(storage, leftOver) : leftOver;
    await this.#removeFiles([RESERVE, ...stale, ...(await this.#temporaryFiles())]);
    await storage.syncDirectory();
    this.#supply = supply;
    this.#compaction = new Compaction(storage, engine, clock, this.#segmentBytes, () =>
      this.log.sync(),
    );
    this.#nextSnapshot = recovered.nextNumber;
    this.#snapshotAtBytes = -(recovered.bytes - (recovered.manifest?.snapshot?.bytes ?? 0));
    if (!(await this.#goOn(recovered, supply))) {
      this.log.wait();
      this.#goOnLater(recovered, supply);
    }
    return recovered;
  }

  /** The log goes on, in a new segment. False where there is no space for that. */
  async #goOn(recovered: Recovered, supply: SegmentSupply): Promise<boolean> {
    try {
      this.#firstSegment ??= await supply.first(recovered.nextNumber);
      await this.#goOnIn(this.#firstSegment, recovered);
      this.log.start(supply, this.#firstSegment);
    } catch (error) {
      if (!isFull(error)) throw error;
      return false;
    }
    this.#isOpen = true;
    this.#work();
    return true;
  }

  /** Tries again until there is space; a disk that fails otherwise leaves it at that. */
  #goOnLater(recovered: Recovered, supply: SegmentSupply): void {
    this.#again = this.#options.clock.after(SPACE_RETRY_MS, () => {
      this.#working = this.#goOn(recovered, supply)
        .then((hasBegun) => {
          if (!hasBegun && !this.#isClosing) this.#goOnLater(recovered, supply);
        })
        .catch((error: unknown) => this.#observer.onFailed(error as Error))
        .finally(() => {
          this.#working = undefined;
          this.#work();
        });
    });
  }

  async #goOnIn(segment: LogSegment, recovered: Recovered): Promise<void> {
    const { misnamed } = recovered;
    const { stoppedMs: _, ...manifest }: Partial<Manifest> = recovered.manifest ?? {};
    const { storage } = this.#options;
    if (recovered.end !== undefined) await sealEnd(storage, recovered.end, segment.number);
    await this.#writeManifest({
      ...manifest,
      partitionCount: this.#options.partitionCount,
      memoryBytesMax: Math.min(this.#engine.memoryBytesMax, Number.MAX_SAFE_INTEGER),
      firstSegment: manifest.firstSegment ?? segment.number,
      synced: { segment: segment.number, offset: HEADER_BYTES },
    });
    if (misnamed !== undefined) await storage.remove(misnamed);
  }

  /** Makes everything durable and lets go of the directory. Rejects where that can't be. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#snapshot?.cancel();
    this.#again?.cancel();
    await this.#working;
    try {
      await this.log.close();
      // Without it, the next start counts as the last read of every entry.
      const stoppedMs = this.#options.clock.wall();
      if (this.#isOpen) await this.#writeManifest({ ...this.#manifest, stoppedMs }).catch(ignored);
    } finally {
      await this.#options.storage.close();
    }
  }

  async #writeManifest(manifest: Omit<Manifest, 'bootId'>): Promise<void> {
    const { storage } = this.#options;
    const { bootId } = storage;
    const whole = { ...manifest, ...(bootId === undefined ? {} : { bootId }) };
    await writeManifest(storage, whole);
    this.#manifest = whole;
  }

  async #temporaryFiles(): Promise<readonly string[]> {
    const names = await this.#options.storage.list();
    return names.filter(
      (name) => name !== UNNAMED && (name.endsWith(TEMPORARY_SUFFIX) || name.endsWith(NEW_SUFFIX)),
    );
  }

  async #removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#options.storage.remove(name);
  }

  /** Does what is to be done beside the log, if anything. */
  #work(): void {
    if (!this.#isOpen || this.#isClosing || this.#working !== undefined) return;
    this.#again?.cancel();
    const work = this.#nextWork();
    this.#working = work
      .catch((error: unknown) => {
        this.#snapshotNotBeforeMs = this.#options.clock.now() + RETRY_MS;
        this.#observer.onSnapshotFailed(error as Error);
      })
      .finally(() => {
        this.#working = undefined;
        this.#isKeepingSpace = false;
        if (this.#supply?.fault === undefined || this.#isClosing) return;
        this.#again = this.#options.clock.after(RETRY_MS, () => this.#work());
      });
  }

  #nextWork(): Promise<void> {
    if (this.#owesRemoval && this.#held === undefined) return this.#removeOlder();
    const isFull = this.#supply?.fault !== undefined;
    this.#isKeepingSpace = isFull || !this.#isSnapshotDue;
    return this.#isKeepingSpace ? this.#keepSpace() : this.#takeSnapshot();
  }

  get #isSnapshotDue(): boolean {
    if (this.#options.clock.now() < this.#snapshotNotBeforeMs) return false;
    const grown = this.log.writtenBytes - this.#snapshotAtBytes;
    const last = this.#manifest.snapshot?.bytes ?? 0;
    return grown >= Math.max(this.#snapshotBytesMin, last);
  }

  /**
   * Keeps a reserve; on a full disk wins space back, segment by segment, as long as it is full. Where
   * there is none to win, a snapshot may still be shorter than the log that it replaces.
   */
  async #keepSpace(): Promise<void> {
    const compaction = this.#compaction;
    let won = 0;
    for (const number of await this.#fullSegments()) {
      if (this.#supply?.fault === undefined || this.#isClosing) break;
      const bytes = await compaction.compact(number);
      won += bytes;
      if (bytes > 0) this.#supply.retry();
    }
    if (won > 0) this.#observer.onCompacted(won);
    if (this.#supply?.fault === undefined) await compaction.reserve();
    else if (won === 0 && this.#isSnapshotDue && !this.#isClosing) await this.#takeSnapshot();
  }

  /** Segments of the log that are full and durable, the oldest first. */
  async #fullSegments(): Promise<readonly number[]> {
    if (this.#supply?.fault === undefined) return [];
    const { firstSegment } = this.#manifest;
    const first = Math.max(firstSegment, (this.#held?.end.segment ?? 0) + 1);
    const ids = (await this.#options.storage.list()).map(parseSegmentName);
    return ids
      .flatMap((id) => (id?.kind === LOG ? [id.number] : []))
      .filter((number) => number >= first && number < this.log.synced.segment)
      .sort((a, b) => a - b);
  }

  async #takeSnapshot(): Promise<void> {
    const { storage, clock } = this.#options;
    const { writtenBytes } = this.log;
    const firstSegment = this.log.segment;
    const number = this.#nextSnapshot++;
    const snapshot = new Snapshot(storage, this.#engine, clock, number, this.#segmentBytes);
    this.#snapshot = snapshot;
    const files = await snapshot.write();
    this.#snapshot = undefined;
    if (files === undefined) return;
    // What the visit has seen is in the log up to here: none of it may be lost if the rest is not.
    await this.log.sync();
    const { synced } = this.log;
    await this.#writeManifest({ ...this.#manifest, firstSegment, synced, snapshot: files });
    this.#snapshotAtBytes = writtenBytes;
    await this.#removeOlder();
    this.#supply?.retry();
    this.#observer.onSnapshot(files.bytes);
  }

  /** Removes what the manifest does not count any more, unless it is being copied. */
  async #removeOlder(): Promise<void> {
    this.#owesRemoval = this.#held !== undefined;
    if (this.#owesRemoval) return;
    const { firstSegment, snapshot } = this.#manifest;
    const names = await this.#options.storage.list();
    await this.#removeFiles(
      names.filter((name) => {
        const id = parseSegmentName(name);
        if (id === undefined) return false;
        return id.number < (id.kind === LOG ? firstSegment : (snapshot?.number ?? 0));
      }),
    );
  }
}

function ignored(): void {}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
