/**
 * Covers src/engine/redis/primary.ts. Replies that do not match their commands end their
 * connection; a server that is not a primary is not read.
 */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ABSENT, APPLIED, FOUND, UNKNOWN, UNREACHABLE } from '../../../src/engine/engine.ts';
import {
  array,
  bulk,
  DONE,
  FakeServer,
  LOST,
  NIL_REPLY,
  OK,
  replying,
} from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { DEADLINE_MS, type FakeStore, get, set, withStore } from '../../world/world-engines.ts';

const OUT_OF_STEP = 'its replies do not match the commands';

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

function isOutOfStep({ lost }: FakeStore): boolean {
  return lost.includes(OUT_OF_STEP);
}

for (const [kind, reply] of [
  ['status', OK],
  ['number', DONE],
  ['array', array([bulk('1'), bulk('2')])],
] as const) {
  test(`the reply ${kind} for HGET ends the connection, and the read is sent again`, async () => {
    server.script = replying('HGET', reply, 1);
    await withStore(world, server.url, {}, async (store) => {
      assert.equal(await get(store.engine, 'key'), ABSENT);
      assert.equal(server.received.length, 2);
      assert(isOutOfStep(store));
    });
  });
}

for (const [kind, reply] of [
  ['string', bulk('value')],
  ['nil', NIL_REPLY],
  ['status', OK],
] as const) {
  test(`the reply ${kind} for HSET ends the connection, and the change is unknown`, async () => {
    server.script = replying('HSET', reply, 1);
    await withStore(world, server.url, {}, async (store) => {
      assert.equal(await set(store.engine, 'key', 'value'), UNKNOWN);
      assert.equal(server.received.length, 1);
      assert(isOutOfStep(store));
      assert.equal(await set(store.engine, 'key', 'value'), APPLIED);
    });
  });
}

for (const [command, reply] of [
  ['ROLE', bulk('value')],
  ['ROLE', array([bulk('1764000000'), bulk('12')])],
  ['TIME', bulk('value')],
  ['TIME', array([bulk('master'), ':0\r\n', array([])])],
  ['ECHO', OK],
  ['ECHO', bulk('no number')],
  ['ECHO', '-MOVED 1 127.0.0.1:1\r\n'],
] as const) {
  test(`${JSON.stringify(reply)} for ${command} ends the connection`, async () => {
    await withStore(world, server.url, {}, async (store) => {
      server.script = replying(command, reply, 1);
      await world.until(() => isOutOfStep(store));
    });
  });
}

test('a reply that is lost ends the connection with the next ECHO', async () => {
  await withStore(world, server.url, {}, async (store) => {
    // The reply to the second read is received for the first.
    const replies = [LOST, bulk('1'), bulk('2')];
    server.script = ([name]) => (name === 'HGET' ? replies.shift() : undefined);
    const reads = ['a', 'b', 'c'].map((key) => get(store.engine, key));
    await world.until(() => isOutOfStep(store));
    // No stored value equals the number of an ECHO.
    assert.equal((await Promise.all(reads)).at(-1), UNREACHABLE);
    assert.equal(store.lost.length, 1);
  });
});

test('a duplicated reply ends the connection', async () => {
  await withStore(world, server.url, {}, async (store) => {
    server.script = replying('HGET', NIL_REPLY + NIL_REPLY, 1);
    assert.equal(await get(store.engine, 'key'), ABSENT);
    await world.until(() => isOutOfStep(store));
  });
});

test('an ECHO with a late reply does not end its connection', async () => {
  await withStore(world, server.url, {}, async (store) => {
    let count = 0;
    server.script = ([name]) => {
      if (name === 'ECHO') count++;
      return undefined;
    };
    server.holdNext('ECHO');
    // More numbers are sent afterwards, on the same connection and on others.
    await world.until(() => count > 6);
    const heldCount = server.release();
    assert(heldCount > 1);
    const seen = count;
    await world.until(() => count > seen + 3);
    assert.deepEqual(store.lost, []);
    assert.equal(await set(store.engine, 'key', 'value'), APPLIED);
    assert.equal(await get(store.engine, 'key'), FOUND);
  });
});

test('a refused ECHO does not end its connection', async () => {
  await withStore(world, server.url, {}, async (store) => {
    const echoes: string[] = [];
    const refusals = ['BUSY', 'LOADING', 'NOPERM'];
    server.script = ([name, number = '']) => {
      if (name !== 'ECHO') return undefined;
      echoes.push(number);
      const refusal = refusals.pop();
      return refusal && `-${refusal} not now\r\n`;
    };
    await world.until(() => echoes.length > 3);
    assert.deepEqual(store.lost, []);
  });
});

test('a server that is a replica at the start is not used', async () => {
  server.primary = new FakeServer(world);
  const opened = withStore(world, server.url, {}, async (store) => {
    assert.equal(await get(store.engine, 'key'), ABSENT);
    assert.match(store.lost[0] ?? '', /it is a replica/);
  });
  await world.sleep(0);
  await world.until(() => server.roleCount > 2);
  assert.deepEqual(server.received, []);
  server.primary = undefined;
  await opened;
});

test('a server that has become a replica is not read, until it is a primary again', async () => {
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine, lost }) => {
    assert.equal(await get(engine, 'key'), ABSENT);
    server.primary = new FakeServer(world);
    await world.until(() => lost.length > 0);
    assert.match(lost[0] ?? '', /it is a replica/);
    server.received.length = 0;
    assert.equal(await get(engine, 'key'), UNREACHABLE);
    assert.deepEqual(server.received, []);
    server.primary = undefined;
    await world.until(() => engine.isReachable);
    while ((await get(engine, 'key')) !== ABSENT) await world.sleep(5);
  });
});
