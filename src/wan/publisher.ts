/**
 * A publisher: the sink for the changes that it sends to one other cluster, with its queue and its
 * state. It does not depend on other sinks, and clients' responses never wait for it.
 */
import { NameCache } from '../base/name-cache.ts';
import type { Span } from '../base/span.ts';
import { hasDataSet } from '../engine/change-codec.ts';
import {
  CLEAR,
  DATA_SET_ID_BYTES,
  DELETE,
  FROM_CLIENT,
  FROM_REPLAY,
  type Mutation,
  PATH_LENGTH_MAX,
  SET,
} from '../engine/mutation.ts';
import { ADMITTED, type MutationSink, REPLICATION_FULL } from '../engine/mutation-sink.ts';
import { batchesPerEndpoint } from './batch-limits.ts';
import { BatchSender, type SenderParts } from './batch-sender.ts';
import { PersistentPublisherQueue } from './persistent-publisher-queue.ts';
import { PublisherQueue } from './publisher-queue.ts';
import type { EventCounts } from './removed-publishers.ts';
import type { SyncReading } from './sync-lanes.ts';
import type { TreeTarget } from './tree-comparison.ts';
import type { PublisherState, WanPublisherOptions } from './wan-config.ts';
import type { RefOf, WanMapRef } from './wan-maps.ts';
import type { PublisherStatus } from './wan-status.ts';

const PATH_BYTES_MAX = PATH_LENGTH_MAX * DATA_SET_ID_BYTES;

interface PublisherParts extends Omit<SenderParts, 'queue'> {
  readonly refOf: RefOf;
  /** Number of the first event. */
  readonly firstNumber: number;
  /** Events of removed publishers with the same names. */
  readonly earlierCounts: EventCounts;
}

export class WanPublisher implements MutationSink {
  readonly ignoresReplay = true;
  readonly ignoresQueues = true;
  readonly replication: string;
  readonly options: WanPublisherOptions;
  readonly id: string;
  /** The queue as persistence sees it. */
  readonly persistentQueue: PersistentPublisherQueue;
  /** Whether the publisher has ended and sends nothing more. */
  isClosed = false;
  readonly #parts: PublisherParts;
  readonly #queue: PublisherQueue;
  readonly #sender: BatchSender;
  /** Whether a full queue refuses clients' changes: at all; and in every state except STOPPED. */
  readonly #refuses: boolean;
  readonly #refusesAlways: boolean;
  #state: PublisherState;
  #hasBegun = false;
  #droppedCount = 0;
  /** References by the map's name. */
  readonly #refs: NameCache<WanMapRef | undefined>;

