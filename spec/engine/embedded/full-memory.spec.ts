/**
 * Covers src/engine/embedded/slabs.ts and src/engine/embedded/maps.ts. An engine whose
 * memory is used up: operations that still succeed, and those that may exceed the limit.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APPLIED, FOUND, MEMORY_FULL } from '../../../src/engine/engine.ts';
import { Asker } from '../results.ts';
import { engineOf } from './components-of.ts';

const BYTES_MAX = 4_194_304;
/** Limit for the memory of all waiting takes beyond max-memory, in bytes. */
const WAITING_BYTES_MAX = 1_048_576;

function fullEngine() {
  const { clock, engine, ask } = engineOf({ partitionCount: 271, memoryBytesMax: BYTES_MAX });
  // The open extents are also filled.
  for (let length = 8192; length >= 8; length >>= 1) {
    for (let key = 0, misses = 0; misses < 600; key++) {
      const isFull = ask.set('m', `${length} ${key}`, Buffer.alloc(length)).outcome === MEMORY_FULL;
      misses = isFull ? misses + 1 : 0;
    }
  }
  return { engine, ask, clock };
}

test('a take waits on queues that do not exist when memory is used up', async () => {
  const { engine, ask, clock } = fullEngine();
  const asker = new Asker(engine);
  const full = engine.memoryBytes;
  const waiting = Array.from({ length: 1000 }, (_, index) => asker.wait(`queue ${index}`, 1000));
  assert.ok(waiting.every(({ keeper }) => keeper.seen === undefined));
  assert.ok(engine.memoryBytes < full + WAITING_BYTES_MAX);
  // A take gets its item once there is memory for the item.
  ask.clear('m');
  clock.advance(500);
  assert.equal(ask.offer('queue 7', Buffer.from('an item')).outcome, APPLIED);
  clock.settle();
  assert.equal(waiting[7]?.keeper.seen?.outcome, FOUND);
  clock.advance(1000);
  assert.ok(waiting.every(({ keeper }) => keeper.seen !== undefined));
  assert.ok(engine.memoryBytes < full);
});

test('waiting takes exceed the memory limit by at most 1 MiB', async () => {
  const { engine } = fullEngine();
  const asker = new Asker(engine);
  const name = 'n'.repeat(4000);
  let count = 0;
  for (;;) {
    const { keeper } = asker.wait(`${name}${count}`, 1000);
    if (keeper.seen !== undefined) {
      assert.equal(keeper.seen.outcome, MEMORY_FULL);
      break;
    }
    count++;
  }
  assert.ok(count > 200 && count < 270, `${count} takes`);
  assert.ok(engine.memoryBytes <= BYTES_MAX + WAITING_BYTES_MAX);
});
