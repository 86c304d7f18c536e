/**
 * The engine on a real server whose replies are cut off at each byte, with and without a replica: the server
 * has done what the engine does not hear of. One offer is one item at most, and one that was answered is
 * one exactly; takes ask again and find what was done.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ABSENT, APPLIED, FOUND, UNKNOWN } from '../../src/engine/engine.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { Asker, type Keeper, type Seen } from '../engine/results.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { EngineServer } from './engine-server.ts';
import { serverCommand } from './server-command.ts';
import { quietened, storeEngine } from './store-engines.ts';

let server: EngineServer;
let replica: EngineServer;

before(async () => {
  server = await EngineServer.start('--repl-diskless-sync-delay', '0');
  replica = await EngineServer.start('--replicaof', '127.0.0.1', `${server.port}`);
  while ((await serverCommand(server.port, 'WAIT', '1', '100')) !== '1') await sleep(20);
});

after(async () => {
  await replica.stop();
  await server.stop();
});

interface Round {
  /** Through the proxy. */
  readonly asker: Asker;
  /** Not through it. */
  readonly direct: Asker;
  readonly queue: string;
}

/** Runs a round for each byte of its replies, until none is cut any more. */
async function cutAtEachByte(
  replicaCount: number,
  round: (round: Round) => Promise<void>,
): Promise<void> {
  const clusterName = `cut ${Math.random()}`;
  const proxy = await CuttingProxy.start(server.port);
  const queueReplicaCount = () => replicaCount;
  const engine = await storeEngine({ port: proxy.port, clusterName, queueReplicaCount });
  const other = await storeEngine({ port: server.port, clusterName });
  const [asker, direct] = [new Asker(engine), new Asker(other)];
  try {
    for (let byte = 0; ; byte++) {
      const before = proxy.cutCount;
      proxy.cutAfter(byte);
      await round({ asker, direct, queue: `q${byte}` });
      await quietened(engine);
      if (proxy.cutCount === before) break;
      assert.ok(byte < 1000);
    }
  } finally {
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    await engine.close();
    await other.close();
    proxy.stop();
  }
}

/** What comes of a take, after an offer that may be unknown. */
function assertTaken(offered: Seen, taken: Seen): void {
  if (offered.outcome === APPLIED) assert.equal(taken.outcome, FOUND);
  else {
    assert.equal(offered.outcome, UNKNOWN);
    assert.ok(taken.outcome === FOUND || taken.outcome === ABSENT, `${taken.outcome}`);
  }
  if (taken.outcome === FOUND) assert.equal(taken.value, 'item');
}

async function assertEmpty({ direct, queue }: Round): Promise<void> {
  assert.equal((await direct.take(queue)).outcome, ABSENT);
  assert.equal((await direct.queueSize(queue)).count, 0);
}

