/**
 * The error for a file that is not as it was written. Its content is never guessed: the reader stops here,
 * and a person decides.
 */
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';
import type { Storage } from './storage.ts';

export class DamagedData extends GridError<'DATA_DAMAGED'> {
  readonly file: string;
  /** Offset of the first wrong byte. */
  readonly offset: number;

  constructor(storage: Pick<Storage, 'place'>, file: string, offset: number, what: string) {
    super('DATA_DAMAGED', { file: join(storage.place, file), offset, what });
    this.file = file;
    this.offset = offset;
  }
}
