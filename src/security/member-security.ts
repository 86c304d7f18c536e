/**
 * The configured security of a member: the check of administrative requests, and the logins of
 * other requests. Users and permissions change with the configuration; whether security is on does
 * not change while the member runs. Tested by cli/reload.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { Figures } from '../base/figures.ts';
import type { Part } from '../base/part.ts';
import { inSlices } from '../base/slices.ts';
import { AccessControl, type AccessRules } from './access-control.ts';
import { Authenticator, readPasswords } from './authenticator.ts';
import { withoutMapping } from './client-network.ts';
import { CountedCredentials, type RefusedLogins } from './counted-credentials.ts';
import { ClusterNameCredentials, type Credentials } from './credentials.ts';
import type { PermissionConfig } from './permission-reader.ts';
import type { Permission } from './permissions.ts';
import type { SecurityConfig, UserConfig } from './security-config.ts';
import { reportSecurity } from './security-metrics.ts';
import type { Authentication } from './security-settings.ts';

interface MemberSecurityOptions {
  readonly security: SecurityConfig;
  readonly authentication: Authentication;
  readonly clusterName: string;
  readonly clock: Clock;
  /** Whether one of the patterns matches the address. */
  matchesAddress(patterns: readonly string[], address: string): boolean;
}

export class MemberSecurity implements Part<{ readonly security: SecurityConfig }> {
  /** Checks the credentials of administrative requests. */
  readonly credentials: Credentials;
  /** Checks the HTTP Basic credentials of other members; undefined if security is off. */
  readonly memberAccess: AccessControl | undefined;
  /** Checks the HTTP Basic credentials of clients; undefined if no login is required. */
  readonly access: AccessControl | undefined;
  readonly #options: MemberSecurityOptions;
  /** The configuration that was last applied. */
  #security: SecurityConfig;
  readonly #members: Authenticator | undefined;
  readonly #clients: Authenticator | undefined;
  readonly #refused: RefusedLogins = { failed: 0, throttled: 0 };

  /** Throws RangeError for an invalid password hash. */
  constructor(options: MemberSecurityOptions) {
    const { security, authentication, clusterName, clock } = options;
    this.#options = options;
    this.#security = security;
    this.#members = security.isEnabled
      ? new Authenticator(memberUsersOf(security), clock)
      : undefined;
    this.credentials = this.#counted(this.#members ?? new ClusterNameCredentials(clusterName));
    this.memberAccess = this.#members && new AccessControl(memberRulesOf(this.credentials));
    if (!security.isEnabled || authentication === 'none') return;
    this.#clients = new Authenticator(clientUsersOf(security), clock);
    const users = new Map(clientUsersOf(security).map((user) => [user.name, user]));
    this.access = new AccessControl(this.#rulesOf(this.#clients, security, users));
  }

  /**
   * Prepares users and permissions in slices. Rejects with the errors of the constructor. The
   * caller must not run two changes at a time.
   */
  async change({ security }: { readonly security: SecurityConfig }): Promise<() => void> {
    if (security === this.#security) return () => {};
    const memberUsers = memberUsersOf(security);
    const clientUsers = clientUsersOf(security);
    const members = await readPasswords(memberUsers);
    const clients = clientUsers === memberUsers ? members : await readPasswords(clientUsers);
    const users = new Map<string, UserConfig>();
    await inSlices(clientUsers, (user) => users.set(user.name, user));
    const rules = this.#clients && this.#rulesOf(this.#clients, security, users);
    return () => {
      this.#security = security;
      this.#members?.replacePasswords(members);
      this.#clients?.replacePasswords(clients);
      this.memberAccess?.replaceRules(memberRulesOf(this.credentials));
      if (rules !== undefined) this.access?.replaceRules(rules);
    };
  }

  figures(to: Figures): void {
    reportSecurity(to, this.#refused);
  }

  #counted(credentials: Credentials): Credentials {
    return new CountedCredentials(credentials, this.#refused);
  }

  /** `users`: those of the clients, by name. */
  #rulesOf(
    authenticator: Authenticator,
    { permissions, prefersGrant }: SecurityConfig,
    users: ReadonlyMap<string, UserConfig>,
  ): AccessRules {
    return {
      authenticator: this.#counted(authenticator),
      users,
      permissions: permissions?.map((permission) => this.#permissionOf(permission)),
      prefersGrant,
      coversHealth: this.#options.authentication === 'basic-all',
    };
  }

  #permissionOf({ endpoints, ...permission }: PermissionConfig): Permission {
    const { matchesAddress } = this.#options;
    const appliesAt = (address: string) => {
      return endpoints.length === 0 || matchesAddress(endpoints, withoutMapping(address));
    };
    return { ...permission, appliesAt };
  }
}

/**
 * Returns the rules for other members: every user that may administer the member may send messages
 * to it.
 */
function memberRulesOf(authenticator: Credentials): AccessRules {
  return {
    authenticator,
    users: new Map(),
    permissions: undefined,
    prefersGrant: false,
    coversHealth: false,
  };
}

/** Returns the users that may administer the member. */
function memberUsersOf({ realms, memberRealm = '' }: SecurityConfig): readonly UserConfig[] {
  return realms.get(memberRealm) ?? [];
}

/** Returns the users that may read and write data. */
function clientUsersOf(security: SecurityConfig): readonly UserConfig[] {
  const { realms, clientRealm } = security;
  return clientRealm === undefined ? memberUsersOf(security) : (realms.get(clientRealm) ?? []);
}
