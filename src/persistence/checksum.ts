/**
 * CRC-32 (IEEE 802.3, as in zlib), over whole 32-bit words. Short stretches are summed here, eight
 * bytes a step by table (Kounavis and Berry, 2005), long ones by zlib, whose call costs as much as 300
 * bytes but which is four times as fast from then on. CRC-32C would find no more errors, and nothing
 * native in Node computes it.
 */
import { crc32 } from 'node:zlib';

/** From this many bytes on zlib is faster. */
const NATIVE_BYTES_MIN = 512;
const POLYNOMIAL = 0xedb88320;

/** Of the words from `start` to `end` of the buffer; `words` is the buffer's memory as words. */
export function checksum(
  bytes: Buffer,
  words: Int32Array,
  start: number,
  end: number,
  seed: number,
): number {
  if ((end - start) * 4 >= NATIVE_BYTES_MIN) {
    return crc32(bytes.subarray(start * 4, end * 4), seed >>> 0) | 0;
  }
  let crc = ~seed;
  let at = start;
  for (; at + 1 < end; at += 2) {
    const first = words[at]! ^ crc;
    const second = words[at + 1]!;
    crc =
      TABLE[0x700 + (first & 255)]! ^
      TABLE[0x600 + ((first >>> 8) & 255)]! ^
      TABLE[0x500 + ((first >>> 16) & 255)]! ^
      TABLE[0x400 + (first >>> 24)]! ^
      TABLE[0x300 + (second & 255)]! ^
      TABLE[0x200 + ((second >>> 8) & 255)]! ^
      TABLE[0x100 + ((second >>> 16) & 255)]! ^
      TABLE[second >>> 24]!;
  }
  if (at < end) {
    const last = words[at]! ^ crc;
    crc =
      TABLE[0x300 + (last & 255)]! ^
      TABLE[0x200 + ((last >>> 8) & 255)]! ^
      TABLE[0x100 + ((last >>> 16) & 255)]! ^
      TABLE[last >>> 24]!;
  }
  return ~crc;
}

/** Eight tables: the sum of each byte value with no, one, ... seven zero bytes behind it. */
const TABLE = makeTable();

function makeTable(): Int32Array {
  const table = new Int32Array(8 * 256);
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
