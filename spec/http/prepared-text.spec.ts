/** Prepared texts are copied without a change, and compared by all of their bytes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { isPreparable, PreparedText } from '../../src/http/prepared-text.ts';

const LATIN_1 = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
const PREPARABLE = LATIN_1.filter((character) => isPreparable(character));

function prepared(content: string): PreparedText {
  const text = new PreparedText();
  text.set(content);
  return text;
}

/** Returns spans of the bytes: one at a word, with the words, and one at any place. */
function spansOf(content: string): Span[] {
  const bytes = Buffer.alloc(content.length + 8, 0x20);
  bytes.write(content, 4, 'latin1');
  const atWord = new Span().set(Buffer.from(bytes.buffer), 0, 0);
  const memory = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  memory.set(bytes);
  atWord.set(Buffer.from(memory.buffer), 4, 4 + content.length);
  atWord.words = new Int32Array(memory.buffer);
  return [atWord, new Span().set(bytes, 4, 4 + content.length)];
}

describe('a prepared text', () => {
  it('may have every character but those of a NaN', () => {
    const others = LATIN_1.filter((character) => !PREPARABLE.includes(character));
    assert.deepEqual(others, ['\x7f', '\xff']);
    assert(!isPreparable('a\u0100') && isPreparable(''));
  });

  it('is copied without a change to any place', () => {
    for (let start = 0; start < PREPARABLE.length; start++) {
      const content = [...PREPARABLE.slice(start), ...PREPARABLE].slice(0, start % 40).join('');
      const target = Buffer.alloc(64, 0x2a);
      const view = new DataView(target.buffer, target.byteOffset, target.length);
      const text = prepared(content);
      text.copyTo(view, start % 8);
      const end = (start % 8) + text.length;
      assert.equal(text.length, content.length);
      assert.equal(target.toString('latin1', start % 8, end), content);
      assert.equal(target.toString('latin1', 0, start % 8), '*'.repeat(start % 8));
      assert.equal(target.toString('latin1', end + 7), '*'.repeat(64 - end - 7));
    }
  });

  it('keeps eight equal bytes, each of which could be part of a NaN', () => {
    for (const character of PREPARABLE) {
      const content = character.repeat(16);
      const target = Buffer.alloc(16);
      prepared(content).copyTo(new DataView(target.buffer, target.byteOffset, 16), 0);
      assert.equal(target.toString('latin1'), content);
    }
  });

  it('equals the spans of its bytes only', () => {
    for (let length = 0; length < 13; length++) {
      const content = 'text/plain;ab'.slice(0, length);
      const text = prepared(content);
      for (const span of spansOf(content)) assert(text.is(span));
      for (const span of spansOf(`${content}x`)) assert(!text.is(span));
      for (let at = 0; at < length; at++) {
        const other = `${content.slice(0, at)}X${content.slice(at + 1)}`;
        for (const span of spansOf(other)) assert(!text.is(span), other);
      }
    }
  });
});
