/**
 * The offers of a turn are sent as one command, and so are its takes, but take effect in the order
 * of the calls; also their results if these fail.
 */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import {
  ABSENT,
  APPLIED,
  type Engine,
  FOUND,
  type Outcome,
  QUEUE_FULL,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import {
  OFFER,
  OFFERS_MAX,
  PEEK,
  TAKE,
  TAKES_MAX,
} from '../../../src/engine/redis/queue-scripts.ts';
import type { Script } from '../../../src/engine/redis/scripts.ts';
import { shaOf } from '../../world/fake-scripts.ts';
import { CUT, FakeServer, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { answered, DEADLINE_MS, offer, withStore } from '../../world/world-engines.ts';
import { span } from '../results.ts';

/** Number of an offer's keys and arguments before the items. */
const BEFORE_ITEMS = 3 + 4 + 5;
const LONG = 'l'.repeat(5000);
/** The first byte of an item without a content type. */
const HEADER_BYTES = 9;

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

function isCall(words: readonly string[], script: Script): boolean {
  return words[0] === 'EVALSHA' && script.header.bytes.includes(words[1]!);
}

/** Returns the arguments of the calls of the script, in order. */
function calls(script: Script): (readonly string[])[] {
  return server.received.map(({ words }) => words).filter((words) => isCall(words, script));
}

/** Returns the scripts of SCRIPTS that were called, in order. */
function called(): Script[] {
  return server.received.flatMap(
    ({ words }) => SCRIPTS.find((script) => isCall(words, script)) ?? [],
  );
}

const SCRIPTS = [OFFER, TAKE, PEEK];

function itemsOf(offers: readonly string[]): number {
  return (offers.length - BEFORE_ITEMS) / 2;
}

function take(engine: Engine, queue: string): Promise<Outcome> {
  return answered((receiver) => void engine.take(span(queue), 0, receiver));
}

function peek(engine: Engine, queue: string): Promise<Outcome> {
  return answered((receiver) => engine.peek(span(queue), receiver));
}

function many<T>(count: number, make: (index: number) => Promise<T>): Promise<T>[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

test('the offers of a turn are one command, its takes another one, but none overtakes another', async () => {
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = many(6, (index) =>
      index % 2 === 0 ? take(engine, 'queue') : offer(engine, 'queue', `item ${index}`),
    );
    const found = (await Promise.all(outcomes)).filter((_, index) => index % 2 === 0);
    assert.deepEqual(found, [ABSENT, FOUND, FOUND]);
    assert.deepEqual(called().slice(0, 2), [OFFER, TAKE]);
    const [offers] = calls(OFFER);
    assert.deepEqual(
      offers!.slice(BEFORE_ITEMS).filter((_, index) => index % 2 === 1),
      ['item 1', 'item 3', 'item 5'],
    );
  });
});

test('a take gets no item of a later offer, even if another member offers in between', async () => {
  let left = 1;
  server.script = (words) => {
    if (!isCall(words, TAKE) || left-- === 0) return undefined;
    const keys = words.slice(3, 3 + 4);
    server.run(
      'EVALSHA',
      shaOf(OFFER.source),
      '4',
      ...keys,
      '0',
      '',
      'queue',
      '',
      '',
      '\x10',
      'other',
    );
    return undefined;
  };
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = [
      ...[take(engine, 'queue'), offer(engine, 'queue', 'item'), take(engine, 'queue')],
      ...[take(engine, 'queue'), take(engine, 'queue')],
    ];
    // The item of the other member is a later one for all of them.
    assert.deepEqual(await Promise.all(outcomes), [ABSENT, APPLIED, FOUND, ABSENT, ABSENT]);
    const [numbers = ''] = server.data.names.filter((name) => name.includes('/n:'));
    assert.deepEqual(server.run('HKEYS', numbers), ['n', 'h'], 'nothing of the turn remains');
    assert.equal(await take(engine, 'queue'), FOUND);
  });
});

test('takes of long items are served by several commands', async () => {
  const long = 'l'.repeat(400_000);
  await withStore(world, server.url, {}, async ({ engine }) => {
    for (let count = 7; count > 0; count--) await offer(engine, 'queue', long);
    const outcomes = many(9, () => take(engine, 'queue'));
    const found = Array<Outcome>(7).fill(FOUND);
    assert.deepEqual(await Promise.all(outcomes), [...found, ABSENT, ABSENT]);
    assert.equal(calls(TAKE).length, 3);
  });
});

test('a queue with room for some of the offers is full for those after them', async () => {
  for (const replicaCount of [0, 1]) {
    server.replicaCount = replicaCount;
    server.data.clear();
    const options = { queueReplicaCount: () => replicaCount, queueCapacity: () => 2 };
    await withStore(world, server.url, options, async ({ engine }) => {
      const outcomes = many(4, () => offer(engine, 'queue', 'item'));
      assert.deepEqual(await Promise.all(outcomes), [APPLIED, APPLIED, QUEUE_FULL, QUEUE_FULL]);
      const none = many(2, () => offer(engine, 'queue', 'item'));
      assert.deepEqual(await Promise.all(none), [QUEUE_FULL, QUEUE_FULL]);
    });
  }
});

