/**
 * An old primary that is cut off together with a member and one of three Sentinels, SOAK_ROUNDS rounds: the
 * member takes no changes once its lease has ended, and none of its changes takes effect after the others
 * are PASSIVE, also where another member has replaced it. Needs root and `ip` (Debian package iproute2).
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, startWatched, type WatchedPair } from '../peers/server-group.ts';
import { until } from '../peers/server-process.ts';
import { FaultClient } from './servers/fault-client.ts';
import { FaultMember } from './servers/fault-member.ts';
import { Network } from './servers/network.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
/** One server or one Sentinel each, then the members and the one that replaces. */
const SERVERS = 5;
const MEMBERS = 3;
const HEARTBEAT_SECONDS = 10;
const CUT_MS = HEARTBEAT_SECONDS * 1000 + 2000;
/** What a socket holds is sent again within this time of the link's return, as it was cut for less. */
const LATE_MS = 2 * CUT_MS;
const ANSWER_MS = 8000;

describe(`an old primary that is cut off with a member: ${ROUNDS} rounds`, () => {
  let network: Network;
  let pair: WatchedPair;
  let members: FaultMember[] = [];
  let folder: string;
  let file: string;

  before(async () => {
    network = new Network(SERVERS + MEMBERS + 1);
  });
  after(() => network.end());

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gridnode-cut-off-'));
    pair = await startWatched(network.places.slice(0, SERVERS));
    file = join(folder, 'grid.yaml');
    writeFileSync(file, configuration(pair.url));
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
      it(`round ${round + 1}: it is ${isReplaced ? 'replaced' : 'out'}`, async () => {
        const [lonely, other] = members as [FaultMember, FaultMember];
        const writer = new Writer(lonely);
        await sleep(500);
        cutOff();
        const cutAt = performance.now();
        if (isReplaced) await replace(lonely);
        await sleep(Math.max(0, cutAt + CUT_MS - performance.now()));
        assert.ok(writer.lastAppliedAt < cutAt + HEARTBEAT_SECONDS * 1000, 'it goes on');
        await until(async () => (await changeState(other, 'passive')) === 200);
        const passiveAt = performance.now();
        const before = await entries(other, writer.count);
        network.heal();
        await sleep(LATE_MS);
        await writer.end();
        assert.ok(writer.lastAppliedAt < passiveAt, 'a change was answered 200');
        const after = await entries(other, writer.count);
        const late = after.slice(before.length).filter((value) => value !== '');
        assert.deepEqual([after.slice(0, before.length), late], [before, []]);
        assert.deepEqual(lonely.troubles, []);
      });
    }
  }

  /** The first server, Sentinel and member can reach one another and the test, and nobody else. */
  function cutOff(): void {
    const hosts = network.places.map(({ host }) => host);
    const within = [0, 2, SERVERS].map((index) => hosts[index]!);
    for (const host of hosts) {
      if (!within.includes(host)) for (const each of within) network.cut(host, each);
    }
  }

  /** Starts another member with the address of that one, once it may join. */
  async function replace({ place, port }: FaultMember): Promise<void> {
    const [own = 0] = await freePorts(1);
    const address = `  network:\n    public-address: ${place.host}:${port}\n`;
    const ownFile = join(folder, 'other.yaml');
    writeFileSync(ownFile, configuration(pair.url).replace('  network:\n', address));
    const words = ['--config', ownFile];
    const member = new FaultMember(network.places[SERVERS + MEMBERS]!, own, words);
    members.push(member);
    await member.start();
  }
});

async function changeState(member: FaultMember, state: string): Promise<number> {
  const client = new FaultClient(member.place.host, member.port, 70_000);
  const path = 'management/cluster/changeState';
  const answer = await client.ask('POST', path, Buffer.from(`cut-off&&${state}`));
  client.end();
  return typeof answer === 'string' ? 0 : answer.status;
}

/** The values of the writer's keys; nothing for those that are not there. */
async function entries(member: FaultMember, count: number): Promise<string[]> {
  const client = new FaultClient(member.place.host, member.port, ANSWER_MS);
  const values: string[] = [];
  for (let number = 0; number < count; number++) {
    const answer = await client.ask('GET', `maps/m/k${number}`);
    assert.ok(typeof answer !== 'string' && answer.status < 300, JSON.stringify(answer));
    values.push(answer.body.toString());
  }
  client.end();
  return values;
}

/** Sets one new key after the other through a member, several at a time, whether they succeed or not. */
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
    const client = new FaultClient(place.host, port, ANSWER_MS);
    while (!this.#isEnding) {
      const answer = await client.ask('POST', `maps/m/k${this.count++}`, Buffer.from('v'));
      if (typeof answer !== 'string' && answer.status === 200) {
        this.lastAppliedAt = performance.now();
      }
      await sleep(50);
    }
    client.end();
  }
}

function configuration(url: string): string {
  return `grid:
  cluster-name: cut-off
  engine:
    url: ${url}
    max-no-heartbeat-seconds: ${HEARTBEAT_SECONDS}
  map: { default: { backup-count: 0 } }
  queue: { default: { backup-count: 0 } }
  network:
    rest-api:
      enabled: true
      endpoint-groups:
        HEALTH_CHECK: { enabled: true }
        CLUSTER_READ: { enabled: true }
        CLUSTER_WRITE: { enabled: true }
        DATA: { enabled: true }
`;
}
