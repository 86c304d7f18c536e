/**
 * Compares ways to copy short bytes into a buffer, by length. The figures decide where the code
 * uses a loop instead of a call: responses (src/http/arena.ts), input of the parser (llhttp.ts),
 * records and their checksums (src/persistence), keys of a program (src/local/plain-bytes.ts). They
 * also decide which lengths are copied out of a memory with a DataView (src/base/copy-bytes.ts).
 */
import { copySpan, ViewedBytes } from '../src/base/copy-bytes.ts';
import { Span } from '../src/base/span.ts';
import type { Bench } from './harness.ts';

const LENGTHS = [8, 24, 64, 200, 400, 1000];
const BUFFER_BYTES = 65536;

interface Source {
  readonly bytes: Buffer;
  readonly words: Int32Array;
  readonly view: DataView;
  readonly text: string;
}

const SPAN = new Span();

type Copy = (target: Source, at: number, source: Source, length: number) => void;

/** `at` and `length` are multiples of 4. */
const WAYS: Readonly<Record<string, Copy>> = {
  'loop over bytes'({ bytes: target }, at, { bytes }, length) {
    for (let index = 0; index < length; index++) target[at + index] = bytes[index]!;
  },
  'loop over words'({ words: target }, at, { words }, length) {
    for (let index = 0; index << 2 < length; index++) target[(at >> 2) + index] = words[index]!;
  },
  'set, with a view'({ bytes: target }, at, { bytes }, length) {
    target.set(bytes.subarray(0, length), at);
  },
  'loop over words of views, up to 128 bytes'(target, at, { bytes, view }, length) {
    copySpan(target, at, SPAN.setViewed(bytes, view, 0, length));
  },
  copy({ bytes: target }, at, { bytes }, length) {
    bytes.copy(target, at, 0, length);
  },
  'copyWithin, from the same buffer'({ bytes: target }, at, _, length) {
    target.copyWithin(at, 0, length);
  },
  'loop over characters'({ bytes: target }, at, { text }, length) {
    for (let index = 0; index < length; index++) target[at + index] = text.charCodeAt(index);
  },
  'Buffer.from, of a text'({ bytes: target }, at, { text }) {
    target[at] = Buffer.from(text)[0]!;
  },
  'write, of a text'({ bytes: target }, at, { text }, length) {
    target.write(text, at, length, 'latin1');
  },
};

export const bench: Bench = {
  name: 'short-copies',
  about:
    'short bytes copied into a buffer: by loops over bytes, words and characters, and by calls',
  run(harness) {
    const target = sourceOf(BUFFER_BYTES);
    for (const length of LENGTHS) {
      const source = sourceOf(length);
      for (const [name, copy] of Object.entries(WAYS)) {
        harness.measure({
          name: `${name}, ${length} bytes`,
          operations: harness.pick(1000, 200_000),
          batch: 64,
          run(first, count) {
            for (let done = 0; done < count; done++) {
              copy(target, 8192 + (((first + done) & 1023) << 2), source, length);
            }
          },
        });
      }
    }
  },
};

/**
 * Bytes in a separate memory, also as words, and `length` of them as text: a range of the memory.
 */
function sourceOf(length: number): Source {
  const { bytes, view } = new ViewedBytes(BUFFER_BYTES);
  bytes.fill('v');
  return { bytes, view, words: wordsOf(bytes), text: bytes.toString('latin1', 0, length) };
}

function wordsOf({ buffer, byteOffset, length }: Buffer): Int32Array {
  return new Int32Array(buffer, byteOffset, length >> 2);
}
