/**
 * Covers src/local/queue-items.ts and src/local/offer-waits.ts. Iterators over items, and offers that
 * wait, end in every order: no item is lost or returned twice, and no listener, timer or wait is left.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { GridQueue } from '../../src/local/grid-queue.ts';
import { LocalData } from '../../src/local/local-data.ts';
import type { StoredValue } from '../../src/local/local-values.ts';
import { PlainBytes } from '../../src/local/plain-bytes.ts';
import { onDisk, seen } from './data-on-disk.ts';

/** A signal that counts its listeners. */
function countedSignal() {
  const controller = new AbortController();
  const listeners = new Set<() => void>();
  const { signal } = controller;
  const counted = {
    get aborted() {
      return signal.aborted;
    },
    get reason() {
      return signal.reason;
    },
    addEventListener(type: 'abort', listener: () => void) {
      listeners.add(listener);
      signal.addEventListener(type, listener);
    },
    removeEventListener(type: 'abort', listener: () => void) {
      listeners.delete(listener);
      signal.removeEventListener(type, listener);
    },
  };
  return { signal: counted, listeners, abort: () => controller.abort(new Error('aborted')) };
}

/** A queue whose changes are durable at once, or only after `sync`, and what its waits leave. */
function opened({ capacity = 10, isSynced = true } = {}) {
  const disk = onDisk(capacity);
  const { queue, data, clock, waiting, sync } = disk;
  const signal = countedSignal();
  if (isSynced) disk.answers.send = (_partition, _sequence, deliver) => deliver(true);
  const turn = async () => {
    for (let turns = 0; turns < 3; turns++) {
      clock.endTurn();
      await nextTurn();
    }
  };
  const assertNothingLeft = () => {
    assert.deepEqual([waiting.size, signal.listeners.size], [0, 0]);
    assert.equal(data.offerWaits.queueCount, 0);
    // The engine has a timer for takes that wait.
    assert.ok(clock.timerCount <= 1);
  };
  const rest = async () => {
    const items: string[] = [];
    for (;;) {
      const polled = queue.poll();
      sync();
      const item = await polled;
      if (item === undefined) return items;
      items.push(item.text());
    }
  };
  return { ...disk, ...signal, turn, rest, assertNothingLeft };
}

type Opened = ReturnType<typeof opened>;

/** Kinds of steps of a random history. */
const STEPS = ['offer', 'wait', 'next', 'return', 'abort', 'poll', 'peek', 'sync', 'turn'] as const;

const textOf = (step: IteratorResult<StoredValue, unknown>) =>
  step.done === true ? 'end' : step.value.text();

test('items are those of polls, in order; the loop waits for more until it is left', async () => {
  const { queue, signal, turn, rest, assertNothingLeft } = opened();
  for (const item of ['a', 'b', 'c']) await queue.offer(item);
  const got: string[] = [];
  const loop = (async () => {
    for await (const item of queue.items({ signal })) {
      got.push(item.text());
      if (got.length === 4) break;
    }
  })();
  await turn();
  assert.deepEqual(got, ['a', 'b', 'c']);
  for (const item of ['d', 'e']) await queue.offer(item);
  await turn();
  await loop;
  assert.deepEqual(got, ['a', 'b', 'c', 'd']);
  assert.deepEqual(await rest(), ['e']);
  assertNothingLeft();
});

test('a loop over many items lets the event loop turn', async () => {
  const { queue, assertNothingLeft } = opened({ capacity: 1000 });
  for (let item = 0; item < 1000; item++) await queue.offer(String(item));
  let turns = 0;
  const count = () => {
    turns++;
    if (turns < 1000) setImmediate(count);
  };
  setImmediate(count);
  const got: string[] = [];
  for await (const item of queue.items()) {
    got.push(item.text());
    if (got.length === 1000) break;
  }
  assert.ok(turns >= 9, `${turns} turns`);
  turns = 1000;
  assert.deepEqual(
    got,
    Array.from({ length: 1000 }, (_, item) => String(item)),
  );
  assertNothingLeft();
});

test('a loop whose body throws or returns takes no further item', async () => {
  const { queue, signal, rest, assertNothingLeft } = opened();
  for (const item of ['a', 'b', 'c']) await queue.offer(item);
  const throwing = async () => {
    for await (const item of queue.items({ signal })) throw new Error(item.text());
  };
  await assert.rejects(throwing, /^Error: a$/);
  const returning = async () => {
    for await (const item of queue.items({ signal })) return item.text();
    return undefined;
  };
  assert.equal(await returning(), 'b');
  assert.deepEqual(await rest(), ['c']);
  assertNothingLeft();
});

