/**
 * A member's engine and persistence, in a process that ends when its disk crashes or the spec ends
 * it: then none of its code runs any more.
 */
import assert from 'node:assert/strict';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { FROM_REPLAY, type Mutation } from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import { Persistence } from '../../src/persistence/persistence.ts';
import type { Recovered } from '../../src/persistence/recovery.ts';
import { isFullDisk } from '../../src/persistence/storage.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { copyOf } from '../engine/sinks.ts';
import type { FakeClock } from '../fake-clock.ts';
import { MemberClock } from './member-clock.ts';
import type { MemoryStorage } from './memory-storage.ts';

export const PARTITION_COUNT = 5;

export interface DiskMemberOptions {
  readonly clock: FakeClock;
  readonly storage: MemoryStorage;
  readonly sync: SyncMode;
  readonly segmentBytes?: number;
  readonly snapshotBytesMin?: number;
  /** Sinks that are called before the log. */
  readonly sinksBefore?: readonly MutationSink[];
  /** Whether removals leave tombstones; undefined: only those of merged maps. */
  readonly keepsTombstones?: boolean;
  /** Called with each change that is recorded, except those of the recovery. */
  readonly onRecord: (mutation: Mutation) => void;
  /** Called when delayed responses may be sent. */
  readonly onReleased: () => void;
}

export class DiskMember {
  readonly clock: MemberClock;
  readonly engine: EmbeddedEngine;
  readonly persistence: Persistence;
  readonly storage: MemoryStorage;
  recovered: Recovered | undefined;
  /** Snapshots and compactions of this life that are in effect. */
  snapshotCount = 0;
  compactionCount = 0;
  readonly #turns: FakeClock;
  #hasEnded = false;

  constructor(options: DiskMemberOptions) {
    const { storage, sync, segmentBytes = 4096, snapshotBytesMin = 8192 } = options;
    const { sinksBefore = [], keepsTombstones, onRecord, onReleased } = options;
    const ignore = (): void => {};
    const tolerate = (error: Error) => this.tolerate(error);
    this.storage = storage;
    this.#turns = options.clock;
    this.clock = new MemberClock(options.clock, { hasCrashed: () => storage.hasCrashed });
    this.persistence = new Persistence(
      {
        storage,
        clock: this.clock,
        partitionCount: PARTITION_COUNT,
        sync,
        syncIntervalMs: 1000,
        segmentBytes,
        snapshotBytesMin,
      },
      {
        onReleased,
        onRefusing: ignore,
        onFailed: ignore,
        onProgress: ignore,
        onSnapshot: () => void this.snapshotCount++,
        onCompacted: () => void this.compactionCount++,
        onSnapshotFailed: tolerate,
        onCompactionFailed: tolerate,
      },
    );
    const history: MutationSink = {
      admit: () => ADMITTED,
      abandon: ignore,
      record: (mutation) => {
        if (mutation.origin !== FROM_REPLAY) onRecord(copyOf(mutation));
      },
      durable: () => Number.POSITIVE_INFINITY,
    };
    this.engine = new EmbeddedEngine({
      partitionCount: PARTITION_COUNT,
      clock: this.clock,
      queueCapacity: () => Number.POSITIVE_INFINITY,
      sinks: [...sinksBefore, this.persistence.log, history],
      ...(keepsTombstones === undefined ? {} : { keepsTombstones: () => keepsTombstones }),
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded || this.storage.hasCrashed;
  }

  /** Returns false if the storage has crashed meanwhile. */
  async open(parts?: Parameters<Persistence['open']>[1]): Promise<boolean> {
    const { engine, persistence } = this;
    const opening = persistence.begin().then(async () => {
      this.recovered = await persistence.open(engine, parts);
      engine.invariants();
    });
    return await this.drive(opening);
  }

  /** Ends the process. */
  end(): void {
    this.#hasEnded = true;
    this.clock.end();
  }

  /**
   * Runs until the promise is resolved: true, or the storage has crashed: false. Rejects if the
   * promise does so before a crash.
   */
  drive(promise: Promise<unknown>): Promise<boolean> {
    return this.storage.drive(promise, () => this.#turns.endTurn());
  }

  /** Accepts errors of a disk that is full or has crashed. */
  tolerate(error: Error): void {
    assert.ok(this.hasEnded || isFullDisk(error), error);
  }
}
