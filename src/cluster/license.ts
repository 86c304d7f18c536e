/** The license key. Only a hash of it is kept, and nothing depends on it. */
import { createHash } from 'node:crypto';
import { GridError } from '../base/errors.ts';
import { changeRecord, type SharedRecord } from './shared-record.ts';

export class License {
  readonly #record: SharedRecord;

  constructor(record: SharedRecord) {
    this.#record = record;
  }

  /** SHA-256 in hexadecimal digits; undefined until a key is set. */
  get keyHash(): string | undefined {
    return this.#record.values.licenseKeyHash;
  }

  /** Rejects with GridError LICENSE_NOT_KEPT; the previous key then stays. */
  async set(key: Buffer): Promise<void> {
    const licenseKeyHash = createHash('sha256').update(key).digest('hex');
    await changeRecord(
      this.#record,
      () => ({ licenseKeyHash }),
      (reason, options) => new GridError('LICENSE_NOT_KEPT', { reason }, options),
    );
  }
}