/** The orders in which an iterator ends while a poll waits; each returns the outcome of the step. */
const ENDS: Readonly<Record<string, (all: Opened) => Promise<unknown>>> = {
  'return before an item': async ({ queue, signal, turn }) => {
    const items = queue.items({ signal });
    const step = items.next();
    await turn();
    assert.equal(textOf((await items.return?.())!), 'end');
    await queue.offer('item');
    assert.equal(textOf(await items.next()), 'end');
    return [textOf(await step)];
  },
  'return in the turn of an offer, before': async ({ queue, signal, turn }) => {
    const items = queue.items({ signal });
    const step = items.next();
    await turn();
    const left = items.return?.();
    await queue.offer('item');
    await turn();
    await left;
    return [textOf(await step)];
  },
  'return in the turn of an offer, after': async ({ queue, signal, turn }) => {
    const items = queue.items({ signal });
    const step = items.next();
    await turn();
    const offered = queue.offer('item');
    const left = items.return?.();
    await turn();
    await Promise.all([offered, left]);
    return [textOf(await step)];
  },
  'return in the turn of a step that finds an item': async ({ queue, signal }) => {
    await queue.offer('item');
    const items = queue.items({ signal });
    const step = items.next();
    await items.return?.();
    return [textOf(await step)];
  },
  'return after the item was delivered': async ({ queue, signal, turn }) => {
    const items = queue.items({ signal });
    const step = items.next();
    await queue.offer('item');
    await turn();
    await items.return?.();
    return [textOf(await step)];
  },
  'abort before an item': async ({ queue, signal, abort, turn }) => {
    const items = queue.items({ signal });
    const step = assert.rejects(items.next(), /aborted/);
    await turn();
    abort();
    await queue.offer('item');
    await step;
    return [textOf(await items.next())];
  },
  'abort in the turn of an offer': async ({ queue, signal, abort, turn }) => {
    const items = queue.items({ signal });
    const step = assert.rejects(items.next(), /aborted/);
    await turn();
    const offered = queue.offer('item');
    abort();
    await turn();
    await Promise.all([offered, step]);
    return [textOf(await items.next())];
  },
  'abort before the first step': async ({ queue, signal, abort }) => {
    const items = queue.items({ signal });
    abort();
    await queue.offer('item');
    await assert.rejects(items.next(), /aborted/);
    return [textOf(await items.next())];
  },
  'abort, then return': async ({ queue, signal, abort, turn }) => {
    const items = queue.items({ signal });
    const step = assert.rejects(items.next(), /aborted/);
    await turn();
    abort();
    await items.return?.();
    await queue.offer('item');
    await step;
    return ['end'];
  },
  'return, then abort': async ({ queue, signal, abort, turn }) => {
    const items = queue.items({ signal });
    const step = items.next();
    await turn();
    const left = items.return?.();
    abort();
    await left;
    await queue.offer('item');
    return [textOf(await step)];
  },
  'two steps at once, then return': async ({ queue, signal, turn }) => {
    const items = queue.items({ signal });
    const steps = [items.next(), items.next()];
    await turn();
    await queue.offer('item');
    await turn();
    await items.return?.();
    return [(await Promise.all(steps)).map(textOf).join()];
  },
};

const DELIVERED = new Set([
  'return in the turn of a step that finds an item',
  'return after the item was delivered',
  'two steps at once, then return',
]);

for (const [name, end] of Object.entries(ENDS)) {
  test(`an iterator that ends by ${name} loses no item`, async () => {
    const all = opened();
    const [outcome] = (await end(all)) as [string];
    const isDelivered = DELIVERED.has(name);
    assert.equal(outcome.split(',')[0], isDelivered ? 'item' : 'end');
    assert.deepEqual(await all.rest(), isDelivered ? [] : ['item']);
    all.assertNothingLeft();
  });
}

test('an item whose removal is not on the disk yet returns if the loop is left', async () => {
  const { queue, signal, sync, turn, rest, assertNothingLeft } = opened({ isSynced: false });
  await Promise.all([queue.offer('item'), Promise.resolve().then(sync)]);
  const items = queue.items({ signal });
  const step = items.next();
  assert.deepEqual(await seen(step), ['delayed']);
  await items.return?.();
  assert.equal(textOf(await step), 'end');
  sync();
  await turn();
  assert.deepEqual(await rest(), ['item']);
  assertNothingLeft();
});

