/**
 * A configuration text that is added to the one in force: new maps, queues, users and endpoint
 * groups. What is there already stays as it is, and so does everything else that the text names.
 */
import type { Config, Source } from './config.ts';
import { ConfigFault, loadConfig, refusalText } from './load.ts';
import type { UserConfig } from './security.ts';

/** One thing of the text. */
export interface NamedConfig {
  readonly sectionName: string;
  /** Missing where the whole section is meant. */
  readonly configName?: string;
}

export interface ConfigUpdate {
  readonly config: Config;
  readonly added: readonly NamedConfig[];
  readonly ignored: readonly NamedConfig[];
}

/** Sections of which single things are looked at. */
const SECTIONS = ['map', 'queue', 'security', 'network'];

/** YAML, XML or JSON. Throws ConfigFault. */
export async function addConfigText(config: Config, text: string): Promise<ConfigUpdate> {
  const loaded = await loadConfig({ file: { text }, environment: {}, flags: [] });
  if (loaded.refused.length > 0) throw new ConfigFault(loaded.refused.map(refusalText));
  const update = new Update();
  const said = loaded.config;
  const mapNames = [...said.mapTimeToLiveSeconds.keys(), ...said.mapMaxIdleSeconds.keys()];
  const newMaps = new Set(
    [...new Set(mapNames)].filter((name) => {
      const isThere = config.mapTimeToLiveSeconds.has(name) || config.mapMaxIdleSeconds.has(name);
      return update.note(!isThere, 'map', name);
    }),
  );
  const withMaps = (before: ReadonlyMap<string, number>, added: ReadonlyMap<string, number>) =>
    new Map([...before, ...[...added].filter(([name]) => newMaps.has(name))]);
  const queueMaxSizes = new Map(config.queueMaxSizes);
  for (const [name, maxSize] of said.queueMaxSizes) {
    if (update.note(!queueMaxSizes.has(name), 'queue', name)) queueMaxSizes.set(name, maxSize);
  }
  const endpointGroups = new Map(config.endpointGroups);
  const sources = new Map(config.sources);
  for (const [group, isEnabled] of said.endpointGroups) {
    const path = `network.rest-api.endpoint-groups.${group}.enabled`;
    if (said.sources.get(path)?.kind !== 'file') continue;
    const isNew = sources.get(path)?.kind === 'default';
    if (!update.note(isNew, 'endpoint-groups', group)) continue;
    endpointGroups.set(group, isEnabled);
    sources.set(path, ADDED);
  }
  const realms = new Map(config.security.realms);
  for (const [realm, users] of said.security.realms) {
    realms.set(realm, addedUsers(realms.get(realm) ?? [], realm, users, update));
  }
  for (const sectionName of loaded.sections) {
    if (!SECTIONS.includes(sectionName)) update.ignored.push({ sectionName });
  }
  return {
    config: {
      ...config,
      mapTimeToLiveSeconds: withMaps(config.mapTimeToLiveSeconds, said.mapTimeToLiveSeconds),
      mapMaxIdleSeconds: withMaps(config.mapMaxIdleSeconds, said.mapMaxIdleSeconds),
      queueMaxSizes,
      endpointGroups,
      sources,
      security: { ...config.security, realms },
    },
    added: update.added,
    ignored: update.ignored,
  };
}

/** The configuration with the maps and queues of the other one. */
export function withNames(
  config: Config,
  { mapTimeToLiveSeconds, mapMaxIdleSeconds, queueMaxSizes }: Config,
): Config {
  return { ...config, mapTimeToLiveSeconds, mapMaxIdleSeconds, queueMaxSizes };
}

const ADDED: Source = { kind: 'file', name: 'an added configuration' };

function addedUsers(
  before: readonly UserConfig[],
  realm: string,
  said: readonly UserConfig[],
  update: Update,
): UserConfig[] {
  const users = [...before];
  for (const user of said) {
    const isNew = !users.some(({ name }) => name === user.name);
    if (update.note(isNew, `security.realms.${realm}`, user.name)) users.push(user);
  }
  return users;
}

class Update {
  readonly added: NamedConfig[] = [];
  readonly ignored: NamedConfig[] = [];

  /** Lists the thing; returns whether it is new. */
  note(isNew: boolean, sectionName: string, configName: string): boolean {
    (isNew ? this.added : this.ignored).push({ sectionName, configName });
    return isNew;
  }
}
