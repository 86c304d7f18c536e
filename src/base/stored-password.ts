/**
 * Passwords as written in a configuration: plain text, or `scrypt$N$r$p$salt$hash` (RFC 7914; salt
 * and hash in base64). The parameters of a hash are bounded, so that no configuration can require
 * more memory than MEMORY_BYTES_MAX or minutes of work. Tested by security/password.spec.ts.
 */

const N_MAX = 2 ** 20;
const R_MAX = 32;
const P_MAX = 16;
export const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
export const HASH_PREFIX = 'scrypt$';

export interface PlainPassword {
  readonly plain: Buffer;
}

export interface HashedPassword {
  readonly N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

export type StoredPassword = PlainPassword | HashedPassword;

/**
 * Parses a password of the configuration. Throws RangeError for an invalid hash; the message does
 * not repeat it.
 */
export function parsePassword(text: string): StoredPassword {
  if (!text.startsWith(HASH_PREFIX)) return { plain: Buffer.from(text) };
  const [, N = '', r = '', p = '', salt = '', hash = '', ...rest] = text.split('$');
  const parsed = {
    N: positive(N),
    r: positive(r),
    p: positive(p),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
  const fault = rest.length > 0 ? 'it has more than five parts' : faultOf(parsed);
  if (fault !== undefined) throw new RangeError(`Cannot use a password hash: ${fault}`);
  return parsed;
}

export function isHashed(stored: StoredPassword): stored is HashedPassword {
  return 'hash' in stored;
}

function faultOf({ N, r, p, salt, hash }: HashedPassword): string | undefined {
  if (!(N >= 2 && N <= N_MAX && Number.isInteger(Math.log2(N)))) {
    return `its first number is not a power of two from 2 to ${N_MAX}`;
  }
  if (!(r <= R_MAX)) return `its second number is not from 1 to ${R_MAX}`;
  if (!(p <= P_MAX)) return `its third number is not from 1 to ${P_MAX}`;
  if (128 * N * r > MEMORY_BYTES_MAX) return `it needs more than ${MEMORY_BYTES_MAX} bytes`;
  if (salt.length === 0) return 'it has no salt';
  if (hash.length < 16 || hash.length > 64) return 'its hash does not have 16 to 64 bytes';
  return undefined;
}

/**
 * Parses a positive integer; returns NaN, for which every comparison is false, for any other text.
 */
function positive(text: string): number {
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
}
