/**
 * Clusters of both kinds on one network, for the specs of replication: a member that stores its own
 * data, and members on a fake server, which join and leave as real ones do.
 */
import assert from 'node:assert/strict';
import { ServerReplications } from '../../src/wan/server-replications.ts';
import { SharedWan } from '../../src/wan/shared-wan.ts';
import { NO_WAN, type WanPublisherOptions } from '../../src/wan/wan-config.ts';
import type { TransportResponse, WanTransport } from '../../src/wan/wan-transport.ts';
// Loaded before: the fake time does not wait for files.
import '../../src/wan/server-sections.ts';
import '../../src/wan/server-tree-maker.ts';
import '../../src/wan/tree-responder.ts';
import '../../src/wan/wan-receiver.ts';
import { type Outcome, UNKNOWN, UNREACHABLE } from '../../src/engine/engine.ts';
import type { MergePolicy } from '../../src/engine/merge-policy.ts';
import type { ConnectionOptions } from '../../src/engine/redis/redis-connection.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';
import { type JoinedMember, joinedMember } from '../engine/redis/joined-member.ts';
import { Asker, type Seen } from '../engine/results.ts';
import { CUT, encoded, type FakeReply, FakeServer } from '../world/fake-server.ts';
import { MemberClock } from '../world/member-clock.ts';
import type { World } from '../world/world.ts';
import { fakeStore } from '../world/world-engines.ts';
import { Member, Network, OPTIONS, REQUEST_LIMITS, RecordedLog } from './members.ts';

type ConnectTcp = NonNullable<ConnectionOptions['connectTcp']>;

const PARTITION_COUNT = 3;
/** Greatest difference of the clocks of two members, in ms. */
const CLOCK_MS = 20;
const CLOCKS_MS = [0, CLOCK_MS, -CLOCK_MS, 10_000, -10_000];
const ENGINE = { partitionCount: PARTITION_COUNT, deadlineMs: 500 };
/** Silence after which a member is removed from its cluster, in ms. */
export const LEASE_MS = 6000;

/** A network whose time passes only within a call of `World.during`. */
export class WorldNetwork extends Network {
  readonly world: World;

  constructor(world: World) {
    super(world.clock);
    this.world = world;
  }

  override async pass(ms: number): Promise<void> {
    await this.world.sleep(ms);
  }
}

/** A cluster as the simulations use it. */
export interface SimulatedCluster {
  readonly name: string;
  /** The addresses of its members. */
  readonly addresses: readonly string[];
  /** Makes a change through any member that runs. The outcome is UNKNOWN if it ends meanwhile. */
  change(run: (asker: Asker) => Promise<Seen>): Promise<Outcome>;
  /** Operations that no fault affects. */
  readonly reader: Asker;
  start(): Promise<void>;
  /** Lets changes of an embedded engine become durable. */
  sync(): void;
  /** Makes a random fault. */
  disturb(): void;
  /** Ends all faults. Resolves when all members run. */
  calm(): Promise<void>;
  /** Resolves with the number of changes that wait. */
  waitingCount(): Promise<number>;
  /** Number of events that were rejected or dropped. */
  readonly lostCount: number;
  close(): Promise<void>;
}

interface ClusterParts {
  readonly network: WorldNetwork;
  readonly below: (count: number) => number;
  readonly name: string;
  readonly publishers: readonly WanPublisherOptions[];
  readonly policy: MergePolicy;
}

/** A member that stores its own data, and restarts. */
export class EmbeddedCluster implements SimulatedCluster {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly #member: Member;
  readonly #below: ClusterParts['below'];

  constructor({ network, below, name, publishers, policy }: ClusterParts) {
    this.name = name;
    this.addresses = [addressOf(name, 0)];
    this.#below = below;
    const dataSet = dataSetOf(name);
    const aheadMs = CLOCKS_MS[below(CLOCKS_MS.length)]!;
    this.#member = new Member(network, this.addresses[0]!, publishers, { dataSet, aheadMs });
    this.#member.policy = policy;
  }

  async change(run: (asker: Asker) => Promise<Seen>): Promise<Outcome> {
    const { outcome } = await run(this.reader);
    return outcome;
  }

