/**
 * The WAN replications of a member whose cluster stores its data on servers. Each member has all
 * publishers, and sends for some partitions (partition-senders.ts). Members announce to one
 * another which partitions they have changed, once in the shortest `batch-max-delay-millis`. Every
 * LOOK_MS each member counts the keys that wait in its partitions, and so finds the others.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Figures } from '../base/figures.ts';
import type { Span } from '../base/span.ts';
import type { Cluster, MemberInfo } from '../cluster/cluster.ts';
import type { SharedRecord } from '../cluster/shared-record.ts';
import type { ChangedPartitions } from '../engine/changed-partitions.ts';
import type { MarkedChanges, MarkedPublisher } from '../engine/marked-changes.ts';
import { keepsEarlier } from '../engine/merge-policy.ts';
import type { PartitionEntries } from '../engine/partition-entries.ts';
import type { SectionMerger } from '../engine/section-merger.ts';
import { ClusterSender } from './cluster-sender.ts';
import { OneShotTimer } from './one-shot-timer.ts';
import { partitionsSentBy } from './partition-senders.ts';
import { PartitionSteps } from './partition-steps.ts';
import { PublisherList } from './publisher-list.ts';
import { ServerPublisher } from './server-publisher.ts';
import { ServerTasks } from './server-tasks.ts';
import type { WanPublisherOptions } from './wan-config.ts';
import type { WanLog } from './wan-engine.ts';
import type { NamedMapRef, WanMaps } from './wan-maps.ts';
import { reportWan } from './wan-metrics.ts';
import type { PublisherStatus, TaskStatus } from './wan-status.ts';
import type { WanTransport } from './wan-transport.ts';

/** Interval between two counts of what waits, in ms. */
const LOOK_MS = 1000;
/** Minimum interval between two messages to the other members, in ms. */
const ANNOUNCE_MS_MIN = 10;
/** Interval between two checks of the queues while they are sent before the end, in ms. */
const DRAIN_STEP_MS = 10;
/** Maximum number of cached references of maps; the full cache is emptied. */
const REFS_MAX = 10_000;

interface ServerReplicationsParts {
  readonly changes: MarkedChanges & PartitionEntries;
  readonly changedPartitions: ChangedPartitions;
  /** The clock of versions. */
  readonly engine: Pick<SectionMerger, 'observe' | 'now'>;
  readonly cluster: Pick<Cluster, 'members' | 'isCutOff'>;
  readonly record: SharedRecord;
  readonly maps: Pick<WanMaps, 'refOf' | 'treeOf' | 'hasReferences'>;
  /** Returns a transport for one publisher, which closes it. */
  readonly transportOf: (options: WanPublisherOptions) => WanTransport;
  readonly clock: Clock;
  readonly log: WanLog;
  readonly random?: () => number;
}

export class ServerReplications {
  readonly #parts: ServerReplicationsParts;
  readonly #publishers = new PublisherList<ServerPublisher>();
  readonly #sender: ClusterSender;
  readonly #steps: PartitionSteps;
  readonly #tasks: ServerTasks;
  /** References by the map's name (latin1). */
  readonly #refs = new Map<string, NamedMapRef | undefined>();
  /** The members of the cluster when the senders were determined last, and their uuids. */
  #view: readonly MemberInfo[] = [];
  #members = '';
  /** The partitions that this member sends for. */
  #own: readonly number[] = [];
  /** By partition, whether a change is to be announced to the member that sends for it. */
  readonly #changed: Uint8Array;
  readonly #announceTimer: OneShotTimer;
  #lookTimer: Timer | undefined;
  #hasBegun = false;
  /** Whether the data set of the cluster and its epoch are known. */
  #isReady = false;
  #isClosed = false;

