import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { percentEncoded } from '../../src/base/percent-encoding.ts';

describe('percentEncoded', () => {
  it('encodes a text and its bytes alike', () => {
    const ascii = String.fromCharCode(...Array(128).keys());
    for (const text of ['', 'a-Z_0.9~', ascii, 'ä€😀', '%2F/"\n\\']) {
      assert.equal(percentEncoded(text), encodeURIComponent(text));
      assert.equal(percentEncoded(Buffer.from(text)), encodeURIComponent(text));
    }
  });

  it('encodes bytes that are not UTF-8, and every byte has a text of its own', () => {
    assert.equal(percentEncoded(Buffer.from([0xff, 0x41, 0xc3, 0x00])), '%FFA%C3%00');
    const bytes = Buffer.from([...Array(256).keys()]);
    const encoded = percentEncoded(bytes);
    assert.match(encoded, /^[!-~]*$/);
    assert.deepEqual(Buffer.from(unescape(encoded), 'latin1'), bytes);
  });
});