  get reader(): Asker {
    return new Asker(this.#member.engine);
  }

  async start(): Promise<void> {}

  sync(): void {
    this.#member.sync();
  }

  disturb(): void {
    const member = this.#member;
    if (this.#below(2) === 0) member.isDown = !member.isDown;
    else {
      member.sync();
      member.restart();
    }
  }

  async calm(): Promise<void> {
    this.#member.isDown = false;
  }

  async waitingCount(): Promise<number> {
    this.#member.sync();
    const { replications } = this.#member;
    return replications.publishers().reduce((sum, { queueSize }) => sum + queueSize, 0);
  }

  get lostCount(): number {
    return lostBy(this.#member.replications.publishers());
  }

  async close(): Promise<void> {
    await this.#member.replications.close(0);
    await this.#member.engine.close();
  }
}

/** Members on one server. A member that has ended is replaced by another one at its address. */
export class ServersCluster implements SimulatedCluster {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly parts: ClusterParts;
  readonly server: FakeServer;
  readonly #reader: RedisEngine;
  #members: ServerMember[] = [];
  #startCount = 0;
  /** Events that members that have ended lost. */
  #lostCount = 0;
  /** Members that are joining. */
  #joining: Promise<void>[] = [];
  /** Calls of scripts before the next fault, and the error that they then get. */
  #callsLeft = 0;
  #fault: FakeReply | undefined;

  constructor(parts: ClusterParts, memberCount: number) {
    const { network, name } = parts;
    this.name = name;
    this.parts = parts;
    this.addresses = Array.from({ length: memberCount }, (_, index) => addressOf(name, index));
    this.server = new FakeServer(network.world, (words) => this.#replyTo(words));
    this.#reader = fakeStore(network.world, this.server.url, ENGINE).engine;
  }

  async change(run: (asker: Asker) => Promise<Seen>): Promise<Outcome> {
    const running = this.#members.filter(({ isInCluster }) => isInCluster);
    const member = running[this.parts.below(running.length)];
    if (member === undefined) return UNREACHABLE;
    return await Promise.race([run(new Asker(member.engine)).then(outcomeOf), member.ended]);
  }

  get reader(): Asker {
    return new Asker(this.#reader);
  }

  async start(): Promise<void> {
    await this.#reader.open();
    for (const address of this.addresses) await this.#startAt(address);
  }

  sync(): void {}

  disturb(): void {
    const { below, network } = this.parts;
    const kind = below(10);
    if (kind < 3) return this.#fail();
    const running = this.#members.filter(({ isInCluster }) => isInCluster);
    const member = running[below(running.length)];
    if (member === undefined) return;
    if (kind < 5) {
      member.kill();
      this.#lostCount += lostBy(member.replications.publishers());
      this.#members = this.#members.filter((each) => each !== member);
      this.#joining.push(this.#startAfter(member.address));
    } else if (kind < 7) {
      member.clock.stop();
      network.clock.after(below(2 * LEASE_MS), () => member.clock.resume());
    } else if (kind === 7) member.pause();
    else member.resume();
  }

  async calm(): Promise<void> {
    this.#fault = undefined;
    await Promise.all(this.#joining);
    for (const member of this.#members) {
      member.clock.resume();
      member.resume();
    }
    while (!this.#members.every(({ isInCluster }) => isInCluster)) {
      await this.parts.network.pass(100);
    }
  }

  async waitingCount(): Promise<number> {
    const [member] = this.#members;
    const partitions = [...Array(PARTITION_COUNT).keys()];
    let sum = 0;
    for (const { wanPublisherId } of member!.replications.publishers()) {
      const publisher = member!.replications.publisherOf('r', wanPublisherId);
      const counts = await member!.engine.waitingCounts(publisher, partitions);
      for (const count of counts) sum += count!;
    }
    return sum;
  }

  get lostCount(): number {
    const counts = this.#members.map(({ replications }) => lostBy(replications.publishers()));
    return counts.reduce((sum, count) => sum + count, this.#lostCount);
  }

  async close(): Promise<void> {
    for (const member of this.#members) await member.close();
    await this.#reader.close();
  }

  async #startAfter(address: string): Promise<void> {
    await this.parts.network.pass(this.parts.below(2 * LEASE_MS));
    await this.#startAt(address);
  }

  async #startAt(address: string): Promise<void> {
    const member = new ServerMember(this, address, `${this.name}${this.#startCount++}`);
    this.#members.push(member);
    await member.start();
  }

  /** Lets some of the next scripts fail; in a third of the cases, the last one loses its reply. */
  #fail(): void {
    const { below } = this.parts;
    this.#callsLeft = below(12);
    this.#fault = below(3) === 0 ? CUT : '-MISCONF no\r\n';
  }

  #replyTo(words: readonly string[]): FakeReply | undefined {
    if (words[0] === 'TIME') return this.#time();
    if (words[0] !== 'EVALSHA' || this.#fault === undefined) return undefined;
    if (--this.#callsLeft > 0) return undefined;
    const fault = this.#fault;
    if (fault === CUT || this.#callsLeft < -3) this.#fault = undefined;
    if (fault === CUT) {
      try {
        this.server.run(...words);
      } catch {
        // The server refused the command.
      }
    }
    return fault;
  }

  /** Members that ask for the time estimate it up to CLOCK_MS apart. */
  #time(): FakeReply {
    const ms = Math.floor(this.server.now) + this.parts.below(CLOCK_MS + 1);
    const [seconds, micros] = [Math.floor(ms / 1000), (ms % 1000) * 1000].map(String);
    return encoded([seconds!, micros!]);
  }
}

/** A member of a cluster on a server: its process ends, stops and continues. */
class ServerMember {
  readonly address: string;
  readonly clock: MemberClock;
  readonly engine: RedisEngine;
  readonly #cluster: ServersCluster;
  readonly #uuid: string;
  readonly #log = new RecordedLog();
  readonly #sockets: ReturnType<ConnectTcp>[] = [];
  readonly #faults: readonly string[];
  isDown = false;
  /** Resolves with UNKNOWN once it has been killed. */
  readonly ended: Promise<Outcome>;
  #end: (outcome: Outcome) => void = () => {};
  #joined: JoinedMember | undefined;
  #replications: ServerReplications | undefined;
  #wan: SharedWan | undefined;

  constructor(cluster: ServersCluster, address: string, uuid: string) {
    const { world } = cluster.parts.network;
    this.#cluster = cluster;
    this.address = address;
    this.#uuid = uuid;
    this.clock = new MemberClock(world.clock);
    const options = { clock: this.clock, connectTcp: this.#connect, incarnation: uuid };
    const store = fakeStore(world, cluster.server.url, { ...ENGINE, ...options });
    this.engine = store.engine;
    this.#faults = store.faults;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get replications(): ServerReplications {
    return this.#replications!;
  }

  get isInCluster(): boolean {
    return this.clock.isRunning && this.#joined?.cluster.acceptsWrites === true;
  }

  async start(): Promise<void> {
    const { parts } = this.#cluster;
    const { clock, engine } = this;
    await engine.open();
    this.#joined = await joinedMember(engine, clock, { uuid: this.#uuid, leaseMs: LEASE_MS });
    const { cluster } = this.#joined;
    const { record } = cluster;
    // With a random id, the order of equal versions would be random.
    const dataSetId = Buffer.alloc(16, dataSetOf(parts.name)).toString('hex');
    while (record.values.dataSetId === undefined) {
      await record.compareAndSet(record.revision, { dataSetId }).catch(() => {});
    }
    const shared = {
      clock,
      log: this.#log,
      engine,
      cluster,
      record,
      changedPartitions: engine.membershipStore,
    };
    this.#wan = new SharedWan({
      ...shared,
      config: { ...REQUEST_LIMITS, clusterName: OPTIONS.clusterName, ...NO_WAN },
      segment: 'grid',
      addToConfig: () => assert.fail(),
      removeFromConfig: () => assert.fail(),
    });
    const reference = { replication: 'r', policy: parts.policy, republishing: true };
    this.#replications = new ServerReplications({
      ...shared,
      changes: engine,
      maps: {
        hasReferences: true,
        treeOf: () => ({ isOn: true, depth: 10 }),
        refOf: () => ({ ...reference, accepts: () => true }),
      },
      transportOf: () => this.#transport(),
      random: parts.network.random,
    });
    this.#replications.add('r', parts.publishers);
    this.#replications.begin();
    parts.network.members.set(this.address, this);
  }

  async receive(message: Buffer): Promise<TransportResponse> {
    await this.#running();
    const received = await this.#wan!.receive(message);
    if (received.error === undefined) return { status: 200, body: received.body };
    const { status, message: text } = received.error;
    return { status, body: Buffer.from(text) };
  }

  pause(): void {
    for (const { wanPublisherId: id } of this.replications.publishers()) {
      this.replications.publisherOf('r', id).pause();
    }
  }

  resume(): void {
    for (const { wanPublisherId: id } of this.replications.publishers()) {
      this.replications.publisherOf('r', id).resume();
    }
  }

  /** Ends it without notice. What it has sent may still arrive. */
  kill(): void {
    this.clock.end();
    this.isDown = true;
    this.#end(UNKNOWN);
    const isReset = this.#cluster.parts.below(2) === 0;
    for (const socket of this.#sockets) isReset ? socket.resetAndDestroy() : socket.destroy();
  }

  async close(): Promise<void> {
    assert.deepEqual(this.#faults, []);
    await this.replications.close(0);
    await this.#joined!.end();
  }

  /** What arrives while the process is stopped is read when it continues. */
  readonly #connect: ConnectTcp = ({ onread: { buffer, callback }, ...address }) => {
    const onBytes = (length: number): boolean => {
      const bytes = Buffer.from(buffer.subarray(0, length));
      this.clock.whenRunning(() => callback(bytes.copy(buffer), buffer));
      return true;
    };
    const onread = { buffer, callback: onBytes };
    const socket = this.#cluster.parts.network.world.network.connect({ ...address, onread });
    this.#sockets.push(socket);
    return socket;
  };

  #transport(): WanTransport {
    const transport = this.#cluster.parts.network.transportOf(this);
    return {
      send: async (to, message, timeoutMs) => {
        await this.#running();
        return await transport.send(to, message, timeoutMs).finally(() => this.#running());
      },
      close: () => {},
    };
  }

  /** Resolves while the process runs; never if it has ended. */
  #running(): Promise<void> {
    return new Promise((resolve) => this.clock.whenRunning(resolve));
  }
}

/** Returns the character of which the id of the cluster's data set is made. */
function dataSetOf(name: string): string {
  return name.slice(-1);
}

function outcomeOf({ outcome }: Seen): Outcome {
  return outcome;
}

/** Returns the address of a member of the cluster. */
export function addressOf(cluster: string, index: number): string {
  return `${cluster}-${index}`;
}

function lostBy(publishers: readonly PublisherStatus[]): number {
  return publishers.reduce((sum, each) => sum + each.eventsRejected + each.eventsDropped, 0);
}
