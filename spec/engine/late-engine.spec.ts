/**
 * Covers spec/engine/late-engine.ts. The late engine: it keeps the contract, and delays its results
 * as configured.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pin } from '../../src/base/pin.ts';
import type { Span } from '../../src/base/span.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { LIST_START, type OperationResult, VALUE_COPY_BYTES_MAX } from '../../src/engine/engine.ts';
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

/** Returns an open late engine in a world of its own. */
async function lateSubject(options: Options) {
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
  await engine.open();
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

  it('overwrites the bytes of listed keys, entries, names and places', async () => {
    const { engine } = await lateSubject({ isOrdered: true });
    const asker = new Asker(engine);
    await asker.set('map', 'key', 'value', 'a/type');
    await asker.set('map', 'key 2', 'value', 'a/type');
    const named: Buffer[] = [];
    const keep = ({ bytes, start, end }: Span) => named.push(bytes.subarray(start, end));
    const keeper = new Keeper(({ place }) => keep(place));
    const receiver = {
      onEntry: (key: Span, { value, contentType }: OperationResult) => {
        assert.equal(value.length, 5);
        for (const each of [key, value, contentType]) keep(each);
      },
      onName: keep,
      onResult: (answer: OperationResult) => keeper.onResult(answer),
    };
    engine.entries(span('map'), span('key'), LIST_START, 1, receiver);
    engine.names('map', span(''), LIST_START, 1, { ...receiver, onResult: () => {} });
    await keeper.answered;
    await asker.size('map');
    assert.equal(named.length, 5);
    for (const each of named) {
      assert.ok(each.length > 0 && each.equals(Buffer.alloc(each.length, SPOILT)));
    }
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
});
