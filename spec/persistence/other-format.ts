/** Converts the files of a data directory or a backup to another format. */
import { checkedBytes } from '../../src/persistence/checked-file.ts';
import { checksum } from '../../src/persistence/checksum.ts';
import { Page } from '../../src/persistence/page.ts';
import { HEADER_BYTES, parseSegmentName } from '../../src/persistence/segment.ts';
import type { Files } from './damaged-directory.ts';

const CHECKED_HEADER_BYTES = 20;

export function inFormat(files: Files, format: number): Files {
  const all = [...files].map(([name, bytes]) => [name, fileInFormat(name, bytes, format)] as const);
  return new Map(all);
}

export function fileInFormat(name: string, bytes: Buffer, format: number): Buffer {
  if (parseSegmentName(name) !== undefined) return segmentInFormat(bytes, format);
  if (bytes.toString('latin1', 0, 8) !== 'gridfile') return bytes;
  return checkedBytes(JSON.parse(bytes.toString('utf8', CHECKED_HEADER_BYTES)) as object, format);
}

/** Format 1 has the checksum at 24 and no length. */
function segmentInFormat(bytes: Buffer, format: number): Buffer {
  const header = new Page(HEADER_BYTES);
  bytes.copy(header.bytes, 0, 0, HEADER_BYTES);
  const { words } = header;
  words[2] = format;
  words[7] = 0;
  const summed = format === 1 ? 6 : 7;
  words[summed] = checksum(header, 0, summed, 0);
  return Buffer.concat([header.bytes, bytes.subarray(HEADER_BYTES)]);
}
