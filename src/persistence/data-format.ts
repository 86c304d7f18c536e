/**
 * The format of the files of a data directory and of a backup: one number for all, in the header of
 * each (segment.ts, checked-file.ts, log-end-file.ts). This version reads only its own format. It
 * neither converts nor changes files of other formats.
 *
 * A new type of record, or a new flag of a mutation, needs no new format: record-codec.ts specifies
 * how readers treat unknown ones. Any other change to a file does.
 * Tested by cli/odd-directories.spec.ts.
 */
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';
import type { Storage } from './storage.ts';

export const DATA_FORMAT = 3;

/** Throws GridError DATA_FORMAT_OLDER or DATA_FORMAT_NEWER unless the file has this format. */
export function checkFormat({ path }: Pick<Storage, 'path'>, name: string, format: number): void {
  if (format === DATA_FORMAT) return;
  const code = format < DATA_FORMAT ? 'DATA_FORMAT_OLDER' : 'DATA_FORMAT_NEWER';
  throw new GridError(code, { file: join(path, name), format, known: DATA_FORMAT });
}
