/**
 * Files that are not as they were written. What they held is never guessed at: whoever reads them
 * stops here, and a person decides.
 */
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';
import type { Storage } from './storage.ts';

export class DamagedData extends GridError<'DATA_DAMAGED'> {
  readonly file: string;
  /** Of the first byte that is not as it should be. */
  readonly offset: number;

  constructor(storage: Pick<Storage, 'place'>, file: string, offset: number, what: string) {
    super('DATA_DAMAGED', { file: join(storage.place, file), offset, what });
    this.file = file;
    this.offset = offset;
  }
}
