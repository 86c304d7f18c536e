/**
 * Checks users and passwords of one realm. Hashes are computed on other threads (computations.ts);
 * equal credentials that are under way at once share one computation and count as one attempt;
 * credentials that proved right are remembered under a keyed hash until the users change. Who fails
 * too often waits (failure-throttle.ts), before anything is computed and also with the right
 * password.
 *
 * An unknown user costs as much time as a known one: each known password has a decoy that is as costly
 * to compare with and that nothing matches, and an unknown name is always given the same one of them.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { Slices } from '../base/slices.ts';
import {
  type HashedPassword,
  isHashed,
  parsePassword,
  type StoredPassword,
} from '../base/stored-password.ts';
import { Computations } from './computations.ts';
import { type Attempt, type Credentials, RIGHT, type Verdict, WRONG } from './credentials.ts';
import { FailureThrottle } from './failure-throttle.ts';
import { isSameHashed, isSamePlain, unmatchedHash, unmatchedPlain } from './password.ts';

/** For whom no more computations may wait. */
const RETRY_MS = 1000;

export interface UserAccount {
  readonly name: string;
  /** In plain text or as a hash; see password.ts. */
  readonly password: string;
}

export class Authenticator implements Credentials {
  readonly #clock: Clock;
  readonly #byAddress = new FailureThrottle();
  readonly #byUser = new FailureThrottle();
  readonly #key = randomBytes(32);
  #passwords: ReadonlyMap<string, StoredPassword> = new Map();
  /** Compared with in place of unknown users' passwords, made when first needed; at least one place. */
  #decoys: (StoredPassword | undefined)[] = [];
  #decoyModels: readonly StoredPassword[] = [];
  /** Digests of credentials that proved right: at most one for each user. */
  #remembered = new Set<string>();
  /** By digest. */
  #comparisons = new Map<string, Promise<boolean>>();
  /** By throttle key and digest. */
  readonly #attempts = new Map<string, Promise<Verdict>>();
  readonly #computations = new Computations();

  /** Throws RangeError for a password hash that is none. */
  constructor(users: readonly UserAccount[], clock: Clock) {
    this.#clock = clock;
    this.replaceUsers(users);
  }

  /** As the constructor; then nothing is remembered of the users before. */
  replaceUsers(users: readonly UserAccount[]): void {
    const passwords = new Map<string, StoredPassword>();
    for (const user of users) addPassword(passwords, user);
    this.replacePasswords(passwords);
  }

  /** The same with passwords that readPasswords has read. */
  replacePasswords(passwords: ReadonlyMap<string, StoredPassword>): void {
    this.#passwords = passwords;
    this.#decoyModels = [...passwords.values()];
    this.#decoys = Array(Math.max(1, passwords.size)).fill(undefined);
    this.#remembered = new Set();
    this.#comparisons = new Map();
  }

  check(attempt: Attempt): Verdict | Promise<Verdict> {
    const nowMs = this.#clock.now();
    const throttle = this.#throttleOf(attempt, nowMs);
    const key = throttle === this.#byUser ? userKey(attempt) : attempt.address;
    const digest = this.#digest(attempt);
    const shared = this.#attempts.get(`${digest} ${key}`);
    if (shared !== undefined) return shared;
    const waitMs = throttle.waitMs(key, nowMs);
    if (waitMs > 0) return { isRight: false, retryAfterMs: waitMs };
    if (this.#remembered.has(digest)) return RIGHT;
    const decoy = this.#decoyFor(attempt.user);
    const stored = this.#passwords.get(exactly(attempt.user)) ?? decoy;
    if (!isHashed(stored)) {
      if (isSamePlain(stored, attempt.password)) return this.#remember(digest);
      throttle.begin(key, nowMs);
      return WRONG;
    }
    if (!this.#comparisons.has(digest) && !this.#computations.hasRoom(attempt.address)) {
      return { isRight: false, retryAfterMs: RETRY_MS };
    }
    throttle.begin(key, nowMs);
    const verdict = this.#compare(digest, stored, attempt).then(
      (isRight) => {
        this.#attempts.delete(`${digest} ${key}`);
        if (isRight) throttle.withdraw(key, nowMs);
        return isRight ? RIGHT : WRONG;
      },
      (error: unknown) => {
        this.#attempts.delete(`${digest} ${key}`);
        throw error;
      },
    );
    this.#attempts.set(`${digest} ${key}`, verdict);
    return verdict;
  }

  /** Throttle keys and credentials that are remembered or under way. */
  get size(): number {
    const counted = this.#byAddress.size + this.#byUser.size;
    return counted + this.#remembered.size + this.#attempts.size;
  }

  /** By the name alone, so that asking again tells nothing more. */
  #decoyFor(user: Buffer): StoredPassword {
    const number = createHmac('sha256', this.#key).update(user).digest().readUInt32LE();
    const index = number % this.#decoys.length;
    const model = this.#decoyModels[index];
    const decoy = this.#decoys[index] ?? (model === undefined ? unmatchedPlain() : decoyOf(model));
    this.#decoys[index] = decoy;
    return decoy;
  }

  #throttleOf(attempt: Attempt, nowMs: number): FailureThrottle {
    const hasRoom = attempt.isCountedByUser && this.#byUser.hasRoom(userKey(attempt), nowMs);
    return hasRoom ? this.#byUser : this.#byAddress;
  }

  /** One computation for equal credentials, however many ask. */
  #compare(digest: string, stored: HashedPassword, attempt: Attempt): Promise<boolean> {
    const comparisons = this.#comparisons;
    const underWay = comparisons.get(digest);
    if (underWay !== undefined) return underWay;
    const given = Buffer.from(attempt.password);
    const compute = () => isSameHashed(stored, given);
    const comparison = this.#computations.run(attempt.address, compute).then(
      (isSame) => {
        comparisons.delete(digest);
        // Users that changed meanwhile have tables of their own: what was right may be no longer.
        if (isSame && comparisons === this.#comparisons) this.#remember(digest);
        return isSame;
      },
      (error: unknown) => {
        comparisons.delete(digest);
        throw error;
      },
    );
    comparisons.set(digest, comparison);
    return comparison;
  }

  #remember(digest: string): Verdict {
    this.#remembered.add(digest);
    return RIGHT;
  }

  /** Of user and password; the user's length parts them. */
  #digest({ user, password }: Attempt): string {
    return createHmac('sha256', this.#key)
      .update(`${user.length} `)
      .update(user)
      .update(password)
      .digest('base64');
  }
}

/** Passwords by name, read in slices. Rejects with RangeError for a password hash that is none. */
export async function readPasswords(
  users: readonly UserAccount[],
): Promise<ReadonlyMap<string, StoredPassword>> {
  const passwords = new Map<string, StoredPassword>();
  const slices = new Slices();
  for (const user of users) {
    addPassword(passwords, user);
    const pause = slices.pause();
    if (pause !== undefined) await pause;
  }
  return passwords;
}

function addPassword(
  passwords: Map<string, StoredPassword>,
  { name, password }: UserAccount,
): void {
  passwords.set(exactly(Buffer.from(name)), parsePassword(password));
}

function decoyOf(password: StoredPassword): StoredPassword {
  return isHashed(password) ? unmatchedHash(password) : unmatchedPlain();
}

/** Of bounded length, whatever the name's. */
function userKey({ address, user }: Attempt): string {
  return `${address} ${createHash('sha256').update(user).digest('base64')}`;
}

/** Bytes as text, one character a byte: names are equal when their bytes are. */
function exactly(bytes: Buffer): string {
  return bytes.toString('latin1');
}
