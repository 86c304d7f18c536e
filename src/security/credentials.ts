/**
 * Who may do what needs credentials: one seam for security off, where the cluster's name is what
 * authenticates, and on, where a realm's users do (authenticator.ts).
 */
import type { PlainPassword } from '../base/stored-password.ts';
import { isSamePlain } from './password.ts';

export interface Attempt {
  /** The peer's address. */
  readonly address: string;
  readonly user: Buffer;
  readonly password: Buffer;
  /** Whether failures count for the address and the user's name together, not the address alone. */
  readonly isCountedByUser: boolean;
}

/** `retryAfterMs` above 0: not looked at, to be tried again then. */
export interface Verdict {
  readonly isRight: boolean;
  readonly retryAfterMs: number;
}

export const RIGHT: Verdict = { isRight: true, retryAfterMs: 0 };
export const WRONG: Verdict = { isRight: false, retryAfterMs: 0 };

export interface Credentials {
  /** At once where nothing has to be computed. */
  check(attempt: Attempt): Verdict | Promise<Verdict>;
}

/** The cluster's name in place of a user's; the password is not looked at. */
export class ClusterNameCredentials implements Credentials {
  readonly #clusterName: PlainPassword;

  constructor(clusterName: string) {
    this.#clusterName = { plain: Buffer.from(clusterName) };
  }

  check({ user }: Attempt): Verdict {
    return isSamePlain(this.#clusterName, user) ? RIGHT : WRONG;
  }
}
