/**
 * Covers spec/engine/late-engine.ts. The late engine: it keeps the contract, and delays its results
 * and makes faults as configured.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import {
  APPLIED,
  CLOSED,
  DISCONNECTED,
  FOUND,
  NO_HOLD,
  type Pin,
  UNKNOWN,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../../src/engine/engine.ts';
import { World } from '../world/world.ts';
import { engineSuite } from './engine.case.ts';
import { holdSuite } from './holds.case.ts';
import { LateEngine, type LateEngineOptions } from './late-engine.ts';
import { SPOILT } from './late-result.ts';
import { Asker, Keeper, span } from './results.ts';
import { sequenceSuite } from './sequences.case.ts';
import { subjectCapacity } from './subject.ts';

const PARTITION_COUNT = 7;
const MANY = 200;

type Options = Omit<LateEngineOptions, 'clock' | 'random' | 'partitionCount'>;
type LateSubject = Awaited<ReturnType<typeof lateSubject>>;

/** Returns a late engine in a world of its own. `isOpen`: whether it has been opened. */
async function lateSubject({ isOpen = true, ...options }: Options & { isOpen?: boolean }) {
  const world = new World();
  const { clock, random } = world;
  const stored = new EmbeddedEngine({
    partitionCount: PARTITION_COUNT,
    clock,
    queueCapacity: subjectCapacity,
    acknowledgesAll: true,
  });
  const all = { clock, random, partitionCount: PARTITION_COUNT, ...options };
  const engine = new LateEngine(stored, all);
  if (isOpen) await engine.open();
  return {
    engine,
    stored,
    many: MANY,
    quiet: () => world.settled(),
    advance: (ms: number) => world.pass(ms),
    now: () => world.clock.now(),
  };
}

for (const [name, options] of Object.entries({
  'an ordered engine whose results arrive in the next turn': { isOrdered: true, turns: 'next' },
  'an unordered engine whose results arrive in a random turn': { isOrdered: false },
} as const)) {
  const open = () => lateSubject(options);
  engineSuite(name, open);
  holdSuite(name, open);
  sequenceSuite(name, open);
}

/** Returns the results of sets of many keys, and of gets of them, in the order of arrival. */
async function resultOrder({ engine, quiet }: LateSubject): Promise<number[]> {
  const order: number[] = [];
  const asker = new Asker(engine);
  for (let index = 0; index < 50; index++) {
    const isSet = index % 2 === 0;
    const answered = isSet ? asker.set('m', `${index}`, 'v') : asker.get('m', `${index}`);
    void answered.then(() => order.push(index));
  }
  await quiet();
  return order;
}

