/**
 * Credentials whose refused attempts are counted. Concurrent attempts with equal credentials share
 * one computation (authenticator.ts), but each of them counts.
 * Tested by security/security-metrics.spec.ts.
 */
import type { Attempt, Credentials, Verdict } from './credentials.ts';

/** Numbers of refused attempts. */
export interface RefusedLogins {
  /** Attempts with wrong credentials. */
  failed: number;
  /** Attempts that were not examined. */
  throttled: number;
}

export class CountedCredentials implements Credentials {
  readonly #credentials: Credentials;
  readonly #refused: RefusedLogins;

  constructor(credentials: Credentials, refused: RefusedLogins) {
    this.#credentials = credentials;
    this.#refused = refused;
  }

  check(attempt: Attempt): Verdict | Promise<Verdict> {
    const verdict = this.#credentials.check(attempt);
    return verdict instanceof Promise ? verdict.then(this.#count) : this.#count(verdict);
  }

  readonly #count = (verdict: Verdict): Verdict => {
    if (verdict.retryAfterMs > 0) this.#refused.throttled++;
    else if (!verdict.isRight) this.#refused.failed++;
    return verdict;
  };
}