test('a command has a limit of offers and of takes, and a long item is sent separately', async () => {
  await withStore(world, server.url, {}, async ({ engine }) => {
    await Promise.all(many(OFFERS_MAX + 1, () => offer(engine, 'queue', 'item')));
    assert.deepEqual(calls(OFFER).map(itemsOf), [OFFERS_MAX, 1]);
    await Promise.all(many(TAKES_MAX + 1, () => take(engine, 'other')));
    assert.equal(calls(TAKE).length, 2);
    server.received.length = 0;
    const items = ['a', 'b', LONG, 'c'];
    await Promise.all(items.map((item) => offer(engine, 'queue', item)));
    assert.deepEqual(calls(OFFER).map(itemsOf), [2, 1, 1]);
  });
});

test('any other operation on the queue is sent after the collected ones', async () => {
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = [
      offer(engine, 'queue', 'a'),
      take(engine, 'queue'),
      peek(engine, 'queue'),
      offer(engine, 'queue', 'b'),
    ];
    assert.deepEqual(await Promise.all(outcomes), [APPLIED, FOUND, ABSENT, APPLIED]);
    assert.deepEqual(called(), [OFFER, TAKE, PEEK, OFFER]);
  });
});

test('offers whose reply is cut off are each UNKNOWN and are not sent again', async () => {
  server.script = (words) => (isCall(words, OFFER) ? CUT : undefined);
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = many(3, () => offer(engine, 'queue', 'item'));
    assert.deepEqual(await Promise.all(outcomes), [UNKNOWN, UNKNOWN, UNKNOWN]);
    assert.equal(calls(OFFER).length, 1);
  });
});

test('offers that a server refuses for now are sent again, all of them', async () => {
  let left = 1;
  server.script = (words) =>
    isCall(words, OFFER) && left-- > 0 ? '-LOADING it loads\r\n' : undefined;
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = many(3, () => offer(engine, 'queue', 'item'));
    assert.deepEqual(await Promise.all(outcomes), [APPLIED, APPLIED, APPLIED]);
    assert.deepEqual(calls(OFFER).map(itemsOf), [3, 3]);
  });
});

test('if replicas are missing, offers and takes are refused, but not during another operation', async () => {
  await withStore(world, server.url, { queueReplicaCount: () => 2 }, async ({ engine }) => {
    while ((await offer(engine, 'queue', 'item')) !== UNREACHABLE);
    server.received.length = 0;
    let isCalling = true;
    const outcomes = [offer(engine, 'queue', 'item'), take(engine, 'queue')].map(
      async (outcome) => {
        assert.equal(await outcome, UNREACHABLE);
        assert.equal(isCalling, false);
      },
    );
    const last = peek(engine, 'queue');
    isCalling = false;
    await Promise.all([...outcomes, last]);
    assert.deepEqual(called(), [PEEK]);
  });
});

test('a take that was cancelled before it was sent is not sent', async () => {
  await withStore(world, server.url, {}, async ({ engine }) => {
    await offer(engine, 'queue', 'item');
    const ticket = engine.take(span('queue'), 0, { onResult: () => assert.fail('answered') });
    engine.cancel(ticket);
    assert.equal(await take(engine, 'queue'), FOUND);
    assert.equal(calls(TAKE).length, 1);
  });
});

test('items of up to 4,096 bytes in the store are collected, longer ones are not', async () => {
  const longest = 'l'.repeat(4096 - HEADER_BYTES);
  await withStore(world, server.url, {}, async ({ engine }) => {
    for (const [item, wanted] of [
      [longest, [2]],
      [`${longest}l`, [1, 1]],
    ] as const) {
      server.received.length = 0;
      await Promise.all([offer(engine, 'queue', 'first'), offer(engine, 'queue', item)]);
      assert.deepEqual(calls(OFFER).map(itemsOf), wanted);
    }
  });
});

test('collected operations are sent before the engine closes', async () => {
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = many(2, () => offer(engine, 'queue', 'item'));
    const closed = engine.close();
    assert.deepEqual(await Promise.all(outcomes), [APPLIED, APPLIED]);
    await closed;
  });
});

test('collected operations count as operations in progress', async () => {
  server.script = (words) => (isCall(words, OFFER) ? SILENCE : undefined);
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
    let isAnswered = false;
    const outcome = offer(engine, 'queue', 'item').then((came) => {
      isAnswered = true;
      return came;
    });
    await engine.changesAnswered();
    assert.ok(isAnswered);
    assert.equal(await outcome, UNKNOWN);
  });
});
