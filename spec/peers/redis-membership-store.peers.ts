/** The membership store on a real Redis or Valkey server: its contract, and members that use it. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SystemClock } from '../../src/base/clock.ts';
import { OutcomeUnknown } from '../../src/base/errors.ts';
import { GAP_MS } from '../../src/cluster/membership-store.ts';
import { ABSENT, APPLIED, FOUND, UNKNOWN, UNREACHABLE } from '../../src/engine/engine.ts';
import { ControlConnection } from '../../src/engine/redis/control-connection.ts';
import { Layout } from '../../src/engine/redis/layout.ts';
import { namePrefix } from '../../src/engine/redis/member-connections.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { StoreUnusable } from '../../src/engine/redis/servers.ts';
import { describeMemberStore } from '../cluster/membership-store.case.ts';
import { Asker } from '../engine/results.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { EngineServer } from './engine-server.ts';
import { type JoinedMember, joinedMember } from './joined-member.ts';
import { serverCommand } from './server-command.ts';
import { PARTITION_COUNT, type StoreEngineOptions, storeEngine } from './store-engines.ts';

let server: EngineServer;
let clusterCount = 0;

before(async () => {
  server = await EngineServer.start();
});

after(() => server.stop());

describeMemberStore('on one server', async () => {
  const { port } = server;
  const engine = await storeEngine({ port, clusterName: `store ${clusterCount++}` });
  return { store: engine.membershipStore, pass: sleep, close: () => engine.close() };
});

it('the store shifts a limit when the clock is set back', async () => {
  const { port } = server;
  const clusterName = `back ${clusterCount++}`;
  const engine = await storeEngine({ port, clusterName });
  const store = engine.membershipStore;
  const identity = { uuid: 'u', address: 'h:1', memberVersion: '1.2.3', isLite: false };
  const fromMs = performance.now();
  const joined = await store.join({ ...identity, version: '1.2', leaseMs: LEASE_MS });
  assert.ok('view' in joined);
  const life = { uuid: 'u', joinNumber: joined.joinNumber };
  const { revision } = joined.view;
  await store.change({ ...life, revision, text: 't', admits: 0, limitMs: LEASE_MS });
  for (const field of ['beaten', 'limitEnd']) {
    const later = ['HINCRBY', keyOf(clusterName, 'record'), field, `${HOUR_MS}`];
    assert.ok(Number(await serverCommand(port, ...later)) > Date.now() + HOUR_MS / 2);
  }
  const view = await store.heartbeat({
    ...life,
    stopsUpTo: 0,
    leaseMs: LEASE_MS,
    known: 0,
    confirmed: 0,
  });
  assert.ok('limit' in view && view.limit !== null);
  // The limit is shifted relative to the time of the join, which precedes it.
  const mostMs = LEASE_MS + Math.ceil(performance.now() - fromMs);
  assert.ok(view.limit.leftMs > 0 && view.limit.leftMs <= mostMs, `${view.limit.leftMs}`);
  await engine.close();
});

it('a join writes the layout, and compares a stored layout with that of the member', async () => {
  const { port } = server;
  const clusterName = `layout ${clusterCount++}`;
  const identity = { uuid: 'u', address: 'h:1', memberVersion: '1.2.3', isLite: false };
  const join = { ...identity, version: '1.2', leaseMs: LEASE_MS };
  const record = keyOf(clusterName, 'record');
  const engine = await storeEngine({ port, clusterName });
  await engine.membershipStore.join(join);
  assert.equal(
    await serverCommand(port, 'HGET', record, 'layout'),
    '{"format":1,"partitionCount":271}',
  );
  const other = await storeEngine({ port, clusterName, partitionCount: 300 });
  const refusal = async (): Promise<string> => {
    const error = await other.membershipStore.join(join).catch((caught: unknown) => caught);
    assert.ok(error instanceof StoreUnusable, String(error));
    return error.message;
  };
  const cluster = `Cannot use the data of cluster "${clusterName}" in the store`;
  assert.equal(
    await refusal(),
    `${cluster}: it has 271 partitions, but this member is configured for 300`,
  );
  await serverCommand(port, 'HSET', record, 'layout', '{"format":2}');
  assert.equal(
    await refusal(),
    `${cluster}: its layout has format 2, but this version supports format 1`,
  );
  await serverCommand(port, 'HSET', record, 'layout', 'something else');
  assert.equal(await refusal(), `${cluster}: its layout record is invalid: "something else"`);
  await Promise.all([engine.close(), other.close()]);
});

const COUNT_KEYS = `return #redis.call('KEYS', ARGV[1])`;

function controlOf(port: number): ControlConnection {
  return new ControlConnection(
    { host: '127.0.0.1', port },
    {
      clock: new SystemClock(),
      login: { user: undefined, password: undefined },
      tls: undefined,
      mayChange: () => true,
      deadlineMs: DEADLINE_MS,
      counter: { count: 0 },
    },
  );
}

function keyOf(clusterName: string, name: string): string {
  return new Layout(clusterName, PARTITION_COUNT).clusterKey(name).toString();
}

const HOUR_MS = 3_600_000;
const LEASE_MS = 2 * GAP_MS;
const DEADLINE_MS = 600;

type Member = JoinedMember;

/** Starts a member; resolves when it has joined. */
function startMember(options: StoreEngineOptions, uuid: string): Promise<Member> {
  return joinedMember(options, { uuid, leaseMs: LEASE_MS });
}

