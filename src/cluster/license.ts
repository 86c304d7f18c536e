/** The license key that was set, of which only a hash is kept: nothing depends on it. */
import { createHash } from 'node:crypto';

export class License {
  /** SHA-256 in hexadecimal digits; undefined while none was set. */
  keyHash: string | undefined;

  set(key: Buffer): void {
    this.keyHash = createHash('sha256').update(key).digest('hex');
  }
}
