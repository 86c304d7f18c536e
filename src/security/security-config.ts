/**
 * Reads the security settings: whether security is on, the users of the realms for administration
 * and for clients, and the permissions of clients. Realms of kinds other than simple users are
 * refused elsewhere. A realm without users has its identity as a user, because members of the
 * original with such a realm accept one another by it. Problems of realms are reported whether
 * security is on or not.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import { parsePassword } from '../base/stored-password.ts';
import { FindingList, quoted } from '../config/finding-list.ts';
import { isOn, type RefusedSetting, refusedAt } from '../config/refused-settings.ts';
import type { Place } from '../config/source.ts';
import type { Statement, WrittenSection } from '../config/statements.ts';
import { type PermissionConfig, PermissionReader } from './permission-reader.ts';
import { SECURITY_PATHS } from './security-settings.ts';

export interface UserConfig {
  readonly name: string;
  /** Plain text or a hash. */
  readonly password: string;
  readonly roles: readonly string[];
}

export interface SecurityConfig {
  readonly isEnabled: boolean;
  /** Users by the name of their realm. */
  readonly realms: ReadonlyMap<string, readonly UserConfig[]>;
  /** The realm of the users that may administer the member. */
  readonly memberRealm: string | undefined;
  /** The realm of the users that may read and write data, if it is another one. */
  readonly clientRealm: string | undefined;
  /**
   * Grants and denials. Empty if the section grants nothing; undefined without the section: then
   * every user may do everything.
   */
  readonly permissions: readonly PermissionConfig[] | undefined;
  /** Whether a grant of one permission overrides a denial of another. */
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

export interface SecurityReading {
  readonly security: SecurityConfig;
  /** The statements that have been used. */
  readonly used: ReadonlySet<Statement>;
  /** Problems of the realms as such, and all others. */
  readonly problems: readonly FindingList[];
  /** Settings with which `serve` refuses to start. */
  readonly refused: readonly RefusedSetting[];
}

/**
 * Reads the settings. Statements are in order of increasing precedence. `written`: the sections and
 * settings that files have below `security`.
 */
export function readSecurity(
  statements: readonly Statement[],
  written: readonly WrittenSection[],
): SecurityReading {
  const reader = new SecurityReader(written);
  for (const statement of statements) {
    const [section] = statement.path;
    if (section === 'security' || section === 'auditlog') reader.read(statement);
  }
  return reader.end();
}

interface UserDraft {
  at: Place;
  name?: string;
  password?: string;
  readonly roles: string[];
}

interface RealmDraft {
  name: string;
  readonly users: Map<string, UserDraft>;
  identity?: UserDraft;
}

/** Maximum number of realms listed in a message. */
const REALMS_LISTED_MAX = 12;
const REALM_REFERENCES: readonly string[] = [
  SECURITY_PATHS.memberRealm,
  SECURITY_PATHS.clientRealm,
];
const CLIENT_AUTHENTICATION = 'security.client-authentication';
const USER = 'security.realms.[].authentication.simple.users.[].';
const IDENTITY = 'security.realms.[].identity.username-password.';

class SecurityReader {
  readonly #used = new Set<Statement>();
  readonly #problems = new FindingList();
  readonly #ofRealms = new FindingList();
  readonly #realmNames = new Set<string>();
  /** User names with the places of their realms. */
  readonly #userNames = new Set<string>();
  readonly #references: Statement[] = [];
  readonly #realms = new Map<string, RealmDraft>();
  readonly #written: readonly WrittenSection[];
  readonly #permissions: PermissionReader;
  #enabled: Statement | undefined;
  #priorityGrant: Statement | undefined;
  #memberRealm: Statement | undefined;
  #clientRealm: Statement | undefined;

  constructor(written: readonly WrittenSection[]) {
    this.#written = written;
    this.#permissions = new PermissionReader(written, this.#problems);
  }