function uuidsOf({ cluster }: Member): string[] {
  return cluster.members.map(({ uuid }) => uuid);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(5);
}

describe('members on one server', () => {
  let clusterName: string;
  let first: Member;
  let second: Member;
  let proxy: CuttingProxy;

  beforeEach(async () => {
    clusterName = `members of a store ${clusterCount++}`;
    proxy = await CuttingProxy.start(server.port);
    const common = { clusterName, deadlineMs: DEADLINE_MS };
    first = await startMember({ ...common, port: server.port }, 'a');
    second = await startMember({ ...common, port: proxy.port }, 'b');
  });

  afterEach(async () => {
    await Promise.all([first, second].map(({ cluster }) => cluster.leave()));
    await Promise.all([first, second].map(({ engine }) => engine.close()));
    proxy.stop();
  });

  it('list each other, and accept changes', async () => {
    await until(() => uuidsOf(first).length === 2);
    assert.deepEqual(
      [uuidsOf(first), uuidsOf(second)],
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
    );
    assert.equal((await second.asker.set('m', 'k', 'v')).outcome, APPLIED);
    assert.equal((await first.asker.get('m', 'k')).value, 'v');
    assert.ok(first.cluster.isSafe && second.cluster.isSafe);
    await second.cluster.leave();
    await until(() => uuidsOf(first).length === 1);
  });

  it('never assign two changes the same version', async () => {
    const sets = Array.from({ length: 1000 }, (_, index) =>
      [first, second][index % 2]!.asker.set('m', `${index}`, 'v'),
    );
    const versions = (await Promise.all(sets)).map(({ outcome, version: { high, low } }) => {
      assert.equal(outcome, APPLIED);
      return `${high} ${low}`;
    });
    assert.equal(new Set(versions).size, versions.length);
  });

  it('change the cluster state together', async () => {
    await second.cluster.changeState('PASSIVE');
    for (const { cluster } of [first, second]) {
      assert.deepEqual([cluster.state, cluster.acceptsWrites], ['PASSIVE', false]);
    }
    await first.cluster.changeState('ACTIVE');
    assert.ok(first.cluster.acceptsWrites && second.cluster.acceptsWrites);
  });

  it('return the items of a member that is removed, which joins again later', async () => {
    await first.asker.offer('q', 'a');
    proxy.silence(true);
    second.asker.wait('q', 60_000);
    await until(async () => (await first.asker.queueSize('q')).count === 0);
    await serverCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '1');
    await until(async () => (await first.asker.queueSize('q')).count === 1);
    await serverCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '0');
    await until(() => uuidsOf(first).length === 1);
    const marks = `*:${clusterName}/k:*`;
    const keys = await serverCommand(server.port, 'EVAL', COUNT_KEYS, '0', marks);
    assert.equal(keys, '1', 'a removed member has marks only in partitions where it held items');
    assert.equal((await first.asker.poll('q')).value, 'a');
    assert.equal(second.cluster.acceptsWrites, false);
    proxy.silence(false);
    await until(() => second.cluster.acceptsWrites);
    assert.deepEqual(uuidsOf(second), ['a', 'b']);
    assert.deepEqual(second.reports, ['joined 2', 'away', 'out', 'joined 3']);
    await first.asker.offer('q', 'b');
    assert.equal((await second.asker.poll('q')).value, 'b');
    const record = keyOf(clusterName, 'record');
    const has = (field: string) => serverCommand(server.port, 'HEXISTS', record, field);
    await until(async () => (await has('gone')) === '0');
    assert.equal(await has('members'), '1');
  });

  it('close the connections of former members before they change to PASSIVE', async () => {
    const named = async (name: string): Promise<ControlConnection> => {
      const control = controlOf(server.port);
      await control.ask('CLIENT', 'SETNAME', name);
      return control;
    };
    const [prefix, otherPrefix] = [namePrefix(clusterName), namePrefix('another cluster')];
    const former = await named(`${prefix}former`);
    const open = [
      await named(`${prefix}a`),
      await named(`${otherPrefix}former`),
      await named('other'),
    ];
    await first.cluster.changeState('PASSIVE');
    await assert.rejects(former.ask('PING'));
    for (const control of open) {
      assert.equal(await control.ask('PING'), 'PONG');
      control.end();
    }
  });
});

