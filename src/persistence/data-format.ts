/**
 * The format of the files of a data directory and of a backup: one number for all, in the frame of
 * each (../base/frame.ts). This version reads only its own format. It neither converts nor changes
 * files of other formats.
 *
 * A new type of record, or a new field of a mutation, needs no new format: record-codec.ts specifies
 * how readers treat unknown ones. Any other change to a file does.
 * Tested by cli/odd-directories.spec.ts.
 */
import { join } from 'node:path';
import type { Viewed } from '../base/copy-bytes.ts';
import { GridError } from '../base/errors.ts';
import { FRAME_BYTES, type FrameFault, frameFault } from '../base/frame.ts';
import type { Storage } from './storage.ts';

export const DATA_FORMAT = 4;

/** How files of the formats 1 to 3 began, and the offset of the format in them. */
const OLDER_FORMATS: ReadonlyMap<string, number> = new Map([
  ['gridfile', 12],
  ['gridmark', 12],
  ['gridwait', 12],
  ['gridseg\n', 8],
  ['gridend\n', 8],
]);

/**
 * Checks the frame of the file's first `bytesRead` bytes, as frameFault does. Throws GridError
 * DATA_FORMAT_OLDER or DATA_FORMAT_NEWER if the file has another format.
 */
export function fileFault(
  { path }: Pick<Storage, 'path'>,
  name: string,
  from: Viewed,
  bytesRead: number,
  magic: string,
  length = bytesRead,
): FrameFault | undefined {
  const fault = frameFault(from, bytesRead, magic, length);
  const olderAt = OLDER_FORMATS.get(from.bytes.toString('latin1', 0, 8));
  if (fault !== undefined && (olderAt === undefined || bytesRead < FRAME_BYTES)) return fault;
  const format = from.view.getUint32(olderAt ?? 12, true);
  if (format === DATA_FORMAT) return fault;
  const code = format < DATA_FORMAT ? 'DATA_FORMAT_OLDER' : 'DATA_FORMAT_NEWER';
  throw new GridError(code, { file: join(path, name), format, known: DATA_FORMAT });
}
