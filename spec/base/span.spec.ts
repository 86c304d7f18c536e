/** Comparison of spans with bytes and with prefixes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Span } from '../../src/base/span.ts';

/** Lengths below and above the limit of the loop over bytes. */
const LENGTHS = [0, 1, 2, 39, 40, 41, 64, 200];

describe('Span.is', () => {
  for (const length of LENGTHS) {
    const own = Buffer.from(Array.from({ length }, (_, index) => index));
    const span = new Span().set(
      Buffer.concat([Buffer.of(7, 7, 7), own, Buffer.of(7)]),
      3,
      3 + length,
    );

    it(`is true for the same ${length} bytes at another offset`, () => {
      assert.ok(span.is(own));
      assert.ok(span.is(Buffer.from(own)));
    });

    it(`is false for other bytes and for lengths other than ${length}`, () => {
      for (let index = 0; index < length; index++) {
        const other = Buffer.from(own);
        other[index]! ^= 0x80;
        assert.ok(!span.is(other), `byte ${index}`);
      }
      assert.ok(!span.is(Buffer.concat([own, Buffer.of(7)])));
      if (length > 0) assert.ok(!span.is(own.subarray(1)) && !span.is(own.subarray(0, -1)));
    });
  }
});

describe('Span.beginsWith', () => {
  for (const length of LENGTHS) {
    it(`is true for prefixes of ${length} bytes at another offset, and for no others`, () => {
      const own = Buffer.from(Array.from({ length: length + 3 }, (_, index) => index));
      const span = new Span().set(Buffer.concat([Buffer.of(7), own, Buffer.of(7)]), 1, length + 4);
      const prefix = Buffer.concat([Buffer.of(9, 9), own.subarray(0, length), Buffer.of(9)]);
      assert.ok(span.beginsWith(new Span().set(prefix, 2, 2 + length)));
      for (let index = 2; index < 2 + length; index++) {
        const other = Buffer.from(prefix);
        other[index]! ^= 0x80;
        assert.ok(!span.beginsWith(new Span().set(other, 2, 2 + length)), `byte ${index}`);
      }
      assert.ok(span.beginsWith(Span.of(own)));
      assert.ok(!span.beginsWith(Span.of(Buffer.concat([own, Buffer.of(7)]))));
    });
  }
});