describe('an engine', () => {
  let engine: RedisEngine;
  let asker: Asker;
  let proxy: CuttingProxy;

  beforeEach(async () => {
    proxy = await CuttingProxy.start(server.port);
    const clusterName = `changes ${clusterCount++}`;
    engine = await storeEngine({ port: proxy.port, clusterName, deadlineMs: DEADLINE_MS });
    asker = new Asker(engine);
  });

  afterEach(async () => {
    await engine.close();
    proxy.stop();
  });

  it('reports when the changes under way have their results, even while new ones begin', async () => {
    await Promise.all(Array.from({ length: 200 }, (_, index) => asker.offer('q', `${index}`)));
    let isEnough = false;
    const others = (async () => {
      while (!isEnough) await asker.set('m', 'other', 'v');
    })();
    const checks: Promise<unknown>[] = [];
    let count = 0;
    for (let index = 0; index < 200; index++) {
      for (const result of [asker.set('m', `${index}`, 'v'), asker.poll('q')]) {
        checks.push(
          result.then(({ outcome }) => {
            assert.ok(outcome === APPLIED || outcome === FOUND);
            count++;
          }),
        );
      }
    }
    const both = [engine.changesAnswered(), engine.changesAnswered()];
    await both[0];
    const answeredCount = count;
    isEnough = true;
    await Promise.all([both[1], others]);
    assert.equal(answeredCount, checks.length);
  });

  it('sends no waiting change once the lease has ended, but sends reads and membership steps', async () => {
    await asker.set('m', 'k', 'old');
    await asker.offer('q', 'a');
    let hasLease = true;
    engine.attach({
      get hasLease() {
        return hasLease;
      },
    });
    const lost = [asker.set('m', 'k', 'new'), asker.poll('q'), asker.offer('q', 'b')];
    const joining = engine.membershipStore.join({
      ...{ uuid: 'u', address: 'h:1', memberVersion: '1.2.3', isLite: false, version: '1.2' },
      leaseMs: LEASE_MS,
    });
    const reads = [asker.get('m', 'k'), asker.peek('q'), asker.queueSize('q')];
    hasLease = false;
    for (const { outcome } of await Promise.all(lost)) assert.equal(outcome, UNREACHABLE);
    assert.ok('view' in (await joining));
    assert.deepEqual(
      (await Promise.all(reads)).map(({ value, count }) => [value, count]),
      [
        ['old', 0],
        ['a', 0],
        ['', 1],
      ],
    );
    await engine.changesAnswered();
    hasLease = true;
    assert.equal((await asker.set('m', 'k', 'new')).outcome, APPLIED);
    assert.equal((await asker.poll('q')).value, 'a');
  });

  it('reports whether a failed membership step may have been made', async () => {
    const identity = { uuid: 'u', address: 'h:1', memberVersion: '1.2.3', isLite: false };
    const join = { ...identity, version: '1.2', leaseMs: LEASE_MS };
    const isUnknown = (error: unknown) => error instanceof OutcomeUnknown;
    proxy.silence(true);
    await assert.rejects(engine.membershipStore.join(join), isUnknown);
    proxy.silence(false);
    // Until then steps fail immediately, as the server has been silent for a deadline.
    while (!engine.isReachable) await sleep(5);
    const again = await engine.membershipStore.join(join);
    assert.ok('view' in again && again.joinNumber === 2);
    const { port } = server;
    const options = { port, clusterName: `few ${clusterCount++}`, deadlineMs: DEADLINE_MS };
    const unsafe = await storeEngine({ ...options, clusterReplicaCount: 1 });
    assert.ok(!unsafe.isDataSafe);
    await assert.rejects(unsafe.membershipStore.join(join), (error) => !isUnknown(error));
    await unsafe.close();
    await assert.rejects(unsafe.membershipStore.join(join), (error) => !isUnknown(error));
  });

  it('ensures that a change whose reply is lost is not executed later', async () => {
    proxy.delayCommands();
    assert.equal((await asker.set('m', 'k', 'late')).outcome, UNKNOWN);
    await engine.changesAnswered();
    proxy.sendDelayed();
    await sleep(50);
    assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
  });
});
