/**
 * Background tasks beside the log, one at a time: snapshots, which replace the log before them;
 * compaction on a full disk; and the removal of files that the manifest no longer names.
 *
 * A snapshot starts if there is room for it beside the log. It is cancelled if the log needs that
 * room. Compaction runs while no segment can be created, including before the log has started.
 * Tested by compaction.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { OutcomeUnknown } from '../base/errors.ts';
import type { SerialQueue } from '../base/serial-queue.ts';
import type { DurableQueues } from '../engine/durable-queues.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Cut } from './backup.ts';
import { Compaction } from './compaction.ts';
import type { ManifestFile } from './manifest.ts';
import type { Reserve } from './reserve.ts';
import { LOG, parseSegmentName, type SegmentId, SNAPSHOT, segmentIn } from './segment.ts';
import type { SegmentSupply } from './segment-supply.ts';
import { Snapshot } from './snapshot.ts';
import type { Storage } from './storage.ts';
import { parseQueueFileName, queueFileIn } from './wan-queue-file.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Delay before a failed task is retried, in ms. */
const RETRY_MS = 5000;
/**
 * Delay before compaction is retried, in ms. On a full disk, no event reports the room that
 * removals make.
 */
const COMPACTION_RETRY_MS = 1000;
/**
 * Number of segments for which a snapshot leaves room: two that are prepared, and those written
 * meanwhile.
 */
const FREE_SEGMENTS_MIN = 4;

interface HousekeepingOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly engine: StoredEngine;
  readonly log: WriteAheadLog;
  readonly supply: SegmentSupply;
  readonly manifest: ManifestFile;
  readonly space: SerialQueue;
  readonly reserve: Reserve;
  /** The persistent queues; undefined if there can be none. */
  readonly queues: DurableQueues | undefined;
  readonly segmentBytes: number;
  readonly snapshotBytesMin: number;
  /** Number of the next snapshot. */
  readonly nextNumber: number;
  /** Bytes of the log that were written before the start. */
  readonly logBytes: number;
  /** Number of the last segment of the previous process. */
  readonly endSegment: number;
  /** Time when the last snapshot was complete, in ms since 1970; undefined if there is none. */
  readonly snapshotMs: number | undefined;
  readonly observer: HousekeepingObserver;
  /** Called when compaction has freed space: a log that could not start may start now. */
  readonly onSpaceFreed: () => void;
}

export interface HousekeepingObserver {
  onSnapshot(bytes: number): void;
  /** `bytes`: the space that was freed on a full disk. */
  onCompacted(bytes: number): void;
  /** A snapshot has failed and will be retried. */
  onSnapshotFailed(error: Error): void;
  /** Compaction has failed and will be retried. */
  onCompactionFailed(error: Error): void;
}

