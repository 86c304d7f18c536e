/**
 * Hashes passwords and compares them with stored ones (stored-password.ts). Comparisons take constant
 * time; hashes are computed on another thread.
 */
import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import {
  HASH_PREFIX,
  type HashedPassword,
  MEMORY_BYTES_MAX,
  type PlainPassword,
} from '../base/stored-password.ts';

/** Parameters of `hashPassword`: 32 MiB and about 100 ms of processor time. */
const COST = { N: 2 ** 15, r: 8, p: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Hashes the password with a new salt; resolves with the text for a configuration. */
export async function hashPassword(password: Buffer): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt, hash: Buffer.alloc(HASH_BYTES) });
  const { N, r, p } = COST;
  return `${HASH_PREFIX}${N}$${r}$${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Whether the password is the stored one. The time taken reveals nothing about either. */
export function matchesPlain(stored: PlainPassword, candidate: Buffer): boolean {
  return timingSafeEqual(blinded(stored.plain), blinded(candidate));
}

/**
 * Whether the password has the stored hash. The hash is computed on another thread; the time of the
 * comparison reveals nothing about either.
 */
export async function matchesHash(stored: HashedPassword, candidate: Buffer): Promise<boolean> {
  return timingSafeEqual(stored.hash, await derive(candidate, stored));
}

/**
 * Returns a copy of the password that has the same hashes and at most HASHABLE_BYTES_MAX bytes.
 * scrypt uses a password only as a key of HMAC-SHA-256 (RFC 7914, 6), which replaces a longer key
 * by its SHA-256 (RFC 2104, 2).
 */
export function hashableOf(password: Buffer): Buffer {
  if (password.length <= HASHABLE_BYTES_MAX) return Buffer.from(password);
  return createHash('sha256').update(password).digest();
}

/** Block length of SHA-256, in bytes. */
const HASHABLE_BYTES_MAX = 64;

/**
 * Returns a hash that matches no password and is as expensive to compare with as this one.
 */
export function unmatchedHash({ N, r, p, salt, hash }: HashedPassword): HashedPassword {
  return { N, r, p, salt: randomBytes(salt.length), hash: randomBytes(hash.length) };
}

/** Returns a password that cannot be guessed. */
export function unmatchedPlain(): PlainPassword {
  return { plain: randomBytes(32) };
}

const blindingKey = randomBytes(32);

/** Returns an unpredictable digest of fixed length for an input of any length. */
function blinded(bytes: Buffer): Buffer {
  return createHmac('sha256', blindingKey).update(bytes).digest();
}

function derive(password: Buffer, { N, r, p, salt, hash }: HashedPassword): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const maxmem = 2 * MEMORY_BYTES_MAX;
    scrypt(password, salt, hash.length, { N, r, p, maxmem }, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
