/**
 * The contract of a cluster's store, kept by the one on servers: src/engine/redis, with functions
 * that do the same as its scripts. Also the engine's duties towards its membership.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OutcomeUnknown } from '../../../src/base/errors.ts';
import { GAP_MS } from '../../../src/cluster/membership-store.ts';
import { APPLIED, FOUND, UNREACHABLE } from '../../../src/engine/engine.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { describeMemberStore, joinOf } from '../../cluster/membership-store.case.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore, startFaultyServer } from '../../world/world-engines.ts';
import { Asker } from '../results.ts';
import { type CuttableProxy, type FaultyServer, until } from './faulty-server.ts';

const HOUR_MS = 3_600_000;
const LEASE_MS = 2 * GAP_MS;
const DEADLINE_MS = 600;
const JOIN = joinOf(1);

describeMemberStore('on a fake server', async () => {
  const world = new World();
  const { engine } = fakeStore(world, new FakeServer(world).url);
  await world.during(engine.open());
  return {
    store: engine.membershipStore,
    pass: (ms) => world.pass(ms),
    close: () => world.during(engine.close()),
  };
});

describe('members', () => {
  it('tell one another which partitions they have changed', async () => {
    const world = new World();
    const server = new FakeServer(world);
    const engines = [0, 1].map(() => fakeStore(world, server.url).engine);
    const told: Uint8Array[][] = [[], []];
    let hints = 0;
    await world.during(Promise.all(engines.map((engine) => engine.open())));
    for (const [index, { membershipStore: store }] of engines.entries()) {
      store.onHint(() => hints++);
      store.onAnnounced((partitions) => void told[index]!.push(Uint8Array.from(partitions)));
    }
    await world.pass(1000);
    const partitions = Uint8Array.from([0, 255, 1]);
    const before = hints;
    engines[0]!.membershipStore.announce(partitions);
    // The bytes may change as soon as the call returns.
    partitions.fill(0);
    await world.pass(100);
    const expected = [Uint8Array.from([0, 255, 1])];
    assert.deepEqual(told, [expected, expected]);
    assert.equal(hints, before);
    await world.during(Promise.all(engines.map((engine) => engine.close())));
    engines[0]!.membershipStore.announce(partitions);
  });
});

interface Setting {
  readonly server: FaultyServer;
  readonly proxy: CuttableProxy;
  readonly engine: RedisEngine;
  readonly asker: Asker;
}

/** Runs a test on an engine behind a proxy. */
function onEngine(test: (setting: Setting) => Promise<void>): () => Promise<void> {
  return async () => {
    const server = await startFaultyServer(false);
    await server.run(async () => {
      const proxy = await server.newProxy();
      const engine = await server.open({ port: proxy.port, deadlineMs: DEADLINE_MS });
      await test({ server, proxy, engine, asker: new Asker(engine) });
      await engine.close();
    });
  };
}

describe('an engine', () => {
  it(
    'shifts a limit in the store when the server’s clock is set back',
    onEngine(async ({ server, engine: { membershipStore: store } }) => {
      const joined = await store.join(JOIN);
      assert.ok('view' in joined);
      const life = { uuid: 'u1', joinNumber: joined.joinNumber };
      const { revision } = joined.view;
      await store.change({ ...life, revision, text: 't', admits: 0, limitMs: LEASE_MS });
      const record = (await server.keys()).find((key) => key.endsWith('/c:record'))!;
      for (const field of ['beaten', 'limitEnd']) {
        await server.ask('HINCRBY', record, field, `${HOUR_MS}`);
      }
      const seen = { stopsUpTo: 0, leaseMs: LEASE_MS, known: 0, confirmed: 0, applied: 0 };
      const view = await store.heartbeat({ ...life, ...seen });
      assert.ok('limit' in view && view.limit !== null);
      assert.ok(view.limit.leftMs > 0 && view.limit.leftMs <= LEASE_MS, `${view.limit.leftMs}`);
    }),
  );

  it(
    'reports when the changes under way have their results, even while new ones begin',
    onEngine(async ({ server, engine, asker }) => {
      await Promise.all(Array.from({ length: 200 }, (_, index) => asker.offer('q', `${index}`)));
      let isEnough = false;
      const others = (async () => {
        for (; !isEnough; await server.sleep(1)) await asker.set('m', 'other', 'v');
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
    }),
  );

  it(
    'sends no waiting change once the lease has ended, but sends reads and membership steps',
    onEngine(async ({ engine, asker }) => {
      await asker.set('m', 'k', 'old');
      await asker.offer('q', 'a');
      let hasLease = true;
      engine.attach({
        get hasLease() {
          return hasLease;
        },
      });
      const lost = [asker.set('m', 'k', 'new'), asker.poll('q'), asker.offer('q', 'b')];
      const joining = engine.membershipStore.join(JOIN);
      const reads = [asker.get('m', 'k'), asker.peek('q'), asker.queueSize('q')];
      hasLease = false;
      for (const { outcome } of await Promise.all(lost)) assert.equal(outcome, UNREACHABLE);
      assert.ok('view' in (await joining));
      const seen = (await Promise.all(reads)).map(({ value, count }) => [value, count]);
      assert.deepEqual(seen, [
        ['old', 0],
        ['a', 0],
        ['', 1],
      ]);
      await engine.changesAnswered();
      hasLease = true;
      assert.equal((await asker.set('m', 'k', 'new')).outcome, APPLIED);
      assert.equal((await asker.poll('q')).value, 'a');
    }),
  );

  it(
    'reports whether a failed membership step may have been made',
    onEngine(async ({ server, proxy, engine }) => {
      const isUnknown = (error: unknown) => error instanceof OutcomeUnknown;
      proxy.silence(true);
      await assert.rejects(engine.membershipStore.join(JOIN), isUnknown);
      proxy.silence(false);
      // Until then steps fail immediately, as the server has been silent for a deadline.
      await until(server, () => engine.isReachable);
      const again = await engine.membershipStore.join(JOIN);
      assert.ok('view' in again && again.joinNumber === 2);
      const unsafe = await server.open({ clusterName: 'few', clusterReplicaCount: 1 });
      assert.ok(!unsafe.isDataSafe);
      await assert.rejects(unsafe.membershipStore.join(JOIN), (error) => !isUnknown(error));
      await unsafe.close();
      await assert.rejects(unsafe.membershipStore.join(JOIN), (error) => !isUnknown(error));
    }),
  );
});
