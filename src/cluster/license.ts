/** The license key. Only a hash of it is kept, and nothing depends on it. */
import { createHash } from 'node:crypto';

/** Resolves once the hash would survive a crash. */
type SaveLicense = (keyHash: string) => Promise<void>;

export class License {
  /** SHA-256 in hexadecimal digits; undefined until a key is set. */
  keyHash: string | undefined;
  readonly #save: SaveLicense;

  /** Without persistence the hash is not stored: each start is without a license. */
  constructor(save: SaveLicense = () => Promise.resolve()) {
    this.#save = save;
  }

  /** Rejects where the hash cannot be stored; the previous one then stays. */
  async set(key: Buffer): Promise<void> {
    const keyHash = createHash('sha256').update(key).digest('hex');
    await this.#save(keyHash);
    this.keyHash = keyHash;
  }
}
