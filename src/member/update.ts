/**
 * Adds a configuration text to the configuration in force: new maps, queues and users. Existing
 * ones do not change, and all other settings of the text are ignored, including endpoint groups: no
 * call changes which endpoints are served. A text may name many things, so all work is done in
 * slices. The additions are written as a text that adds them again on other members.
 * Tested by member/reloader.spec.ts.
 */
import type { NamedConfig } from '../administration/configuration-actions.ts';
import { inSlices, Slices } from '../base/slices.ts';
import { HASH_PREFIX } from '../base/stored-password.ts';
import { configFault } from '../config/finding.ts';
import { FINDINGS_MAX } from '../config/finding-list.ts';
import { isPattern, PATTERNS_MAX } from '../config/name-lookup.ts';
import { pathOf } from '../config/setting.ts';
import type { UserConfig } from '../security/security-config.ts';
import { SECURITY_PATHS } from '../security/security-settings.ts';
import { sharedMapWan } from '../wan/shared-wan-config.ts';
import type { MapWan, WanReplicationRef } from '../wan/wan-config.ts';
import { KEY_FILTER } from '../wan/wan-settings.ts';
import type { Config } from './config.ts';
import { type ConfigRequest, type LoadedConfig, refusedFault, tooManyPatterns } from './load.ts';
import { type NamedKey, namedKeys, SETTINGS } from './settings.ts';

export interface ConfigUpdate {
  readonly config: Config;
  /** Whether the text has references of maps to WAN replications. */
  readonly hasReferences: boolean;
  readonly added: readonly NamedConfig[];
  readonly ignored: readonly NamedConfig[];
}

/** Sections whose maps, queues, users and groups are added one by one. */
const SECTIONS = ['map', 'queue', 'security', 'network'];
/** Settings with a value for each map, or for each queue. */
const MAP_KEYS = namedKeys('map.{name}');
const QUEUE_KEYS = namedKeys('queue.{name}');

/**
 * Adds the text, which is YAML, XML or JSON. `isOfMembers`: another member has added it, so its
 * references apply although this member's own file names the map. Rejects with ConfigFault.
 */
export async function addConfigText(
  config: Config,
  text: string,
  load: (request: ConfigRequest) => Promise<LoadedConfig>,
  isOfMembers = false,
): Promise<ConfigUpdate> {
  const isOnServers = config.engineUrl !== undefined;
  const loaded = await load({
    file: {
      text,
      around: {
        replications: [...config.wanReplications.keys()],
        isOnServers,
      },
    },
    environment: {},
    flags: [],
  });
  const fault = refusedFault(loaded.findings);
  if (fault !== undefined) throw fault;
  const update = new Update();
  const addition = loaded.config;
  const newMaps = new Set<string>();
  const isNewMap = (name: string) => newMaps.has(name);
  const isNewQueue = (name: string) => !isIn(config, QUEUE_KEYS, name);
  await update.each(addition.mapTimeToLiveSeconds.keys(), (name) => {
    if (update.note(!isIn(config, MAP_KEYS, name), 'map', name)) newMaps.add(name);
  });
  await update.each(addition.queueMaxSizes.keys(), (name) => {
    update.note(isNewQueue(name), 'queue', name);
  });
  for (const group of addition.endpointGroups.keys()) {
    const isStated = addition.sources.get(pathOf(SETTINGS.endpointGroups, group))?.kind === 'file';
    if (isStated) update.note(false, 'endpoint-groups', group);
  }
  const realms = await addedRealms(config, addition, update);
  if (addition.security.permissions !== undefined) {
    update.ignored.push({ sectionName: SECURITY_PATHS.permissions });
  }
  for (const sectionName of loaded.sections) {
    if (!SECTIONS.includes(sectionName)) update.ignored.push({ sectionName });
  }
  const named: Partial<Record<NamedKey, ReadonlyMap<string, number>>> = {};
  for (const [keys, isNew] of [[MAP_KEYS, isNewMap] as const, [QUEUE_KEYS, isNewQueue] as const]) {
    for (const key of keys) named[key] = await update.extended(config[key], addition[key], isNew);
  }
  const isReferring = (name: string) =>
    isOnServers ? (isOfMembers || isNewMap(name)) && !config.mapWan.has(name) : isNewMap(name);
  const mapWan = await update.extended(config.mapWan, addition.mapWan, isReferring);
  const names = isOfMembers ? addition.mapTimeToLiveSeconds.keys() : newMaps;
  return {
    hasReferences: [...addition.mapWan.values()].some(({ ref }) => ref !== undefined),
    config: {
      ...config,
      ...named,
      mapWan: isOnServers ? sharedMapWan(mapWan, names) : mapWan,
      security: realms === undefined ? config.security : { ...config.security, realms },
    },
    added: update.added,
    ignored: update.ignored,
  };
}

