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
import type { StoredEngine } from '../engine/stored-engine.ts';
import { TEMPORARY_SUFFIX } from './checked-file.ts';
import { Compaction, RESERVE } from './compaction.ts';
import { type Manifest, writeManifest } from './manifest.ts';
import { MemberFile } from './member-file.ts';
import { NOTE_BYTES, Page, SEAL, SURE, writeNote } from './record-codec.ts';
import { type Recovered, Recovery, type RecoveryProgress } from './recovery.ts';
import { HEADER_BYTES, LOG, parseSegmentName, segmentName, segmentSeed } from './segment.ts';
import { type LogSegment, SegmentSupply } from './segment-supply.ts';
import { Snapshot } from './snapshot.ts';
import type { Storage } from './storage.ts';
import { type SyncMode, WriteAheadLog } from './write-ahead-log.ts';

const SEGMENT_BYTES = 33_554_432;
const SEGMENT_BYTES_MIN = 1_048_576;
/** A small disk has this many segments at least. */
const SEGMENTS_MIN = 32;
/** Log that is shorter is quicker to replay than to replace, in bytes. */
const SNAPSHOT_BYTES_MIN = 268_435_456;
/** On a small disk it is this share of it. */
const SNAPSHOT_SHARE_MIN = 1 / 8;
/** Until what could not be done is tried again, in ms. */
const RETRY_MS = 5000;
/** The same, for a segment to begin with. */
const SPACE_RETRY_MS = 1000;
const PROGRESS_MS = 1000;

