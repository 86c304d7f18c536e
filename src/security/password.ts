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

/** Parameters of `hashPassword`: 32 MiB and about 100 ms of a processor. */
const COST = { N: 2 ** 15, r: 8, p: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Hashes the password with a new salt; returns text for a configuration. */
export async function hashPassword(password: Buffer): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt, hash: Buffer.alloc(HASH_BYTES) });
  const { N, r, p } = COST;
  return `${HASH_PREFIX}${N}$${r}$${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Whether the password is the stored one, in a time that reveals nothing about either. */
export function isSamePlain(stored: PlainPassword, given: Buffer): boolean {
  return timingSafeEqual(blinded(stored.plain), blinded(given));
}

/** Like isSamePlain, for a hash; computed on another thread. */
export async function isSameHashed(stored: HashedPassword, given: Buffer): Promise<boolean> {
  return timingSafeEqual(stored.hash, await derive(given, stored));
}

/**
 * A copy of the password that has the same hashes and HASHABLE_BYTES_MAX bytes at most: scrypt uses a
 * password only as a key of HMAC-SHA-256 (RFC 7914, 6), which replaces a longer one with its SHA-256
 * (RFC 2104, 2).
 */
export function hashableOf(password: Buffer): Buffer {
  if (password.length <= HASHABLE_BYTES_MAX) return Buffer.from(password);
  return createHash('sha256').update(password).digest();
}

/** The block of SHA-256, in bytes. */
const HASHABLE_BYTES_MAX = 64;

/** A hash that no password has, as expensive to compare with as the given one. */
export function unmatchedHash({ N, r, p, salt, hash }: HashedPassword): HashedPassword {
  return { N, r, p, salt: randomBytes(salt.length), hash: randomBytes(hash.length) };
}

/** A text that cannot be guessed. */
export function unmatchedPlain(): PlainPassword {
  return { plain: randomBytes(32) };
}

const blindingKey = randomBytes(32);

/** A digest of fixed length, whatever the length of the input, that cannot be predicted. */
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