/** Returns the configuration with the maps and queues of another one. */
export function withNames(config: Config, other: Config): Config {
  const named = [...MAP_KEYS, ...QUEUE_KEYS].map((key) => [key, other[key]]);
  return { ...config, ...Object.fromEntries(named), mapWan: other.mapWan };
}

/** Returns the first FINDINGS_MAX things, and the number of the others, for the log. */
export function shownNames(name: string, things: readonly NamedConfig[]): object {
  const more = things.length - FINDINGS_MAX;
  if (more <= 0) return { [name]: things };
  return { [name]: things.slice(0, FINDINGS_MAX), [`${name}More`]: more };
}

function isIn(config: Config, keys: readonly NamedKey[], name: string): boolean {
  return keys.some((key) => config[key].has(name));
}

/**
 * Returns the realms with the new users, or undefined if the text has no new realm and no new user.
 */
async function addedRealms(
  config: Config,
  addition: Config,
  update: Update,
): Promise<ReadonlyMap<string, readonly UserConfig[]> | undefined> {
  const realms = new Map(config.security.realms);
  let isChanged = false;
  for (const [realm, more] of addition.security.realms) {
    const users = [...(realms.get(realm) ?? [])];
    const names = new Set(users.map(({ name }) => name));
    isChanged ||= !realms.has(realm);
    await update.each(more, (user) => {
      if (!update.note(!names.has(user.name), `security.realms.${realm}`, user.name)) return;
      users.push(user);
      isChanged = true;
    });
    realms.set(realm, users);
  }
  return isChanged ? realms : undefined;
}

class Update {
  readonly added: NamedConfig[] = [];
  readonly ignored: NamedConfig[] = [];
  readonly #slices = new Slices();

  /** Lists the thing as added or ignored; returns whether it is new. */
  note(isNew: boolean, sectionName: string, configName: string): boolean {
    (isNew ? this.added : this.ignored).push({ sectionName, configName });
    return isNew;
  }

  /** Calls `work` for each item, in slices. */
  async each<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
    await inSlices(items, work, this.#slices);
  }

  /**
   * Returns the values of `before` and the new ones of `addition`. Rejects with ConfigFault for too
   * many patterns.
   */
  async extended<Value>(
    before: ReadonlyMap<string, Value>,
    addition: ReadonlyMap<string, Value>,
    isNew: (name: string) => boolean,
  ): Promise<ReadonlyMap<string, Value>> {
    if (addition.size === 0) return before;
    const all = new Map<string, Value>();
    let patternCount = 0;
    const add = ([name, value]: [string, Value]): void => {
      all.set(name, value);
      if (!isPattern(name)) return;
      patternCount += 1;
      if (patternCount > PATTERNS_MAX) throw configFault(tooManyPatterns(name));
    };
    await this.each(before, add);
    await this.each(addition, (entry) => {
      if (isNew(entry[0])) add(entry);
    });
    return all;
  }
}

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
  const map = section(names('map'), (name) => ({
    ...settingsOf(config, MAP_KEYS, name),
    ...wanOf(config.mapWan.get(name)),
  }));
  const queue = section(names('queue'), (name) => settingsOf(config, QUEUE_KEYS, name));
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

/** Returns the settings of a map or queue by the last steps of their paths. */
function settingsOf(config: Config, keys: readonly NamedKey[], name: string): object {
  return Object.assign(
    {},
    ...keys.map((key) => {
      const step = SETTINGS[key].path.slice(SETTINGS[key].path.lastIndexOf('.') + 1);
      return stated(step, config[key].get(name));
    }),
  );
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
