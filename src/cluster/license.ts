/** The license key that was set, of which only a hash is kept: nothing depends on it. */
import { createHash } from 'node:crypto';

/** Resolves once the hash would be there after a crash. */
export type SaveLicense = (keyHash: string) => Promise<void>;

export class License {
  /** SHA-256 in hexadecimal digits; undefined while none was set. */
  keyHash: string | undefined;
  readonly #save: SaveLicense;

  /** Without persistence nothing is kept: each start is without a license. */
  constructor(save: SaveLicense = () => Promise.resolve()) {
    this.#save = save;
  }

  /** Rejects where the key cannot be kept; then the one before counts. */
  async set(key: Buffer): Promise<void> {
    const keyHash = createHash('sha256').update(key).digest('hex');
    await this.#save(keyHash);
    this.keyHash = keyHash;
  }
}
