/** Password hashes with a low cost: tests compute many. */
import { randomBytes, scryptSync } from 'node:crypto';

/** Returns a hash of the password as a text of the configuration. */
export function cheapHash(password: Buffer | string): string {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  return `scrypt$1024$8$1$${[salt, hash].map(unpadded).join('$')}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