  constructor(parts: ServerReplicationsParts) {
    this.#parts = parts;
    const { changes, changedPartitions, engine, clock, cluster } = parts;
    this.#sender = new ClusterSender({ ...parts, now: (version) => engine.now(version) });
    this.#tasks = new ServerTasks({
      ...parts,
      entries: changes,
      now: (version) => engine.now(version),
      refOf: (map) => this.#refOf(map),
      treeOf: (map) => parts.maps.treeOf(map),
      sender: this.#sender,
      publisherOf: (replication, id) =>
        this.#publishers.all.find((each) => each.replication === replication && each.id === id),
      isOldest: () => cluster.members[0]?.localMember === true && !cluster.isCutOff,
    });
    this.#changed = new Uint8Array(Math.ceil(changes.partitionCount / 8));
    this.#steps = new PartitionSteps(clock, (partition) => this.#probe(partition));
    this.#announceTimer = new OneShotTimer(clock, () => this.#announce());
    changes.onMarked((partition) => this.#onMarked(partition));
    changes.onNotMarked((publisher) => this.#onNotMarked(publisher));
    changedPartitions.onAnnounced((partitions) => this.#onAnnounced(partitions));
  }

  /** Returns the publisher; see PublisherList. */
  publisherOf(replication: string, publisherId: string): ServerPublisher {
    return this.#publishers.named(replication, publisherId);
  }

  /** Returns every publisher, with the share of this member. */
  publishers(): readonly PublisherStatus[] {
    return this.#publishers.all.map(({ status }) => status);
  }

  /** Adds the publishers whose ids the replication does not have yet; see PublisherList. */
  add(replication: string, publishers: readonly WanPublisherOptions[]): void {
    const { transportOf, random = Math.random } = this.#parts;
    this.#publishers.add(
      replication,
      publishers,
      (options, earlierCounts) =>
        new ServerPublisher({
          ...this.#parts,
          replication,
          options,
          random,
          earlierCounts,
          sender: this.#sender,
          transport: transportOf(options),
          policyOf: (map) => this.#policyOf(map, replication),
          maySend: () => this.#maySend(),
          steps: this.#steps,
        }),
    );
    this.review();
    if (this.#hasBegun) this.#beginAll();
  }

  /**
   * Removes the publisher. The keys that wait for it remain until `dropOthers`. Throws like publisherOf.
   */
  remove(replication: string, publisherId: string): void {
    const publisher = this.publisherOf(replication, publisherId);
    this.#tasks.drop(publisher);
    publisher.close();
    this.#publishers.remove(publisher);
    this.review();
  }

  /**
   * Drops the keys that wait for publishers that this member does not have. To be called once no member has
   * them. Resolves with the number of keys, or undefined if that failed.
   */
  async dropOthers(): Promise<number | undefined> {
    return await this.#parts.changes.dropOthers(this.#publishers.all.map(({ name }) => name));
  }

  /** Passes the references of maps to the engine, which may have changed. */
  review(): void {
    const { maps, changes } = this.#parts;
    this.#refs.clear();
    changes.setReferences(
      maps.hasReferences
        ? (map) => {
            const ref = maps.refOf(map);
            if (ref === undefined) return undefined;
            const { replication: name, republishing, accepts, policy } = ref;
            const publishers = this.#publishers.all.filter(
              ({ replication }) => replication === name,
            );
            return { publishers, republishing, accepts, keepsEarlier: keepsEarlier(policy) };
          }
        : undefined,
      this.#publishers.all,
    );
  }

  /**
   * Begins to send a map, or all maps that refer to the replication, to the publisher's target: each
   * member sends its partitions. Resolves with the uuid of the synchronisation. Throws like
   * publisherOf; rejects like ServerTasks.synchronise.
   */
  synchronise(replication: string, publisherId: string, map: Buffer | undefined): Promise<string> {
    return this.#tasks.synchronise(this.publisherOf(replication, publisherId), map);
  }

  /**
   * Begins to compare a map with the target's. Like `synchronise`, or rejects with GridError
   * WAN_CHECK_OFF.
   */
  check(replication: string, publisherId: string, map: Buffer): Promise<string> {
    return this.#tasks.check(this.publisherOf(replication, publisherId), map);
  }

  /** Returns the status of a synchronisation or check; undefined if the uuid is not remembered. */
  progressOf(uuid: string): TaskStatus | undefined {
    return this.#tasks.statusOf(uuid);
  }

  figures(to: Figures): void {
    reportWan(to, this.#publishers.all);
  }

  /** Starts to send. Called once the member has joined the cluster. */
  begin(): void {
    this.#hasBegun = true;
    this.#beginAll();
    this.#tasks.begin();
    void this.#look();
  }

  /**
   * Continues to send the keys that wait in this member's partitions, for up to `graceMs`. The next
   * senders of the partitions send the others.
   */
  async close(graceMs: number): Promise<void> {
    const { clock, log } = this.#parts;
    const endMs = clock.now() + graceMs;
    this.#announce();
    for (const { sender } of this.#publishers.all) sender.drain();
    if (this.#hasBegun && graceMs > 0) await this.#lookAll();
    while (clock.now() < endMs && this.#publishers.all.some(({ isDraining }) => isDraining)) {
      await new Promise<void>((resolve) => void clock.after(DRAIN_STEP_MS, resolve));
    }
    this.#isClosed = true;
    this.#tasks.close();
    this.#lookTimer?.cancel();
    this.#announceTimer.cancel();
    this.#steps.close();
    for (const publisher of this.#publishers.all) publisher.close();
    if (this.#hasBegun) this.#publishers.logUnsent(log, '; the servers keep what waits');
  }

  #beginAll(): void {
    for (const publisher of this.#publishers.all) {
      publisher.begin();
      publisher.sender.setPartitions(this.#own);
    }
  }

  /** Counts the keys that wait, now and every LOOK_MS. */
  async #look(): Promise<void> {
    if (this.#publishers.all.length > 0) {
      try {
        await this.#sender.ready();
        this.#isReady = true;
        await this.#lookAll();
      } catch {
        // The record could not be changed: the next look tries again.
      }
    }
    if (this.#isClosed) return;
    this.#lookTimer = this.#parts.clock.after(LOOK_MS, () => void this.#look());
  }

  async #lookAll(): Promise<void> {
    this.#determineSenders();
    await Promise.all(this.#publishers.all.map(({ sender }) => sender.look()));
  }

  /** Returns whether this member is in the cluster, and determines the senders if others came or left. */
  #maySend(): boolean {
    const { members, isCutOff } = this.#parts.cluster;
    if (!this.#isReady) return false;
    if (members !== this.#view) this.#determineSenders();
    return !isCutOff;
  }

  /** Determines the partitions that this member sends for. */
  #determineSenders(): void {
    const { cluster, changes } = this.#parts;
    this.#view = cluster.members;
    const uuids = cluster.isCutOff ? [] : cluster.members.map(({ uuid }) => uuid);
    const members = uuids.join();
    if (members === this.#members) return;
    this.#members = members;
    const own = cluster.members.find(({ localMember }) => localMember)?.uuid ?? '';
    this.#own = partitionsSentBy(own, uuids, changes.partitionCount);
    for (const { sender } of this.#publishers.all) sender.setPartitions(this.#own);
    this.#tasks.setPartitions(this.#own);
  }

  /** Resolves with undefined if the servers of the partition do not respond. */
  async #probe(partition: number): Promise<unknown> {
    const [publisher] = this.#publishers.all;
    if (publisher === undefined) return 0;
    const [count] = await this.#parts.changes.waitingCounts(publisher, [partition]);
    return count;
  }

  #onMarked(partition: number): void {
    let isOwn = false;
    for (const { sender, options } of this.#publishers.all) {
      isOwn = sender.onMarked(partition, options.batchMaxDelayMs);
    }
    if (isOwn || this.#isClosed) return;
    this.#changed[partition >>> 3]! |= 1 << (partition & 7);
    if (!this.#announceTimer.isSet)
      this.#announceTimer.set(this.#parts.clock.now() + this.#announceMs());
  }

  #onNotMarked(marked: MarkedPublisher): void {
    this.#publishers.all.find((publisher) => publisher === marked)?.onNotMarked();
  }

  #announceMs(): number {
    const delays = this.#publishers.all.map(({ options }) => options.batchMaxDelayMs);
    return Math.max(ANNOUNCE_MS_MIN, Math.min(...delays));
  }

  /** Announces to the other members which of their partitions this one has changed. */
  #announce(): void {
    if (this.#changed.every((bits) => bits === 0)) return;
    this.#parts.changedPartitions.announce(this.#changed.slice());
    this.#changed.fill(0);
  }

  /** The changes have waited for the shortest delay. */
  #onAnnounced(partitions: Uint8Array): void {
    if (this.#isClosed || partitions.length !== this.#changed.length) return;
    const announcedMs = this.#announceMs();
    for (const partition of this.#own) {
      if ((partitions[partition >>> 3]! & (1 << (partition & 7))) === 0) continue;
      for (const { sender, options } of this.#publishers.all) {
        sender.onMarked(partition, Math.max(0, options.batchMaxDelayMs - announcedMs));
      }
    }
  }

  #policyOf(map: Span, replication: string): number | undefined {
    const ref = this.#refOf(map.toBuffer());
    return ref?.replication === replication ? ref.policy : undefined;
  }

  #refOf(name: Buffer): NamedMapRef | undefined {
    const text = name.toString('latin1');
    let ref = this.#refs.get(text);
    if (ref === undefined && !this.#refs.has(text)) {
      ref = this.#parts.maps.refOf(name);
      if (this.#refs.size >= REFS_MAX) this.#refs.clear();
      this.#refs.set(text, ref);
    }
    return ref;
  }
}
