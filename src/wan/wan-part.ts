/**
 * Connects a member to its WAN replication: the publishers of the configuration, those added at run
 * time, and the messages of other members. The replication code is loaded when the first of them
 * needs it, so a member without WAN replication starts as fast, and is as small, as without this
 * file. Tested by integration/wan.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { collectGarbage } from '../base/collect-garbage.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import { Span } from '../base/span.ts';
import type { Config } from '../config/config.ts';
import type { WanPublisher } from '../config/wan-config.ts';
import type { DurableQueue, DurableQueues } from '../engine/durable-queues.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { ResponseSender } from '../http/response-delay.ts';
import type { Session } from '../http/session.ts';
import type { WanCalls } from '../rest/services.ts';
import type { Log } from '../telemetry/log.ts';
import type { Replications } from './publisher-transport.ts';
import type { WanMaps } from './wan-maps.ts';
import type {
  PublisherStatus,
  ReceiveResult,
  TaskStatus,
  WanPublisherControl,
} from './wan-service.ts';

/** Dropped queue size from which memory is released early, in bytes, and the delay, in ms. */
const FREED_BYTES_MIN = 8_388_608;
const COLLECTION_DELAY_MS = 100;
/** Time limit for sending events at a stop, in ms. */
const SENDING_MS = 5000;
const MARKS_LOST =
  'cannot tell which changes were sent: WAN publishers resend everything in the log';
const MARKS_FAILED =
  'cannot store which changes were sent, will try again: after a crash WAN publishers resend more';
/** Minimum time for sending events, in ms, if clients' requests used up the limit. */
const SENDING_MS_MIN = 500;

export interface WanParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: StoredEngine;
  readonly maps: WanMaps;
  /** First segment of the member's paths. */
  readonly segment: string;
  /** Returns whether the cluster's state permits changes. */
  readonly acceptsWrites: () => boolean;
  /** Whether no response may be sent before the next `release`. */
  readonly delaysAll: () => boolean;
  /**
   * Resolves once the current state of the queues would survive a crash, or rejects with the disk's
   * error. Undefined if queues are not persisted.
   */
  readonly keepQueues: (() => Promise<void>) | undefined;
  /** Empties the queue durably, or rejects. Undefined if queues are not persisted. */
  readonly clearQueue: ((queue: DurableQueue) => Promise<void>) | undefined;
  /** Adds publishers to the configuration and calls the member's `extend`. */
  addToConfig(text: string): ReturnType<WanCalls['add']>;
  /** Removes a publisher from the configuration and calls the member's `extend`. */
  removeFromConfig(replication: string, publisherId: string): ReturnType<WanCalls['remove']>;
}

export class WanPart implements WanCalls, ResponseSender, DurableQueues {
  readonly senders = new WeakSet<Session>();
  readonly #parts: WanParts;
  #config: Config;
  /** Id of this data set; undefined until the member's uuid is known. */
  #dataSetId: Buffer | undefined;
  #loading: Promise<Replications> | undefined;
  #replications: Replications | undefined;
  #hasBegun = false;
  /** Set while a garbage collection is scheduled. */
  #collection: Timer | undefined;
  #onProgress = (): void => {};

  constructor(parts: WanParts) {
    this.#parts = parts;
    this.#config = parts.config;
  }

