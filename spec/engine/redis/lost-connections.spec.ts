/**
 * Covers src/engine/redis/pending-*.ts and src/engine/redis/command-buffer.ts. Results of
 * operations whose connection ends, whose reply is broken, or whose server is silent.
 */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import {
  ABSENT,
  APPLIED,
  FOREVER,
  FOUND,
  type Outcome,
  type Receiver,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { FakeProxy } from '../../world/fake-proxy.ts';
import { bulk, CUT, DONE, FakeServer, replying, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { DEADLINE_MS, get, set, valuesDone, withStore } from '../../world/world-engines.ts';
import { span } from '../results.ts';

/**
 * A value in the format of stored-value.ts: the format, a version, no content type, then the value.
 */
const STORED = bulk(`\x10${'\x01'.repeat(8)}value`);

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

test('a change whose reply is cut off may have been made, and is not sent again', async () => {
  for (let length = 0; length < DONE.length; length++) {
    server.received.length = 0;
    server.script = replying('HSET', DONE.slice(0, length) + CUT, 1);
    await withStore(world, server.url, {}, async ({ engine }) => {
      assert.equal(await set(engine, 'key', '1'), UNKNOWN);
      assert.equal(server.countOf('HSET'), 1);
      assert.equal(await set(engine, 'key', '2'), APPLIED);
      assert.equal(server.countOf('HSET'), 2);
    });
  }
});

test('a read whose reply is cut off is sent again', async () => {
  for (let length = 0; length < STORED.length; length++) {
    const replies = [STORED.slice(0, length) + CUT, STORED];
    server.script = ([name]) => (name === 'HGET' ? replies.shift() : undefined);
    await withStore(world, server.url, {}, async ({ engine }) => {
      assert.equal(await get(engine, 'key'), FOUND);
    });
  }
});

test('a change whose reply is lost is not executed later', async () => {
  const proxy = new FakeProxy(server);
  const url = `redis://127.0.0.1:${proxy.port}`;
  await withStore(world, url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
    proxy.delayCommands();
    assert.equal(await set(engine, 'key', 'late'), UNKNOWN);
    await engine.changesAnswered();
    proxy.sendDelayed();
    await world.sleep(50);
    assert.equal(server.countOf('HSET'), 0);
  });
});

for (const broken of [
  'what is this\r\n',
  ':12x\r\n',
  '$5\r\nvaluexx',
  '*-2\r\n',
  '+OK\rx',
  ':1\r\n:1\r\n',
]) {
  test(`${JSON.stringify(broken)} ends the connection, and nothing is made twice`, async () => {
    server.script = replying('HSET', broken, 1);
    await withStore(world, server.url, {}, async ({ engine }) => {
      const outcome = await set(engine, 'key', '1');
      assert.ok(outcome === UNKNOWN || broken.startsWith(DONE));
      assert.equal(await set(engine, 'key', '2'), APPLIED);
      assert.equal(server.countOf('HSET'), 2);
    });
  });
}

test('changes that were not sent when the connection ended are sent over the next one', async () => {
  await withStore(world, server.url, {}, async ({ engine }) => {
    server.stop();
    await world.sleep(50);
    const outcomes = ['1', '2', '3'].map((value) => set(engine, 'key', value));
    await world.sleep(50);
    server.listen();
    assert.deepEqual(await Promise.all(outcomes), [APPLIED, APPLIED, APPLIED]);
    assert.deepEqual(valuesDone(server), ['1', '2', '3']);
  });
});

test('the connection to a silent server is abandoned; then its operations fail at once', async () => {
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine, lost }) => {
    server.script = () => SILENCE;
    assert.deepEqual(await Promise.all([set(engine, 'a', '1'), get(engine, 'a')]), [
      UNKNOWN,
      UNREACHABLE,
    ]);
    assert.ok(lost.includes(`no reply within ${DEADLINE_MS} ms`));
    await world.sleep(DEADLINE_MS);
    const now = world.clock.now();
    const outcomes = [set(engine, 'b', '2'), get(engine, 'b'), set(engine, 'c', '3')];
    assert.deepEqual(await Promise.all(outcomes), [UNREACHABLE, UNREACHABLE, UNREACHABLE]);
    assert.equal(world.clock.now(), now);
    server.script = () => undefined;
    while ((await set(engine, 'd', '4')) !== APPLIED) await world.sleep(20);
    assert.equal(engine.isReachable, true);
  });
});

test('an abandoned connection is reset, so that none of its data arrives later', async () => {
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
    server.script = () => SILENCE;
    const { resetCount } = server;
    assert.equal(await set(engine, 'key', '1'), UNKNOWN);
    while (server.resetCount === resetCount) await world.sleep(5);
    server.script = () => undefined;
  });
});

test('the connection to a silent server is abandoned even if it is idle', async () => {
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
    server.script = () => SILENCE;
    while (engine.isReachable) await world.sleep(20);
    assert.equal(await get(engine, 'key'), UNREACHABLE);
  });
});

test('at most 100,000 operations wait; the next ones are refused during the call', async () => {
  await withStore(world, server.url, { deadlineMs: 3000 }, async ({ engine }) => {
    // Nothing that is written arrives.
    world.network.cut(server.address, true);
    const counts = new Map<Outcome, number>();
    const receiver: Receiver = {
      onResult: ({ outcome }) => counts.set(outcome, (counts.get(outcome) ?? 0) + 1),
    };
    const [map, value, nothing] = [span('map'), span('1'), span('')];
    for (let index = 0; index < 50_050; index++) {
      const key = span(`${index}`);
      engine.set(map, key, value, nothing, FOREVER, undefined, receiver);
      engine.get(map, key, receiver);
    }
    assert.deepEqual([...counts], [[UNREACHABLE, 100]]);
    await world.sleep(3500);
    world.network.cut(server.address, false);
    assert.deepEqual(Object.fromEntries(counts), { [UNKNOWN]: 50_000, [UNREACHABLE]: 50_100 });
  });
});

test('at most 64 MiB of commands wait, and one more', async () => {
  await withStore(world, server.url, { deadlineMs: 800 }, async ({ engine }) => {
    world.network.cut(server.address, true);
    const value = 'x'.repeat(1024 * 1024);
    const refused: Outcome[] = [];
    const outcomes = Array.from({ length: 70 }, (_, index) => set(engine, `${index}`, value));
    for (const each of outcomes) void each.then((outcome) => refused.push(outcome));
    await Promise.resolve();
    assert.deepEqual(refused, new Array(6).fill(UNREACHABLE));
    await Promise.all(outcomes);
    world.network.cut(server.address, false);
    while ((await set(engine, 'key', '1')) !== APPLIED) await world.sleep(20);
  });
});

test('operations in progress when the engine closes have results', async () => {
  server.script = replying('HSET', SILENCE);
  let outcomes: Promise<Outcome[]> = Promise.resolve([]);
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
    outcomes = Promise.all([set(engine, 'a', '1'), get(engine, 'b')]);
  });
  assert.deepEqual(await outcomes, [UNKNOWN, ABSENT]);
});
