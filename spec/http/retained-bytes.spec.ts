/** Bytes of requests that outlive their turn: they are unchanged, and there is one place per slot. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ViewedBytes } from '../../src/base/copy-bytes.ts';
import { Span } from '../../src/base/span.ts';
import {
  type BytesRetainer,
  endRetention,
  NO_PLACE,
  Places,
} from '../../src/http/retained-bytes.ts';

/** Length beyond a place, and beyond a buffer that is reused for later requests. */
const LONG = 300;
const VERY_LONG = 3000;
/** Size of a buffer of places, in bytes. */
const BUFFER_BYTES = 12_288;

function retainer(): BytesRetainer {
  return { place: NO_PLACE, longBytes: undefined };
}

/** Returns a request of this many bytes, which retains them in two spans and frees them. */
function keep(places: Places, owner: BytesRetainer, length: number, fill = 1): Buffer {
  const input = ViewedBytes.copyOf(Buffer.alloc(length, fill));
  const middle = length >> 1;
  const spans = [
    new Span().setViewed(input.bytes, input.view, 0, middle),
    new Span().setViewed(input.bytes, input.view, middle, length),
  ];
  const isToEnd = places.begin(owner, length);
  for (const span of spans) places.retain(span);
  input.bytes.fill(0);
  const kept = Buffer.concat(spans.map((span) => span.toBuffer()));
  if (isToEnd) endRetention(owner);
  return kept;
}

describe('retained bytes', () => {
  it('are unchanged, of any length, whatever others retain meanwhile', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 2, maxLength: 200 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 0, max: 100 }), (each, countMax) => {
        const places = new Places(countMax);
        const kept = each.map((length, fill) => {
          const input = ViewedBytes.copyOf(Buffer.alloc(length, fill));
          const span = new Span().setViewed(input.bytes, input.view, 0, length);
          places.begin(retainer(), length);
          places.retain(span);
          input.bytes.fill(255);
          return span;
        });
        for (const [fill, span] of kept.entries()) {
          assert.deepEqual(span.toBuffer(), Buffer.alloc(each[fill]!, fill));
        }
      }),
    );
  });

  it('have one place per retainer, even if long and short ones alternate', () => {
    const places = new Places(1000);
    const owners = Array.from({ length: 64 }, retainer);
    for (let round = 0; round < 20; round++) {
      for (const owner of owners) {
        for (const length of [10, VERY_LONG, 20, LONG, 30]) {
          assert.equal(keep(places, owner, length, round).length, length);
        }
      }
    }
    assert.equal(places.bytes, BUFFER_BYTES);
    keep(places, retainer(), 10);
    assert.equal(places.bytes, 2 * BUFFER_BYTES);
  });

  it('free their place once when the retainer is discarded', () => {
    const places = new Places(1000);
    for (let round = 0; round < 1000; round++) {
      const owner = retainer();
      keep(places, owner, 10);
      places.release(owner);
      assert.equal(owner.place, NO_PLACE);
    }
    assert.equal(places.bytes, BUFFER_BYTES);
    const [one, other] = [retainer(), retainer()];
    for (const owner of [one, other]) keep(places, owner, 10);
    assert.notEqual(one.place, other.place);
  });

  it('have a separate buffer if no place is left', () => {
    const places = new Places(64);
    const owners = Array.from({ length: 70 }, retainer);
    for (const [fill, owner] of owners.entries()) {
      assert.deepEqual(keep(places, owner, 100, fill), Buffer.alloc(100, fill));
    }
    assert.equal(places.bytes, BUFFER_BYTES);
    const without = owners.filter(({ place }) => place === NO_PLACE);
    assert.equal(without.length, 6);
    for (const { longBytes } of without) assert(longBytes !== undefined);
    places.release(owners[0]!);
    keep(places, without[0]!, 100);
    assert.equal(without[0]?.place, 0, 'it does not get a place later');
  });

  it('reuse a long buffer, but not a very long one', () => {
    const places = new Places(10);
    const owner = retainer();
    keep(places, owner, LONG);
    const { longBytes } = owner;
    keep(places, owner, 10);
    keep(places, owner, LONG - 1);
    assert.equal(owner.longBytes, longBytes);
    keep(places, owner, VERY_LONG);
    assert.equal(owner.longBytes, undefined);
  });
});
