/** Covers src/engine/decimal.ts: the text of integers up to 2^53-1. Sums are in additions.case.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { naturalIn, writeNatural } from '../../src/engine/decimal.ts';

const HALF = 10 ** 8;
const HIGH_MAX = Math.floor(Number.MAX_SAFE_INTEGER / HALF);

/** Numbers of each length, around the parts in which a long number is written, and random ones. */
function* numbers(): Generator<number> {
  const random = new Random(1);
  for (let power = 1; power <= 10 ** 15; power *= 10) yield* [power - 1, power, power + 1];
  for (let part = 1; part <= HIGH_MAX; part *= 2)
    yield* [part * HALF - 1, part * HALF, part * HALF + 1];
  for (let part = HIGH_MAX - 1000; part <= HIGH_MAX; part++)
    yield* [part * HALF - 1, part * HALF, part * HALF + 1];
  for (let count = 0; count < 20_000; count++) {
    const part = random.below(HIGH_MAX);
    yield* [part * HALF - 1, part * HALF + random.below(HALF), random.below(2 ** (count % 31))];
  }
  yield* [0, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER];
}

describe('writeNatural', () => {
  it('writes the digits that naturalIn reads', () => {
    const bytes = Buffer.alloc(32);
    for (const value of numbers()) {
      if (value < 0) continue;
      bytes.fill('x');
      const end = writeNatural(value, bytes, 3);
      assert.equal(bytes.toString('latin1', 0, end + 1), `xxx${value}x`);
      assert.equal(naturalIn(bytes, 3, end), value);
    }
  });
});

describe('naturalIn', () => {
  it('reads up to 16 digits, also with zeros before them', () => {
    for (const [text, value] of [
      ['007', 7],
      ['0000000000000000', 0],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ] as const)
      assert.equal(naturalIn(Buffer.from(text), 0, text.length), value);
  });

  it('refuses everything else', () => {
    const others = [
      '',
      '-1',
      '+1',
      ' 1',
      '1 ',
      '1.5',
      '1e3',
      '0x1',
      '/',
      ':',
      'é',
      '00000000000000001',
    ];
    for (const text of [...others, '9007199254740992', '9007199254740993', '9999999999999999']) {
      const bytes = Buffer.from(text);
      assert.ok(Number.isNaN(naturalIn(bytes, 0, bytes.length)), text);
    }
  });
});
