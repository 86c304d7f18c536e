/** What a real server refuses or forgets, and what the engine makes of it. */
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
import { quietened, type StoreEngineOptions, storeEngine } from './store-engines.ts';

/** Runs a test on a server of its own. */
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

describe('queues on a server', () => {
  it(
    'that has no memory left: no offer; what is there can be taken, and comes back',
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
    'that misses replicas: nothing is changed',
    onServer(async (asker, { port }) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      await asker.offer('q', 'b');
      await serverCommand(port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
      for (const answer of [await asker.offer('q', 'c'), await asker.take('q')]) {
        assert.deepEqual([answer.outcome, answer.reason], [UNREACHABLE, TOO_FEW_REPLICAS]);
      }
      assert.equal((await asker.peek('q')).value, 'b');
      // It comes back once that is possible.
      assert.equal((await asker.acknowledge(hold, false)).outcome, UNKNOWN);
      await serverCommand(port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
      while ((await asker.queueSize('q')).count < 2) await sleep(20);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
    }),
  );

  it(
    'that missed replicas: what comes back is there before what is taken next',
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
    'that is known to miss replicas: nothing is taken',
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
    'that has forgotten the scripts: all is done in order',
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
    'that is stopped: takes that wait stay, others fail; then all goes on',
    onServer(
      async (asker, server, engine) => {
        const waiting = asker.wait('q', 60_000);
        const short = asker.wait('q', 3000);
        await quietened(engine);
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
