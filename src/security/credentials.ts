/**
 * Checks the credentials of administrative requests: one interface for security off, when the
 * cluster's name authenticates, and for security on, when a realm's users do (authenticator.ts).
 * Tested by surface/login.spec.ts.
 */
import type { PlainPassword } from '../base/stored-password.ts';
import { matchesPlain } from './password.ts';

export interface Attempt {
  /** The peer's address. */
  readonly address: string;
  readonly user: Buffer;
  readonly password: Buffer;
  /** Whether failures are counted per address and user name, instead of per address only. */
  readonly isCountedByUser: boolean;
}

/**
 * Result of an attempt. If `retryAfterMs` is above 0, the attempt was not examined and may be
 * repeated after that time; `throttledKey` is the key that has to wait.
 */
export interface Verdict {
  readonly isRight: boolean;
  readonly retryAfterMs: number;
  readonly throttledKey?: string;
}

export const RIGHT: Verdict = { isRight: true, retryAfterMs: 0 };
export const WRONG: Verdict = { isRight: false, retryAfterMs: 0 };

export interface Credentials {
  /** Returns the verdict synchronously if nothing has to be computed. */
  check(attempt: Attempt): Verdict | Promise<Verdict>;
}

/** The cluster's name authenticates in place of a user's name; the password is ignored. */
export class ClusterNameCredentials implements Credentials {
  readonly #clusterName: PlainPassword;

  constructor(clusterName: string) {
    this.#clusterName = { plain: Buffer.from(clusterName) };
  }

  check({ user }: Attempt): Verdict {
    return matchesPlain(this.#clusterName, user) ? RIGHT : WRONG;
  }
}