export interface PersistenceOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly partitionCount: number;
  readonly sync: SyncMode;
  readonly syncIntervalMs: number;
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
  #segmentBytes = SEGMENT_BYTES;
  #snapshotBytesMin = SNAPSHOT_BYTES_MIN;
  #manifest!: Manifest;
  #nextSnapshot = 1;
  #snapshot: Snapshot | undefined;
  #compaction!: Compaction;
  /** Snapshot or compaction under way: one at a time. */
  #working: Promise<void> | undefined;
  #again: Timer | undefined;
  #isOpen = false;
  /** `writtenBytes` of the log at the begin of the last snapshot, less what came before the start. */
  #snapshotAtBytes = 0;
  #snapshotNotBeforeMs = Number.NEGATIVE_INFINITY;
  #isClosing = false;

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

  /** Where the data is, for messages. */
  get place(): string {
    return this.#options.storage.place;
  }

  /** Takes the directory, and reads what belongs to the member. Before open. */
  async begin(): Promise<void> {
    await this.#options.storage.lock();
    await this.member.load();
  }

  /** Fills the engine, which must be empty, and begins to log. Rejects as Recovery.run does. */
  async open(engine: StoredEngine): Promise<Recovered> {
    const { storage, clock, segmentBytes, snapshotBytesMin } = this.#options;
    this.#engine = engine;
    const recovered = await this.#recover();
    await this.#syncFound(recovered);
    // Before anything is made, as it makes room where the disk is full.
    await this.#removeFiles([RESERVE, ...recovered.leftOver, ...(await this.#temporaryFiles())]);
    await storage.syncDirectory();
    const { totalBytes } = await storage.space();
    this.#segmentBytes = segmentBytes ?? segmentBytesFor(totalBytes);
    this.#snapshotBytesMin =
      snapshotBytesMin ?? Math.min(SNAPSHOT_BYTES_MIN, totalBytes * SNAPSHOT_SHARE_MIN);
    const supply = new SegmentSupply(
      storage,
      clock,
      this.#segmentBytes,
      recovered.nextNumber,
      () => {
        if (!this.#isOpen) return;
        this.log.onSupply();
        this.#work();
      },
    );
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
      this.#firstSegment ??= await supply.first();
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
    const { manifest, misnamed } = recovered;
    await this.#sealEnd(recovered, segment);
    await this.#writeManifest({
      ...manifest,
      partitionCount: this.#options.partitionCount,
      firstSegment: manifest?.firstSegment ?? segment.number,
      synced: { segment: segment.number, offset: HEADER_BYTES },
    });
    if (misnamed !== undefined) await this.#options.storage.remove(misnamed);
  }

  /** Makes everything durable and lets go of the directory. Rejects where that can't be. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#snapshot?.cancel();
    this.#again?.cancel();
    await this.#working;
    try {
      await this.log.close();
    } finally {
      await this.#options.storage.close();
    }
  }

  async #recover(): Promise<Recovered> {
    const { storage, clock, partitionCount } = this.#options;
    let toldMs = clock.now();
    const recovery = new Recovery({
      storage,
      engine: this.#engine,
      partitionCount,
      now: () => clock.now(),
      breathe: () => new Promise((resolve) => clock.endOfTurn(resolve)),
      onProgress: (progress) => {
        if (clock.now() - toldMs < PROGRESS_MS) return;
        toldMs = clock.now();
        this.#observer.onProgress(progress);
      },
    });
    return await recovery.run();
  }

  /**
   * What was written before the end of the process may be there without being durable: records that
   * are shown from now on, and the manifest, without which files that it does not name still count.
   */
  async #syncFound({ end, manifest }: Recovered): Promise<void> {
    const { storage } = this.#options;
    await storage.syncDirectory();
    if (end === undefined || manifest === undefined) return;
    for (const name of await storage.list()) {
      const id = parseSegmentName(name);
      if (id?.kind !== LOG || id.number > end.segment || id.number < manifest.firstSegment)
        continue;
      const file = await storage.open(name);
      await file.sync();
      await file.close();
    }
  }

  /** Cuts off what is not whole behind the log's last record, and leads from there to the segment. */
  async #sealEnd({ end }: Recovered, next: LogSegment): Promise<void> {
    if (end === undefined) return;
    const id = { kind: LOG, number: end.segment, part: 0 } as const;
    const page = new Page(NOTE_BYTES);
    writeNote(page, 0, SEAL, 0, next.number, SURE, segmentSeed(id));
    const file = await this.#options.storage.open(segmentName(id));
    await file.truncate(end.offset);
    await file.write(page.bytes, 0, NOTE_BYTES, end.offset);
    await file.sync();
    await file.close();
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
    return names.filter((name) => name.endsWith(TEMPORARY_SUFFIX));
  }

  async #removeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#options.storage.remove(name);
  }

  /** Does what is to be done beside the log, if anything. */
  #work(): void {
    if (!this.#isOpen || this.#isClosing || this.#working !== undefined) return;
    this.#again?.cancel();
    const isFull = this.#supply?.fault !== undefined;
    const work = this.#isSnapshotDue && !isFull ? this.#takeSnapshot() : this.#keepSpace();
    this.#working = work
      .catch((error: unknown) => {
        this.#snapshotNotBeforeMs = this.#options.clock.now() + RETRY_MS;
        this.#observer.onSnapshotFailed(error as Error);
      })
      .finally(() => {
        this.#working = undefined;
        if (this.#supply?.fault === undefined || this.#isClosing) return;
        this.#again = this.#options.clock.after(RETRY_MS, () => this.#work());
      });
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
    const ids = (await this.#options.storage.list()).map(parseSegmentName);
    return ids
      .flatMap((id) => (id?.kind === LOG ? [id.number] : []))
      .filter((number) => number >= firstSegment && number < this.log.synced.segment)
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
    await this.#removeOlder(firstSegment, number);
    this.#supply?.retry();
    this.#observer.onSnapshot(files.bytes);
  }

  async #removeOlder(firstSegment: number, snapshot: number): Promise<void> {
    const names = await this.#options.storage.list();
    await this.#removeFiles(
      names.filter((name) => {
        const id = parseSegmentName(name);
        if (id === undefined) return false;
        return id.number < (id.kind === LOG ? firstSegment : snapshot);
      }),
    );
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

function segmentBytesFor(totalBytes: number): number {
  const share = Math.floor(totalBytes / SEGMENTS_MIN / SEGMENT_BYTES_MIN) * SEGMENT_BYTES_MIN;
  return Math.min(SEGMENT_BYTES, Math.max(SEGMENT_BYTES_MIN, share));
}
