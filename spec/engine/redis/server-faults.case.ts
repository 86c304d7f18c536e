/**
 * The engine's results while its server has faults: no memory, too few replicas, no scripts, keys of
 * wrong types, a pause. A suite for real servers and fake ones.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ABSENT,
  APPLIED,
  FOUND,
  MEMORY_FULL,
  type Outcome,
  TOO_FEW_REPLICAS,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { EXPIRIES, ITEMS, Layout, MAP, RETURNED } from '../../../src/engine/redis/layout.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { Asker, span } from '../results.ts';
import type { FaultyServer, StartServer } from './faulty-server.ts';

type Options = Parameters<FaultyServer['open']>[0];
type Test = (asker: Asker, server: FaultyServer, engine: RedisEngine) => Promise<void>;

export function describeServerFaults(name: string, start: StartServer): void {
  describe(name, () => {
    /** Runs a test on a new server. */
    const onServer =
      (test: Test, options: Options = {}) =>
      async () => {
        const server = await start(false);
        await server.run(async () => {
          const engine = await server.open(options);
          try {
            await test(new Asker(engine), server, engine);
          } finally {
            await engine.close();
          }
        });
        await server.end();
      };
    describeQueues(onServer);
    describeWrongTypes(onServer);
  });
}

function describeQueues(onServer: (test: Test, options?: Options) => () => Promise<void>): void {
  it(
    'a queue refuses offers while the server has no memory left, but items can be taken and returned',
    onServer(async (asker, server) => {
      for (const item of 'ab') await asker.offer('q', item);
      await server.ask('CONFIG', 'SET', 'maxmemory', '1');
      assert.equal((await asker.offer('q', 'c')).outcome, MEMORY_FULL);
      assert.equal((await asker.take('none')).outcome, ABSENT);
      const { value, hold } = await asker.take('q');
      assert.equal(value, 'a');
      assert.equal((await asker.acknowledge(hold, false)).outcome, APPLIED);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
      await server.ask('CONFIG', 'SET', 'maxmemory', '0');
      assert.equal((await asker.offer('q', 'd')).outcome, APPLIED);
      assert.equal((await asker.poll('q')).value, 'd');
    }),
  );

  it(
    'a queue does not change while the server has too few replicas',
    onServer(async (asker, server) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      await asker.offer('q', 'b');
      await server.ask('CONFIG', 'SET', 'min-replicas-to-write', '1');
      for (const result of [await asker.offer('q', 'c'), await asker.take('q')]) {
        assert.deepEqual([result.outcome, result.reason], [UNREACHABLE, TOO_FEW_REPLICAS]);
      }
      assert.equal((await asker.peek('q')).value, 'b');
      // The item is returned once the server accepts writes again.
      assert.equal((await asker.acknowledge(hold, false)).outcome, UNKNOWN);
      await server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0');
      while ((await asker.queueSize('q')).count < 2) await server.sleep(20);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
    }),
  );

  it(
    'a queue returns an item before the next take once the server has enough replicas again',
    onServer(async (asker, server) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      await asker.offer('q', 'b');
      await server.ask('CONFIG', 'SET', 'min-replicas-to-write', '1');
      assert.equal((await asker.acknowledge(hold, false)).outcome, UNKNOWN);
      await server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0');
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
    }),
  );

  it(
    'a queue refuses takes while the server is known to have too few replicas',
    onServer(
      async (asker, server) => {
        const other = await server.open();
        assert.equal((await new Asker(other).offer('q', 'a')).outcome, APPLIED);
        const refused = await asker.take('q');
        assert.deepEqual([refused.outcome, refused.reason], [UNREACHABLE, TOO_FEW_REPLICAS]);
        assert.equal((await new Asker(other).poll('q')).value, 'a');
        await other.close();
      },
      { queueReplicaCount: () => 1 },
    ),
  );

  it(
    'a queue executes all calls in order after the server has lost the scripts',
    onServer(async (asker, server) => {
      await server.ask('SCRIPT', 'FLUSH');
      const items = Array.from({ length: 100 }, (_, index) => `${index}`);
      const offers = items.map((item) => asker.offer('q', item));
      const takes = items.map(() => asker.take('q'));
      for (const offer of offers) assert.equal((await offer).outcome, APPLIED);
      const values = (await Promise.all(takes)).map(({ value }) => value);
      assert.deepEqual(values, items);
    }),
  );

  it(
    'a queue keeps its waiting takes while the server is paused, fails other calls, and then recovers',
    onServer(
      async (asker, server, engine) => {
        const waiting = asker.wait('q', 60_000);
        const short = asker.wait('q', 3000);
        await server.untilIdle(engine);
        server.pause(true);
        while (engine.isReachable) await asker.offer('other', 'a');
        for (;;) {
          const { outcome } = await asker.take('q');
          if (outcome === UNREACHABLE) break;
          assert.equal(outcome, ABSENT);
          await server.sleep(20);
        }
        assert.equal((await asker.peek('q')).outcome, UNREACHABLE);
        assert.equal((await asker.wait('q', 1000).keeper.answered).outcome, UNREACHABLE);
        assert.equal((await short.keeper.answered).outcome, UNREACHABLE);
        assert.equal(waiting.keeper.isAnswered, false);
        server.pause(false);
        while ((await asker.offer('q', 'b')).outcome !== APPLIED) await server.sleep(20);
        const taken = await waiting.keeper.answered;
        assert.deepEqual([taken.outcome, taken.value], [FOUND, 'b']);
        assert.equal((await asker.acknowledge(taken.hold, true)).outcome, APPLIED);
      },
      { deadlineMs: 500 },
    ),
  );
}

const LAYOUT = new Layout('grid', 7);

function describeWrongTypes(onServer: Parameters<typeof describeQueues>[0]): void {
  const faults: string[] = [];
  it(
    'a call on a key of a wrong type is not applied, or UNKNOWN if it has written another key',
    onServer(
      async (asker, server) => {
        const spoil = (kind: Parameters<Layout['key']>[0], name: string, text = name) => {
          const partition = LAYOUT.partitionOf(span(text));
          const key = LAYOUT.key(kind, partition, Buffer.from(name)).toString();
          return server.ask(...(kind === ITEMS ? ['HSET', key, 'field'] : ['RPUSH', key]), 'x');
        };
        await spoil(MAP, 'm', 'k');
        await spoil(EXPIRIES, 'lives', 'k');
        await spoil(ITEMS, 'items');
        await spoil(RETURNED, 'returned');
        const long = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };
        const cases: readonly (readonly [Promise<{ outcome: Outcome }>, Outcome])[] = [
          [asker.set('m', 'k', 'v'), UNREACHABLE],
          [asker.set('m', 'k', 'v', '', long), UNREACHABLE],
          [asker.delete('m', 'k'), UNREACHABLE],
          [asker.get('m', 'k'), UNREACHABLE],
          [asker.set('lives', 'k', 'v', '', long), UNKNOWN],
          [asker.offer('items', 'v'), UNKNOWN],
          [asker.peek('items'), UNREACHABLE],
          [asker.queueSize('items'), UNREACHABLE],
          [asker.poll('items'), UNREACHABLE],
          [asker.poll('returned'), UNREACHABLE],
        ];
        for (const [index, [call, outcome]] of cases.entries()) {
          assert.equal((await call).outcome, outcome, `${index}: ${faults.join('\n')}`);
        }
        assert.ok(faults.length > 0 && faults.every((text) => text.startsWith('WRONGTYPE')));
        assert.equal((await asker.get('lives', 'k')).value, 'v');
      },
      { partitionCount: 7, onFault: (text) => faults.push(text) },
    ),
  );
}