  /** Applies additions to the configuration and removed publishers. */
  extend(config: Config): void {
    this.#config = config;
    this.#parts.maps.replace(config);
    if (this.#replications !== undefined) this.#removePublishers(this.#replications);
    this.#replications?.review();
    this.#parts.engine.reviewMaps();
    if (this.#replications === undefined) return;
    this.#addPublishers(this.#replications);
  }

  /**
   * Creates the publishers, which send nothing yet. `uuid` is the member's, and the id of its data
   * set. Rejects with GridError TLS_FILE_UNUSABLE. Called once, before anything is written.
   */
  async open(uuid: string): Promise<void> {
    const { engine } = this.#parts;
    this.#dataSetId = Buffer.from(uuid.replaceAll('-', ''), 'hex');
    engine.identify(this.#dataSetId);
    if (this.#publishers().length === 0) return;
    await checkTls(this.#publishers());
    await this.#load();
  }

  /** Called after the recovery: publishers begin to send. */
  begin(): void {
    this.#hasBegun = true;
    this.#replications?.begin();
  }

  queues(): readonly DurableQueue[] {
    return this.#replications?.persistentQueues() ?? [];
  }

  watch(onProgress: () => void): void {
    this.#onProgress = onProgress;
  }

  onMarksLost(error: Error): void {
    this.#parts.log.error({ err: error }, MARKS_LOST);
  }

  onMarksFailed(error: Error): void {
    this.#parts.log.warn({ err: error }, MARKS_FAILED);
  }

  clear(replication: string, publisherId: string): Promise<GridError | undefined> {
    const publisher = this.#required(replication, publisherId).publisherOf(
      replication,
      publisherId,
    );
    return this.#clear(publisher);
  }

  publisherOf(replication: string, publisherId: string): WanPublisherControl {
    return this.#required(replication, publisherId).publisherOf(replication, publisherId);
  }

  synchronise(replication: string, publisherId: string, map: Buffer | undefined): string {
    return this.#required(replication, publisherId).synchronise(replication, publisherId, map);
  }

  check(replication: string, publisherId: string, map: Buffer): string {
    return this.#required(replication, publisherId).check(replication, publisherId, map);
  }

  progressOf(uuid: string): TaskStatus | undefined {
    return this.#replications?.progressOf(uuid);
  }

  publishers(): readonly PublisherStatus[] {
    return this.#replications?.publishers() ?? [];
  }

  /** Loads the replication code first, as addToConfig extends the configuration during its call. */
  async add(text: string): ReturnType<WanCalls['add']> {
    await this.#load();
    const added = await this.#parts.addToConfig(text);
    await this.#keepQueues();
    return added;
  }

  remove(replication: string, publisherId: string): ReturnType<WanCalls['remove']> {
    const { id } = this.#required(replication, publisherId).publisherOf(replication, publisherId);
    return this.#remove(replication, id);
  }

  async receive(message: Span): Promise<ReceiveResult> {
    if (this.#replications !== undefined) return await this.#replications.receive(message);
    // The bytes are only valid during the call.
    const bytes = message.toBuffer();
    const replications = await this.#load();
    return await replications.receive(new Span().set(bytes, 0, bytes.length));
  }

  /**
   * Reads the TLS files of publishers again. Rejects with GridError TLS_FILE_UNUSABLE. Resolves
   * with a function that applies them to new connections and cannot fail.
   */
  async readTlsAgain(): Promise<() => void> {
    return (await this.#replications?.readTlsAgain()) ?? (() => {});
  }

  get connectionCount(): number {
    return this.#replications?.connectionCount() ?? 0;
  }

  release(): void {
    this.#replications?.release();
  }

  /** Does nothing: delayed events stay delayed and are never sent. */
  failDelayed(): void {}

  /** Sends until all events are acknowledged or the time limit, counted from `sinceMs`, is over. */
  async drain(sinceMs: number): Promise<void> {
    const passedMs = this.#parts.clock.now() - sinceMs;
    if (this.#replications === undefined) return;
    const graceMs = Math.max(SENDING_MS - passedMs, SENDING_MS_MIN);
    // The clock's timers would not keep the process alive until the events are sent.
    const alive = setTimeout(() => {}, graceMs + SENDING_MS_MIN);
    await this.#replications.close(graceMs).finally(() => clearTimeout(alive));
  }

  async #clear(publisher: ReturnType<Replications['publisherOf']>): Promise<GridError | undefined> {
    const { clearQueue } = this.#parts;
    const { bytes } = publisher.persistentQueue;
    try {
      if (clearQueue === undefined) publisher.clear();
      else await clearQueue(publisher.persistentQueue);
      this.#onFreed(bytes);
      return undefined;
    } catch (cause) {
      return new GridError('WAN_CLEAR_NOT_KEPT', { reason: reasonOf(cause) }, { cause });
    }
  }

  async #remove(replication: string, publisherId: string): ReturnType<WanCalls['remove']> {
    const bytes = this.#required(replication, publisherId).publisherOf(replication, publisherId)
      .persistentQueue.bytes;
    const failed = await this.#parts.removeFromConfig(replication, publisherId);
    if (failed === undefined) this.#onFreed(bytes);
    await this.#keepQueues();
    return failed;
  }

  /** Schedules the release of memory after a queue of these bytes was dropped, once for several. */
  #onFreed(bytes: number): void {
    if (bytes < FREED_BYTES_MIN) return;
    this.#collection ??= this.#parts.clock.after(COLLECTION_DELAY_MS, () => {
      this.#collection = undefined;
      collectGarbage();
    });
  }

  /** A failure is logged and retried by persistence. */
  async #keepQueues(): Promise<void> {
    await this.#parts.keepQueues?.().catch(() => {});
  }

  #publishers(): readonly WanPublisher[] {
    return [...this.#config.wanReplications.values()].flatMap(({ publishers }) => publishers);
  }

  /** Throws GridError WAN_UNKNOWN if there is no publisher at all. */
  #required(replication: string, publisherId: string): Replications {
    if (this.#replications !== undefined) return this.#replications;
    throw new GridError('WAN_UNKNOWN', { replication, publisherId });
  }

  #load(): Promise<Replications> {
    this.#loading ??= this.#make();
    return this.#loading;
  }

  async #make(): Promise<Replications> {
    const { makeReplications } = await import('./publisher-transport.ts');
    const dataSetId = this.#dataSetId;
    if (dataSetId === undefined)
      throw new Error('the uuid must be known before replication begins');
    this.#replications = makeReplications({
      ...this.#parts,
      dataSetId,
      waitsForBegin: !this.#hasBegun,
      ...(this.#parts.keepQueues === undefined ? {} : { onProgress: () => this.#onProgress() }),
    });
    this.#addPublishers(this.#replications);
    return this.#replications;
  }

  #removePublishers(replications: Replications): void {
    for (const { wanReplicationName, wanPublisherId } of replications.publishers()) {
      const { publishers = [] } = this.#config.wanReplications.get(wanReplicationName) ?? {};
      if (publishers.some(({ publisherId }) => publisherId === wanPublisherId)) continue;
      replications.remove(wanReplicationName, wanPublisherId);
    }
  }

  /** Adds new publishers. Existing ones are unchanged. */
  #addPublishers(replications: Replications): void {
    for (const { name, publishers } of this.#config.wanReplications.values()) {
      replications.add(name, publishers);
    }
  }
}

async function checkTls(publishers: readonly WanPublisher[]): Promise<void> {
  for (const { tls, targetEndpoints } of publishers) {
    if (!targetEndpoints.some((endpoint) => endpoint.tls)) continue;
    await (await import('../http/tls-files.ts')).readTargetTls(tls);
  }
}
