/**
 * Compares the checksum of the files and messages (src/base/checksum.ts) with a call of zlib, by length.
 * The figures decide from which length on zlib is called.
 */
import { crc32 } from 'node:zlib';
import { checksum } from '../src/base/checksum.ts';
import { ViewedBytes } from '../src/base/copy-bytes.ts';
import type { Bench } from './harness.ts';

const LENGTHS = [64, 150, 199, 200, 400, 1024, 4096, 65_536];

export const bench: Bench = {
  name: 'checksums',
  about: 'CRC-32 by length: with tables or zlib, as used for records, and by a call of zlib',
  run(harness) {
    const memory = new ViewedBytes(131_072);
    memory.bytes.fill('0123456789abcdefghijklmnopqrstuvwxyz');
    let sum = 0;
    for (const length of LENGTHS) {
      const measure = (name: string, of: (at: number) => number) => {
        harness.measure({
          name: `${name}, ${length} bytes`,
          operations: harness.pick(100, Math.ceil(50_000_000 / (length + 250))),
          batch: 16,
          run(first, count) {
            for (let done = 0; done < count; done++) sum ^= of(((first + done) & 1023) << 6);
          },
        });
      };
      measure('checksum', (at) => checksum(memory, at, at + length, sum));
      measure('crc32', (at) => crc32(memory.bytes.subarray(at, at + length), sum >>> 0));
    }
  },
};
