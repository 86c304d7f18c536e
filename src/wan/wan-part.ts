/**
 * WAN replication as a part of a member: the publishers of the configuration, those added at run
 * time, and the messages of other members. The replication code is loaded when the first of them
 * needs it, so a member without WAN replication starts as fast, and is as small, as without this
 * file. Tested by integration/wan.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { collectGarbage } from '../base/collect-garbage.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import type { Figures } from '../base/figures.ts';
import type { Part } from '../base/part.ts';
import type { ClusterConfig } from '../cluster/cluster-settings.ts';
import type { DataConfig } from '../data/data-settings.ts';
import type { DurableQueue, DurableQueues, QueueStore } from '../engine/durable-queues.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { ResponseSender } from '../http/response-delay.ts';
import type { ServerConfig } from '../servers/server-settings.ts';
import type { Log } from '../telemetry/log.ts';
import { BATCH_BYTES_MAX } from './batch-limits.ts';
import { checkTls, PublisherTransports } from './publisher-transports.ts';
import type { WanCalls, WanMessages } from './wan-actions.ts';
import type { WanConfig, WanPublisherOptions } from './wan-config.ts';
import type { WanMaps } from './wan-maps.ts';
import type { WanReplications } from './wan-replications.ts';
import { MESSAGE_BYTES_FURTHER } from './wan-routes.ts';
import type { WanSettings } from './wan-settings.ts';
import type { ReceiveResult } from './wan-status.ts';

/** Dropped queue size from which memory is released early, in bytes, and the delay, in ms. */
const FREED_BYTES_MIN = 8_388_608;
const COLLECTION_DELAY_MS = 100;
/** Time limit for sending events at a stop, in ms, from the begin of the drain. */
const SENDING_MS = 5000;
const MARKS_LOST =
  'cannot tell which changes were sent: WAN publishers resend everything in the log';
const MARKS_FAILED =
  'cannot store which changes were sent, will try again: after a crash WAN publishers resend more';
/** Minimum time for sending events, in ms, if clients' requests used up the limit. */
const SENDING_MS_MIN = 500;

/** The settings of the part, and those of others that it names. */
type Config = WanSettings &
  WanConfig &
  ServerConfig &
  Pick<ClusterConfig, 'clusterName'> &
  Pick<DataConfig, 'mapTimeToLiveSeconds'>;

interface WanPartOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: StoredEngine;
  readonly maps: WanMaps;
  /** First segment of the member's paths. */
  readonly segment: string;
  /** Stores the queues; undefined if they are not persisted. */
  readonly store: (QueueStore & { addSender(sender: ResponseSender): void }) | undefined;
  /** Returns the member's uuid, which is the id of its data set. */
  readonly uuidOf: () => string;
  /** Returns whether the cluster's state permits changes. */
  readonly acceptsWrites: () => boolean;
  /** Adds publishers to the configuration, and changes all parts. */
  readonly addToConfig: WanCalls['add'];
  /** Removes a publisher from the configuration, and changes all parts. */
  readonly removeFromConfig: WanCalls['remove'];
}

export class WanPart implements Part<Config>, WanCalls, WanMessages, DurableQueues {
  running: WanReplications | undefined;
  readonly #options: WanPartOptions;
  #config: Config;
  /** Id of this data set; undefined until the member's uuid is known. */
  #dataSetId: Buffer | undefined;
  #loading: Promise<WanReplications> | undefined;
  readonly #transports = new PublisherTransports();
  #hasBegun = false;
  /** Time at which the drain began, in ms of the clock. */
  #drainedMs = Number.NEGATIVE_INFINITY;
  /** Set while a garbage collection is scheduled. */
  #collection: Timer | undefined;
  #onProgress = (): void => {};

  constructor(options: WanPartOptions) {
    this.#options = options;
    this.#config = options.config;
  }

  async change(config: Config, rereads: boolean): Promise<() => void> {
    const renewTls = rereads ? await this.#transports.readTlsAgain() : undefined;
    return () => {
      this.#configure(config);
      renewTls?.();
    };
  }

