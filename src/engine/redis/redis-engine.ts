/**
 * The engine on Redis or Valkey servers: any number of members share their data. An operation is
 * one command or one script on the primary of its partition. If the servers cannot report whether
 * it was done, the outcome is UNKNOWN; if it was certainly not done, UNREACHABLE or MEMORY_FULL.
 */
import type { Clock } from '../../base/clock.ts';
import { isReservedMap } from '../../base/reserved-map.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import type { Span } from '../../base/span.ts';
import type { ChangeWork, MemberLife } from '../../cluster/membership.ts';
import { type MembershipStore, PLACES } from '../../cluster/membership-store.ts';
import type { ChangedPartitions } from '../changed-partitions.ts';
import type { Condition } from '../condition.ts';
import {
  CLOSED,
  type Engine,
  type EntryReceiver,
  type Lifetime,
  type NameKind,
  type NameReceiver,
  NO_TICKET,
  type Receiver,
  UNREACHABLE,
} from '../engine.ts';
import { HybridClock } from '../hybrid-clock.ts';
import type {
  MapReferences,
  MarkedChanges,
  MarkedPublisher,
  WaitingChanges,
  WaitingRoom,
} from '../marked-changes.ts';
import type { EntriesRead, PartitionEntries } from '../partition-entries.ts';
import type { SectionMerger, SectionResult } from '../section-merger.ts';
import type { Version } from '../version.ts';
import { DepartedMembers } from './departed-members.ts';
import { Dispatcher } from './dispatcher.ts';
import { RedisPartitionEntries } from './entry-reader.ts';
import { AWAY, type Failure, isUnknown, OTHER_LAYOUT, outcomeOf, reasonOf } from './failure.ts';
import { Layout } from './layout.ts';
import { LifetimeSweeps } from './lifetime-sweeps.ts';
import type { QueueSettings } from './local-queues.ts';
import { MAP_SCRIPTS } from './map-scripts.ts';
import { clear, sizeOf } from './map-size-and-clear.ts';
import { MARKED_SCRIPTS } from './marked-scripts.ts';
import { Marking } from './marking.ts';
import { endConnections, namePrefix } from './member-connections.ts';
import { MEMBER_SCRIPTS } from './member-scripts.ts';
import { MERGE_SCRIPTS } from './merge-scripts.ts';
import { PendingChanges } from './pending-changes.ts';
import type { PrimaryOptions } from './primary.ts';
import { QUEUE_SCRIPTS } from './queue-scripts.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import { RedisMaps } from './redis-maps.ts';
import { RedisMembershipStore } from './redis-membership-store.ts';
import { RedisMerges } from './redis-merges.ts';
import { RedisQueues } from './redis-queues.ts';
import { Results } from './redis-result.ts';
import { Rights } from './rights.ts';
import { LIST_ENTRIES } from './scan-script.ts';
import { listEntries } from './scanned-entries.ts';
import { listNames } from './scanned-names.ts';
import { ServerTime } from './server-time.ts';
import { evictionText } from './server-warnings.ts';
import type { Servers, ServersObserver } from './servers.ts';
import { TombstoneLimits, type TombstoneOptions } from './tombstone-limits.ts';
import { RedisWaitingChanges } from './waiting-changes.ts';

export interface RedisEngineOptions
  extends Omit<ConnectionOptions, 'mayChange' | 'counter'>,
    Omit<QueueSettings, 'queueReplicaCount'>,
    TombstoneOptions {
  readonly clusterName: string;
  readonly partitionCount: number;
  /** Whether servers that drop data may be used. */
  readonly allowsEviction: boolean;
  /** Creates the connections to the servers, which the caller chooses. */
  connect(options: PrimaryOptions, observer: ServersObserver): Servers;
  /**
   * Replicas that must have a change of the map, which is not the reserved one; undefined for the usual
   * number with these servers.
   */
  mapReplicaCount(map: Span): number | undefined;
  /**
   * Replicas that must have a change of the queue; undefined for the usual number with these
   * servers.
   */
  queueReplicaCount(queue: Buffer): number | undefined;
  /**
   * Replicas that must have a step of the cluster's store, or a change of the reserved map; undefined
   * for the usual number.
   */
  readonly clusterReplicaCount?: number | undefined;
  /**
   * The greatest number that the two functions above return for any map or queue; undefined for the
   * usual number.
   */
  replicaCountMax?(): number | undefined;
  /** The member incarnation that items are held for; random if undefined. */
  readonly incarnation?: string;
  /** Called when a server was lost or could not be reached. */
  onLost(address: ServerAddress, reason: Error): void;
  /** Called when a server replies with an error that no operation should cause. */
  onFault(text: string): void;
  /** Called when a server has refused a change. `command` returns its name. */
  onRefused(address: ServerAddress, command: () => string, text: string): void;
  /**
   * Called with a sentence about a weakness of the servers that is found when the engine is opened.
   */
  onWarning(text: string): void;
}

