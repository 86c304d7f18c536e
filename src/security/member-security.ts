/**
 * The security of a member as it is configured: what checks administrative requests, and what asks
 * for a login elsewhere. Users and permissions change with the configuration; whether there are any
 * does not, while the member runs.
 */
import type { Clock } from '../base/clock.ts';
import type { PermissionConfig } from '../config/permission-reader.ts';
import type { SecurityConfig, UserConfig } from '../config/security.ts';
import type { Authentication } from '../config/settings.ts';
import { AccessControl, type AccessRules } from './access-control.ts';
import { Authenticator } from './authenticator.ts';
import { ClusterNameCredentials, type Credentials } from './credentials.ts';
import type { Permission, Principal } from './permissions.ts';

export interface MemberSecurityOptions {
  readonly security: SecurityConfig;
  readonly authentication: Authentication;
  readonly clusterName: string;
  readonly clock: Clock;
  /** Whether one of the patterns stands for the address. */
  matchesAddress(patterns: readonly string[], address: string): boolean;
}

export class MemberSecurity {
  /** Checks the credentials of administrative requests. */
  readonly credentials: Credentials;
  /** Undefined where nobody is asked to log in. */
  readonly access: AccessControl | undefined;
  readonly #options: MemberSecurityOptions;
  readonly #members: Authenticator | undefined;
  readonly #clients: Authenticator | undefined;

  /** Throws RangeError for a password hash that is none. */
  constructor(options: MemberSecurityOptions) {
    const { security, authentication, clusterName, clock } = options;
    this.#options = options;
    this.#members = security.isEnabled
      ? new Authenticator(memberUsersOf(security), clock)
      : undefined;
    this.credentials = this.#members ?? new ClusterNameCredentials(clusterName);
    if (!security.isEnabled || authentication === 'none') return;
    this.#clients = new Authenticator(clientUsersOf(security), clock);
    this.access = new AccessControl(this.#rulesOf(this.#clients, security));
  }

  /** Takes over users and permissions; throws as the constructor, and changes nothing then. */
  replace(security: SecurityConfig): void {
    const [members, clients] = [memberUsersOf(security), clientUsersOf(security)];
    new Authenticator([...members, ...clients], this.#options.clock);
    this.#members?.replaceUsers(members);
    if (this.#clients === undefined) return;
    this.#clients.replaceUsers(clients);
    this.access?.replaceRules(this.#rulesOf(this.#clients, security));
  }

  #rulesOf(authenticator: Authenticator, security: SecurityConfig): AccessRules {
    return {
      authenticator,
      users: new Map(clientUsersOf(security).map((user) => [user.name, principalOf(user)])),
      permissions: security.permissions?.map((permission) => this.#permissionOf(permission)),
      prefersGrant: security.prefersGrant,
      coversHealth: this.#options.authentication === 'basic-all',
    };
  }

  #permissionOf({ endpoints, ...permission }: PermissionConfig): Permission {
    const { matchesAddress } = this.#options;
    const holdsAt = (address: string) => {
      return endpoints.length === 0 || matchesAddress(endpoints, withoutMapping(address));
    };
    return { ...permission, holdsAt };
  }
}

/** Who may administer. */
function memberUsersOf({ realms, memberRealm = '' }: SecurityConfig): readonly UserConfig[] {
  return realms.get(memberRealm) ?? [];
}

/** Who may read and write. */
function clientUsersOf(security: SecurityConfig): readonly UserConfig[] {
  const { realms, clientRealm } = security;
  return clientRealm === undefined ? memberUsersOf(security) : (realms.get(clientRealm) ?? []);
}

function principalOf({ name, roles }: UserConfig): Principal {
  return { name, roles };
}

/** An IPv4 address as a socket for both families shows it. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
