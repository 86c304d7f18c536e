/**
 * WAN replication as a part of a member whose data is on servers. The publishers are those of the
 * configuration that the members share; each member sends for a part of the partitions. The
 * replication code is loaded when a publisher, a reference or a message needs it. The id of the data
 * set is the cluster's: the first member that needs it stores a new one in the shared record.
 * Tested by shared-wan.spec.ts.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import type { Figures } from '../base/figures.ts';
import type { Part } from '../base/part.ts';
import { counted } from '../base/quantities.ts';
import { SharedSlices } from '../base/slices.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterConfig } from '../cluster/cluster-settings.ts';
import type { SharedRecord } from '../cluster/shared-record.ts';
import type { ChangedPartitions } from '../engine/changed-partitions.ts';
import type { MarkedChanges } from '../engine/marked-changes.ts';
import type { PartitionEntries } from '../engine/partition-entries.ts';
import type { SectionMerger } from '../engine/section-merger.ts';
import { BATCH_BYTES_MAX } from './batch-limits.ts';
import { checkTls, PublisherTransports } from './publisher-transports.ts';
import type { RequestLimits } from './received-batch.ts';
import type { ServerReplications } from './server-replications.ts';
import type { WanCalls, WanMessages } from './wan-actions.ts';
import type { WanConfig, WanPublisherOptions } from './wan-config.ts';
import type { WanLog } from './wan-engine.ts';
import { hasReferences, WanMaps } from './wan-maps.ts';
import type { WanReceiver } from './wan-receiver.ts';
import { MESSAGE_BYTES_FURTHER } from './wan-routes.ts';
import { WAN_SETTINGS } from './wan-settings.ts';
import type { ReceiveResult } from './wan-status.ts';

/** Maximum length of a content type that servers store, in bytes. */
const CONTENT_TYPE_BYTES_MAX = 65_535;
/** Time limit for sending events at the stop of the last member, in ms. */
const SENDING_MS = 5000;
/** Additional time in which the process stays alive, in ms. */
const ALIVE_MS = 500;

/** The settings that it uses. */
type Config = WanConfig & Omit<RequestLimits, 'segment'> & Pick<ClusterConfig, 'clusterName'>;

interface SharedWanOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: WanLog;
  readonly engine: SectionMerger & MarkedChanges & PartitionEntries;
  readonly changedPartitions: ChangedPartitions;
  readonly cluster: Pick<Cluster, 'members' | 'isCutOff' | 'acceptsWrites'>;
  readonly record: SharedRecord;
  /** First segment of the member's paths. */
  readonly segment: string;
  /** Adds publishers to the configuration of all members, and changes all parts. */
  readonly addToConfig: WanCalls['add'];
  /** Removes a publisher from the configuration of all members, and changes all parts. */
  readonly removeFromConfig: WanCalls['remove'];
}

export class SharedWan implements Part<Config>, WanCalls, WanMessages {
  running: ServerReplications | undefined;
  readonly #options: SharedWanOptions;
  readonly #maps: WanMaps;
  readonly #transports = new PublisherTransports();
  #config: Config;
  #loading: Promise<ServerReplications> | undefined;
  #hasBegun = false;
  #receiver: WanReceiver | undefined;
  /** Id of the data set of `#receiver`. */
  #dataSet = '';

  constructor(options: SharedWanOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#maps = new WanMaps(withMapsOnly(options.config));
  }

  async change(config: Config, rereads: boolean): Promise<() => void> {
    if (isUsed(config)) await this.#load();
    const renewTls = rereads ? await this.#transports.readTlsAgain() : undefined;
    return () => {
      this.#configure(config);
      renewTls?.();
    };
  }