const SCRIPTS = [
  ...MAP_SCRIPTS,
  LIST_ENTRIES.source,
  ...MERGE_SCRIPTS,
  ...MARKED_SCRIPTS,
  ...QUEUE_SCRIPTS,
  ...MEMBER_SCRIPTS,
];

/** Without a uuid, other members cannot end this member's connections. */
type Life = Pick<MemberLife, 'hasLease'> & Partial<Pick<MemberLife, 'uuid'>>;

export class RedisEngine
  implements Engine, ChangeWork, SectionMerger, MarkedChanges, PartitionEntries
{
  readonly isOrdered = false;
  readonly listRun = 0;
  /** The store of the members that share the servers' data. */
  readonly membershipStore: MembershipStore & ChangedPartitions;
  readonly #options: RedisEngineOptions;
  readonly #clock: Clock;
  readonly #servers: Servers;
  readonly #dispatcher: Dispatcher;
  readonly #pendingChanges: PendingChanges;
  readonly #results = new Results();
  readonly #maps: RedisMaps;
  readonly #queues: RedisQueues;
  readonly #merges: RedisMerges;
  readonly #marking: Marking;
  readonly #waiting: RedisWaitingChanges;
  readonly #entries: RedisPartitionEntries;
  readonly partitionCount: number;
  readonly #membershipStore: RedisMembershipStore;
  readonly #whole: Parameters<typeof clear>[0] & Parameters<typeof listNames>[0];
  readonly #counter = { count: 0, lostCount: 0 };
  readonly #namePrefix: string;
  /** Number of operations whose outcome was unknown, since the start. */
  unknownOutcomeCount = 0;
  #life: Life = { hasLease: true };
  #isOpen = false;
  /** Whether all operations are refused: the engine is closed, or the data has another layout. */
  #isStopped = false;
  #closing: Promise<void> | undefined;

  constructor(options: RedisEngineOptions) {
    const { clock, clusterName, partitionCount, deadlineMs } = options;
    this.#options = options;
    this.partitionCount = partitionCount;
    this.#clock = clock;
    const time = new ServerTime(clock);
    this.#marking = new Marking(time);
    const mayChange = () => this.#life.hasLease;
    this.#namePrefix = namePrefix(clusterName);
    const connectionName = () => this.#life.uuid && this.#namePrefix + this.#life.uuid;
    const layout = new Layout(clusterName, partitionCount);
    const connection = {
      ...options,
      scripts: SCRIPTS,
      mayChange,
      connectionName,
      counter: this.#counter,
      rights: new Rights(layout),
    };
    this.#servers = options.connect(connection, this.#observer(time));
    const servers = this.#servers;
    const versions = new HybridClock(time);
    this.#pendingChanges = new PendingChanges(clock);
    this.#dispatcher = this.#newDispatcher(layout, mayChange);
    const common = {
      dispatcher: this.#dispatcher,
      layout,
      results: this.#results,
      marking: this.#marking,
      tombstones: new TombstoneLimits(options, partitionCount, this.#marking),
      replicaCount: (map: Span) => this.#replicaCount(map),
      fail: (receiver: Receiver, failure: Failure) => this.#fail(receiver, failure),
    };
    this.#queues = new RedisQueues(common, {
      clock,
      time,
      deadlineMs,
      servers,
      connection,
      incarnation: options.incarnation,
      queueCapacity: (queue) => options.queueCapacity(queue),
      queueReplicaCount: (queue) => options.queueReplicaCount(queue) ?? servers.usualReplicaCount,
    });
    this.#maps = new RedisMaps({ ...common, time, versions });
    const merges = new RedisMerges({ ...common, time });
    this.#merges = merges;
    this.#waiting = new RedisWaitingChanges({ ...common, servers, time });
    this.#whole = { ...common, servers, now: () => time.wall() };
    this.#entries = new RedisPartitionEntries({ ...this.#whole, ...common, time });
    const membershipStore = new RedisMembershipStore({
      clock,
      servers,
      layout,
      clusterName,
      connection,
      dispatcher: this.#dispatcher,
      replicaCount: () => options.clusterReplicaCount ?? servers.usualReplicaCount,
      onJoined: (incarnation, place) => {
        versions.setPlace(place, PLACES);
        this.#queues.incarnation = incarnation;
        this.#isStopped = this.#closing !== undefined;
      },
      onOtherLayout: () => {
        this.#isStopped = true;
      },
      onWarning: (text) => options.onWarning(text),
      onGone: (present) => departedMembers.begin(present),
      onOldest: () => sweeps.begin(),
    });
    const sweeps = new LifetimeSweeps({ ...this.#whole, merges });
    const departedMembers = this.#newDepartedMembers(membershipStore);
    this.membershipStore = this.#membershipStore = membershipStore;
  }

  /** Returns the number of replicas that must have a change of the map. */
  #replicaCount(map: Span): number {
    const options = this.#options;
    const configured = isReservedMap(map)
      ? options.clusterReplicaCount
      : options.mapReplicaCount(map);
    return configured ?? this.#servers.usualReplicaCount;
  }

  #newDispatcher(layout: Layout, mayChange: () => boolean): Dispatcher {
    const options = this.#options;
    return new Dispatcher({
      clock: this.#clock,
      layout,
      servers: this.#servers,
      deadlineMs: options.deadlineMs,
      scripts: SCRIPTS,
      pendingChanges: this.#pendingChanges,
      mayChange,
      onFault: (text) => options.onFault(text),
      onRefused: options.onRefused.bind(options),
    });
  }

  #newDepartedMembers(membershipStore: RedisMembershipStore): DepartedMembers {
    const servers = this.#servers;
    return new DepartedMembers({
      clock: this.#clock,
      endChangesOf: (uuids) =>
        endConnections(servers.primaries, this.#namePrefix, (uuid) => uuids.has(uuid)),
      gone: () => membershipStore.gone(),
      returnHeld: (incarnation, outSeconds) => this.#queues.returnHeld(incarnation, outSeconds),
      forget: (incarnation) => membershipStore.forget(incarnation),
    });
  }

  #observer(time: ServerTime): ServersObserver {
    const options = this.#options;
    return {
      onReady: () => {
        this.#membershipStore.checkServer();
        this.#dispatcher.sendWaiting();
      },
      onLost: (address, reason) => {
        this.#queues.onLost();
        options.onLost(address, reason);
      },
      onEviction: (address, policy) => {
        // The start refuses such a server.
        if (this.#isOpen) options.onWarning(evictionText(address, policy));
      },
      onTime: (serverMs, sentAt) => time.set(serverMs, sentAt),
    };
  }

  /**
   * Sets the member's life, which permits changes only while the member has its lease. Called
   * before `open`.
   */
  attach(life: Life): void {
    this.#life = life;
  }

  async endChangesOfOthers(uuids: ReadonlySet<string>): Promise<void> {
    await endConnections(this.#servers.primaries, this.#namePrefix, (uuid) => !uuids.has(uuid));
  }

  /**
   * See ChangeWork. A change whose reply was lost has ended when its connection is established
   * again (see Link), or after the deadline.
   */
  changesAnswered(): Promise<void> {
    this.#queues.sendGathered();
    return this.#pendingChanges.answered(() => {
      const end = this.#clock.now() + this.#options.deadlineMs;
      const primaries = [...this.#servers.primaries];
      const links = primaries.flatMap(({ changes, confirmed }) => [changes, confirmed]);
      const confirmed = links.map(({ connection }) => connection?.confirmations.ended());
      return () =>
        confirmed.every((isEnded) => isEnded === undefined || isEnded()) &&
        (this.#clock.now() > end || links.every(({ connection }) => connection !== undefined));
    });
  }

  get isReachable(): boolean {
    if (!this.#isOpen || this.#closing !== undefined) return false;
    for (const { changes } of this.#servers.primaries) {
      if (changes.connection !== undefined) return true;
    }
    return false;
  }

  get(map: Span, key: Span, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#maps.get(map, key, receiver);
  }

  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    condition: Condition,
    receiver: Receiver,
  ): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#maps.set(map, key, value, contentType, lifetime, condition, receiver);
  }

  add(map: Span, key: Span, by: bigint, lifetime: Lifetime, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#maps.add(map, key, by, lifetime, receiver);
  }

  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#maps.delete(map, key, condition, receiver);
  }

  clear(map: Span, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    const marked = this.#marking.of(map);
    if (marked === undefined) clear(this.#whole, map, receiver);
    else this.#merges.clears.clear(map, marked.reference, receiver);
  }

  size(map: Span, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    sizeOf(this.#whole, map, receiver);
  }

  entries(map: Span, prefix: Span, place: Span, count: number, receiver: EntryReceiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    listEntries(this.#whole, map, prefix, place, count, receiver);
  }

  names(kind: NameKind, prefix: Span, place: Span, count: number, receiver: NameReceiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    listNames(this.#whole, kind, prefix, place, count, receiver);
  }

  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#queues.offer(queue, value, contentType, receiver);
  }

  peek(queue: Span, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#queues.peek(queue, receiver);
  }

  queueSize(queue: Span, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#queues.size(queue, receiver);
  }

  take(queue: Span, timeoutMs: number, receiver: Receiver): number {
    if (!this.#isStopped) return this.#queues.take(queue, timeoutMs, receiver);
    this.#refuse(receiver);
    return NO_TICKET;
  }

  cancel(ticket: number): void {
    if (this.#closing === undefined) this.#queues.cancel(ticket);
  }

  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    if (this.#isStopped) return this.#refuse(receiver);
    this.#queues.acknowledge(hold, isDelivered, receiver);
  }

  async mergeSection(
    ...section: Parameters<SectionMerger['mergeSection']>
  ): Promise<SectionResult> {
    if (this.#isStopped) return { outcome: UNREACHABLE, notTakenCount: 0 };
    return await this.#merges.mergeSection(...section);
  }

  observe(version: Version): void {
    this.#merges.observe(version);
  }

  now(version: Version): void {
    this.#merges.now(version);
  }

  setReferences(
    references: MapReferences | undefined,
    publishers: readonly MarkedPublisher[] = [],
  ): void {
    this.#marking.references = references;
    this.#marking.publishers = publishers;
  }

  onMarked(listener: (partition: number) => void): void {
    this.#marking.onMarked = listener;
  }

  onNotMarked(listener: (publisher: MarkedPublisher) => void): void {
    this.#marking.onNotMarked = listener;
  }

  async readWaiting(
    publisher: MarkedPublisher,
    partition: number,
    after: number,
    room: WaitingRoom,
  ): Promise<WaitingChanges | undefined> {
    if (this.#isStopped) return undefined;
    return await this.#waiting.read(publisher, partition, after, room);
  }

  async acknowledgeMarks(
    publisher: MarkedPublisher,
    partition: number,
    number: number,
  ): Promise<number | undefined> {
    if (this.#isStopped) return undefined;
    return await this.#waiting.acknowledge(publisher, partition, number);
  }

  async dropWaiting(publisher: MarkedPublisher, partition: number): Promise<boolean> {
    return !this.#isStopped && (await this.#waiting.drop(publisher, partition));
  }

  async waitingCounts(
    publisher: MarkedPublisher,
    partitions: readonly number[],
  ): Promise<readonly (number | undefined)[]> {
    if (this.#isStopped) return partitions.map(() => undefined);
    return await this.#waiting.counts(publisher, partitions);
  }

  async dropOthers(names: readonly Buffer[]): Promise<number | undefined> {
    return this.#isStopped ? undefined : await this.#waiting.dropOthers(names);
  }

  async readEntries(
    map: Buffer,
    partition: number,
    place: Buffer | undefined,
    room: Parameters<PartitionEntries['readEntries']>[3],
  ): Promise<EntriesRead | undefined> {
    if (this.#isStopped) return undefined;
    return await this.#entries.readEntries(map, partition, place, room);
  }

  async readEntry(map: Buffer, key: Buffer): ReturnType<PartitionEntries['readEntry']> {
    return this.#isStopped ? undefined : await this.#entries.readEntry(map, key);
  }

  async readMaps(place: Buffer | undefined): ReturnType<PartitionEntries['readMaps']> {
    return this.#isStopped ? undefined : await this.#entries.readMaps(place);
  }

  /** Sets the member incarnation that items are held for from now on. */
  set incarnation(incarnation: string) {
    this.#queues.incarnation = incarnation;
  }

  /**
   * Returns the items held by a member incarnation that was removed. Repeatable, by any member.
   * Resolves with the number of items; rejects if some may still be held.
   */
  returnHeld(incarnation: string): Promise<number> {
    return this.#queues.returnHeld(incarnation);
  }

  /** Number of connections to servers. */
  get connectionCount(): number {
    return this.#counter.count;
  }

  /** Number of connections to servers that were ready and then lost, since the start. */
  get lostConnectionCount(): number {
    return this.#counter.lostCount;
  }

  /** Number of operations that wait for a reply of a server, or to be sent. */
  get operationCount(): number {
    return this.#dispatcher.operationCount;
  }

  /** Whether replies or confirmations of replicas are pending. A waiting take does not count. */
  get isBusy(): boolean {
    if (this.#dispatcher.operationCount > 0) return true;
    return [...this.#servers.primaries].some(({ pendingCount }) => pendingCount > 0);
  }

  /**
   * Whether changes have the required copies: each primary responds and has at least as many
   * replicas as any map, any queue and the cluster's store require; none may drop data.
   */
  get isDataSafe(): boolean {
    const count = this.#replicaCountMax();
    const primaries = [...this.#servers.primaries];
    return primaries.every(
      ({ isReady, replicaCount, evictionPolicy }) =>
        isReady && replicaCount >= count && evictionPolicy === undefined,
    );
  }

  /**
   * Resolves when the servers respond; onLost reports each server that does not. Rejects with
   * StoreUnusable if trying again does not help: a wrong password, a server that is too old, an
   * unknown Sentinel name.
   */
  async open(): Promise<void> {
    await this.#servers.open();
    const warnings = await this.#servers.inspect(this.#replicaCountMax());
    if (this.#closing !== undefined) throw new Error('the engine was closed before it was open');
    for (const warning of warnings) this.#options.onWarning(warning);
    this.#isOpen = true;
  }

  #replicaCountMax(): number {
    const { usualReplicaCount } = this.#servers;
    const ofData = this.#options.replicaCountMax?.() ?? usualReplicaCount;
    return Math.max(ofData, this.#options.clusterReplicaCount ?? usualReplicaCount);
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      // Set before any receiver is called, so that operations they begin fail as closed.
      this.#isStopped = true;
      this.#closing = Promise.resolve().then(() => this.#end());
      this.#queues.sendGathered();
      this.#queues.close();
      this.#membershipStore.close();
    }
    return this.#closing;
  }

  /** Waits for pending operations, until the deadline, and closes the connections. */
  async #end(): Promise<void> {
    const end = this.#clock.now() + this.#options.deadlineMs;
    while (this.isBusy && this.#clock.now() < end) {
      await new Promise<void>((resolve) => this.#clock.after(1, resolve));
    }
    this.#dispatcher.close();
    this.#servers.close();
  }

  #refuse(receiver: Receiver): void {
    this.#fail(receiver, this.#closing === undefined ? OTHER_LAYOUT : AWAY);
  }

  #fail(receiver: Receiver, failure: Failure): void {
    if (isUnknown(failure)) this.unknownOutcomeCount++;
    const result = this.#results.begin(outcomeOf(failure));
    const isClosed = failure === AWAY && this.#closing !== undefined;
    result.reason = isClosed ? CLOSED : reasonOf(failure);
    this.#results.deliver(receiver, result);
  }
}
