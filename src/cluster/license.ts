/**
 * The license key. Only its hash is stored, and nothing depends on it.
 * Tested by shared-cluster.spec.ts.
 */
import { createHash } from 'node:crypto';
import { GridError } from '../base/errors.ts';
import { changeRecord, type SharedRecord } from './shared-record.ts';

export class License {
  readonly #record: SharedRecord;

  constructor(record: SharedRecord) {
    this.#record = record;
  }

  /** SHA-256 of the key as hexadecimal digits; undefined until a key is set. */
  get keyHash(): string | undefined {
    return this.#record.values.licenseKeyHash;
  }

  /**
   * Stores the hash of the key. Rejects with GridError LICENSE_NOT_KEPT; the previous key then
   * remains.
   */
  async set(key: Buffer): Promise<void> {
    const licenseKeyHash = createHash('sha256').update(key).digest('hex');
    await changeRecord(
      this.#record,
      () => ({ licenseKeyHash }),
      (reason, options) => new GridError('LICENSE_NOT_KEPT', { reason }, options),
    );
  }
}