  /** Creates the publishers, which send nothing yet. Rejects with GridError TLS_FILE_UNUSABLE. */
  async restore(): Promise<void> {
    const { engine, uuidOf } = this.#options;
    this.#dataSetId = Buffer.from(uuidOf().replaceAll('-', ''), 'hex');
    engine.identify(this.#dataSetId);
    if (this.#publishers().length === 0) return;
    await checkTls(this.#publishers());
    await this.#load();
  }

  /** Called when the queues are recovered: publishers begin to send. */
  async recover(): Promise<void> {
    this.#hasBegun = true;
    this.running?.begin();
  }

  async drain(): Promise<void> {
    this.#drainedMs = this.#options.clock.now();
  }

  /**
   * Sends until all events are acknowledged or the time limit is over; nothing if the start failed
   * before it sent anything.
   */
  async close(): Promise<void> {
    if (this.running === undefined) return;
    const passedMs = this.#options.clock.now() - this.#drainedMs;
    const graceMs = this.#hasBegun ? Math.max(SENDING_MS - passedMs, SENDING_MS_MIN) : 0;
    // The clock's timers would not keep the process alive until the events are sent.
    const alive = setTimeout(() => {}, graceMs + SENDING_MS_MIN);
    await this.running.close(graceMs).finally(() => clearTimeout(alive));
  }

  figures(to: Figures): void {
    this.running?.figures(to);
  }

  queues(): readonly DurableQueue[] {
    return this.running?.persistentQueues() ?? [];
  }

  watch(onProgress: () => void): void {
    this.#onProgress = onProgress;
  }

  onMarksLost(error: Error): void {
    this.#options.log.error({ err: error }, MARKS_LOST);
  }

  onMarksFailed(error: Error): void {
    this.#options.log.warn({ err: error }, MARKS_FAILED);
  }

  async clear(replication: string, publisherId: string): Promise<void> {
    const { store } = this.#options;
    const running = this.runningOf(replication, publisherId);
    const publisher = running.publisherOf(replication, publisherId);
    const { bytes } = publisher.persistentQueue;
    if (store === undefined) publisher.clear();
    else {
      await store.clearQueue(publisher.persistentQueue).catch((cause: unknown) => {
        throw new GridError('WAN_CLEAR_NOT_KEPT', { reason: reasonOf(cause) }, { cause });
      });
    }
    this.#onFreed(bytes);
  }

  #load(): Promise<WanReplications> {
    this.#loading ??= this.#make();
    return this.#loading;
  }

  async receive(message: Buffer): Promise<ReceiveResult> {
    const { receiver } = this.running ?? (await this.#load());
    return await receiver.receive(message);
  }

  /** Loads the replication code first, as addToConfig extends the configuration during its call. */
  async add(text: string): ReturnType<WanCalls['add']> {
    await this.#load();
    const added = await this.#options.addToConfig(text);
    await this.#keepQueues();
    return added;
  }

  async remove(replication: string, publisherId: string): ReturnType<WanCalls['remove']> {
    const running = this.runningOf(replication, publisherId);
    const { id, persistentQueue } = running.publisherOf(replication, publisherId);
    const { bytes } = persistentQueue;
    const failed = await this.#options.removeFromConfig(replication, id);
    if (failed === undefined) this.#onFreed(bytes);
    await this.#keepQueues();
    return failed;
  }

  runningOf(replication: string, publisherId: string): WanReplications {
    if (this.running !== undefined) return this.running;
    throw new GridError('WAN_UNKNOWN', { replication, publisherId });
  }

  get connectionCount(): number {
    return this.#transports.connectionCount;
  }

  /** Schedules the release of memory after a queue of these bytes was dropped, once for several. */
  #onFreed(bytes: number): void {
    if (bytes < FREED_BYTES_MIN) return;
    this.#collection ??= this.#options.clock.after(COLLECTION_DELAY_MS, () => {
      this.#collection = undefined;
      collectGarbage();
    });
  }

  /** A failure is logged and retried by persistence. */
  async #keepQueues(): Promise<void> {
    await this.#options.store?.keepQueues().catch(() => {});
  }

  #configure(config: Config): void {
    const replications = this.running;
    this.#config = config;
    this.#options.maps.replace(config);
    if (replications !== undefined) this.#removePublishers(replications);
    replications?.review();
    this.#options.engine.reviewMaps();
    if (replications !== undefined) this.#addPublishers(replications);
  }

  #publishers(): readonly WanPublisherOptions[] {
    return [...this.#config.wanReplications.values()].flatMap(({ publishers }) => publishers);
  }

  async #make(): Promise<WanReplications> {
    const { WanReplications } = await import('./wan-replications.ts');
    const { PublisherTransport } = await import('./publisher-transport.ts');
    const { config, maps, segment, store, ...options } = this.#options;
    const dataSetId = this.#dataSetId;
    if (dataSetId === undefined)
      throw new Error('the uuid must be known before replication begins');
    this.running = new WanReplications({
      ...options,
      dataSetId,
      waitsForBegin: !this.#hasBegun,
      clusterName: () => config.clusterName,
      delaysAll: () => store?.delaysAll ?? false,
      ...(store === undefined ? {} : { onProgress: () => this.#onProgress() }),
      queueBytesMax: config.wanQueueBytesMax,
      requestLimits: { ...config, segment },
      // Room for a batch, or for a single longer value.
      payloadBytesMax: Math.max(config.bodyBytesMax, BATCH_BYTES_MAX) + MESSAGE_BYTES_FURTHER,
      transportOf: (publisher) =>
        this.#transports.add(publisher, new PublisherTransport(publisher, segment)),
      refsTo: (replication) => maps.refsTo(replication),
      treeOf: (map) => maps.treeOf(map),
    });
    store?.addSender(this.running);
    this.#addPublishers(this.running);
    return this.running;
  }

  #removePublishers(replications: WanReplications): void {
    for (const { wanReplicationName, wanPublisherId } of replications.publishers()) {
      const { publishers = [] } = this.#config.wanReplications.get(wanReplicationName) ?? {};
      if (publishers.some(({ publisherId }) => publisherId === wanPublisherId)) continue;
      this.#transports.delete(replications.publisherOf(wanReplicationName, wanPublisherId).options);
      replications.remove(wanReplicationName, wanPublisherId);
    }
  }

  /** Adds new publishers. Existing ones are unchanged. */
  #addPublishers(replications: WanReplications): void {
    for (const { name, publishers } of this.#config.wanReplications.values()) {
      replications.add(name, publishers);
    }
  }
}
