/**
 * Writes the maps, queues and users that a configuration text has added as a text that adds them
 * again on other members. It contains passwords only as hashes. Tested by member/reloader.spec.ts.
 */
import { HASH_PREFIX } from '../base/stored-password.ts';
import { configFault } from '../config/config-fault.ts';
import type { UserConfig } from '../security/security-config.ts';
import { SECURITY_PATHS } from '../security/security-paths.ts';
import type { MapWan, WanReplicationRef } from '../wan/wan-config.ts';
import { KEY_FILTER } from '../wan/wan-settings.ts';
import type { ConfigUpdate } from './update.ts';

/** Maximum number of plain-text passwords in one text: hashing each takes as long as a login. */
const HASHED_PASSWORDS_MAX = 100;

const REALM_SECTION = `${SECURITY_PATHS.realms}.`;

/** Hashes a password, as `gridnode hash-password` does. */
export type HashPassword = (password: Buffer) => Promise<string>;

/**
 * Returns the text as JSON. Rejects with ConfigFault for more than HASHED_PASSWORDS_MAX passwords
 * in plain text.
 */
export async function addedText(update: ConfigUpdate, hash: HashPassword): Promise<string> {
  const { config, added } = update;
  const names = (section: string): string[] =>
    added.flatMap(({ sectionName, configName }) =>
      sectionName === section && configName !== undefined ? [configName] : [],
    );
  const { mapTimeToLiveSeconds, mapMaxIdleSeconds, queueMaxSizes } = config;
  const { mapBackupCounts, queueBackupCounts, mapWan } = config;
  const map = section(names('map'), (name) => ({
    ...stated('time-to-live-seconds', mapTimeToLiveSeconds.get(name)),
    ...stated('max-idle-seconds', mapMaxIdleSeconds.get(name)),
    ...stated('backup-count', mapBackupCounts.get(name)),
    ...wanOf(mapWan.get(name)),
  }));
  const queue = section(names('queue'), (name) => ({
    ...stated('max-size', queueMaxSizes.get(name)),
    ...stated('backup-count', queueBackupCounts.get(name)),
  }));
  const sections = new Set(added.map(({ sectionName }) => sectionName));
  const users = [...sections]
    .filter((name) => name.startsWith(REALM_SECTION))
    .map((name) => {
      const realm = name.slice(REALM_SECTION.length);
      const isAdded = new Set(names(name));
      const all = config.security.realms.get(realm) ?? [];
      return { realm, users: all.filter((user) => isAdded.has(user.name)) };
    });
  const security = users.length === 0 ? undefined : { realms: await hashed(users, hash) };
  return JSON.stringify({ grid: { map, queue, security } });
}

interface RealmUsers {
  readonly realm: string;
  readonly users: readonly UserConfig[];
}

async function hashed(realms: readonly RealmUsers[], hash: HashPassword): Promise<object[]> {
  const isPlain = ({ password }: UserConfig): boolean => !password.startsWith(HASH_PREFIX);
  const plainCount = realms.flatMap(({ users }) => users.filter(isPlain)).length;
  if (plainCount > HASHED_PASSWORDS_MAX) {
    throw configFault(
      `Cannot add ${plainCount} users with passwords in plain text, at most ${HASHED_PASSWORDS_MAX}: ` +
        'hash them with `gridnode hash-password`',
    );
  }
  const written: object[] = [];
  for (const { realm, users } of realms) {
    const each: object[] = [];
    for (const user of users) {
      const password = isPlain(user) ? await hash(Buffer.from(user.password)) : user.password;
      each.push({ username: user.name, password, roles: user.roles });
    }
    written.push({ name: realm, authentication: { simple: { users: each } } });
  }
  return written;
}

/** Returns the section, or undefined for no names: an empty section is omitted. */
function section(names: readonly string[], of: (name: string) => object): object | undefined {
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, of(name)]));
}

function wanOf(wan: MapWan | undefined): object {
  if (wan === undefined) return {};
  const { ref, perEntryStatsEnabled, merkleTree } = wan;
  const { enabled, depth } = merkleTree;
  return {
    ...(ref && { 'wan-replication-ref': { [ref.name]: refText(ref) } }),
    'per-entry-stats-enabled': perEntryStatsEnabled,
    'merkle-tree': { ...stated('enabled', enabled), depth },
  };
}

function refText({ mergePolicy, republishingEnabled, filters }: WanReplicationRef): object {
  return {
    'merge-policy-class-name': mergePolicy,
    'republishing-enabled': republishingEnabled,
    filters: filters.map((pattern) => `${KEY_FILTER}${pattern}`),
  };
}

function stated(name: string, value: number | boolean | undefined): object {
  return value === undefined ? {} : { [name]: value };
}