  constructor(parts: PublisherParts) {
    const { options, engine, clock } = parts;
    this.#parts = parts;
    this.#refs = new NameCache(parts.refOf);
    this.replication = parts.replication;
    this.options = options;
    this.id = options.publisherId;
    const { queueCapacity, queueBytesMax, targetEndpoints } = options;
    const perEndpoint = batchesPerEndpoint(options.maxConcurrentInvocations);
    const batchesMax = perEndpoint * targetEndpoints.length;
    const limits = { capacity: queueCapacity, bytesMax: queueBytesMax, batchesMax };
    this.#queue = new PublisherQueue(engine.partitionCount, limits, options.snapshotEnabled);
    for (const lane of this.#queue.lanes) lane.firstNumber = parts.firstNumber;
    this.#sender = new BatchSender({ ...parts, queue: this.#queue });
    this.#refuses = options.queueFullBehavior !== 'DISCARD_AFTER_MUTATION';
    this.#refusesAlways = options.queueFullBehavior === 'THROW_EXCEPTION';
    this.#state = options.initialPublisherState;
    this.persistentQueue = new PersistentPublisherQueue({
      name: JSON.stringify([parts.replication, options.publisherId]),
      queue: this.#queue,
      clock,
      published: (change) => this.#published(change),
      onDropped: () => {
        this.#droppedCount++;
      },
      onCleared: () => this.#sender.onCleared(),
    });
  }

  /** Sets its share of all publishers' limits: queued bytes, and bytes that a recovery may add. */
  share(bytes: number, recoveryExtraBytes: number): void {
    this.#queue.share(bytes);
    this.persistentQueue.recoveryExtraBytes = recoveryExtraBytes;
  }

  /** Sets the function to call when the queue has changed. It must not call the engine. */
  watch(onProgress: () => void): void {
    this.#queue.sequences.onProgress = onProgress;
  }

  /** Starts to send events, if the state permits it. */
  begin(): void {
    this.#hasBegun = true;
    this.#queue.endRestore();
    this.#enter(this.#state);
  }

  get status(): PublisherStatus {
    const { options } = this;
    const { clock } = this.#parts;
    const { oldestMs } = this.#queue;
    return {
      wanReplicationName: this.replication,
      wanPublisherId: this.id,
      clusterName: options.clusterName,
      state: this.#state,
      queueSize: this.#queue.size,
      queueCapacity: options.queueCapacity,
      queueBytes: this.#queue.bytes,
      eventsSent: this.#sender.sentCount,
      eventsDropped: this.#droppedCount,
      eventsRejected: this.#sender.rejectedCount,
      lagMillis: Math.round(Math.max(0, clock.now() - Math.min(oldestMs, clock.now()))),
      lastError: this.#sender.target.lastError,
    };
  }

  /** Events since the start of the member, those of removed publishers with the same names included. */
  get eventCounts(): EventCounts {
    const { sent, dropped, rejected } = this.#parts.earlierCounts;
    return {
      sent: sent + this.#sender.sentCount,
      dropped: dropped + this.#droppedCount,
      rejected: rejected + this.#sender.rejectedCount,
    };
  }

  wants(map: Span): boolean {
    return this.refOf(map) !== undefined;
  }

  admit(change: Mutation): typeof ADMITTED | typeof REPLICATION_FULL {
    if (!this.#refuses || change.origin !== FROM_CLIENT || !this.#refusesNow()) return ADMITTED;
    if (this.#published(change) === undefined) return ADMITTED;
    return this.#queue.hasRoom(change) ? ADMITTED : REPLICATION_FULL;
  }

  abandon(): void {}

  record(change: Mutation): void {
    // A recovery fills the queue itself (persistent-publisher-queue.ts).
    if (change.origin === FROM_REPLAY) return;
    if (this.#state === 'STOPPED') return this.#queue.sequences.onProgress();
    const ref = this.#published(change);
    if (ref === undefined) return;
    if (!this.#queue.hasRoom(change)) {
      this.#droppedCount++;
      return this.#queue.sequences.onProgress();
    }
    this.#queue.add(change, ref.policy, this.#parts.clock.now());
    this.#sender.onQueued();
  }

  durable(): number {
    return Number.POSITIVE_INFINITY;
  }

  /** Queues new events without sending any. Batches in flight may still arrive. */
  pause(): void {
    this.#enter('PAUSED');
  }

  /** Queues and sends new events. */
  resume(): void {
    this.#enter('REPLICATING');
  }

  /** Drops new events; waiting ones remain. */
  stop(): void {
    this.#enter('STOPPED');
  }

  /** Drops all waiting events. Batches in flight may still arrive. */
  clear(): void {
    this.#queue.clear();
    this.#sender.onCleared();
  }

  /** A number greater than the number of every sent event, once the queue is cleared. */
  get nextNumber(): number {
    return this.#sender.nextNumber;
  }

  /** The data set that events are sent to; undefined before the first handshake. */
  get targetDataSet(): Buffer | undefined {
    return this.#sender.target.dataSet;
  }

  /** The last error as the end of a sentence; empty if there is none. */
  get errorSuffix(): string {
    return this.#sender.target.errorSuffix;
  }

  /** Resolves with a member of the target that has just responded. Rejects if there is none. */
  async reach(): Promise<TreeTarget> {
    const endpoint = await this.#sender.reach();
    const { target } = this.#sender;
    return { send: (message) => target.exchange(endpoint, message), dataSet: endpoint.dataSet };
  }

  /** Sends entries until `endSync`, in every state. `onNewDataSet`: the target has lost them. */
  beginSync(reading: SyncReading, onNewDataSet: () => void): void {
    this.#sender.beginSync(reading, onNewDataSet);
  }

  endSync(): void {
    this.#sender.endSync();
  }

  /** Drops the cached references of maps, which may have changed. */
  review(): void {
    this.#refs.clear();
  }

  /** Called when more changes are durable: their events may be sent. */
  release(): void {
    this.#sender.release();
  }

  /** From now on events are sent without delay, if the state permits it. */
  drain(): void {
    this.#sender.drain();
  }

  /** Whether there are events left that will be sent. */
  get isDraining(): boolean {
    return this.#state === 'REPLICATING' && this.#queue.size > 0;
  }

  close(): void {
    this.isClosed = true;
    this.#sender.close();
  }

  #enter(state: PublisherState): void {
    this.#state = state;
    this.#sender.setSending(this.#hasBegun && state === 'REPLICATING');
  }

  #refusesNow(): boolean {
    return this.#refusesAlways ? this.#state !== 'STOPPED' : this.#state === 'REPLICATING';
  }

  /** Returns the reference of the change's map if the change is published. */
  #published(change: Mutation): WanMapRef | undefined {
    const { operation, path } = change;
    if (operation !== SET && operation !== DELETE && operation !== CLEAR) return undefined;
    const ref = this.refOf(change.name);
    if (ref === undefined) return undefined;
    if (operation !== CLEAR && !ref.accepts(change.key)) return undefined;
    // Changes made in this data set have an empty path, also in a log.
    if (path.length === 0) return ref;
    if (!ref.republishing || path.length >= PATH_BYTES_MAX) return undefined;
    const target = this.targetDataSet;
    return target !== undefined && hasDataSet(path, target) ? undefined : ref;
  }

  /** Returns the reference of a map, or undefined. */
  refOf(map: Span): WanMapRef | undefined {
    return this.#refs.of(map);
  }
}
