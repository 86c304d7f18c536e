/**
 * Covers src/engine/redis/queue-*.ts and src/engine/redis/wake-ups.ts. Engines of several members
 * that share maps and queues on one server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../../src/base/clock.ts';
import {
  ABSENT,
  APPLIED,
  FOUND,
  LOST,
  type Outcome,
  QUEUE_FULL,
} from '../../../src/engine/engine.ts';
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import { FakeProxy } from '../../world/fake-proxy.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { MemberClock } from '../../world/member-clock.ts';
import { World } from '../../world/world.ts';
import { fakeStore } from '../../world/world-engines.ts';
import { Asker, type Waiting } from '../results.ts';
import { SMALL_CAPACITY, subjectCapacity } from '../subject.ts';

/** Interval of the engine's queue checks, in ms. */
const CHECK_MS = 1000;
const POLL_COUNT = 2000;
const WAKE_COUNT = 400;
const LIFETIME_MS = 4000;

const world = new World();
const { clock } = world;
const sleep = (ms: number) => world.sleep(ms);
let server = new FakeServer(world);

/** The world's clock without the queue checks of every second, so that polls depend on wake-ups. */
const WITHOUT_CHECKS = Object.assign(new MemberClock(clock), {
  after: (delayMs: number, run: () => void) =>
    delayMs === CHECK_MS ? { cancel: () => {} } : clock.after(delayMs, run),
});

async function opened({
  port = server.port,
  ...options
}: Partial<RedisEngineOptions> & { readonly port?: number } = {}): Promise<RedisEngine> {
  const url = `redis://127.0.0.1:${port}`;
  const { engine } = fakeStore(world, url, { queueCapacity: subjectCapacity, ...options });
  await engine.open();
  return engine;
}

/** Runs a test on engines of one cluster, on a new server. */
function members(
  count: number,
  test: (engines: readonly RedisEngine[]) => Promise<void>,
  clock?: Clock,
): () => Promise<void> {
  const run = async (): Promise<void> => {
    server = new FakeServer(world);
    const made = Array.from({ length: count }, () => opened(clock && { clock }));
    const engines = await Promise.all(made);
    try {
      await test(engines);
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
    }
  };
  return () => world.during(run());
}

function valuesOf(waiting: readonly Waiting[]): string[] {
  return waiting.flatMap(({ keeper }) => (keeper.seen === undefined ? [] : [keeper.seen.value]));
}

for (const queueCount of [1, 50]) {
  test(
    `members wake 400 polls of two members on ${queueCount} queues by offers of a third, without checks`,
    members(
      3,
      async ([first, second, third]) => {
        const pollers = [new Asker(first!), new Asker(second!)];
        const waiting = Array.from({ length: WAKE_COUNT }, (_, index) =>
          pollers[index % 2]!.wait(`q${Math.floor(index / 2) % queueCount}`, 60_000),
        );
        // Wait until the members have subscribed to the channels.
        await sleep(200);
        const producer = new Asker(third!);
        const items = Array.from({ length: WAKE_COUNT }, (_, index) => `${index}`);
        const offers = items.map((item, index) => producer.offer(`q${index % queueCount}`, item));
        for (const offer of offers) assert.equal((await offer).outcome, APPLIED);
        await Promise.all(waiting.map(({ keeper }) => keeper.answered));
        assert.deepEqual(valuesOf(waiting).sort(), items.sort());
        for (let index = 0; index < queueCount; index++) {
          assert.equal((await producer.queueSize(`q${index}`)).count, 0);
        }
      },
      WITHOUT_CHECKS,
    ),
  );
}

test(
  'members wake the poll of another member by returning an item',
  members(
    2,
    async ([first, second]) => {
      const [giver, poller] = [new Asker(first!), new Asker(second!)];
      await giver.offer('q', 'a');
      const { hold } = await giver.take('q');
      const { keeper } = poller.wait('q', 60_000);
      await sleep(50);
      await giver.acknowledge(hold, false);
      assert.equal((await keeper.answered).value, 'a');
    },
    WITHOUT_CHECKS,
  ),
);

test(
  'members pass on the wake-up for an item if their poll was cancelled',
  members(
    3,
    async ([first, second, third]) => {
      const cancelled = new Asker(first!).wait('q', 60_000);
      await sleep(50);
      const { keeper } = new Asker(second!).wait('q', 60_000);
      await sleep(50);
      const offered = new Asker(third!).offer('q', 'a');
      first!.cancel(cancelled.ticket);
      await offered;
      assert.equal((await keeper.answered).value, 'a');
      assert.equal(cancelled.keeper.isAnswered, false);
    },
    WITHOUT_CHECKS,
  ),
);

test(
  'members find an item by a check if its wake-up is lost',
  members(2, async ([first, second]) => {
    const { keeper } = new Asker(first!).wait('q', 60_000);
    await sleep(50);
    server.publish = () => 1;
    await new Asker(second!).offer('q', 'a');
    assert.equal((await keeper.answered).value, 'a');
  }),
);

