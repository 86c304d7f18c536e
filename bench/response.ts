/**
 * Ways to put bytes into a response buffer, by length. They decide what src/http/arena.ts does: a loop
 * for short bytes from elsewhere, a view for longer ones, copyWithin for texts that are in the buffer
 * already.
 */
import type { Bench } from './harness.ts';

const LENGTHS = [4, 16, 32, 64, 100, 1000];
const BUFFER_BYTES = 65536;

type Copy = (target: Buffer, at: number, source: Buffer, length: number) => void;

const WAYS: Readonly<Record<string, Copy>> = {
  loop(target, at, source, length) {
    for (let index = 0; index < length; index++) target[at + index] = source[index] as number;
  },
  view(target, at, source, length) {
    target.set(source.subarray(0, length), at);
  },
  within(target, at, _, length) {
    target.copyWithin(at, 0, length);
  },
};

export const bench: Bench = {
  name: 'response',
  about: 'bytes put into a response buffer: by a loop, by a view, from within the buffer',
  run(harness) {
    const target = Buffer.alloc(BUFFER_BYTES);
    const source = Buffer.alloc(BUFFER_BYTES);
    for (const length of LENGTHS) {
      for (const [name, copy] of Object.entries(WAYS)) {
        harness.measure({
          name: `${name}, ${length} bytes`,
          operations: harness.pick(1000, 1_000_000),
          batch: 64,
          run(first, count) {
            for (let done = 0; done < count; done++) {
              copy(target, 2048 + ((first + done) & 4095), source, length);
            }
          },
        });
      }
    }
  },
};
