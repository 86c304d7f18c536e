/**
 * An old primary that is isolated together with a member and one of three Sentinels, SOAK_ROUNDS
 * rounds. The member accepts no changes once its lease has ended, and none of its changes takes
 * effect after the other members are PASSIVE, even if another member has replaced it. Needs root
 * and `ip` (Debian package iproute2).
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, type SentinelGroup, startSentinelGroup } from '../peers/server-group.ts';
import { until } from '../peers/server-process.ts';
import { FaultClient } from './servers/fault-client.ts';
import { configuration } from './servers/fault-cluster.ts';
import { FaultMember } from './servers/fault-member.ts';
import { Network } from './servers/network.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
/**
 * Number of hosts with a server or a Sentinel. The hosts of the members follow, then that of the
 * replacement.
 */
const SERVERS = 5;
const MEMBERS = 3;
const HEARTBEAT_SECONDS = 10;
const CLUSTER = { clusterName: 'cut-off', heartbeatSeconds: HEARTBEAT_SECONDS, backupCount: 0 };
const ISOLATED_MS = HEARTBEAT_SECONDS * 1000 + 2000;
/**
 * Time in which a socket retransmits its data after the link returns, in ms: retransmissions back
 * off at most to the length of the outage.
 */
const RETRANSMISSION_MS = 2 * ISOLATED_MS;
const RESPONSE_MS = 8000;

describe(`An old primary that is isolated with a member: ${ROUNDS} rounds`, () => {
  let network: Network;
  let pair: SentinelGroup;
  let members: FaultMember[] = [];
  let folder: string;
  let file: string;

  before(async () => {
    network = new Network(SERVERS + MEMBERS + 1);
  });
  after(() => network.end());

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gridnode-cut-off-'));
    pair = await startSentinelGroup(network.places.slice(0, SERVERS));
    file = join(folder, 'grid.yaml');
    writeFileSync(file, configuration({ ...CLUSTER, url: pair.url }));
    const ports = await freePorts(MEMBERS);
    members = ports.map(
      (port, index) => new FaultMember(network.places[SERVERS + index]!, port, ['--config', file]),
    );
    for (const member of members) await member.start();
  });
  afterEach(async () => {
    network.heal();
    await Promise.all(members.map((member) => member.kill()));
    await pair.end();
    rmSync(folder, { recursive: true, force: true });
  });

  for (let round = 0; round < ROUNDS; round++) {
    for (const isReplaced of [false, true]) {
      it(`round ${round + 1}: the member is ${isReplaced ? 'replaced' : 'removed'}`, async () => {
        const [isolated, other] = members as [FaultMember, FaultMember];
        const writer = new Writer(isolated);
        await sleep(500);
        isolate();
        const isolatedAt = performance.now();
        if (isReplaced) await replace(isolated);
        await sleep(Math.max(0, isolatedAt + ISOLATED_MS - performance.now()));
        assert.ok(
          writer.lastAppliedAt < isolatedAt + HEARTBEAT_SECONDS * 1000,
          'a change was accepted after the lease had ended',
        );
        await until(async () => (await changeState(other, 'passive')) === 200);
        const passiveAt = performance.now();
        const before = await entries(other, writer.count);
        network.heal();
        await sleep(RETRANSMISSION_MS);
        await writer.end();
        assert.ok(
          writer.lastAppliedAt < passiveAt,
          'a change was accepted after the change to PASSIVE',
        );
        const after = await entries(other, writer.count);
        const late = after.slice(before.length).filter((value) => value !== '');
        assert.deepEqual([after.slice(0, before.length), late], [before, []]);
        assert.deepEqual(isolated.problems, []);
      });
    }
  }

  /** Isolates the first server, Sentinel and member: they reach only one another and the test. */
  function isolate(): void {
    const hosts = network.places.map(({ host }) => host);
    const within = [0, 2, SERVERS].map((index) => hosts[index]!);
    for (const host of hosts) {
      if (!within.includes(host)) for (const each of within) network.cut(host, each);
    }
  }

  /** Starts another member with the address of the given one, once it may join. */
  async function replace({ place, port }: FaultMember): Promise<void> {
    const [own = 0] = await freePorts(1);
    const publicAddress = `${place.host}:${port}`;
    const ownFile = join(folder, 'other.yaml');
    writeFileSync(ownFile, configuration({ ...CLUSTER, url: pair.url, publicAddress }));
    const words = ['--config', ownFile];
    const member = new FaultMember(network.places[SERVERS + MEMBERS]!, own, words);
    members.push(member);
    await member.start();
  }
});

async function changeState(member: FaultMember, state: string): Promise<number> {
  const client = new FaultClient(member.place.host, member.port, 70_000);
  const path = 'management/cluster/changeState';
  const result = await client.request('POST', path, Buffer.from(`cut-off&&${state}`));
  client.end();
  return typeof result === 'string' ? 0 : result.status;
}

/** Returns the values of the writer's keys, empty for absent ones. */
async function entries(member: FaultMember, count: number): Promise<string[]> {
  const client = new FaultClient(member.place.host, member.port, RESPONSE_MS);
  const values: string[] = [];
  for (let number = 0; number < count; number++) {
    const result = await client.request('GET', `maps/m/k${number}`);
    assert.ok(typeof result !== 'string' && result.status < 300, JSON.stringify(result));
    values.push(result.body.toString());
  }
  client.end();
  return values;
}

/** Sets new keys through a member, with four workers, regardless of the results. */
class Writer {
  count = 0;
  lastAppliedAt = 0;
  readonly #workers: readonly Promise<void>[];
  #isEnding = false;

  constructor(member: FaultMember) {
    this.#workers = Array.from({ length: 4 }, () => this.#write(member));
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#workers);
  }

  async #write({ place, port }: FaultMember): Promise<void> {
    const client = new FaultClient(place.host, port, RESPONSE_MS);
    while (!this.#isEnding) {
      const result = await client.request('POST', `maps/m/k${this.count++}`, Buffer.from('v'));
      if (typeof result !== 'string' && result.status === 200) {
        this.lastAppliedAt = performance.now();
      }
      await sleep(50);
    }
    client.end();
  }
}
