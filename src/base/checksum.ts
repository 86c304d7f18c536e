/**
 * The CRC-32 of zlib, of gzip and of PNG (ISO 3309). A call of zlib costs as much as 700 bytes here, so
 * shorter ranges are computed with tables, sixteen bytes per step (Kounavis and Berry, 2005;
 * bench: checksums).
 */
import { crc32 } from 'node:zlib';
import type { Viewed } from './copy-bytes.ts';

/** Number of tables, which is also the number of bytes per step. */
const TABLES = 16;
/** The polynomial, lowest bit first. */
const POLYNOMIAL = 0xedb88320;
/** Number of bytes from which zlib is called. */
const CALL_BYTES_MIN = 700;

/**
 * Returns the checksum of the bytes from `at` to `end`, as a signed number of 32 bits. `sum` is that of
 * the bytes before them, or a seed.
 */
export function checksum({ bytes, view }: Viewed, at: number, end: number, sum: number): number {
  if (end - at >= CALL_BYTES_MIN) return crc32(bytes.subarray(at, end), sum >>> 0) | 0;
  let inverted = ~sum;
  let next = at;
  for (; next + TABLES <= end; next += TABLES) {
    inverted =
      ofWord(view.getInt32(next, true) ^ inverted, 3072) ^
      ofWord(view.getInt32(next + 4, true), 2048) ^
      ofWord(view.getInt32(next + 8, true), 1024) ^
      ofWord(view.getInt32(next + 12, true), 0);
  }
  for (; next + 4 <= end; next += 4) inverted = ofWord(view.getInt32(next, true) ^ inverted, 0);
  for (; next < end; next++) inverted = TABLE[(bytes[next]! ^ inverted) & 255]! ^ (inverted >>> 8);
  return ~inverted;
}

/** Returns the share of a word; `table` is that of its last byte. */
function ofWord(word: number, table: number): number {
  return (
    TABLE[table + 768 + (word & 255)]! ^
    TABLE[table + 512 + ((word >>> 8) & 255)]! ^
    TABLE[table + 256 + ((word >>> 16) & 255)]! ^
    TABLE[table + (word >>> 24)]!
  );
}

/** The checksum of each byte value, followed by 0, 1, … 15 zero bytes. */
const TABLE = makeTable();

function makeTable(): Int32Array {
  const table = new Int32Array(TABLES * 256);
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
