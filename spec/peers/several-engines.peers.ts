/** Engines of several members that share maps and queues on a real Redis or Valkey server. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { SystemClock, type Timer } from '../../src/base/clock.ts';
import { ABSENT, APPLIED, FOUND, LOST, QUEUE_FULL } from '../../src/engine/engine.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { Asker, type Waiting } from '../engine/results.ts';
import { SMALL_CAPACITY } from '../engine/subject.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { EngineServer } from './engine-server.ts';
import { queueRound } from './queue-round.ts';
import { commandCount, serverCommand } from './server-command.ts';
import { storeEngine, untilIdle } from './store-engines.ts';

const SEED = Number(process.env.ENGINE_SEED ?? 1);
/** Interval of the engine's queue checks, in ms. */
const CHECK_MS = 1000;
const POLL_COUNT = 2000;
const LIFETIME_MS = 4000;
/** Limit for a test, in ms; otherwise a test would wait forever for a lost item. */
const TEST_MS_MAX = 180_000;

let server: EngineServer;

before(async () => {
  server = await EngineServer.start();
});

after(() => server.stop());

/** A clock without the queue checks of every second, so that polls depend on wake-ups. */
class ClockWithoutChecks extends SystemClock {
  override after(delayMs: number, run: () => void): Timer {
    return delayMs === CHECK_MS ? { cancel: () => {} } : super.after(delayMs, run);
  }
}

/** A clock that is wrong by the specified time, in ms. */
class WrongClock extends SystemClock {
  readonly #ms: number;

  constructor(ms: number) {
    super();
    this.#ms = ms;
  }

  override wall(): number {
    return super.wall() + this.#ms;
  }
}

/** Runs a test on the engines of a new cluster. */
function members(
  count: number,
  test: (engines: readonly RedisEngine[], clusterName: string) => Promise<void>,
  options: { readonly clock?: SystemClock } = {},
): () => Promise<void> {
  return async () => {
    const clusterName = `members ${Math.random()}`;
    const { port } = server;
    const made = Array.from({ length: count }, () =>
      storeEngine({ port, clusterName, ...options }),
    );
    const engines = await Promise.all(made);
    try {
      await test(engines, clusterName);
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
    }
  };
}

function valuesOf(waiting: readonly Waiting[]): string[] {
  return waiting.flatMap(({ keeper }) => (keeper.seen === undefined ? [] : [keeper.seen.value]));
}

