/**
 * Checks users and passwords of one realm. Hashes are computed on other threads (computations.ts).
 * Concurrent attempts with equal credentials share one computation and count as one. Right
 * credentials are cached under a keyed hash until the users change. A client with too many failures
 * has to wait (failed-logins.ts): its attempts, even with the right password, are refused before
 * anything is computed.
 *
 * An unknown user takes as much time as an existing one. For every password there is a decoy that
 * is as expensive to compare with and that no password matches. An unknown name always gets the
 * same decoy.
 */

import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { getOrCreate } from '../base/get-or-create.ts';
import { inSlices } from '../base/slices.ts';
import {
  type HashedPassword,
  isHashed,
  parsePassword,
  type StoredPassword,
} from '../base/stored-password.ts';
import { type Attempt, type Credentials, RIGHT, type Verdict, WRONG } from './credentials.ts';
import { type CountedBy, FailedLogins } from './failed-logins.ts';
import {
  hashableOf,
  matchesHash,
  matchesPlain,
  unmatchedHash,
  unmatchedPlain,
} from './password.ts';

/**
 * Delay before an attempt may be repeated that was refused because too many computations were
 * waiting, in ms.
 */
const RETRY_MS = 1000;

interface UserAccount {
  readonly name: string;
  /** Plain text or a hash; see stored-password.ts. */
  readonly password: string;
}

export class Authenticator implements Credentials {
  readonly #clock: Clock;
  readonly #failures = new FailedLogins();
  readonly #key = randomBytes(32);
  #passwords: ReadonlyMap<string, StoredPassword> = new Map();
  /**
   * Decoys, used instead of the passwords of unknown users. There is at least one; each is created
   * when first needed.
   */
  #decoys: (StoredPassword | undefined)[] = [];
  #decoyModels: readonly StoredPassword[] = [];
  /** Digests of right credentials: at most one per user. */
  #remembered = new Set<string>();
  /** Running comparisons, by digest. */
  #comparisons = new Map<string, Promise<boolean>>();
  /** Running attempts, by digest and throttle key. */
  readonly #attempts = new Map<string, Promise<Verdict>>();
  readonly #computations = new Computations();

  /** Throws RangeError for an invalid password hash. */
  constructor(users: readonly UserAccount[], clock: Clock) {
    this.#clock = clock;
    this.replaceUsers(users);
  }

  /**
   * Replaces the users and forgets all cached credentials. Throws RangeError for an invalid
   * password hash.
   */
  replaceUsers(users: readonly UserAccount[]): void {
    const passwords = new Map<string, StoredPassword>();
    for (const user of users) addPassword(passwords, user);
    this.replacePasswords(passwords);
  }

  /** Replaces the users' passwords by those that readPasswords returned. */
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
      if (matchesPlain(stored, attempt.password)) {
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
    const verdict = this.#compare(digest, stored, network, attempt.password)
      .finally(() => this.#attempts.delete(id))
      .then((isRight) => {
        if (!isRight) return WRONG;
        this.#failures.withdraw(counted, nowMs);
        return this.#proveRight(counted);
      });
    this.#attempts.set(id, verdict);
    return verdict;
  }

  /** Number of keys of failed logins, and of cached or running credentials. */
  get size(): number {
    return this.#failures.size + this.#remembered.size + this.#attempts.size;
  }

  /**
   * Returns a decoy that depends only on the name, so that repeated attempts reveal nothing more.
   */
  #decoyFor(user: Buffer): StoredPassword {
    const number = createHmac('sha256', this.#key).update(user).digest().readUInt32LE();
    const index = number % this.#decoys.length;
    const model = this.#decoyModels[index];
    const decoy =
      this.#decoys[index] ??
      (model !== undefined && isHashed(model) ? unmatchedHash(model) : unmatchedPlain());
    this.#decoys[index] = decoy;
    return decoy;
  }

  /**
   * Runs one computation for equal credentials, regardless of the number of attempts with them.
   */
  #compare(
    digest: string,
    stored: HashedPassword,
    network: string,
    password: Buffer,
  ): Promise<boolean> {
    const comparisons = this.#comparisons;
    const underWay = comparisons.get(digest);
    if (underWay !== undefined) return underWay;
    const candidate = hashableOf(password);
    const compute = () => matchesHash(stored, candidate);
    const comparison = this.#computations
      .run(network, compute)
      .finally(() => comparisons.delete(digest))
      .then((isSame) => {
        // If the users have changed meanwhile, the tables are new and the credentials may no longer
        // be right.
        if (isSame && comparisons === this.#comparisons) this.#remembered.add(digest);
        return isSame;
      });
    comparisons.set(digest, comparison);
    return comparison;
  }

  #proveRight(counted: CountedBy): Verdict {
    this.#failures.proveRight(counted);
    return RIGHT;
  }

