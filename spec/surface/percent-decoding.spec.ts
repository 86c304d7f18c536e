/** Percent-decoding of path parts, bytes to bytes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Span } from '../../src/base/span.ts';
import { RequestHead } from '../../src/http/request-head.ts';
import {
  decodeFormValue,
  decodeLongFormValue,
  hasValidEscapes,
  readPart,
} from '../../src/surface/percent-decoding.ts';

function isWhole(text: string): boolean {
  return hasValidEscapes(Buffer.from(text), 0, text.length);
}

describe('hasValidEscapes', () => {
  it('requires two hexadecimal digits after each percent sign, within the part', () => {
    for (const text of ['', 'abc', '%00', '%aF%Fa', 'a%2fb', '%25%']) {
      assert.equal(isWhole(text), text !== '%25%', text);
    }
    for (const text of ['%', '%4', '%zz', '%4g', '%g4', '%%41', 'a%']) assert(!isWhole(text), text);
    assert(!hasValidEscapes(Buffer.from('%41'), 0, 2), 'digits beyond the end were accepted');
  });
});

describe('readPart', () => {
  /** Returns the parts of a path that begins at any offset, joined by slashes. */
  function partsOf(path: string): Buffer[] {
    const head = new RequestHead();
    head.target.set(Buffer.from(`GET ${path}`, 'latin1'), 4, 4 + path.length);
    head.escaped = path.includes('%');
    const part = new Span();
    let start = 0;
    return path.split('/').map((text) => {
      const end = start + text.length;
      const read = readPart(head, start, end, part).toBuffer();
      start = end + 1;
      return read;
    });
  }

  it('decodes every byte of any encoded name', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1 }), { minLength: 1 }), (names) => {
        const path = names.map((name) => [...name].map(encode).join('')).join('/');
        assert.deepEqual(
          partsOf(path).map((part) => [...part]),
          names.map((name) => [...name]),
        );
      }),
    );
  });

  it('does not change a plus, and decodes only once', () => {
    assert.deepEqual(partsOf('a+%2541/b').map(String), ['a+%41', 'b']);
  });

  it('is the received text if no part has an escape', () => {
    assert.deepEqual(partsOf('a+b/c').map(String), ['a+b', 'c']);
  });
});

/** Returns the byte with an escape, or raw if it is even and may be raw. */
function encode(byte: number): string {
  if (byte > 0x2f && byte < 0x7f && byte % 2 === 0) return String.fromCharCode(byte);
  return `%${byte.toString(16).padStart(2, '0')}`;
}

describe('decodeLongFormValue', () => {
  it('agrees with decodeFormValue, with an escape at every offset around the end of a piece', async () => {
    for (let before = 16_370; before < 16_390; before++) {
      const value = Buffer.from(`${'x'.repeat(before)}+%25%2b%00y${'z'.repeat(20_000)}`);
      const decoded = await decodeLongFormValue(value);
      assert.equal(decoded?.compare(decodeFormValue(value) as Buffer), 0, `${before} before`);
      assert.equal(decoded?.toString('latin1', before, before + 5), ' %+\0y');
    }
  });

  it('refuses an invalid escape at any offset', async () => {
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
