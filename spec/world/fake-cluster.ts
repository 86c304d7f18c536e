/**
 * A cluster of fake servers: which server has which slot, and the slots that are being moved from
 * one server to another. A server replies with MOVED, ASK or TRYAGAIN for keys that it does not
 * have.
 */
import { addressText } from '../../src/base/server-address.ts';
import { SLOT_COUNT } from '../../src/engine/redis/layout.ts';
import { ErrorReply, type Value } from './fake-data.ts';
import { FakeServer } from './fake-server.ts';
import type { World } from './world.ts';

export class FakeCluster {
  /** All servers, with the replicas. */
  readonly servers: FakeServer[] = [];
  isOk = true;
  readonly #owners: FakeServer[] = [];
  /** What former primaries that have not learnt of their replacement believe. */
  readonly #beliefs = new Map<FakeServer, readonly FakeServer[]>();
  /** The servers that slots are moved to. */
  readonly #targets = new Map<number, FakeServer>();

  /** Each of the primaries has an equal part of the slots, and as many replicas as given. */
  constructor(world: World, primaryCount: number, replicaCount = 0) {
    for (let index = 0; index < primaryCount; index++) this.#add(world);
    const size = Math.ceil(SLOT_COUNT / primaryCount);
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      this.#owners.push(this.servers[Math.floor(slot / size)]!);
    }
    for (const primary of [...this.servers]) {
      for (let left = replicaCount; left > 0; left--) primary.replication.connect(this.#add(world));
    }
  }

  get url(): string {
    return `redis://${this.servers.map(({ address }) => addressText(address)).join(',')}`;
  }

  primaryOf(slot: number): FakeServer {
    return this.#owners[slot]!;
  }

  /** Begins to move a slot; its keys stay until `moveKeys`. */
  migrate(slot: number, target: FakeServer): void {
    this.#targets.set(slot, target);
  }

  /** Moves the keys of the slot that `isMoved` selects. Returns their number. */
  moveKeys(slot: number, isMoved: (key: string) => boolean = () => true): number {
    const target = this.#targets.get(slot)!;
    const source = this.primaryOf(slot);
    const isOne = (key: string) => slotOf(key) === slot && isMoved(key);
    const count = source.data.moveTo(target.data, isOne);
    for (const { replication } of [source, target]) replication.copy();
    return count;
  }

  /** Ends the move: the target has the slot, with all its keys. */
  assign(slot: number): void {
    this.moveKeys(slot);
    const source = this.primaryOf(slot);
    this.#owners[slot] = this.#targets.get(slot)!;
    this.#targets.delete(slot);
    source.unsubscribe((channel) => slotOf(channel) === slot);
  }

  /**
   * A replica takes the place of its primary, with the data that it has. The former primary does
   * not learn of it before `rejoin`.
   */
  failOver(replica: FakeServer): void {
    const former = promote(replica);
    this.#beliefs.set(former, [...this.#owners]);
    this.#owners.forEach((owner, slot) => {
      if (owner === former) this.#owners[slot] = replica;
    });
  }

  /** The former primary becomes a replica of the one that replaced it. */
  rejoin(former: FakeServer, primary: FakeServer): void {
    this.#beliefs.delete(former);
    primary.replication.connect(former);
  }

  /** Throws the error of a server that does not have the keys. */
  assertHere(server: FakeServer, keys: readonly string[], isAsking: boolean): void {
    const [slot, ...others] = new Set(keys.map(slotOf));
    if (slot === undefined) return;
    if (others.length > 0) {
      throw new ErrorReply("CROSSSLOT Keys in request don't hash to the same slot");
    }
    if (!this.isOk) throw new ErrorReply('CLUSTERDOWN The cluster is down');
    const owner = this.#believedBy(server)[slot]!;
    const target = this.#targets.get(slot);
    const missing = keys.filter((key) => !server.data.has(key)).length;
    if (target === server && isAsking) {
      if (keys.length > 1 && missing > 0) throw tryAgain();
    } else if (owner !== server) {
      throw new ErrorReply(`MOVED ${slot} ${addressText(owner.address)}`);
    } else if (target !== undefined && missing > 0) {
      if (missing < keys.length) throw tryAgain();
      throw new ErrorReply(`ASK ${slot} ${addressText(target.address)}`);
    }
  }

  /** Throws the error of a server that does not have the slot of a channel. */
  assertChannelHere(server: FakeServer, channel: string): void {
    const slot = slotOf(channel);
    const { address } = this.#believedBy(server)[slot]!;
    if (address !== server.address) throw new ErrorReply(`MOVED ${slot} ${addressText(address)}`);
  }

  /** Executes CLUSTER INFO and CLUSTER SLOTS. */
  command(server: FakeServer, [, word]: readonly string[]): Value {
    if (word === 'INFO') return `cluster_state:${this.isOk ? 'ok' : 'fail'}\r\n`;
    const owners = this.#believedBy(server);
    const rows: Value[] = [];
    for (let first = 0; first < SLOT_COUNT; ) {
      const owner = owners[first]!;
      let end = first + 1;
      while (end < SLOT_COUNT && owners[end] === owner) end++;
      const nodes = [owner, ...owner.replication.servers];
      rows.push([
        first,
        end - 1,
        ...nodes.map(({ address, runId }) => [address.host, address.port, runId]),
      ]);
      first = end;
    }
    return rows;
  }

  #believedBy(server: FakeServer): readonly FakeServer[] {
    return this.#beliefs.get(server) ?? this.#owners;
  }

  #add(world: World): FakeServer {
    const server = new FakeServer(world);
    server.mode = 'cluster';
    server.cluster = this;
    this.servers.push(server);
    return server;
  }
}

/** Makes a replica the primary of the other replicas. Returns its former primary. */
export function promote(replica: FakeServer): FakeServer {
  const former = replica.primary!;
  const others = former.replication.servers.filter((server) => server !== replica);
  for (const server of [...others, replica]) former.replication.disconnect(server);
  for (const server of others) replica.replication.connect(server);
  return former;
}

function tryAgain(): ErrorReply {
  return new ErrorReply('TRYAGAIN Multiple keys request during rehashing of slot');
}

/** The slot of a key or channel: CRC-16/XMODEM of its tag. */
export function slotOf(key: string): number {
  const [, tag = ''] = /\{([^}]*)\}/s.exec(key) ?? [];
  let crc = 0;
  for (const byte of Buffer.from(tag === '' ? key : tag, 'latin1')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc % SLOT_COUNT;
}