export class Housekeeping {
  /** Time when the last snapshot was complete, in ms since 1970; undefined if there is none. */
  snapshotMs: number | undefined;
  readonly #options: HousekeepingOptions;
  #nextNumber: number;
  #snapshot: Snapshot | undefined;
  /**
   * `writtenBytes` of the log at the start of the last snapshot; -`logBytes` before the first one.
   */
  #snapshotAtBytes: number;
  #snapshotNotBeforeMs = Number.NEGATIVE_INFINITY;
  /** Minimum number of bytes that the last cancelled snapshot would have needed. */
  #snapshotNeedsBytes = 0;
  /** The current pass, which later tasks continue. */
  #compaction: Compaction | undefined;
  /** Time spent on the pass, in ms; it may be continued long after its start. */
  #passMs = 0;
  /**
   * State at the start of the last pass: bytes written by the log, the first segment after the
   * pass, the length of the reserve.
   */
  #passFromBytes = -1;
  #passBefore = -1;
  #passReserveBytes = 0;
  #passHasFreed = false;
  /** Whether the last pass had a segment to rewrite but no room for it. */
  #lacksSpace = false;
  #passNotBeforeMs = Number.NEGATIVE_INFINITY;
  /** The current task. */
  #working: Promise<void> | undefined;
  /** Whether the current task may rewrite segments. */
  #isFreeingSpace = false;
  #retryTimer: Timer | undefined;
  /** The data that a backup copies. */
  #cut: Cut | undefined;
  #isPaused = false;
  /** Whether obsolete files are retained for that backup and must be removed later. */
  #isRemovalPending = false;
  #isClosing = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.snapshotMs = options.snapshotMs;
    this.#nextNumber = options.nextNumber;
    this.#snapshotAtBytes = -options.logBytes;
  }

  /**
   * Resolves when no segment is being rewritten; none will be until `retainFiles` or
   * `releaseFiles`.
   *
   */
  async pause(): Promise<void> {
    this.#isPaused = true;
    while (this.#isFreeingSpace) await this.#working;
    this.#compaction = undefined;
  }

  /** Retains the files of the cut: they are neither removed nor rewritten until `releaseFiles`. */
  retainFiles(cut: Cut): void {
    this.#cut = cut;
    this.#isPaused = false;
  }

  releaseFiles(): void {
    this.#cut = undefined;
    this.#isPaused = false;
    this.#compaction = undefined;
    this.#passFromBytes = -1;
    this.#passNotBeforeMs = Number.NEGATIVE_INFINITY;
    this.work();
  }

  /** Starts no more tasks. Resolves when none is running. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#snapshot?.cancel();
    this.#retryTimer?.cancel();
    await this.#working;
  }

  /** Called when no segment can be created, or when one can be created again. */
  onSupply(): void {
    // The log needs the room that the snapshot uses.
    if (this.#isFull()) this.#snapshot?.cancel();
    this.work();
  }

  /** Starts the next task, if one is due and none is running. */
  work(): void {
    if (this.#isClosing || this.#working !== undefined) return;
    if (this.#options.log.failure !== undefined) return;
    this.#retryTimer?.cancel();
    this.#working = this.#nextWork().finally(() => {
      this.#working = undefined;
      this.#isFreeingSpace = false;
      if (!this.#isFull() || this.#isClosing) return;
      this.#retryTimer = this.#options.clock.after(COMPACTION_RETRY_MS, () => this.work());
    });
  }

  #isFull(): boolean {
    return this.#options.supply.fault !== undefined || !this.#options.log.isStarted;
  }

  async #nextWork(): Promise<void> {
    const { observer, clock, log } = this.#options;
    if (this.#isRemovalPending && this.#cut === undefined) {
      return await this.#removeOlder().catch((error) => observer.onSnapshotFailed(error));
    }
    this.#isFreeingSpace = this.#isFull() || !this.#isSnapshotDue();
    if (this.#isFreeingSpace) {
      await this.#freeSpace().catch((error: Error) => {
        this.#compaction = undefined;
        this.#passHasFreed = false;
        this.#passFromBytes = -1;
        this.#passNotBeforeMs = clock.now() + RETRY_MS;
        observer.onCompactionFailed(error);
      });
      this.#isFreeingSpace = false;
    }
    if (this.#isClosing || !log.isStarted || !this.#isSnapshotDue()) return;
    await this.#writeSnapshot().catch((error: Error) => {
      this.#snapshotNotBeforeMs = clock.now() + RETRY_MS;
      observer.onSnapshotFailed(error);
    });
  }

  #isSnapshotDue(): boolean {
    const { clock, log, snapshotBytesMin, manifest } = this.#options;
    if (!log.isStarted || clock.now() < this.#snapshotNotBeforeMs) return false;
    const grownBytes = log.writtenBytes - this.#snapshotAtBytes;
    const last = manifest.content.snapshot?.bytes ?? 0;
    return grownBytes >= Math.max(snapshotBytesMin, last);
  }

  /** Fills the reserve, then frees space while the disk is full. */
  async #freeSpace(): Promise<void> {
    const { observer, space, supply, reserve } = this.#options;
    const isWhole = await space.run(() => reserve.fill());
    let freedBytes = 0;
    while (this.#isFull() && !this.#isClosing && !this.#isPaused) {
      const bytes = await this.#compact();
      // A pass that has freed space is followed by another at once, for records that died
      // meanwhile.
      if (bytes === undefined && !this.#passHasFreed && !(await this.#refillReserve())) break;
      if (bytes === undefined) continue;
      freedBytes += bytes;
      if (bytes > 0) supply.retry();
    }
    if (freedBytes === 0) return;
    if (!isWhole) await space.run(() => reserve.fill());
    observer.onCompacted(freedBytes);
    this.#options.onSpaceFreed();
  }

  /**
   * Continues the pass, or starts one that may free space. Resolves with the number of bytes freed,
   * or with undefined at the end of the pass.
   */
  async #compact(): Promise<number | undefined> {
    const { clock, log, reserve } = this.#options;
    if (this.#compaction === undefined) {
      const hasChanged =
        this.#passHasFreed ||
        log.writtenBytes !== this.#passFromBytes ||
        this.#passEnd() !== this.#passBefore ||
        reserve.filledBytes > this.#passReserveBytes;
      if (!hasChanged || clock.now() < this.#passNotBeforeMs) return undefined;
      this.#compaction = this.#beginPass();
    }
    const fromMs = clock.now();
    const freedBytes = await this.#compaction?.step();
    this.#passMs += clock.now() - fromMs;
    if (freedBytes === undefined) {
      this.#lacksSpace = this.#compaction?.lacksSpace ?? false;
      this.#compaction = undefined;
      // A pass reads all files, so one that has freed nothing is repeated only after a pause as
      // long as it.
      if (!this.#passHasFreed) this.#passNotBeforeMs = clock.now() + this.#passMs;
    } else if (freedBytes > 0) this.#passHasFreed = true;
    return freedBytes;
  }

  /**
   * Gives the space of the prepared segments to the reserve if the last pass had too short a
   * reserve because other programs had used its space. Resolves with whether another pass may free
   * space now.
   */
  async #refillReserve(): Promise<boolean> {
    const { supply, reserve } = this.#options;
    if (!this.#lacksSpace || reserve.isWhole) return false;
    this.#lacksSpace = false;
    const before = reserve.filledBytes;
    await supply.giveReadyToReserve();
    if (reserve.filledBytes <= before) return false;
    this.#passNotBeforeMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Returns the number of the first segment that a pass starting now would not rewrite. */
  #passEnd(): number {
    const { log, endSegment } = this.#options;
    return log.isStarted ? log.synced.segment : endSegment;
  }

  #beginPass(): Compaction | undefined {
    const { storage, engine, clock, segmentBytes, log, manifest, space, reserve } = this.#options;
    const { files } = this.#options.supply;
    this.#passMs = 0;
    this.#passFromBytes = log.writtenBytes;
    this.#passBefore = this.#passEnd();
    this.#passReserveBytes = reserve.filledBytes;
    this.#passHasFreed = false;
    if (!manifest.exists) return undefined;
    const { firstSegment, snapshot } = manifest.content;
    const { number = 0, parts = 0 } = this.#cut === undefined ? (snapshot ?? {}) : {};
    const ids = Array.from(
      { length: parts },
      (_, part): SegmentId => ({
        kind: SNAPSHOT,
        number,
        part,
      }),
    );
    const first = this.#cut?.end.segment;
    const { queues } = this.#options;
    const options = { storage, engine, clock, segmentBytes, files, space, reserve, queues };
    const syncLog = async () => (log.isStarted ? await log.sync() : undefined);
    return new Compaction(
      { ...options, syncLog },
      {
        parts: ids,
        first: first ?? firstSegment,
        isFirstUnchanged: first !== undefined,
        before: this.#passBefore,
      },
    );
  }

  async #writeSnapshot(): Promise<void> {
    const { storage, clock, engine, log, manifest, segmentBytes, supply, observer } = this.#options;
    const { queues } = this.#options;
    const hasRoom = async (bytes: number): Promise<boolean> => {
      const { freeBytes } = await storage.space();
      return freeBytes >= bytes + FREE_SEGMENTS_MIN * segmentBytes;
    };
    if (!(await hasRoom(this.#snapshotNeedsBytes)) || this.#isFull()) return;
    const { writtenBytes } = log;
    const firstSegment = log.segment;
    const number = await this.#freeNumber();
    const hasRoomFor = async (bytes: number): Promise<boolean> => {
      this.#snapshotNeedsBytes = bytes + segmentBytes;
      return await hasRoom(segmentBytes);
    };
    const snapshot = new Snapshot(storage, engine, clock, number, segmentBytes, hasRoomFor, queues);
    this.#snapshot = snapshot;
    const files = await snapshot.write().finally(() => {
      this.#snapshot = undefined;
    });
    if (files === undefined) return;
    this.#snapshotNeedsBytes = 0;
    // The snapshot may contain the log's latest changes, and a crash must not lose earlier ones.
    try {
      await log.sync();
      await manifest.change({ firstSegment, synced: log.synced, snapshot: files });
    } catch (error) {
      // The manifest does not name the snapshot. Unless it is removed now, it would remain until
      // the next snapshot, for which there may be no room.
      if (!(error instanceof OutcomeUnknown)) await snapshot.remove();
      throw error;
    }
    this.#compaction = undefined;
    this.snapshotMs = clock.wall();
    this.#snapshotAtBytes = writtenBytes;
    await this.#removeOlder();
    supply.retry();
    observer.onSnapshot(files.bytes);
  }

  /** Returns the next snapshot number that no file uses. */
  async #freeNumber(): Promise<number> {
    const used = new Set<number | undefined>();
    for (const name of await this.#options.storage.list()) {
      const id = parseSegmentName(name);
      used.add(id?.kind === SNAPSHOT ? id.number : parseQueueFileName(name));
    }
    while (used.has(this.#nextNumber)) this.#nextNumber++;
    return this.#nextNumber++;
  }

  /**
   * Removes the segments that the manifest no longer names, unless a backup may be copying them.
   */
  async #removeOlder(): Promise<void> {
    this.#isRemovalPending = this.#cut !== undefined;
    if (this.#isRemovalPending) return;
    const { storage, manifest, supply } = this.#options;
    const { firstSegment, snapshot } = manifest.content;
    for (const name of await storage.list()) {
      const id = await segmentIn(storage, name);
      const number = id?.number ?? (await queueFileIn(storage, name));
      if (number === undefined) continue;
      const first = id?.kind === LOG ? firstSegment : (snapshot?.number ?? 0);
      if (number >= first) continue;
      await storage.remove(name);
      if (id?.kind === LOG) supply.files.delete(number);
    }
  }
}
