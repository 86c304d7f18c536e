/** Converts the files of a data directory or a backup to another format. */
import { viewed } from '../../src/base/copy-bytes.ts';
import { writeFrame } from '../../src/base/frame.ts';
import { DATA_FORMAT } from '../../src/persistence/data-format.ts';
import type { Files } from './damaged-directory.ts';

/** How a file of the formats 1 to 3 began, and the offset of the format in it. */
const OLDER = new Map([
  ['gridJSON', ['gridfile', 12]],
  ['gridMARK', ['gridmark', 12]],
  ['gridWAIT', ['gridwait', 12]],
  ['gridLOG\n', ['gridseg\n', 8]],
  ['gridSNAP', ['gridseg\n', 8]],
  ['gridEND\n', ['gridend\n', 8]],
] as const);

export function inFormat(files: Files, format: number): Files {
  return new Map([...files].map(([name, bytes]) => [name, inOtherFormat(bytes, format)]));
}

export function inOtherFormat(bytes: Buffer, format: number): Buffer {
  const magic = bytes.toString('latin1', 0, 8);
  const older = OLDER.get(magic as 'gridJSON');
  if (older === undefined || format === DATA_FORMAT) return bytes;
  const file = Buffer.from(bytes);
  if (format > DATA_FORMAT) writeFrame(viewed(file), file.readUInt32LE(16), magic, format);
  else file.writeUInt32LE(format, file.write(older[0], 'latin1') - 8 + older[1]);
  return file;
}