for (const replicaCount of [0, 1]) {
  describe(`replies cut at each byte, ${replicaCount} replicas`, () => {
    it('an offer is one item, a take finds it once', () =>
      cutAtEachByte(replicaCount, async (round) => {
        const offered = await round.asker.offer(round.queue, 'item');
        const taken = await round.asker.take(round.queue);
        assertTaken(offered, taken);
        if (taken.outcome === FOUND) await round.asker.acknowledge(taken.hold, true);
        await assertEmpty(round);
      }));

    it('an item that was not delivered is there once', () =>
      cutAtEachByte(replicaCount, async (round) => {
        await round.direct.offer(round.queue, 'item');
        const { outcome, hold } = await round.asker.take(round.queue);
        assert.equal(outcome, FOUND);
        const back = await round.asker.acknowledge(hold, false);
        assert.ok(back.outcome === APPLIED || (replicaCount > 0 && back.outcome === UNKNOWN));
        assert.equal((await round.direct.poll(round.queue)).value, 'item');
        await assertEmpty(round);
      }));

    it('a take that waits gets the item of an offer', () =>
      cutAtEachByte(replicaCount, async (round) => {
        const { asker, queue } = round;
        const waiting = asker.wait(queue, 60_000);
        const offered = await asker.offer(queue, 'item');
        if (offered.outcome === UNKNOWN && (await isNothingThere(round, waiting.keeper))) {
          asker.engine.cancel(waiting.ticket);
        } else {
          const taken = await waiting.keeper.answered;
          assert.equal(taken.value, 'item');
          await asker.acknowledge(taken.hold, true);
        }
        await assertEmpty(round);
      }));

    it('takes that wait get as many items, and the next ones stay', () =>
      cutAtEachByte(replicaCount, async ({ asker, direct, queue }) => {
        const waiting = [asker.wait(queue, 60_000), asker.wait(queue, 60_000)];
        const offered = await Promise.all(
          ['a', 'b', 'c', 'd'].map((item) => asker.offer(queue, item)),
        );
        await quietened(asker.engine as RedisEngine);
        const seen = waiting.flatMap(({ keeper }) => keeper.seen ?? []);
        for (const { hold } of seen)
          assert.equal((await asker.acknowledge(hold, true)).outcome, APPLIED);
        for (const { ticket } of waiting) asker.engine.cancel(ticket);
        const found = seen.map(({ value }) => value);
        for (;;) {
          const left = await direct.poll(queue);
          if (left.outcome === ABSENT) break;
          found.push(left.value);
        }
        assert.deepEqual([...found].sort(), found);
        assert.equal(new Set(found).size, found.length);
        for (const [index, item] of ['a', 'b', 'c', 'd'].entries()) {
          if (offered[index]!.outcome === APPLIED)
            assert.ok(found.includes(item), `${item} of ${found}`);
        }
      }));

    it('a take that is cancelled on its way leaves its item', () =>
      cutAtEachByte(replicaCount, async ({ asker, direct, queue }) => {
        await direct.offer(queue, 'item');
        const waiting = asker.wait(queue, 60_000);
        await sleep(0);
        asker.engine.cancel(waiting.ticket);
        await quietened(asker.engine as RedisEngine);
        const taken = waiting.keeper.seen;
        if (taken?.outcome === FOUND) await asker.acknowledge(taken.hold, false);
        assert.equal((await direct.poll(queue)).value, 'item');
        assert.equal((await direct.poll(queue)).outcome, ABSENT);
      }));
  });
}

describe('replicas that do not confirm', () => {
  it('an offer and a take are UNKNOWN, and the item is there once', async () => {
    const clusterName = 'stopped replica';
    const { port } = server;
    const direct = await storeEngine({ port, clusterName });
    // A server looks ten times a second whether a WAIT is over.
    const engine = await storeEngine({
      ...{ port, clusterName, deadlineMs: 2000, queueReplicaCount: () => 1 },
    });
    // Its connection stands, so that nothing is refused beforehand.
    process.kill(replica.pid, 'SIGSTOP');
    const [asker, other] = [new Asker(engine), new Asker(direct)];
    assert.equal((await asker.offer('q', 'a')).outcome, UNKNOWN);
    await other.offer('q', 'b');
    assert.equal((await asker.take('q')).outcome, UNKNOWN);
    await quietened(engine, direct);
    assert.equal((await other.queueSize('q')).count, 2);
    assert.equal((await other.poll('q')).value, 'a');
    assert.equal((await other.poll('q')).value, 'b');
    assert.equal((await other.poll('q')).outcome, ABSENT);
    await engine.close();
    assert.equal((await other.queueSize('q')).count, 0);
    await direct.close();
    process.kill(replica.pid, 'SIGCONT');
  });
});

/** Whether an offer was surely not made, as no take that waits has its item once all is quiet. */
async function isNothingThere({ asker, direct, queue }: Round, keeper: Keeper): Promise<boolean> {
  await quietened(asker.engine as RedisEngine);
  return !keeper.isAnswered && (await direct.queueSize(queue)).count === 0;
}
