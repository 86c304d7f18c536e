/**
 * The CRC-32 of zlib, of gzip and of PNG (ISO 3309). A call of zlib costs as much as 200 bytes here
 * (bench: checksums), so shorter ranges are computed with tables, a word per step (Kounavis and Berry,
 * 2005): calls for all cost 1.6 % of a POST with persistence. Steps of 16 bytes need 16 tables, which
 * take the place of other data in the processor's cache: they cost 1 % more.
 */
import { crc32 } from 'node:zlib';
import type { Viewed } from './copy-bytes.ts';

/** The polynomial, lowest bit first. */
const POLYNOMIAL = 0xedb88320;

/**
 * Returns the checksum of the bytes from `at` to `end`, as a signed number of 32 bits. `sum` is that of
 * the bytes before them, or a seed.
 */
export function checksum(from: Viewed, at: number, end: number, sum: number): number {
  return sumOf(from, at, end, sum, TABLE, crc32);
}

/** `checksum` without names from outside, as its text is also a part of another thread's program. */
export function sumOf(
  { bytes, view }: Viewed,
  at: number,
  end: number,
  sum: number,
  table: Int32Array,
  call: typeof crc32,
): number {
  // From this number of bytes on zlib is called.
  if (end - at >= 200) return call(bytes.subarray(at, end), sum >>> 0) | 0;
  let inverted = ~sum;
  let next = at;
  for (; next + 4 <= end; next += 4) {
    const word = view.getInt32(next, true) ^ inverted;
    inverted =
      table[768 + (word & 255)]! ^
      table[512 + ((word >>> 8) & 255)]! ^
      table[256 + ((word >>> 16) & 255)]! ^
      table[word >>> 24]!;
  }
  for (; next < end; next++) inverted = table[(bytes[next]! ^ inverted) & 255]! ^ (inverted >>> 8);
  return ~inverted;
}

/** The checksum of each byte value, followed by 0, 1, 2 and 3 zero bytes. */
export const TABLE = makeTable();

function makeTable(): Int32Array {
  const table = new Int32Array(4 * 256);
  for (let value = 0; value < 256; value++) {
    let crc = value;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[value] = crc;
  }
  for (let at = 256; at < table.length; at++) {
    const before = table[at - 256]!;
    table[at] = (before >>> 8) ^ table[before & 255]!;
  }
  return table;
}