for (const queueCount of [1, 2000]) {
  test(
    `members need under 1,000 commands per second for 2,000 idle polls of two members on ${queueCount} queues`,
    members(2, async (engines) => {
      const askers = engines.map((engine) => new Asker(engine));
      for (let index = 0; index < POLL_COUNT; index++) {
        askers[index % 2]!.wait(`q${Math.floor(index / 2) % queueCount}`, 60_000);
      }
      await sleep(1500);
      const from = server.commandCount;
      await sleep(3 * CHECK_MS);
      const count = server.commandCount - from;
      assert.ok(count > 0 && count < 3 * 1000, `${count} commands in 3 s`);
    }),
  );
}

test(
  'members let entries expire at the same time although their clocks differ by 10 s',
  members(0, async () => {
    const made = [-5000, 0, 5000].map((wallAheadMs) =>
      opened({ clock: new MemberClock(clock, { wallAheadMs }) }),
    );
    const askers = (await Promise.all(made)).map((engine) => new Asker(engine));
    const start = clock.now();
    for (const [index, asker] of askers.entries()) {
      const lifetime = { timeToLiveMs: LIFETIME_MS, maxIdleSeconds: 0 };
      assert.equal((await asker.set('m', `${index}`, 'v', '', lifetime)).outcome, APPLIED);
    }
    const assertFound = async (outcome: Outcome): Promise<void> => {
      const keys = [...askers.keys()].map(String);
      const seen = askers.flatMap((asker) => keys.map((key) => asker.get('m', key)));
      for (const each of await Promise.all(seen)) assert.equal(each.outcome, outcome);
    };
    for (; clock.now() - start < LIFETIME_MS - 1000; await sleep(50)) await assertFound(FOUND);
    await sleep(start + LIFETIME_MS + 1000 - clock.now());
    await assertFound(ABSENT);
    for (const asker of askers) assert.equal((await asker.size('m')).count, 0);
    await Promise.all(askers.map(({ engine }) => engine.close()));
  }),
);

test(
  'members return the items that a removed member held to their places, and reject its further takes',
  members(1, async ([engine]) => {
    const asker = new Asker(engine!);
    for (const item of 'abcd') await asker.offer('q', item);
    for (let count = 0; count < SMALL_CAPACITY; count++) await asker.offer('small', `${count}`);
    const proxy = new FakeProxy(server);
    const incarnation = 'killed';
    const killed = await opened({ port: proxy.port, incarnation });
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
    const late = await opened({ incarnation });
    assert.equal((await new Asker(late).take('q')).outcome, LOST);
    late.incarnation = 'anew';
    assert.equal((await new Asker(late).poll('q')).value, 'e');
    await late.close();
    proxy.stop();
    await killed.close();
  }),
);

test(
  'members do not deliver an item that was returned before they have removed it from the server',
  members(1, async ([engine]) => {
    const asker = new Asker(engine!);
    await asker.offer('q', 'a');
    const incarnation = 'slow';
    const slow = await opened({ incarnation });
    server.holdNext('EVALSHA');
    const { keeper } = new Asker(slow).wait('q', 60_000);
    while ((await asker.queueSize('q')).count > 0) await sleep(1);
    assert.equal(await engine!.returnHeld(incarnation), 1);
    server.release();
    assert.equal((await keeper.answered).outcome, LOST);
    assert.equal((await asker.poll('q')).value, 'a');
    await slow.close();
  }),
);

test(
  'members return an item that a removed member had received but could not deliver',
  members(1, async ([engine]) => {
    const asker = new Asker(engine!);
    for (const item of 'ab') await asker.offer('q', item);
    const incarnation = 'cut off';
    const late = await opened({ incarnation });
    const taken = await new Asker(late).take('q');
    assert.equal(taken.value, 'a');
    assert.equal(await engine!.returnHeld(incarnation), 0);
    assert.equal((await new Asker(late).acknowledge(taken.hold, false)).outcome, APPLIED);
    for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
    assert.equal((await asker.poll('q')).outcome, ABSENT);
    await late.close();
  }),
);

test(
  'members return an item that the server holds for a member whose reply was lost, once it reconnects',
  members(1, async ([engine]) => {
    const asker = new Asker(engine!);
    for (const item of 'abc') await asker.offer('q', item);
    const incarnation = 'forgetful';
    const options = { incarnation, deadlineMs: 1000 };
    const proxy = new FakeProxy(server);
    const stale = await opened({ ...options, deadlineMs: 10_000, port: proxy.port });
    const member = await opened(options);
    const taken = await new Asker(member).take('q');
    proxy.silence(true);
    // Hold numbers begin with the time in ms; these two engines share an incarnation.
    await sleep(5);
    new Asker(stale).wait('q', 0);
    while ((await asker.queueSize('q')).count > 1) await sleep(1);
    server.run('CLIENT', 'KILL', 'TYPE', 'normal');
    while ((await asker.queueSize('q')).count !== 2) await sleep(10);
    assert.equal((await new Asker(member).acknowledge(taken.hold, true)).outcome, APPLIED);
    for (const item of 'bc') assert.equal((await asker.poll('q')).value, item);
    assert.equal((await asker.poll('q')).outcome, ABSENT);
    proxy.stop();
    await stale.close();
    await member.close();
  }),
);