  /** Returns a digest of user and password; the length of the user's name separates them. */
  #digest({ user, password }: Attempt): string {
    return createHmac('sha256', this.#key)
      .update(`${user.length} `)
      .update(user)
      .update(password)
      .digest('base64');
  }
}

/**
 * Parses the passwords by name, in slices. Rejects with RangeError for an invalid password hash.
 */
export async function readPasswords(
  users: readonly UserAccount[],
): Promise<ReadonlyMap<string, StoredPassword>> {
  const passwords = new Map<string, StoredPassword>();
  await inSlices(users, (user) => addPassword(passwords, user));
  return passwords;
}

function addPassword(
  passwords: Map<string, StoredPassword>,
  { name, password }: UserAccount,
): void {
  passwords.set(exactly(Buffer.from(name)), parsePassword(password));
}

function throttled(throttledKey: string, retryAfterMs: number): Verdict {
  return { isRight: false, retryAfterMs, throttledKey };
}

/** Returns the bytes as text with one character per byte: names are equal if their bytes are. */
function exactly(bytes: Buffer): string {
  return bytes.toString('latin1');
}

/** Number of computations that run at the same time. */
const AT_ONCE = 2;
/** Maximum number of waiting computations of one client. */
const WAITING_MAX = 64;
/** Maximum number of waiting computations of all clients. */
const WAITING_IN_ALL_MAX = 1024;

/**
 * Computations on other threads, AT_ONCE at a time. The waiting ones are scheduled round-robin by
 * client, so a client with many computations delays only its own: another client's starts after at
 * most one of each other client.
 */
class Computations {
  #running = 0;
  #waitingCount = 0;
  /**
   * Functions that start the waiting computations, by client; the first client is the next to run.
   */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Whether one more computation can start or wait. */
  hasRoom(who: string): boolean {
    if (this.#running < AT_ONCE) return true;
    const own = this.#waiting.get(who)?.length ?? 0;
    return own < WAITING_MAX && this.#waitingCount < WAITING_IN_ALL_MAX;
  }

  /**
   * Runs the computation, after those scheduled before it. The promise settles with its result.
   */
  async run<Value>(who: string, compute: () => Promise<Value>): Promise<Value> {
    if (this.#running < AT_ONCE) this.#running += 1;
    else await new Promise<void>((resolve) => this.#wait(who, resolve));
    try {
      return await compute();
    } finally {
      this.#startNext();
    }
  }

  #wait(who: string, begin: () => void): void {
    getOrCreate(this.#waiting, who, () => []).push(begin);
    this.#waitingCount += 1;
  }

  /** Starts the next computation after one has ended. */
  #startNext(): void {
    for (const [who, own] of this.#waiting) {
      const begin = own.shift();
      this.#waiting.delete(who);
      if (own.length > 0) this.#waiting.set(who, own);
      if (begin === undefined) continue;
      this.#waitingCount -= 1;
      return begin();
    }
    this.#running -= 1;
  }
}
