/**
 * Passwords as a configuration keeps them: in plain text, or as `scrypt$N$r$p$salt$hash` (RFC 7914;
 * salt and hash in base64 without padding). What is given is compared in constant time; a hash is
 * computed on another thread, and its parameters are bounded, so that no configuration can ask for
 * more memory than MEMORY_BYTES_MAX or for minutes of work.
 */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** What `hashPassword` uses: 32 MiB and about 100 ms of a processor. */
const COST = { N: 2 ** 15, r: 8, p: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const N_MAX = 2 ** 20;
const R_MAX = 32;
const P_MAX = 16;
const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
const PREFIX = 'scrypt$';

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
 * A password as the configuration has it. Throws RangeError when it begins as a hash and is none;
 * the message does not repeat it.
 */
export function parsePassword(text: string): StoredPassword {
  if (!text.startsWith(PREFIX)) return { plain: Buffer.from(text) };
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

/** A hash of the password with a salt of its own, as text for a configuration. */
export async function hashPassword(password: Buffer): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt, hash: Buffer.alloc(HASH_BYTES) });
  const { N, r, p } = COST;
  return `${PREFIX}${N}$${r}$${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

export function isHashed(stored: StoredPassword): stored is HashedPassword {
  return 'hash' in stored;
}

/** Whether the password is the stored one, in a time that tells nothing of either. */
export function isSamePlain(stored: PlainPassword, given: Buffer): boolean {
  return timingSafeEqual(blinded(stored.plain), blinded(given));
}

/** As isSamePlain, computed on another thread. */
export async function isSameHashed(stored: HashedPassword, given: Buffer): Promise<boolean> {
  return timingSafeEqual(stored.hash, await derive(given, stored));
}

/** A hash that no password gives, as costly to compare with as one of `hashPassword`. */
export function unmatchedHash(): HashedPassword {
  return { ...COST, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };
}

const blindingKey = randomBytes(32);

/** Of one length whatever the input's, and not to be foreseen. */
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

function faultOf({ N, r, p, salt, hash }: HashedPassword): string | undefined {
  if (!(N >= 2 && N <= N_MAX && Number.isInteger(Math.log2(N)))) {
    return `its first number is not a power of two from 2 to ${N_MAX}`;
  }
  if (!(r <= R_MAX)) return `its second number is not from 1 to ${R_MAX}`;
  if (!(p <= P_MAX)) return `its third number is not from 1 to ${P_MAX}`;
  if (128 * N * r > MEMORY_BYTES_MAX) return `it needs more than ${MEMORY_BYTES_MAX} bytes`;
  if (salt.length === 0) return 'it has no salt';
  if (hash.length < 16 || hash.length > 64) return 'its hash has not from 16 to 64 bytes';
  return undefined;
}

/** NaN, which no comparison takes, for what is not a positive integer. */
function positive(text: string): number {
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
