/**
 * What a file says of security: whether it is on, the users of the realms that are named for
 * administration and for clients, and what clients may do. Realms of other kinds than simple users
 * are refused elsewhere.
 */
import { parsePassword } from '../base/stored-password.ts';
import type { Problem } from './document.ts';
import { isOn, type Refusal } from './refusals.ts';
import type { Statement } from './statements.ts';

export interface UserConfig {
  readonly name: string;
  /** In plain text or as a hash. */
  readonly password: string;
  readonly roles: readonly string[];
}

export interface PermissionConfig {
  readonly kind: 'map' | 'queue' | 'all';
  /** Of maps or queues; `*` stands for any text. */
  readonly name: string;
  /** A user or a role; `*` stands for any text. */
  readonly principal: string;
  /** Patterns of clients' addresses; none: every address. */
  readonly endpoints: readonly string[];
  readonly actions: readonly string[];
  /** Whether it takes the actions away instead. */
  readonly isDenial: boolean;
}

export interface SecurityConfig {
  readonly isEnabled: boolean;
  /** Users by the name of their realm. */
  readonly realms: ReadonlyMap<string, readonly UserConfig[]>;
  /** The realm of those who may administer. */
  readonly memberRealm: string | undefined;
  /** The realm of those who may read and write, where that is another. */
  readonly clientRealm: string | undefined;
  /** Undefined where nothing is said of permissions. */
  readonly permissions: readonly PermissionConfig[] | undefined;
  /** Whether what one permission grants stands above what another takes away. */
  readonly prefersGrant: boolean;
}

export const NO_SECURITY: SecurityConfig = {
  isEnabled: false,
  realms: new Map(),
  memberRealm: undefined,
  clientRealm: undefined,
  permissions: undefined,
  prefersGrant: false,
};

/** Where each part of it stands in a file. */
export const SECURITY_PATHS: Readonly<Record<keyof SecurityConfig, string>> = {
  isEnabled: 'security.enabled',
  realms: 'security.realms',
  memberRealm: 'security.member-authentication.realm',
  clientRealm: 'security.client-authentication.realm',
  permissions: 'security.client-permissions',
  prefersGrant: 'security.client-permissions.priority-grant',
};

export interface SecurityReading {
  readonly security: SecurityConfig;
  /** The statements that have been understood. */
  readonly used: ReadonlySet<Statement>;
  readonly problems: readonly Problem[];
  /** What `serve` does not start with. */
  readonly refusals: readonly Refusal[];
}

/** Statements in the order of rising weight. */
export function readSecurity(statements: readonly Statement[]): SecurityReading {
  const reader = new SecurityReader();
  for (const statement of statements) {
    const [section] = statement.path;
    if (section === 'security' || section === 'auditlog') reader.read(statement);
  }
  return reader.end();
}

interface UserDraft {
  at: Problem['at'];
  name?: string;
  password?: string;
  readonly roles: string[];
}

interface RealmDraft {
  name: string;
  readonly users: Map<string, UserDraft>;
}

interface PermissionDraft {
  readonly kind: PermissionConfig['kind'];
  name: string;
  principal: string;
  readonly endpoints: string[];
  readonly actions: string[];
  isDenial: boolean;
}

const USER = 'security.realms.[].authentication.simple.users.[].';
const KINDS: ReadonlyMap<string, PermissionConfig['kind']> = new Map([
  ['map', 'map'],
  ['queue', 'queue'],
  ['all', 'all'],
]);

class SecurityReader {
  readonly #used = new Set<Statement>();
  readonly #problems: Problem[] = [];
  readonly #realms = new Map<string, RealmDraft>();
  readonly #permissions = new Map<string, PermissionDraft>();
  #enabled: Statement | undefined;
  #priorityGrant: Statement | undefined;
  #memberRealm: string | undefined;
  #clientRealm: string | undefined;