  read(statement: Statement): void {
    if (this.#isUnderstood(statement)) this.#used.add(statement);
    if (REALM_REFERENCES.includes(statement.pattern)) this.#references.push(statement);
  }

  end(): SecurityReading {
    const isEnabled = isOn(this.#enabled);
    for (const statement of this.#references) this.#checkReference(statement);
    // No setting can refer to a realm without a name.
    const named = [...this.#realms.values()].filter(({ name }) => name !== '');
    const realms = new Map(named.map((realm) => [realm.name, this.#usersOf(realm)]));
    return {
      security: {
        isEnabled,
        realms,
        memberRealm: this.#memberRealm?.text,
        clientRealm: this.#clientRealm?.text,
        permissions: this.#permissions.end(),
        prefersGrant: isOn(this.#priorityGrant),
      },
      used: this.#used,
      problems: [this.#ofRealms, this.#problems],
      refused: isEnabled ? this.#refused(realms) : [],
    };
  }

  /** Refuses security that no user could pass, or that anybody could pass with an empty password. */
  #refused(realms: SecurityConfig['realms']): RefusedSetting[] {
    const statement = this.#enabled;
    if (statement === undefined) return [];
    const refused: RefusedSetting[] = [];
    if (this.#memberRealm === undefined) {
      const reason = `no user could log in; set ${SECURITY_PATHS.memberRealm} to a realm`;
      refused.push(refusedAt(statement, reason));
    }
    const clients = this.#written.find(({ pattern }) => pattern === CLIENT_AUTHENTICATION);
    if (clients !== undefined && this.#clientRealm === undefined) {
      const reason = `${CLIENT_AUTHENTICATION} has no realm; set one, or remove it`;
      refused.push(refusedAt(statement, reason));
    }
    for (const named of [this.#memberRealm, this.#clientRealm]) {
      if (named === undefined) continue;
      const users = realms.get(named.text) ?? [];
      const open = users.find(({ password }) => password === '');
      if (users.length > 0 && open === undefined) continue;
      const reason =
        open === undefined
          ? `no user could log in: realm ${quoted(named.text)} has no users; ` +
            'add authentication.simple.users to it'
          : `user ${quoted(open.name)} of realm ${quoted(named.text)} has an empty password`;
      refused.push(refusedAt(named, reason));
    }
    return refused;
  }

  #isUnderstood(statement: Statement): boolean {
    const { pattern } = statement;
    if (pattern === SECURITY_PATHS.isEnabled) this.#enabled = statement;
    // The audit log is always on.
    else if (pattern === 'auditlog.enabled') return true;
    else if (pattern === SECURITY_PATHS.memberRealm) this.#memberRealm = statement;
    else if (pattern === SECURITY_PATHS.clientRealm) this.#clientRealm = statement;
    else if (pattern === SECURITY_PATHS.prefersGrant) {
      this.#priorityGrant = statement;
      this.#permissions.note();
    } else if (pattern === 'security.realms.[].name') this.#nameRealm(statement);
    else if (pattern.startsWith(USER)) return this.#readUser(statement);
    else if (pattern.startsWith(`${SECURITY_PATHS.permissions}.`)) {
      return this.#permissions.read(statement);
    } else return pattern.startsWith(IDENTITY) && this.#readIdentity(statement);
    return true;
  }

  #nameRealm({ path, text, at }: Statement): void {
    this.#realm(path).name = text;
    if (this.#realmNames.has(text)) {
      this.#ofRealms.add(at, () => `Cannot use realm ${quoted(text)}: it occurs twice`);
    }
    this.#realmNames.add(text);
  }

  #checkReference(statement: Statement): void {
    const realms = this.#realmNames;
    if (realms.has(statement.text)) return;
    this.#ofRealms.refuseText(statement, () => {
      const some = [...realms].slice(0, REALMS_LISTED_MAX).join(', ');
      return `no such realm (${realms.size === 0 ? 'there is none' : `known: ${some}`})`;
    });
  }

  #realm(path: readonly string[]): RealmDraft {
    return getOrCreate(this.#realms, path[2] ?? '', () => ({ name: '', users: new Map() }));
  }

  #readUser({ pattern, path, text, at }: Statement): boolean {
    const { users } = this.#realm(path);
    const user = getOrCreate(users, path[6] ?? '', (): UserDraft => ({ at, roles: [] }));
    const name = pattern.slice(USER.length);
    if (name !== 'roles.[]') {
      if (name === 'username') this.#checkTwin(path, text, at);
      return this.#readLogin(user, name, text, at);
    }
    user.roles.push(text);
    return true;
  }

  #checkTwin(path: readonly string[], text: string, at: Place): void {
    const user = `${path.slice(0, 3).join('.')} ${text}`;
    if (this.#userNames.has(user)) {
      this.#ofRealms.add(at, () => `Cannot use user ${quoted(text)}: it occurs twice in its realm`);
    }
    this.#userNames.add(user);
  }

  #readIdentity({ pattern, path, text, at }: Statement): boolean {
    const realm = this.#realm(path);
    realm.identity ??= { at, roles: [] };
    return this.#readLogin(realm.identity, pattern.slice(IDENTITY.length), text, at);
  }

  #readLogin(user: UserDraft, name: string, text: string, at: Place): boolean {
    if (name === 'username') user.name = text;
    else if (name === 'password') {
      user.password = text;
      this.#checkPassword(text, at);
    } else return false;
    return true;
  }

  #checkPassword(text: string, at: Place): void {
    try {
      parsePassword(text);
    } catch (error) {
      // The text starts like a hash but is invalid; the message does not repeat it.
      this.#problems.add(at, () => (error as RangeError).message);
    }
  }

  /**
   * Returns the users of the realm, or its identity if it has no users. A user without a name or
   * password is a problem.
   */
  #usersOf(realm: RealmDraft): UserConfig[] {
    const users: UserConfig[] = [];
    const { identity } = realm;
    const drafts = realm.users.size > 0 || !identity ? realm.users.values() : [identity];
    for (const { at, name, password, roles } of drafts) {
      if (name !== undefined && password !== undefined) users.push({ name, password, roles });
      else {
        const missing = name === undefined ? 'username' : 'password';
        const seen = name === undefined ? '' : ` ${quoted(name)}`;
        const message = () =>
          `Cannot use user${seen} of realm ${quoted(realm.name)}: no ${missing}`;
        this.#problems.add(at, message);
      }
    }
    return users;
  }
}