test('the end of the member and PASSIVE end iterators, in a step and between steps', async () => {
  const { queue, data, signal, waiting, turn, assertNothingLeft } = opened();
  const [items, between, passive] = [1, 2, 3].map(() => queue.items({ signal }));
  const refused = assert.rejects(passive!.next(), { code: 'CLUSTER_PASSIVE' });
  await turn();
  for (const each of waiting) each.endWait();
  await refused;
  assert.equal(textOf(await passive!.next()), 'end');
  await queue.offer('first');
  assert.equal(textOf(await between!.next()), 'first');
  const step = items!.next();
  await turn();
  data.close();
  assert.equal(textOf(await step), 'end');
  assert.equal(textOf(await between!.next()), 'end');
  assertNothingLeft();
});

test('poll with Infinity waits for any time', async () => {
  const { queue, clock, turn } = opened();
  const poll = queue.poll(Number.POSITIVE_INFINITY);
  for (let days = 0; days < 100; days += 20) clock.advance(20 * 86_400_000);
  assert.deepEqual(await seen(poll), ['delayed']);
  await queue.offer('item');
  await turn();
  assert.equal((await poll)?.text(), 'item');
});

test('peek returns the next item, which remains', async () => {
  const { queue } = opened();
  assert.equal(await queue.peek(), undefined);
  await queue.offer('a', { contentType: 'text/plain' });
  await queue.offer('b');
  const first = await queue.peek();
  assert.deepEqual([first?.text(), first?.contentType], ['a', 'text/plain']);
  assert.equal(await queue.size(), 2);
});

test('clear removes the items that were offered before, and no later ones', async () => {
  const { queue } = opened({ capacity: Number.POSITIVE_INFINITY });
  assert.equal(await queue.clear(), 0);
  for (let index = 0; index < 2500; index++) await queue.offer(`${index}`);
  const clearing = queue.clear();
  const offered = queue.offer('later');
  assert.equal(await clearing, 2500);
  await offered;
  assert.deepEqual([(await queue.poll())?.text(), await queue.size()], ['later', 0]);
});

test('offers wait for room in their order, and copy their items', async () => {
  const { queue, turn, rest, signal, assertNothingLeft } = opened({ capacity: 2 });
  for (const item of ['a', 'b']) assert.equal(await queue.offer(item), true);
  assert.equal(await queue.offer('full'), false);
  const bytes = Buffer.from('c');
  const contentType = 'a/b';
  const first = queue.offer(bytes, { waitSeconds: 1, contentType, signal });
  bytes.fill('x');
  const others = ['d', 'e'].map((item) =>
    queue.offer(item, { waitSeconds: Number.POSITIVE_INFINITY }),
  );
  await turn();
  assert.deepEqual(await seen(first, ...others), ['delayed', 'delayed', 'delayed']);
  assert.equal((await queue.poll())?.text(), 'a');
  await turn();
  assert.deepEqual(await seen(first, ...others), [true, 'delayed', 'delayed']);
  assert.deepEqual([(await queue.poll())?.text(), (await queue.poll())?.text()], ['b', 'c']);
  await turn();
  assert.deepEqual(await seen(...others), [true, true]);
  assert.deepEqual(await rest(), ['d', 'e']);
  assertNothingLeft();
  assert.equal(await queue.offer('room', { waitSeconds: 1 }), true);
  assertNothingLeft();
});

test('clear makes room, and so does a poll by another client', async () => {
  const { queue, turn, rest } = opened({ capacity: 1 });
  await queue.offer('a');
  const waiting = queue.offer('b', { waitSeconds: 9 });
  assert.equal(await queue.clear(), 1);
  await turn();
  assert.equal(await waiting, true);
  assert.deepEqual(await rest(), ['b']);
});

/** The ends of an offer that waits, with the outcome; each leaves the item `full` in the queue. */
const OFFER_ENDS: Readonly<Record<string, (all: Opened) => void>> = {
  false: ({ clock }) => clock.advance(2000),
  aborted: ({ abort }) => abort(),
  ENGINE_CLOSED: ({ data }) => data.close(),
  CLUSTER_PASSIVE: ({ waiting }) => {
    for (const each of waiting) each.endWait();
  },
};

for (const [outcome, end] of Object.entries(OFFER_ENDS)) {
  test(`an offer that waits ends with ${outcome}, and adds nothing`, async () => {
    const all = opened({ capacity: 1 });
    const { queue, signal, turn, clock, assertNothingLeft } = all;
    await queue.offer('full');
    const offers = ['a', 'b'].map((item) => queue.offer(item, { waitSeconds: 1.5, signal }));
    await turn();
    end(all);
    assert.deepEqual((await seen(...offers)).map(String), [outcome, outcome]);
    assertNothingLeft();
    clock.advance(5000);
    await turn();
    if (outcome === 'ENGINE_CLOSED') return;
    assert.equal((await queue.poll())?.text(), 'full');
    await turn();
    assert.equal(await queue.size(), 0);
    await queue.offer('again');
    assert.equal(await queue.size(), 1);
  });
}

