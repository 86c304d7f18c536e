/**
 * The error for a file whose content differs from what was written. Damaged content is never
 * guessed: the reader stops, and an operator decides.
 */

import { join } from 'node:path';
import type { Viewed } from '../base/copy-bytes.ts';
import { GridError } from '../base/errors.ts';
import { unknownIn } from './record-codec.ts';
import type { Storage } from './storage.ts';

export class DamagedData extends GridError<'DATA_DAMAGED'> {
  readonly file: string;
  /** Offset of the first damaged byte. */
  readonly offset: number;

  constructor(storage: Pick<Storage, 'path'>, file: string, offset: number, what: string) {
    super('DATA_DAMAGED', { file: join(storage.path, file), offset, what });
    this.file = file;
    this.offset = offset;
  }
}

/**
 * Returns the error for a record with a correct checksum that is not a valid mutation: GridError
 * DATA_RECORD_NEWER if a later version wrote it, else DamagedData.
 */
export function unreadableRecord(
  storage: Pick<Storage, 'path'>,
  file: string,
  page: Viewed,
  offset: number,
): GridError {
  const what = unknownIn(page, offset);
  if (what === undefined) return new DamagedData(storage, file, offset, INVALID_FIELDS);
  return new GridError('DATA_RECORD_NEWER', { file: join(storage.path, file), offset, what });
}

/** The fault of a record with a correct checksum but invalid fields, for messages. */
export const INVALID_FIELDS = 'has a record with wrong fields';