describe('a late engine', () => {
  it('overwrites the bytes of a result, and its arguments may be overwritten', async () => {
    const { engine } = await lateSubject({ isOrdered: true });
    const asker = new Asker(engine);
    await asker.set('m', 'k', 'value', 'a/type');
    let named: Buffer = Buffer.alloc(0);
    let type: Buffer = Buffer.alloc(0);
    const keeper = new Keeper(({ value, contentType }) => {
      named = value.bytes.subarray(value.start, value.end);
      type = contentType.bytes.subarray(contentType.start, contentType.end);
    });
    engine.get(span('m'), span('k'), keeper);
    assert.equal((await keeper.answered).value, 'value');
    assert.deepEqual(named, Buffer.alloc(5, SPOILT));
    assert.deepEqual(type, Buffer.alloc(6, SPOILT));
  });

  it('keeps a pinned value until the last pin is released', async () => {
    const { engine } = await lateSubject({ isOrdered: true });
    const asker = new Asker(engine);
    const long = 'l'.repeat(VALUE_COPY_BYTES_MAX + 1);
    await asker.set('m', 'k', long);
    const pins: Pin[] = [];
    let named: Buffer = Buffer.alloc(0);
    const keeper = new Keeper((answer) => {
      pins.push(answer.pin(), answer.pin());
      named = answer.value.bytes.subarray(answer.value.start, answer.value.end);
    });
    engine.get(span('m'), span('k'), keeper);
    await keeper.answered;
    pins.pop()?.release();
    assert.deepEqual([named.toString() === long, engine.pinCount], [true, 1]);
    pins.pop()?.release();
    assert.deepEqual([named[0], engine.pinCount], [SPOILT, 0]);
  });

  it('returns results in the order of the calls if ordered, otherwise in another order', async () => {
    const called = Array.from({ length: 50 }, (_, index) => index);
    for (const turns of ['next', 'random'] as const) {
      const ordered = await resultOrder(await lateSubject({ isOrdered: true, turns }));
      assert.deepEqual(ordered, called);
      const unordered = await resultOrder(await lateSubject({ isOrdered: false, turns }));
      assert.notDeepEqual(unordered, called);
      assert.deepEqual(
        unordered.sort((a, b) => a - b),
        called,
      );
    }
  });

  it('returns the item of a take that is cancelled meanwhile', async () => {
    for (const timeoutMs of [0, 1000]) {
      const { engine, stored, quiet } = await lateSubject({ isOrdered: true, turns: 'random' });
      const asker = new Asker(engine);
      await asker.offer('q', 'a');
      const { keeper, ticket } = asker.wait('q', timeoutMs);
      while (stored.holdCount === 0) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual([keeper.isAnswered, engine.holdCount], [false, 1]);
      engine.cancel(ticket);
      await quiet();
      assert.deepEqual([keeper.isAnswered, engine.holdCount, stored.holdCount], [false, 0, 0]);
      assert.equal((await asker.poll('q')).value, 'a');
    }
  });

  it('is reachable from open to close, which resolves when all results have arrived', async () => {
    const { engine } = await lateSubject({ isOrdered: false, turns: 'random', isOpen: false });
    const asker = new Asker(engine);
    assert.equal(engine.isReachable, false);
    assert.equal((await asker.get('m', 'k')).reason, DISCONNECTED);
    await engine.open();
    assert.equal(engine.isReachable, true);
    const sets = Array.from({ length: 30 }, (_, index) => asker.set('m', `${index}`, 'v'));
    const closed = engine.close();
    const later = asker.get('m', 'k');
    await closed;
    assert.equal(engine.operationCount, 0);
    for (const set of sets) assert.equal((await set).outcome, APPLIED);
    assert.equal((await later).reason, CLOSED);
    assert.equal((await asker.acknowledge(1, true)).reason, CLOSED);
  });

  it('returns UNKNOWN for changes made or not, UNREACHABLE for changes not made', async () => {
    const injuries = { unknownPerMille: 300, disconnectedPerMille: 300 };
    const { engine, stored, quiet } = await lateSubject({ isOrdered: false, ...injuries });
    const asker = new Asker(engine);
    const inside = new Asker(stored);
    const made = new Map<number, number[]>(
      [APPLIED, UNKNOWN, UNREACHABLE].map((each) => [each, []]),
    );
    for (let index = 0; index < 200; index++) {
      const { outcome } = await asker.set('m', `${index}`, 'v');
      made.get(outcome)!.push((await inside.get('m', `${index}`)).outcome === FOUND ? 1 : 0);
    }
    const [applied, unknown, unreachable] = [...made.values()].map((each) => new Set(each));
    assert.deepEqual([[...applied!], [...unreachable!]], [[1], [0]]);
    assert.equal(unknown!.size, 2);
    for (let index = 0; index < 50; index++) await inside.offer('q', `${index}`);
    const outcomes = new Set<number>();
    for (let index = 0; index < 50; index++) {
      const { outcome, hold } = await asker.take('q');
      outcomes.add(outcome);
      if (hold === NO_HOLD) continue;
      const ended = await asker.acknowledge(hold, false);
      assert.ok(ended.outcome === APPLIED || ended.outcome === UNKNOWN);
    }
    await quiet();
    assert.deepEqual([...outcomes].sort(), [FOUND, UNREACHABLE, UNKNOWN].sort());
    assert.deepEqual([engine.holdCount, stored.holdCount], [0, 0]);
  });
});
