/** Faults of a real server and the engine's results: no memory, too few replicas, a pause. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ABSENT,
  APPLIED,
  FOUND,
  MEMORY_FULL,
  TOO_FEW_REPLICAS,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { Asker } from '../engine/results.ts';
import { EngineServer } from './engine-server.ts';
import { serverCommand } from './server-command.ts';
import { type StoreEngineOptions, storeEngine, untilIdle } from './store-engines.ts';

/** Runs a test on a new server. */
function onServer(
  test: (asker: Asker, server: EngineServer, engine: RedisEngine) => Promise<void>,
  options: Partial<StoreEngineOptions> = {},
): () => Promise<void> {
  return async () => {
    const server = await EngineServer.start();
    const engine = await storeEngine({ port: server.port, ...options });
    try {
      await test(new Asker(engine), server, engine);
    } finally {
      await engine.close();
      await server.stop();
    }
  };
}

describe('a queue', () => {
  it(
    'refuses offers while the server has no memory left, but items can be taken and returned',
    onServer(async (asker, { port }) => {
      for (const item of 'ab') await asker.offer('q', item);
      await serverCommand(port, 'CONFIG', 'SET', 'maxmemory', '1');
      assert.equal((await asker.offer('q', 'c')).outcome, MEMORY_FULL);
      assert.equal((await asker.take('none')).outcome, ABSENT);
      const { value, hold } = await asker.take('q');
      assert.equal(value, 'a');
      assert.equal((await asker.acknowledge(hold, false)).outcome, APPLIED);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
      await serverCommand(port, 'CONFIG', 'SET', 'maxmemory', '0');
      assert.equal((await asker.offer('q', 'd')).outcome, APPLIED);
      assert.equal((await asker.poll('q')).value, 'd');
    }),
  );

  it(
    'does not change while the server has too few replicas',
    onServer(async (asker, { port }) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      await asker.offer('q', 'b');
      await serverCommand(port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
      for (const result of [await asker.offer('q', 'c'), await asker.take('q')]) {
        assert.deepEqual([result.outcome, result.reason], [UNREACHABLE, TOO_FEW_REPLICAS]);
      }
      assert.equal((await asker.peek('q')).value, 'b');
      // The item is returned once the server accepts writes again.
      assert.equal((await asker.acknowledge(hold, false)).outcome, UNKNOWN);
      await serverCommand(port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
      while ((await asker.queueSize('q')).count < 2) await sleep(20);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
    }),
  );

  it(
    'returns an item before the next take once the server has enough replicas again',
    onServer(async (asker, { port }) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      await asker.offer('q', 'b');
      await serverCommand(port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
      assert.equal((await asker.acknowledge(hold, false)).outcome, UNKNOWN);
      await serverCommand(port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
    }),
  );

  it(
    'refuses takes while the server is known to have too few replicas',
    onServer(
      async (asker, { port }) => {
        const other = await storeEngine({ port });
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
    'executes all calls in order after the server has lost the scripts',
    onServer(async (asker, { port }) => {
      await serverCommand(port, 'SCRIPT', 'FLUSH');
      const items = Array.from({ length: 100 }, (_, index) => `${index}`);
      const offers = items.map((item) => asker.offer('q', item));
      const takes = items.map(() => asker.take('q'));
      for (const offer of offers) assert.equal((await offer).outcome, APPLIED);
      const values = (await Promise.all(takes)).map(({ value }) => value);
      assert.deepEqual(values, items);
    }),
  );

  it(
    'keeps its waiting takes while the server is paused, fails other calls, and then recovers',
    onServer(
      async (asker, server, engine) => {
        const waiting = asker.wait('q', 60_000);
        const short = asker.wait('q', 3000);
        await untilIdle(engine);
        process.kill(server.pid, 'SIGSTOP');
        while (engine.isReachable) await asker.offer('other', 'a');
        for (;;) {
          const { outcome } = await asker.take('q');
          if (outcome === UNREACHABLE) break;
          assert.equal(outcome, ABSENT);
          await sleep(20);
        }
        assert.equal((await asker.peek('q')).outcome, UNREACHABLE);
        assert.equal((await asker.wait('q', 1000).keeper.answered).outcome, UNREACHABLE);
        assert.equal((await short.keeper.answered).outcome, UNREACHABLE);
        assert.equal(waiting.keeper.isAnswered, false);
        process.kill(server.pid, 'SIGCONT');
        while ((await asker.offer('q', 'b')).outcome !== APPLIED) await sleep(20);
        const taken = await waiting.keeper.answered;
        assert.deepEqual([taken.outcome, taken.value], [FOUND, 'b']);
        assert.equal((await asker.acknowledge(taken.hold, true)).outcome, APPLIED);
      },
      { deadlineMs: 500 },
    ),
  );
});
