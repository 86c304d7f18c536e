/**
 * The engine on a server whose replies are cut off, with and without a replica: the server has
 * executed commands whose replies are lost. A suite for real servers and fake ones. An offer adds
 * at most one item, and exactly one if it was APPLIED; a take is repeated and finds the item that
 * it has taken.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ABSENT, APPLIED, FOUND, UNKNOWN } from '../../../src/engine/engine.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { Asker, type Keeper, type Seen } from '../results.ts';
import type { FaultyServer, StartServer } from './faulty-server.ts';

let server: FaultyServer;

export function describeCutReplies(name: string, start: StartServer): void {
  describe(`${name}:`, () => {
    before(async () => {
      server = await start(true);
    });
    after(() => server.end());
    for (const replicaCount of [0, 1]) {
      describe(`with replies cut and ${replicaCount} replicas`, () => describeCuts(replicaCount));
    }
    describeSilentReplica();
  });
}

interface Round {
  /** Calls the engine on the proxy. */
  readonly asker: Asker;
  /** Calls an engine on the server itself. */
  readonly direct: Asker;
  readonly queue: string;
}

/** Runs rounds, each with the replies cut later, until a round has no cut. */
function cutEverywhere(
  replicaCount: number,
  round: (round: Round) => Promise<void>,
): Promise<void> {
  return server.run(async () => {
    const clusterName = `cut ${Math.random()}`;
    const proxy = await server.newProxy();
    const queueReplicaCount = () => replicaCount;
    const engine = await server.open({ port: proxy.port, clusterName, queueReplicaCount });
    const other = await server.open({ clusterName });
    const [asker, direct] = [new Asker(engine), new Asker(other)];
    try {
      for (let byte = 0; ; byte += server.cutStep) {
        const before = proxy.cutCount;
        proxy.cutAfter(byte);
        await round({ asker, direct, queue: `q${byte}` });
        await server.untilIdle(engine);
        if (proxy.cutCount === before) break;
        assert.ok(byte < 1000);
      }
    } finally {
      proxy.cutAfter(Number.POSITIVE_INFINITY);
      await engine.close();
      await other.close();
      proxy.stop();
    }
  });
}

/** Checks the result of a take after an offer whose outcome may be UNKNOWN. */
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

function describeCuts(replicaCount: number): void {
  it('an offer adds one item, and a take finds it once', () =>
    cutEverywhere(replicaCount, async (round) => {
      const offered = await round.asker.offer(round.queue, 'item');
      const taken = await round.asker.take(round.queue);
      assertTaken(offered, taken);
      if (taken.outcome === FOUND) await round.asker.acknowledge(taken.hold, true);
      await assertEmpty(round);
    }));

  it('an item that was not delivered is in the queue once', () =>
    cutEverywhere(replicaCount, async (round) => {
      await round.direct.offer(round.queue, 'item');
      const { outcome, hold } = await round.asker.take(round.queue);
      assert.equal(outcome, FOUND);
      const returned = await round.asker.acknowledge(hold, false);
      assert.ok(returned.outcome === APPLIED || (replicaCount > 0 && returned.outcome === UNKNOWN));
      assert.equal((await round.direct.poll(round.queue)).value, 'item');
      await assertEmpty(round);
    }));

  it('a waiting take gets the item of an offer', () =>
    cutEverywhere(replicaCount, async (round) => {
      const { asker, queue } = round;
      const waiting = asker.wait(queue, 60_000);
      const offered = await asker.offer(queue, 'item');
      if (offered.outcome === UNKNOWN && (await isNotOffered(round, waiting.keeper))) {
        asker.engine.cancel(waiting.ticket);
      } else {
        const taken = await waiting.keeper.answered;
        assert.equal(taken.value, 'item');
        await asker.acknowledge(taken.hold, true);
      }
      await assertEmpty(round);
    }));

  it('waiting takes get one item each, and the others remain in the queue', () =>
    cutEverywhere(replicaCount, async ({ asker, direct, queue }) => {
      const waiting = [asker.wait(queue, 60_000), asker.wait(queue, 60_000)];
      const offered = await Promise.all(
        ['a', 'b', 'c', 'd'].map((item) => asker.offer(queue, item)),
      );
      await server.untilIdle(asker.engine as RedisEngine);
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

  it('a take that is cancelled while it is sent leaves its item in the queue', () =>
    cutEverywhere(replicaCount, async ({ asker, direct, queue }) => {
      await direct.offer(queue, 'item');
      const waiting = asker.wait(queue, 60_000);
      await server.sleep(0);
      asker.engine.cancel(waiting.ticket);
      await server.untilIdle(asker.engine as RedisEngine);
      const taken = waiting.keeper.seen;
      if (taken?.outcome === FOUND) await asker.acknowledge(taken.hold, false);
      assert.equal((await direct.poll(queue)).value, 'item');
      assert.equal((await direct.poll(queue)).outcome, ABSENT);
    }));
}

function describeSilentReplica(): void {
  it('an offer and a take that a replica does not confirm are UNKNOWN, and the item is in the queue once', () =>
    server.run(async () => {
      const clusterName = 'stopped replica';
      const direct = await server.open({ clusterName });
      // A server checks ten times per second whether a WAIT is over.
      const engine = await server.open({
        ...{ clusterName, deadlineMs: 2000, queueReplicaCount: () => 1 },
      });
      // The replica remains connected, so that the server refuses no write.
      server.pauseReplica(true);
      const [asker, other] = [new Asker(engine), new Asker(direct)];
      assert.equal((await asker.offer('q', 'a')).outcome, UNKNOWN);
      await other.offer('q', 'b');
      assert.equal((await asker.take('q')).outcome, UNKNOWN);
      for (const each of [engine, direct]) await server.untilIdle(each);
      assert.equal((await other.queueSize('q')).count, 2);
      assert.equal((await other.poll('q')).value, 'a');
      assert.equal((await other.poll('q')).value, 'b');
      assert.equal((await other.poll('q')).outcome, ABSENT);
      await engine.close();
      assert.equal((await other.queueSize('q')).count, 0);
      await direct.close();
      server.pauseReplica(false);
    }));
}

/** Whether an offer was not executed: neither the take nor the queue has its item in the end. */
async function isNotOffered({ asker, direct, queue }: Round, keeper: Keeper): Promise<boolean> {
  await server.untilIdle(asker.engine as RedisEngine);
  return !keeper.isAnswered && (await direct.queueSize(queue)).count === 0;
}
