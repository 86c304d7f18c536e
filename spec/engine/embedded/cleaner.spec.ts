import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import type { Parts } from '../../../src/engine/embedded/parts.ts';
import { SEGMENT_BYTES } from '../../../src/engine/embedded/slabs.ts';
import { APPLIED } from '../../../src/engine/engine.ts';
import { span } from '../answers.ts';
import { partsOf } from './parts-of.ts';

/** Live bytes for each byte of the segments handed out; indexes are left out by the caller. */
function utilisation(parts: Parts, indexBytes: number): number {
  let live = 0;
  for (let number = 0; number < parts.store.partitionCount; number++) {
    live += parts.store.partition(number)?.log.liveBytes ?? 0;
  }
  return live / (parts.store.meter.bytes - indexBytes);
}

/** The index of one partition of so many entries, and the pages of the tables of names. */
const INDEX_BYTES = 8 * 32768 + 4 * 4096;

describe('Cleaner', () => {
  it('keeps segments three quarters full, whatever is overwritten and deleted', () => {
    const { parts } = partsOf(1);
    const random = new Random(7);
    const count = 20_000;
    const map = span('m');
    const type = span('text/plain');
    const set = (index: number) =>
      parts.maps.set(map, span(`key${index}`), span(Buffer.alloc(50 + random.below(101))), type);
    for (let index = 0; index < count; index++) set(index);
    for (let round = 0; round < 10; round++) {
      for (let step = 0; step < count; step++) {
        const index = random.below(count);
        if (random.below(5) === 0) parts.maps.delete(map, span(`key${index}`));
        else set(index);
      }
      const share = utilisation(parts, INDEX_BYTES);
      assert.ok(share >= 0.75, `${share} after round ${round}`);
    }
  });

  it('empties segments that only deletes have made sparse', () => {
    const { parts } = partsOf(1);
    const map = span('m');
    const none = span('');
    for (let index = 0; index < 20_000; index++) {
      parts.maps.set(map, span(`key${index}`), span(Buffer.alloc(100)), none);
    }
    for (let index = 0; index < 20_000; index++) {
      if (index % 10 !== 0) parts.maps.delete(map, span(`key${index}`));
    }
    assert.ok(utilisation(parts, INDEX_BYTES) > 0.6);
    for (let index = 0; index < 20_000; index += 10) {
      assert.notEqual(parts.maps.find(map, span(`key${index}`)), 0);
    }
  });

  it('moves names of maps and content types, items and rings of queues', () => {
    const { parts } = partsOf(1);
    const none = span('');
    const names = Array.from({ length: 500 }, (_, index) => `${index}`);
    const place = (name: string) => {
      const id = parts.queues.find(span(name));
      return parts.queues.address(id, parts.queues.choose(id, 0));
    };
    const places = () => names.map((name) => place(`queue ${name}`));
    for (const name of names) {
      parts.maps.set(span(`map ${name}`), span('k'), span(name), span(`type ${name}`));
      parts.queues.offer(span(`queue ${name}`), span(name), span(`type ${name}`));
      // Records that go lie between those that stay.
      for (let index = 0; index < 10; index++) {
        parts.maps.set(span('m'), span(`${name} ${index}`), span(Buffer.alloc(1000)), none);
      }
    }
    const before = places();
    for (const name of names) {
      for (let index = 0; index < 10; index++)
        parts.maps.delete(span('m'), span(`${name} ${index}`));
    }
    const moved = places().filter((address, index) => address !== before[index]).length;
    assert.ok(moved > names.length / 2);
    for (const name of names) {
      const { blank } = parts.answers;
      blank.setFound(parts.maps.find(span(`map ${name}`), span('k')), 0, 0);
      assert.equal(blank.value.toBuffer().toString(), name);
      assert.equal(blank.contentType.toBuffer().toString(), `type ${name}`);
      blank.setFound(place(`queue ${name}`), 0, 0);
      assert.equal(blank.value.toBuffer().toString(), name);
      assert.equal(blank.contentType.toBuffer().toString(), `type ${name}`);
    }
  });

  it('wins back space with what is kept back when memory is full', () => {
    const { parts } = partsOf(1, { memoryBytesMax: 40 * SEGMENT_BYTES });
    const map = span('m');
    const none = span('');
    let count = 0;
    while (parts.maps.set(map, span(`${count}`), span(Buffer.alloc(100)), none) === APPLIED)
      count++;
    for (let index = 0; index < count; index += 2) parts.maps.delete(map, span(`${index}`));
    let more = 0;
    while (parts.maps.set(map, span(`more ${more}`), span(Buffer.alloc(100)), none) === APPLIED)
      more++;
    assert.ok(more > count / 3, `${more} of ${count}`);
  });

  it('empties slabs, also of full segments, where much is free elsewhere', () => {
    const { parts, clock } = partsOf(7);
    const none = span('');
    const value = (index: number) => span(Buffer.alloc(1000, index % 251));
    const write = (map: string, index: number) =>
      parts.maps.set(span(map), span(`${index}`), value(index), none);
    // Three slabs, in each of which some of the staying records fill segments of their own.
    for (let index = 0; index < 90_000; index++) write(index % 1000 < 100 ? 'stay' : 'go', index);
    assert.equal(parts.store.pool.slabCount, 3);
    parts.maps.clear(span('go'));
    clock.advance(20_000);
    for (let index = 0; index < 9000; index++) write('stay', index);
    clock.advance(20_000);
    assert.equal(parts.store.pool.slabCount, 1);
    for (let index = 0; index < 90_000; index++) {
      if (index % 1000 >= 100) continue;
      const address = parts.maps.find(span('stay'), span(`${index}`));
      assert.notEqual(address, 0);
      parts.answers.blank.setFound(address, 0, 0);
      assert.ok(parts.answers.blank.value.toBuffer().equals(Buffer.alloc(1000, index % 251)));
    }
  });

  it('moves indexes out of the slabs that it empties', () => {
    const { parts, clock } = partsOf(1);
    const none = span('');
    const write = (map: string, index: number, bytes: number) =>
      parts.maps.set(span(map), span(`${index}`), span(Buffer.alloc(bytes, index % 251)), none);
    // The index takes its last place in the third slab, and the staying records are too many for a
    // smaller one.
    for (let index = 0; index < 90_000; index++) write('go', index, 1000);
    for (let index = 0; index < 60_000; index++) write('stay', index, 8);
    assert.equal(parts.store.pool.slabCount, 3);
    const before = parts.store.partition(0)!.index!;
    const { bits, words } = before;
    parts.maps.clear(span('go'));
    clock.advance(20_000);
    for (let index = 0; index < 9000; index++) write('stay', index, 8);
    clock.advance(20_000);
    assert.equal(parts.store.pool.slabCount, 1);
    assert.equal(before.bits, bits);
    assert.notEqual(before.words, words);
    for (let index = 0; index < 60_000; index++) {
      const address = parts.maps.find(span('stay'), span(`${index}`));
      assert.notEqual(address, 0);
      parts.answers.blank.setFound(address, 0, 0);
      assert.ok(parts.answers.blank.value.toBuffer().equals(Buffer.alloc(8, index % 251)));
    }
  });

  it('hands nothing back while a store only grows', () => {
    const { parts, clock } = partsOf(3);
    const tables = new Set<Int32Array>();
    for (let index = 0; index < 50_000; index++) {
      parts.maps.set(span('m'), span(`${index}`), span('value'), span('text/plain'));
      for (let number = 0; number < 3; number++) {
        const words = parts.store.partition(number)?.index?.words;
        if (words !== undefined) tables.add(words);
      }
    }
    clock.advance(20_000);
    assert.equal(tables.size, 3 * 12);
    // No table reads memory that was handed back.
    assert.ok([...tables].every(({ length }) => length > 0));
  });
});
