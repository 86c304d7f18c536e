/** Percent-encoding of path parts, bytes to bytes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Span } from '../../src/base/span.ts';
import {
  decodeFormValue,
  decodeLongFormValue,
  hasOnlyWholeEscapes,
  PercentDecoder,
} from '../../src/rest/percent.ts';

function isWhole(text: string): boolean {
  return hasOnlyWholeEscapes(Buffer.from(text), 0, text.length);
}

describe('hasOnlyWholeEscapes', () => {
  it('wants two hexadecimal digits behind each percent sign, within the part', () => {
    for (const text of ['', 'abc', '%00', '%aF%Fa', 'a%2fb', '%25%']) {
      assert.equal(isWhole(text), text !== '%25%', text);
    }
    for (const text of ['%', '%4', '%zz', '%4g', '%g4', '%%41', 'a%']) assert(!isWhole(text), text);
    assert(!hasOnlyWholeEscapes(Buffer.from('%41'), 0, 2), 'the digits lie behind the end');
  });
});

describe('PercentDecoder', () => {
  it('gives back every byte of any encoded name, several in one buffer', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1 }), { maxLength: 4 }), (names) => {
        const decoder = new PercentDecoder(1000);
        const spans = names.map((name) => {
          const encoded = Buffer.from([...name].map(encode).join(''), 'latin1');
          const span = new Span();
          decoder.decode(encoded, 0, encoded.length, span);
          return span;
        });
        for (const [index, span] of spans.entries()) {
          assert.deepEqual([...span.toBuffer()], [...(names[index] ?? [])]);
        }
      }),
    );
  });

  it('leaves a plus alone and decodes once', () => {
    const decoder = new PercentDecoder(100);
    const span = new Span();
    decoder.decode(Buffer.from('a+%2541'), 0, 7, span);
    assert.equal(span.toBuffer().toString(), 'a+%41');
  });
});

/** Every other byte raw, where it may stand raw. */
function encode(byte: number): string {
  if (byte > 0x2f && byte < 0x7f && byte % 2 === 0) return String.fromCharCode(byte);
  return `%${byte.toString(16).padStart(2, '0')}`;
}

describe('decodeLongFormValue', () => {
  it('reads what decodeFormValue reads, with an escape at any place of a cut', async () => {
    for (let before = 16_370; before < 16_390; before++) {
      const value = Buffer.from(`${'x'.repeat(before)}+%25%2b%00y${'z'.repeat(20_000)}`);
      const decoded = await decodeLongFormValue(value);
      assert.equal(decoded?.compare(decodeFormValue(value) as Buffer), 0, `${before} before`);
      assert.equal(decoded?.toString('latin1', before, before + 5), ' %+\0y');
    }
  });

  it('refuses a bad escape at any place', async () => {
    for (let before = 16_376; before < 16_390; before++) {
      for (const bad of ['%', '%4', '%zz', '%4g']) {
        const value = Buffer.from(`${'x'.repeat(before)}${bad}`);
        assert.equal(await decodeLongFormValue(value), undefined, `${before} before ${bad}`);
        const longer = Buffer.concat([value, Buffer.from('-'.repeat(20_000))]);
        assert.equal(await decodeLongFormValue(longer), undefined, `${before} before ${bad}-`);
      }
    }
    assert.equal((await decodeLongFormValue(Buffer.alloc(0)))?.length, 0);
  });
});