  /** Creates the publishers, which mark changes and send nothing yet. Rejects like checkTls. */
  async restore(): Promise<void> {
    if (!isUsed(this.#config)) return;
    await checkTls(publishersIn(this.#config));
    await this.#load();
  }

  /** Called when the member has joined the cluster: publishers begin to send. */
  async enter(): Promise<void> {
    this.#hasBegun = true;
    this.running?.begin();
  }

  /** Other members send what waits. The last one sends for a time; the servers keep the rest. */
  async close(): Promise<void> {
    if (this.running === undefined) return;
    const isLast = this.#hasBegun && this.#options.cluster.members.length === 1;
    const graceMs = isLast ? SENDING_MS : 0;
    // The clock's timers would not keep the process alive until the events are sent.
    const alive = setTimeout(() => {}, graceMs + ALIVE_MS);
    await this.running.close(graceMs).finally(() => clearTimeout(alive));
  }

  figures(to: Figures): void {
    this.running?.figures(to);
  }

  get connectionCount(): number {
    return this.#transports.connectionCount;
  }

  runningOf(replication: string, publisherId: string): ServerReplications {
    if (this.running !== undefined) return this.running;
    throw new GridError('WAN_UNKNOWN', { replication, publisherId });
  }

  async add(text: string): ReturnType<WanCalls['add']> {
    return await this.#options.addToConfig(text);
  }

  async remove(replication: string, publisherId: string): ReturnType<WanCalls['remove']> {
    const { id } = this.runningOf(replication, publisherId).publisherOf(replication, publisherId);
    return await this.#options.removeFromConfig(replication, id);
  }

  async clear(replication: string, publisherId: string): Promise<void> {
    await this.runningOf(replication, publisherId).publisherOf(replication, publisherId).clear();
  }

  /**
   * Drops what waits on the servers for publishers that the configuration does not have. Called when
   * no member marks changes for them. Never rejects.
   */
  async dropRemoved(): Promise<void> {
    const { log, engine, record } = this.#options;
    // Without an epoch no member has had a publisher, so the servers' keys need not be scanned.
    if (record.values.wanEpoch === undefined) return;
    const keys = await (this.running?.dropOthers() ?? engine.dropOthers([]));
    if (keys === undefined) {
      log.warn({}, 'WAN replication: cannot drop the keys that wait for removed publishers');
    } else if (keys > 0) {
      const waited = counted(keys, 'key that waited', 'keys that waited');
      log.warn({ keys }, `WAN replication: dropped ${waited} for removed publishers`);
    }
  }

  /** Resolves with the response; never rejects. The message's bytes are read until then. */
  async receive(message: Buffer): Promise<ReceiveResult> {
    try {
      const receiver = await this.#ready();
      return await receiver.receive(message);
    } catch (error) {
      if (error instanceof GridError) return { error };
      throw error;
    }
  }

  #load(): Promise<ServerReplications> {
    this.#loading ??= this.#make();
    return this.#loading;
  }

  async #make(): Promise<ServerReplications> {
    const { ServerReplications } = await import('./server-replications.ts');
    const { PublisherTransport } = await import('./publisher-transport.ts');
    const { engine, segment } = this.#options;
    const running = new ServerReplications({
      ...this.#options,
      changes: engine,
      maps: this.#maps,
      transportOf: (publisher) =>
        this.#transports.add(publisher, new PublisherTransport(publisher, segment)),
    });
    this.running = running;
    this.#addPublishers(running);
    running.review();
    if (this.#hasBegun) running.begin();
    return running;
  }

  #configure(config: Config): void {
    const { running } = this;
    this.#config = config;
    this.#maps.replace(withMapsOnly(config));
    if (running === undefined) return;
    this.#removePublishers(running);
    this.#addPublishers(running);
    running.review();
  }

  /** Removes the publishers that the configuration lacks, or has with other settings. */
  #removePublishers(running: ServerReplications): void {
    for (const { wanReplicationName: replication, wanPublisherId: id } of running.publishers()) {
      const { options } = running.publisherOf(replication, id);
      const { publishers = [] } = this.#config.wanReplications.get(replication) ?? {};
      if (publishers.some((each) => isDeepStrictEqual(each, options))) continue;
      this.#transports.delete(options);
      running.remove(replication, id);
    }
  }

  #addPublishers(running: ServerReplications): void {
    for (const { name, publishers } of this.#config.wanReplications.values()) {
      running.add(name, publishers);
    }
  }

  /** Resolves with a receiver of the cluster's data set, which is a new one if the record was lost. */
  async #ready(): Promise<WanReceiver> {
    const dataSet = await this.#dataSetId();
    if (this.#receiver !== undefined && this.#dataSet === dataSet) return this.#receiver;
    const [{ WanReceiver }, { ServerSections }, { TreeResponder }, { serverTrees }] =
      await Promise.all([
        import('./wan-receiver.ts'),
        import('./server-sections.ts'),
        import('./tree-responder.ts'),
        import('./server-tree-maker.ts'),
      ]);
    // Another message may have been faster.
    if (this.#receiver !== undefined && this.#dataSet === dataSet) return this.#receiver;
    const { config, segment, clock, log, engine, cluster } = this.#options;
    const dataSetId = Buffer.from(dataSet.replaceAll('-', ''), 'hex');
    const slices = new SharedSlices();
    const acceptsWrites = () => cluster.acceptsWrites;
    this.#dataSet = dataSet;
    this.#receiver = new WanReceiver({
      clock,
      log,
      sections: new ServerSections({ engine, acceptsWrites, dataSetId }, slices),
      trees: new TreeResponder({
        source: serverTrees({ entries: engine, clock }),
        clock,
        treeOf: (map) => this.#maps.treeOf(map),
      }),
      dataSetId,
      slices,
      clusterName: () => config.clusterName,
      queueBytesMax: WAN_SETTINGS.wanQueueBytesMax.fallback,
      requestLimits: {
        ...config,
        segment,
        headerBytesMax: Math.min(config.headerBytesMax, CONTENT_TYPE_BYTES_MAX),
      },
      // Room for a batch, or for a single longer value.
      payloadBytesMax: Math.max(config.bodyBytesMax, BATCH_BYTES_MAX) + MESSAGE_BYTES_FURTHER,
    });
    return this.#receiver;
  }

  async #dataSetId(): Promise<string> {
    const { record } = this.#options;
    for (;;) {
      const { dataSetId } = record.values;
      if (dataSetId !== undefined) return dataSetId;
      await record
        .compareAndSet(record.revision, { dataSetId: randomUUID() })
        .catch((cause: unknown) => {
          throw new GridError('WAN_DATA_SET_UNKNOWN', { reason: reasonOf(cause) }, { cause });
        });
    }
  }
}

function publishersIn({ wanReplications }: WanConfig): readonly WanPublisherOptions[] {
  return [...wanReplications.values()].flatMap(({ publishers }) => publishers);
}

/** Whether changes have to be marked, or only recorded. */
function isUsed(config: WanConfig): boolean {
  return hasReferences(config.mapWan) || publishersIn(config).length > 0;
}

/** Returns the settings of maps, of which no other map of the member's file takes one away. */
function withMapsOnly({ mapWan }: WanConfig): ConstructorParameters<typeof WanMaps>[0] {
  return { mapWan, mapTimeToLiveSeconds: new Map() };
}
