/**
 * Checks users and passwords of one realm. Hashes are computed on other threads (computations.ts).
 * Attempts with equal credentials at the same time share one computation and count as one. Credentials
 * that proved right are remembered under a keyed hash until the users change. A client with too many
 * failures has to wait (failed-logins.ts): its attempts, even with the right password, are refused
 * before anything is computed.
 *
 * An unknown user takes as much time as a known one. Each known password has a decoy that is as
 * expensive to compare with and that no password matches. An unknown name always gets the same decoy.
 */
import { createHmac, randomBytes } from 'node:crypto';
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
import { type CountedBy, FailedLogins } from './failed-logins.ts';
import {
  hashableOf,
  isSameHashed,
  isSamePlain,
  unmatchedHash,
  unmatchedPlain,
} from './password.ts';

/** Time after which an attempt may be repeated that was refused because too many computations wait. */
const RETRY_MS = 1000;

interface UserAccount {
  readonly name: string;
  /** In plain text or as a hash; see password.ts. */
  readonly password: string;
}

export class Authenticator implements Credentials {
  readonly #clock: Clock;
  readonly #failures = new FailedLogins();
  readonly #key = randomBytes(32);
  #passwords: ReadonlyMap<string, StoredPassword> = new Map();
  /**
   * Compared with in place of the passwords of unknown users; each is made when first needed. There is
   * at least one.
   */
  #decoys: (StoredPassword | undefined)[] = [];
  #decoyModels: readonly StoredPassword[] = [];
  /** Digests of credentials that proved right: at most one for each user. */
  #remembered = new Set<string>();
  /** Comparisons under way, by digest. */
  #comparisons = new Map<string, Promise<boolean>>();
  /** Attempts under way, by digest and throttle key. */
  readonly #attempts = new Map<string, Promise<Verdict>>();
  readonly #computations = new Computations();

  /** Throws RangeError for an invalid password hash. */
  constructor(users: readonly UserAccount[], clock: Clock) {
    this.#clock = clock;
    this.replaceUsers(users);
  }

  /** Replaces the users; throws like the constructor. Nothing is remembered of the users before. */
  replaceUsers(users: readonly UserAccount[]): void {
    const passwords = new Map<string, StoredPassword>();
    for (const user of users) addPassword(passwords, user);
    this.replacePasswords(passwords);
  }

  /** Does the same with passwords read by readPasswords. */
  replacePasswords(passwords: ReadonlyMap<string, StoredPassword>): void {
    this.#passwords = passwords;
    this.#decoyModels = [...passwords.values()];
    this.#decoys = Array(Math.max(1, passwords.size)).fill(undefined);
    this.#remembered = new Set();
    this.#comparisons = new Map();
  }

  check(attempt: Attempt): Verdict | Promise<Verdict> {
    const nowMs = this.#clock.now();
    const counted = this.#failures.countedBy(attempt, nowMs);
    const digest = this.#digest(attempt);
    const id = `${digest} ${counted.key}`;
    const shared = this.#attempts.get(id);
    if (shared !== undefined) return shared;
    const wait = this.#failures.wait(counted, nowMs);
    if (wait !== undefined) return throttled(wait.key, wait.waitMs);
    if (this.#remembered.has(digest)) return this.#proveRight(counted);
    const decoy = this.#decoyFor(attempt.user);
    const stored = this.#passwords.get(exactly(attempt.user)) ?? decoy;
    if (!isHashed(stored)) {
      if (isSamePlain(stored, attempt.password)) {
        this.#remembered.add(digest);
        return this.#proveRight(counted);
      }
      this.#failures.begin(counted, nowMs);
      return WRONG;
    }
    const { network } = counted;
    if (!this.#comparisons.has(digest) && !this.#computations.hasRoom(network)) {
      return throttled(network, RETRY_MS);
    }
    this.#failures.begin(counted, nowMs);
    const verdict = this.#compare(digest, stored, network, attempt.password).then(
      (isRight) => {
        this.#attempts.delete(id);
        if (!isRight) return WRONG;
        this.#failures.withdraw(counted, nowMs);
        return this.#proveRight(counted);
      },
      (error: unknown) => {
        this.#attempts.delete(id);
        throw error;
      },
    );
    this.#attempts.set(id, verdict);
    return verdict;
  }

  /** Number of keys of failed logins, and of credentials that are remembered or under way. */
  get size(): number {
    return this.#failures.size + this.#remembered.size + this.#attempts.size;
  }

  /** Depends on the name alone, so that repeated attempts reveal nothing more. */
  #decoyFor(user: Buffer): StoredPassword {
    const number = createHmac('sha256', this.#key).update(user).digest().readUInt32LE();
    const index = number % this.#decoys.length;
    const model = this.#decoyModels[index];
    const decoy = this.#decoys[index] ?? (model === undefined ? unmatchedPlain() : decoyOf(model));
    this.#decoys[index] = decoy;
    return decoy;
  }

  /** Runs one computation for equal credentials, however many attempts have them. */
  #compare(
    digest: string,
    stored: HashedPassword,
    network: string,
    password: Buffer,
  ): Promise<boolean> {
    const comparisons = this.#comparisons;
    const underWay = comparisons.get(digest);
    if (underWay !== undefined) return underWay;
    const given = hashableOf(password);
    const compute = () => isSameHashed(stored, given);
    const comparison = this.#computations.run(network, compute).then(
      (isSame) => {
        comparisons.delete(digest);
        // If the users have changed meanwhile, the tables are new ones: the credentials may no longer
        // be right.
        if (isSame && comparisons === this.#comparisons) this.#remembered.add(digest);
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

  #proveRight(counted: CountedBy): Verdict {
    this.#failures.proveRight(counted);
    return RIGHT;
  }

  /** A digest of user and password; the length of the user's name separates them. */
  #digest({ user, password }: Attempt): string {
    return createHmac('sha256', this.#key)
      .update(`${user.length} `)
      .update(user)
      .update(password)
      .digest('base64');
  }
}

/** Reads the passwords by name, in slices. Rejects with RangeError for an invalid password hash. */
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

function throttled(throttledKey: string, retryAfterMs: number): Verdict {
  return { isRight: false, retryAfterMs, throttledKey };
}

/** Bytes as text, one character a byte: names are equal when their bytes are. */
function exactly(bytes: Buffer): string {
  return bytes.toString('latin1');
}
