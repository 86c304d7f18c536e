/**
 * Buffers for contents: long enough but hardly longer, each with one owner, reused, few of them
 * retained.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ContentBuffers } from '../../src/http/content-buffers.ts';
import { client, get, post } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const MIB = 1_048_576;

describe('a buffer for content', () => {
  it('is long enough, hardly longer, and not shared, in any order of acquiring and releasing', () => {
    const bytes = fc.oneof(
      fc.integer({ min: 1, max: 2 * MIB }),
      fc.integer({ min: 4090, max: 4100 }),
      fc.integer({ min: 65_530, max: 81_930 }),
    );
    const step = fc.oneof(fc.record({ take: bytes }), fc.record({ give: fc.nat() }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const buffers = new ContentBuffers();
        const taken: Buffer[] = [];
        for (const each of steps) {
          if ('take' in each) {
            const buffer = buffers.acquire(each.take);
            assert(buffer.length >= each.take);
            assert(buffer.length < each.take * 1.25);
            assert(!taken.includes(buffer));
            taken.push(buffer);
          } else if (taken.length > 0) {
            const [given] = taken.splice(each.give % taken.length, 1);
            buffers.release(given!);
          }
        }
      }),
    );
  });

  it('is reused for contents of similar length', () => {
    const buffers = new ContentBuffers();
    const buffer = buffers.acquire(65_000);
    buffers.release(buffer);
    assert.equal(buffers.acquire(60_000), buffer);
    buffers.release(buffer);
    assert.notEqual(buffers.acquire(50_000), buffer);
  });

  it('has exactly the length of a short or very long content, and is not retained', () => {
    const buffers = new ContentBuffers();
    for (const bytes of [4095, MIB + 1]) {
      const buffer = buffers.acquire(bytes);
      assert.equal(buffer.length, bytes);
      buffers.release(buffer);
      assert.notEqual(buffers.acquire(bytes), buffer);
    }
  });

  it('is retained up to a total of 4 MiB', () => {
    const buffers = new ContentBuffers();
    const some = Array.from({ length: 6 }, () => buffers.acquire(MIB));
    for (const each of some) buffers.release(each);
    const again = Array.from({ length: 6 }, () => buffers.acquire(MIB));
    assert.equal(again.filter((each) => some.includes(each)).length, 4);
    for (const each of again.slice(0, 2)) buffers.release(each);
    assert.equal(buffers.acquire(MIB), again[1]);
  });
});

describe('spare buffers', () => {
  it('are freed for one of another length if there is no room, including the shortest and longest', () => {
    const buffers = new ContentBuffers();
    for (const bytes of [MIB, 4096, MIB]) {
      const some = Array.from({ length: (4 * MIB) / bytes }, () => buffers.acquire(bytes));
      for (const each of some) buffers.release(each);
      const other = buffers.acquire(65_536);
      buffers.release(other);
      assert.equal(buffers.acquire(65_536), other);
      assert(!some.includes(buffers.acquire(bytes)));
      buffers.release(other);
    }
  });
});

describe('contents received in parts', () => {
  it('are stored as sent, whatever other connections send in between', () => {
    const bytes = fc.oneof(
      fc.integer({ min: 1, max: 65_000 }),
      fc.integer({ min: 20_000, max: 20_480 }),
    );
    const content = fc.record({ connection: fc.nat(3), bytes });
    const parts = fc.array(fc.integer({ min: 1, max: 15_000 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(fc.array(content, { minLength: 8, maxLength: 20 }), parts, (contents, parts) => {
        const first = client(createTestServer({ bodyBytesMax: 65_000 }));
        const clients = [first, first.another(), first.another(), first.another()];
        const rest = clients.map((_, connection) =>
          contents
            .map(({ connection: own, bytes }, index) =>
              own === connection ? post(`maps/m/k${index}`, contentOf(index, bytes)) : '',
            )
            .join(''),
        );
        for (let turn = 0; rest.some((text) => text !== ''); turn++) {
          const connection = turn % clients.length;
          const length = parts[turn % parts.length]!;
          clients[connection]?.socket.receive(rest[connection]!.slice(0, length));
          rest[connection] = rest[connection]!.slice(length);
        }
        const reader = first.another();
        for (const index of contents.keys()) reader.socket.receive(get(`maps/m/k${index}`));
        const values = reader.responses().map(({ body }) => body);
        assert.deepEqual(
          values,
          contents.map(({ bytes }, index) => contentOf(index, bytes)),
        );
      }),
      { numRuns: 4 },
    );
  });
});

/** Returns a content in which every part contains the index and the position. */
function contentOf(index: number, bytes: number): string {
  return Array.from({ length: Math.ceil(bytes / 8) }, (_, word) =>
    `${index}`.padStart(2, '0').concat(`${word}`.padStart(6, '0')),
  )
    .join('')
    .slice(0, bytes);
}
