/**
 * HTTP Basic (RFC 7617) for the data paths and other paths without credentials in the body: parses
 * the field, checks it against a realm, and returns the user's permissions.
 * Tested by surface/login.spec.ts.
 */
import type { Span } from '../base/span.ts';
import type { Credentials, Verdict } from './credentials.ts';
import { Grants, type Permission, type Principal } from './permissions.ts';

export interface AccessRules {
  readonly authenticator: Credentials;
  /** The realm's users by name. */
  readonly users: ReadonlyMap<string, Principal>;
  /** Undefined if no permissions are configured: then every user may do everything. */
  readonly permissions: readonly Permission[] | undefined;
  /** Whether a grant of one permission outweighs a denial of another. */
  readonly prefersGrant: boolean;
  /** Whether `health` also requires a login. */
  readonly coversHealth: boolean;
}

/** User and password of a Basic field. */
interface BasicLogin {
  readonly user: Buffer;
  readonly password: Buffer;
}

export class AccessControl {
  #rules: AccessRules;
  /** Incremented when the rules change: users who logged in before have to log in again. */
  epoch = 0;

  constructor(rules: AccessRules) {
    this.#rules = rules;
  }

  get coversHealth(): boolean {
    return this.#rules.coversHealth;
  }

  replaceRules(rules: AccessRules): void {
    this.#rules = rules;
    this.epoch += 1;
  }

  check(login: BasicLogin, address: string): Verdict | Promise<Verdict> {
    return this.#rules.authenticator.check({ ...login, address, isCountedByUser: true });
  }

  /** Returns the permissions of a logged-in user at that address. */
  grantsOf(user: Buffer, address: string): Grants {
    const { users, permissions, prefersGrant } = this.#rules;
    const name = user.toString();
    return new Grants(users.get(name) ?? { name, roles: [] }, address, permissions, prefersGrant);
  }
}

/** Returns undefined if the field is missing, malformed or of another scheme. */
export function readBasicField(field: Span): BasicLogin | undefined {
  const text = field.bytes.toString('latin1', field.start, field.end);
  const encoded = /^basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(text)?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64');
  const colon = decoded.indexOf(0x3a);
  if (colon < 0) return undefined;
  return { user: decoded.subarray(0, colon), password: decoded.subarray(colon + 1) };
}