test('the first offer ends, and the next one still gets the room', async () => {
  const { queue, signal, abort, turn, rest, assertNothingLeft } = opened({ capacity: 1 });
  await queue.offer('full');
  const first = assert.rejects(queue.offer('a', { waitSeconds: 9, signal }), /aborted/);
  const second = queue.offer('b', { waitSeconds: 9 });
  await turn();
  abort();
  await first;
  assert.equal((await queue.poll())?.text(), 'full');
  await turn();
  assert.equal(await second, true);
  await assert.rejects(queue.offer('c', { signal }), /aborted/);
  assert.deepEqual(await rest(), ['b']);
  assertNothingLeft();
});

test('an offer that waited is delivered when it is on the disk, or is unknown', async () => {
  const { queue, answers, sync, turn, assertNothingLeft } = opened({
    capacity: 1,
    isSynced: false,
  });
  await Promise.all([queue.offer('full'), Promise.resolve().then(sync)]);
  const offer = queue.offer('a', { waitSeconds: 9 });
  await Promise.all([queue.poll(), Promise.resolve().then(sync)]);
  await turn();
  assert.deepEqual(await seen(offer), ['delayed']);
  assertNothingLeft();
  sync();
  assert.equal(await offer, true);
  const other = queue.offer('b', { waitSeconds: 9 });
  const polled = queue.poll();
  sync();
  await polled;
  await turn();
  answers.failDelayed();
  assert.deepEqual(await seen(other), ['OUTCOME_UNKNOWN']);
});

test('a member whose queues are on servers neither clears them nor waits for room', async () => {
  const { engine, clock, answers, waiting } = opened();
  const data = new LocalData({
    ...{ engine, clock, answers, waiting, stored: undefined },
    cluster: { acceptsWrites: true, isCutOff: false },
    lifetimes: { of: () => ({ timeToLiveMs: 0, maxIdleSeconds: 0 }) },
  });
  const queue = new GridQueue(data, new PlainBytes('name', 10).of('q'));
  const elsewhere = (action: string) => ({
    code: 'DATA_ELSEWHERE',
    message: `Cannot ${action}: the data is stored on servers (engine.url), not by this member`,
  });
  assert.equal(await queue.offer('a'), true);
  assert.equal((await queue.peek())?.text(), 'a');
  await assert.rejects(queue.clear(), elsewhere('clear "q"'));
  await assert.rejects(queue.offer('b', { waitSeconds: 1 }), elsewhere('wait to offer to "q"'));
  assert.equal((await queue.poll())?.text(), 'a');
});

for (const isSynced of [true, false]) {
  const disk = isSynced ? 'at once' : 'after a sync';
  test(`in a random history each item is returned once, if the disk has it ${disk}`, async () => {
    const steps = fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const all = opened({ capacity: 2, isSynced });
        const { queue, turn, sync, rest } = all;
        const offered: Promise<string | undefined>[] = [];
        const returned: Promise<string | undefined>[] = [];
        let [count, controller] = [0, new AbortController()];
        let items = queue.items(controller);
        const noneIfAborted = (polled: Promise<string | undefined>) =>
          returned.push(
            polled.catch((error) => assert.equal(error.message, 'given up') as undefined),
          );
        const renew = () => {
          controller = new AbortController();
          items = queue.items(controller);
        };
        const run: Record<(typeof STEPS)[number], () => unknown> = {
          offer: () => offer(queue.offer(`${++count}`), count),
          wait: () => offer(queue.offer(`${++count}`, { waitSeconds: 1 }), count),
          next: () => noneIfAborted(items.next().then((step) => step.value?.text())),
          poll: () => noneIfAborted(queue.poll(0.5, controller).then((item) => item?.text())),
          peek: () => void queue.peek(),
          return() {
            void items.return?.();
            renew();
          },
          abort() {
            controller.abort(new Error('given up'));
            renew();
          },
          sync,
          turn,
        };
        const offer = (adding: Promise<boolean>, number: number) =>
          offered.push(adding.then((isAdded) => (isAdded ? `${number}` : undefined)));
        for (const step of history) {
          const done = run[step]();
          if (step === 'turn') await done;
        }
        controller.abort(new Error('given up'));
        const settle = async () => {
          for (let turns = 0; turns < 5; turns++) {
            all.clock.advance(1000);
            sync();
            await turn();
          }
        };
        await settle();
        const added = (await Promise.all(offered)).filter((each) => each !== undefined);
        const got = (await Promise.all(returned)).filter((each) => each !== undefined);
        await settle();
        assert.deepEqual([...got, ...(await rest())].sort(), added.sort());
        all.assertNothingLeft();
      }),
      { numRuns: 100 },
    );
  });
}
