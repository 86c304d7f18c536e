/**
 * A member with persistence, on a storage that crashes, that publishes to another one. Its process
 * ends when the storage crashes or the test ends it: then none of its code runs any more, and it
 * sends nothing.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { FROM_REPLAY, type Mutation } from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import { Persistence } from '../../src/persistence/persistence.ts';
import { isFullDisk } from '../../src/persistence/storage.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import type { WanPublisherOptions } from '../../src/wan/publisher-options.ts';
import { WanReplications } from '../../src/wan/wan-replications.ts';
import { copyOf } from '../engine/sinks.ts';
import type { MemoryStorage } from '../world/memory-storage.ts';
import { type Network, REQUEST_LIMITS, RecordedLog } from './members.ts';

export const PARTITION_COUNT = 5;

export interface PersistentSourceParts {
  readonly network: Network;
  readonly storage: MemoryStorage;
  readonly sync: SyncMode;
  readonly publishers: readonly WanPublisherOptions[];
  readonly segmentBytes?: number;
  readonly snapshotBytesMin?: number;
  /** Whether removals leave tombstones, which is the default; a long outage outlasts them. */
  readonly keepsTombstones?: boolean;
}

export class PersistentSource {
  readonly isDown = false;
  readonly log = new RecordedLog();
  readonly engine: EmbeddedEngine;
  readonly persistence: Persistence;
  readonly replications: WanReplications;
  /** Snapshots of this life that are in effect. */
  snapshotCount = 0;
  /** Changes recorded in this life, without those of its recovery. */
  readonly history: Mutation[] = [];
  readonly #parts: PersistentSourceParts;
  #hasEnded = false;
  #onProgress = (): void => {};

  constructor(parts: PersistentSourceParts) {
    const { network, storage, sync, publishers } = parts;
    const { segmentBytes = 4096, snapshotBytesMin = 8192, keepsTombstones = true } = parts;
    this.#parts = parts;
    const clock = this.#clock();
    const tolerated = (error: Error) => assert.ok(storage.hasCrashed || isFullDisk(error), error);
    this.persistence = new Persistence(
      {
        storage,
        clock,
        partitionCount: PARTITION_COUNT,
        sync,
        syncIntervalMs: 1000,
        segmentBytes,
        snapshotBytesMin,
      },
      {
        onReleased: () => this.replications?.release(),
        onRefusing: () => {},
        onFailed: () => {},
        onProgress: () => {},
        onSnapshot: () => {
          this.snapshotCount++;
        },
        onCompacted: () => {},
        onSnapshotFailed: tolerated,
        onCompactionFailed: tolerated,
      },
    );
    const history: MutationSink = {
      admit: () => ADMITTED,
      abandon: () => {},
      record: (mutation) => {
        if (mutation.origin !== FROM_REPLAY) this.history.push(copyOf(mutation));
      },
      durable: () => Number.POSITIVE_INFINITY,
    };
    this.engine = new EmbeddedEngine({
      partitionCount: PARTITION_COUNT,
      clock,
      queueCapacity: () => Number.POSITIVE_INFINITY,
      sinks: [this.persistence.log, history],
      keepsTombstones: () => keepsTombstones,
    });
    const transport = network.transportOf(this);
    this.replications = new WanReplications({
      engine: this.engine,
      clock,
      log: this.log,
      dataSetId: Buffer.alloc(16, 's'),
      clusterName: () => 'dev',
      treeOf: () => ({ isOn: true, depth: 10 }),
      acceptsWrites: () => true,
      delaysAll: () => this.persistence.log.delaysAll,
      payloadBytesMax: 2 ** 24,
      queueBytesMax: 2 ** 28,
      requestLimits: REQUEST_LIMITS,
      transportOf: () => ({
        send: async (...message) => {
          if (this.hasEnded) return await new Promise(() => {});
          const answer = await transport.send(...message);
          return this.hasEnded ? await new Promise(() => {}) : answer;
        },
        close: () => {},
      }),
      refsTo: () => (map) =>
        map.toString().startsWith('own')
          ? undefined
          : { policy: 2, republishing: true, accepts: () => true },
      random: network.random,
      waitsForBegin: true,
      onProgress: () => this.#onProgress(),
    });
    this.replications.add('r', publishers);
  }

  get hasEnded(): boolean {
    return this.#hasEnded || this.#parts.storage.hasCrashed;
  }

  get status() {
    return this.replications.publishers()[0]!;
  }

  get control() {
    return this.replications.publisherOf('r', 'p');
  }

  /** Returns false if the storage has crashed meanwhile. */
  async open(): Promise<boolean> {
    const { engine, persistence, replications, log } = this;
    const opening = persistence.begin().then(async () => {
      await persistence.open(engine, {
        queues: () => replications.persistentQueues(),
        watch: (onProgress) => {
          this.#onProgress = onProgress;
        },
        onMarksLost: () => log.lines.push('marks lost'),
        onMarksFailed: (error) => {
          assert.ok(this.hasEnded || isFullDisk(error), error);
          log.lines.push('marks failed');
        },
      });
      engine.invariants();
      return true;
    });
    if (!(await this.drive(opening))) return false;
    replications.begin();
    return true;
  }

  /**
   * Sends everything possible, then stops the member. Returns false if the storage has crashed
   * meanwhile.
   */
  async stop(): Promise<boolean> {
    const { replications, persistence } = this;
    const stopping = replications.close(0).then(async () => {
      await persistence.close();
      return true;
    });
    const hasStopped = await this.drive(stopping);
    this.end();
    return hasStopped;
  }

  /** Ends the process. */
  end(): void {
    this.#hasEnded = true;
  }

  /** Runs until the promise is settled or the storage has crashed. */
  async drive(promise: Promise<boolean>): Promise<boolean> {
    let result: boolean | undefined;
    let failure: { readonly error: unknown } | undefined;
    promise.then(
      (value) => {
        result = value;
      },
      (error: unknown) => {
        failure = { error };
      },
    );
    while (result === undefined && failure === undefined && !this.#parts.storage.hasCrashed) {
      this.#parts.storage.pump();
      await this.#parts.network.settle();
    }
    if (failure !== undefined && !this.#parts.storage.hasCrashed) throw failure.error;
    return result ?? false;
  }

  receive(): Promise<never> {
    throw new Error('the source received a message');
  }

  /** Returns the clock of the network while the process lives. */
  #clock(): Clock {
    const { clock } = this.#parts.network;
    const alive = (run: () => void) => () => {
      if (!this.hasEnded) run();
    };
    return {
      now: () => clock.now(),
      wall: () => clock.wall(),
      after: (delayMs, run) => clock.after(delayMs, alive(run)),
      endOfTurn: (run) => clock.endOfTurn(alive(run)),
    };
  }
}