describe('members on one server', { timeout: TEST_MS_MAX }, () => {
  it(
    'read the entries and items that another member has written',
    members(3, async (engines) => {
      const [first, second, third] = engines.map((engine) => new Asker(engine));
      await first!.set('m', 'k', 'v', 'a/type');
      assert.equal((await second!.get('m', 'k')).value, 'v');
      assert.equal((await third!.size('m')).count, 1);
      await second!.offer('q', 'a', 'a/type');
      await third!.offer('q', 'b');
      assert.equal((await first!.peek('q')).contentType, 'a/type');
      const taken = await third!.take('q');
      assert.equal(taken.value, 'a');
      assert.equal((await first!.take('q')).value, 'b');
      assert.equal((await third!.acknowledge(taken.hold, false)).outcome, APPLIED);
      assert.equal((await second!.poll('q')).value, 'a');
      assert.equal((await second!.poll('q')).outcome, ABSENT);
    }),
  );

  for (const queueCount of [1, 200]) {
    it(
      `wake 2,000 polls of two members on ${queueCount} queues by offers of a third, without checks`,
      members(
        3,
        async ([first, second, third]) => {
          const pollers = [new Asker(first!), new Asker(second!)];
          const waiting = Array.from({ length: POLL_COUNT }, (_, index) =>
            pollers[index % 2]!.wait(`q${Math.floor(index / 2) % queueCount}`, 60_000),
          );
          // Wait until the members have subscribed to the channels.
          await untilIdle(first!, second!);
          await sleep(200);
          await untilIdle(first!, second!);
          const producer = new Asker(third!);
          const items = Array.from({ length: POLL_COUNT }, (_, index) => `${index}`);
          const offers = items.map((item, index) => producer.offer(`q${index % queueCount}`, item));
          for (const offer of offers) assert.equal((await offer).outcome, APPLIED);
          await Promise.all(waiting.map(({ keeper }) => keeper.answered));
          assert.deepEqual(valuesOf(waiting).sort(), items.sort());
          for (let index = 0; index < queueCount; index++) {
            assert.equal((await producer.queueSize(`q${index}`)).count, 0);
          }
        },
        { clock: new ClockWithoutChecks() },
      ),
    );
  }

  it(
    'wake the poll of another member by returning an item',
    members(
      2,
      async ([first, second]) => {
        const [giver, poller] = [new Asker(first!), new Asker(second!)];
        await giver.offer('q', 'a');
        const { hold } = await giver.take('q');
        const { keeper } = poller.wait('q', 60_000);
        await untilIdle(second!);
        await sleep(50);
        await giver.acknowledge(hold, false);
        assert.equal((await keeper.answered).value, 'a');
      },
      { clock: new ClockWithoutChecks() },
    ),
  );

  it(
    'pass on the wake-up for an item if their poll was cancelled',
    members(
      3,
      async ([first, second, third]) => {
        const cancelled = new Asker(first!).wait('q', 60_000);
        await untilIdle(first!);
        const { keeper } = new Asker(second!).wait('q', 60_000);
        await untilIdle(second!);
        await sleep(50);
        const offered = new Asker(third!).offer('q', 'a');
        first!.cancel(cancelled.ticket);
        await offered;
        assert.equal((await keeper.answered).value, 'a');
        assert.equal(cancelled.keeper.isAnswered, false);
      },
      { clock: new ClockWithoutChecks() },
    ),
  );

  it(
    'find an item by a check if its wake-up is lost',
    members(2, async ([first, second]) => {
      const { keeper } = new Asker(first!).wait('q', 60_000);
      await untilIdle(first!);
      await serverCommand(server.port, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
      await new Asker(second!).offer('q', 'a');
      assert.equal((await keeper.answered).value, 'a');
    }),
  );

  for (const queueCount of [1, 200, 2000]) {
    it(
      `need under 1,000 commands per second for 2,000 idle polls of two members on ${queueCount} queues`,
      members(2, async (engines) => {
        const askers = engines.map((engine) => new Asker(engine));
        for (let index = 0; index < POLL_COUNT; index++) {
          askers[index % 2]!.wait(`q${Math.floor(index / 2) % queueCount}`, 60_000);
        }
        await untilIdle(...engines);
        await sleep(1500);
        const [from, start] = [await commandCount(server.port), performance.now()];
        await sleep(3 * CHECK_MS);
        const count = (await commandCount(server.port)) - from;
        const seconds = Math.floor((performance.now() - start) / CHECK_MS);
        assert.ok(count > 0 && count < 1000 * seconds, `${count} commands in ${seconds} s`);
      }),
    );
  }

  it('let entries expire at the same time although their clocks differ by 10 s', async () => {
    const clusterName = `clocks ${Math.random()}`;
    const made = [-5000, 0, 5000].map((ms) =>
      storeEngine({ port: server.port, clusterName, clock: new WrongClock(ms) }),
    );
    const askers = (await Promise.all(made)).map((engine) => new Asker(engine));
    const start = performance.now();
    for (const [index, asker] of askers.entries()) {
      const lifetime = { timeToLiveMs: LIFETIME_MS, maxIdleSeconds: 0 };
      assert.equal((await asker.set('m', `${index}`, 'v', '', lifetime)).outcome, APPLIED);
    }
    const found = async (): Promise<boolean[]> => {
      const keys = [...askers.keys()].map(String);
      const seen = askers.flatMap((asker) => keys.map((key) => asker.get('m', key)));
      return (await Promise.all(seen)).map(({ outcome }) => outcome === FOUND);
    };
    while (performance.now() - start < LIFETIME_MS - 1000) {
      assert.ok((await found()).every((each) => each));
      await sleep(50);
    }
    await sleep(start + LIFETIME_MS + 1000 - performance.now());
    assert.ok((await found()).every((each) => !each));
    for (const asker of askers) assert.equal((await asker.size('m')).count, 0);
    await Promise.all(askers.map(({ engine }) => engine.close()));
  });

  it(
    'return the items that a removed member held to their places, and reject its further takes',
    members(1, async ([engine], clusterName) => {
      const asker = new Asker(engine!);
      for (const item of 'abcd') await asker.offer('q', item);
      for (let count = 0; count < SMALL_CAPACITY; count++) await asker.offer('small', `${count}`);
      const proxy = await CuttingProxy.start(server.port);
      const incarnation = 'killed';
      const killed = await storeEngine({ port: proxy.port, clusterName, incarnation });
      const victim = new Asker(killed);
      const taken = await victim.take('q');
      assert.equal(taken.value, 'a');
      proxy.silence(true);
      for (const queue of ['q', 'q', 'small']) victim.wait(queue, 0);
      while ((await asker.queueSize('q')).count > 1) await sleep(1);
      while ((await asker.queueSize('small')).count === SMALL_CAPACITY) await sleep(1);
      // Held items count towards the capacity.
      assert.equal((await asker.offer('small', 'more')).outcome, QUEUE_FULL);
      assert.equal((await asker.peek('q')).value, 'd');
      assert.equal(await engine!.returnHeld(incarnation), 3);
      assert.equal(await engine!.returnHeld(incarnation), 0);
      for (const item of 'bcd') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('small')).value, '0');
      assert.equal((await asker.offer('small', 'more')).outcome, APPLIED);
      await asker.offer('q', 'e');
      const late = await storeEngine({ port: server.port, clusterName, incarnation });
      assert.equal((await new Asker(late).take('q')).outcome, LOST);
      late.incarnation = 'anew';
      assert.equal((await new Asker(late).poll('q')).value, 'e');
      await late.close();
      proxy.stop();
      await killed.close();
    }),
  );

  it(
    'return an item that a removed member had received but could not deliver',
    members(1, async ([engine], clusterName) => {
      const asker = new Asker(engine!);
      for (const item of 'ab') await asker.offer('q', item);
      const incarnation = 'cut off';
      const late = await storeEngine({ port: server.port, clusterName, incarnation });
      const taken = await new Asker(late).take('q');
      assert.equal(taken.value, 'a');
      assert.equal(await engine!.returnHeld(incarnation), 0);
      assert.equal((await new Asker(late).acknowledge(taken.hold, false)).outcome, APPLIED);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
      await late.close();
    }),
  );

  it(
    'return an item that the server holds for a member whose reply was lost, once it reconnects',
    members(1, async ([engine], clusterName) => {
      const asker = new Asker(engine!);
      for (const item of 'abc') await asker.offer('q', item);
      const incarnation = 'forgetful';
      const options = { clusterName, incarnation, deadlineMs: 1000 };
      const proxy = await CuttingProxy.start(server.port);
      const stale = await storeEngine({ ...options, deadlineMs: 10_000, port: proxy.port });
      const member = await storeEngine({ ...options, port: server.port });
      const taken = await new Asker(member).take('q');
      proxy.silence(true);
      // Hold numbers begin with the time in ms; these two engines share an incarnation.
      await sleep(5);
      new Asker(stale).wait('q', 0);
      while ((await asker.queueSize('q')).count > 1) await sleep(1);
      await serverCommand(server.port, 'CLIENT', 'KILL', 'TYPE', 'normal');
      while ((await asker.queueSize('q')).count !== 2) await sleep(10);
      assert.equal((await new Asker(member).acknowledge(taken.hold, true)).outcome, APPLIED);
      for (const item of 'bc') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
      proxy.stop();
      await stale.close();
      await member.close();
    }),
  );

  it(
    `deliver each item once, those of a producer in order (ENGINE_SEED=${SEED})`,
    members(3, async (engines) => {
      const random = new Random(SEED);
      const { offered, found } = await queueRound({
        ...{ engines, random, queueCount: 6, producerCount: 6, itemsEach: 200 },
        ...{ consumersEach: 4, isDisturbed: false },
      });
      assert.deepEqual([...found.values()].flat().sort(), [...offered].sort());
      for (const items of found.values()) {
        const last = new Map<string, number>();
        for (const item of items) {
          const [producer, number] = item.split(':') as [string, string];
          assert.ok(Number(number) > (last.get(producer) ?? -1), items.join(' '));
          last.set(producer, Number(number));
        }
      }
    }),
  );

  it(
    `lose no item if takes are cancelled and items are returned (ENGINE_SEED=${SEED})`,
    members(3, async (engines, clusterName) => {
      const random = new Random(SEED);
      const { offered, found } = await queueRound({
        ...{ engines, random, queueCount: 4, producerCount: 6, itemsEach: 200 },
        ...{ consumersEach: 2, isDisturbed: true },
      });
      assert.deepEqual([...found.values()].flat().sort(), [...offered].sort());
      await untilIdle(...engines);
      // After two checks, only the marks of members that have waited remain in the store.
      await sleep(2.5 * CHECK_MS);
      const keys = await serverCommand(server.port, 'EVAL', DATA_KEYS, '0', `${clusterName}/`);
      assert.equal(keys, '');
    }),
  );
});

/** Lists the keys of a cluster, except marks of waiting members and the cluster's record. */
const DATA_KEYS = `
local keys = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local isOther = string.find(key, '/w:', 1, true) or string.find(key, '/c:', 1, true)
  if string.find(key, ARGV[1], 1, true) and not isOther then
    keys[#keys + 1] = key
  end
end
return table.concat(keys, ' ')`;
