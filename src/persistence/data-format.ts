/**
 * The format of the files of a data directory and of a backup: one number for all, in the header of each
 * (segment.ts, checked-file.ts, log-end-file.ts). This version reads its own format alone. It converts none,
 * and changes no file of another one.
 *
 * A new type of record, or a new flag of a mutation, needs no new format: record-codec.ts has the rule for
 * readers that do not know it. Everything else that changes a file does.
 */
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';
import type { Storage } from './storage.ts';

export const DATA_FORMAT = 3;

/** Throws GridError DATA_FORMAT_OLDER or DATA_FORMAT_NEWER where the file is not of this format. */
export function checkFormat({ place }: Pick<Storage, 'place'>, name: string, format: number): void {
  if (format === DATA_FORMAT) return;
  const code = format < DATA_FORMAT ? 'DATA_FORMAT_OLDER' : 'DATA_FORMAT_NEWER';
  throw new GridError(code, { file: join(place, name), format, known: DATA_FORMAT });
}