  read(statement: Statement): void {
    if (this.#isUnderstood(statement)) this.#used.add(statement);
  }

  end(): SecurityReading {
    const isEnabled = isOn(this.#enabled);
    // One without a name cannot be named by anything.
    const named = [...this.#realms.values()].filter(({ name }) => name !== '');
    const realms = new Map(named.map((realm) => [realm.name, this.#usersOf(realm)]));
    const permissions = [...this.#permissions.values()];
    return {
      security: {
        isEnabled,
        realms,
        memberRealm: this.#memberRealm,
        clientRealm: this.#clientRealm,
        permissions: permissions.length === 0 ? undefined : permissions,
        prefersGrant: isOn(this.#priorityGrant),
      },
      used: this.#used,
      problems: this.#problems,
      refusals: isEnabled ? this.#refusals() : [],
    };
  }

  /** Security that nobody could pass. */
  #refusals(): Refusal[] {
    const statement = this.#enabled;
    if (statement === undefined || this.#memberRealm !== undefined) return [];
    const reason = 'nobody could log in; name a realm as security.member-authentication.realm';
    return [{ statement, reason }];
  }

  #isUnderstood(statement: Statement): boolean {
    const { pattern, path, text } = statement;
    if (pattern === 'security.enabled') this.#enabled = statement;
    // There is an audit log anyway.
    else if (pattern === 'auditlog.enabled') return true;
    else if (pattern === 'security.member-authentication.realm') this.#memberRealm = text;
    else if (pattern === 'security.client-authentication.realm') this.#clientRealm = text;
    else if (pattern === 'security.client-permissions.priority-grant') {
      this.#priorityGrant = statement;
    } else if (pattern === 'security.realms.[].name') this.#realm(path).name = text;
    else if (pattern.startsWith(USER)) return this.#readUser(statement);
    else if (pattern.startsWith('security.client-permissions.')) {
      return this.#readPermission(statement);
    } else return pattern.startsWith('security.realms.[].identity.username-password.');
    return true;
  }

  #realm(path: readonly string[]): RealmDraft {
    const index = path[2] ?? '';
    const realm = this.#realms.get(index) ?? { name: '', users: new Map() };
    this.#realms.set(index, realm);
    return realm;
  }

  #readUser({ pattern, path, text, at }: Statement): boolean {
    const { users } = this.#realm(path);
    const index = path[6] ?? '';
    const user = users.get(index) ?? { at, roles: [] };
    users.set(index, user);
    switch (pattern.slice(USER.length)) {
      case 'username':
        user.name = text;
        return true;
      case 'password':
        user.password = text;
        this.#checkPassword(text, at);
        return true;
      case 'roles.[]':
        user.roles.push(text);
        return true;
      default:
        return false;
    }
  }

  #checkPassword(text: string, at: Problem['at']): void {
    try {
      parsePassword(text);
    } catch (error) {
      // A text that begins as a hash and is none; the message does not repeat it.
      this.#problems.push({ at, message: (error as RangeError).message });
    }
  }

  #readPermission({ path, text }: Statement): boolean {
    const kind = KINDS.get(path[2] ?? '');
    if (kind === undefined) return false;
    const steps = kind === 'all' ? path.slice(3) : path.slice(4);
    const key = path.slice(2, path.length - steps.length).join(' ');
    const draft = this.#permissions.get(key) ?? {
      kind,
      name: '*',
      principal: '*',
      endpoints: [],
      actions: [],
      isDenial: false,
    };
    this.#permissions.set(key, draft);
    if (steps[0] === 'name') draft.name = text;
    else if (steps[0] === 'principal') draft.principal = text;
    else if (steps[0] === 'endpoints') draft.endpoints.push(text);
    else if (steps[0] === 'actions') draft.actions.push(text);
    else if (steps[0] === 'deny') draft.isDenial = text.toLowerCase() === 'true';
    else return false;
    return true;
  }

  /** The users of the realm; what is missing of one is a problem. */
  #usersOf(realm: RealmDraft): UserConfig[] {
    const users: UserConfig[] = [];
    for (const { at, name, password, roles } of realm.users.values()) {
      if (name !== undefined && password !== undefined) users.push({ name, password, roles });
      else {
        const missing = name === undefined ? 'username' : 'password';
        const seen = name === undefined ? '' : ` ${JSON.stringify(name)}`;
        const realmName = JSON.stringify(realm.name);
        const message = `Cannot use user${seen} of realm ${realmName}: no ${missing}`;
        this.#problems.push({ at, message });
      }
    }
    return users;
  }
}
