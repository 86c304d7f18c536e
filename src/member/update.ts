/**
 * Adds a configuration text to the configuration in force: new maps, queues and users. Existing
 * ones do not change, and all other settings of the text are ignored, including endpoint groups: no
 * call changes which endpoints are served. A text may name many things, so all work is done in
 * slices. Tested by member/reloader.spec.ts.
 */

import type { NamedConfig } from '../administration/configuration-actions.ts';
import { Slices } from '../base/slices.ts';
import { configFault } from '../config/config-fault.ts';
import { FINDINGS_MAX } from '../config/finding-list.ts';
import { isPattern, PATTERNS_MAX } from '../config/name-lookup.ts';
import { pathOf } from '../config/setting.ts';
import type { UserConfig } from '../security/security-config.ts';
import { SECURITY_PATHS } from '../security/security-paths.ts';
import type { Config } from './config.ts';
import { type ConfigRequest, type LoadedConfig, refusedFault, tooManyPatterns } from './load.ts';
import { SETTINGS } from './settings.ts';

export interface ConfigUpdate {
  readonly config: Config;
  readonly added: readonly NamedConfig[];
  readonly ignored: readonly NamedConfig[];
}

/** Sections whose maps, queues, users and groups are added one by one. */
const SECTIONS = ['map', 'queue', 'security', 'network'];

/** Adds the text, which is YAML, XML or JSON. Rejects with ConfigFault. */
export async function addConfigText(
  config: Config,
  text: string,
  load: (request: ConfigRequest) => Promise<LoadedConfig>,
): Promise<ConfigUpdate> {
  const loaded = await load({
    file: { text, replications: [...config.wanReplications.keys()] },
    environment: {},
    flags: [],
  });
  const fault = refusedFault(loaded.findings);
  if (fault !== undefined) throw fault;
  const update = new Update();
  const addition = loaded.config;
  const { mapTimeToLiveSeconds, mapMaxIdleSeconds, mapBackupCounts, queueBackupCounts } = config;
  const newMaps = new Set<string>();
  const isMapThere = (name: string) =>
    [mapTimeToLiveSeconds, mapMaxIdleSeconds, mapBackupCounts].some((names) => names.has(name));
  await update.each(addition.mapTimeToLiveSeconds.keys(), (name) => {
    if (update.note(!isMapThere(name), 'map', name)) newMaps.add(name);
  });
  const isNewMap = (name: string) => newMaps.has(name);
  const isNewQueue = (name: string) =>
    !config.queueMaxSizes.has(name) && !queueBackupCounts.has(name);
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
  const extended: Update['extended'] = (before, more, isNew) =>
    update.extended(before, more, isNew);
  return {
    config: {
      ...config,
      mapTimeToLiveSeconds: await extended(
        mapTimeToLiveSeconds,
        addition.mapTimeToLiveSeconds,
        isNewMap,
      ),
      mapMaxIdleSeconds: await extended(mapMaxIdleSeconds, addition.mapMaxIdleSeconds, isNewMap),
      mapBackupCounts: await extended(mapBackupCounts, addition.mapBackupCounts, isNewMap),
      mapWan: await extended(config.mapWan, addition.mapWan, isNewMap),
      queueMaxSizes: await extended(config.queueMaxSizes, addition.queueMaxSizes, isNewQueue),
      queueBackupCounts: await extended(queueBackupCounts, addition.queueBackupCounts, isNewQueue),
      security: realms === undefined ? config.security : { ...config.security, realms },
    },
    added: update.added,
    ignored: update.ignored,
  };
}

/** Returns the configuration with the maps and queues of another one. */
export function withNames(
  config: Config,
  {
    mapTimeToLiveSeconds,
    mapMaxIdleSeconds,
    mapBackupCounts,
    mapWan,
    queueMaxSizes,
    queueBackupCounts,
  }: Config,
): Config {
  return {
    ...config,
    mapTimeToLiveSeconds,
    mapMaxIdleSeconds,
    mapBackupCounts,
    mapWan,
    queueMaxSizes,
    queueBackupCounts,
  };
}

/** Returns the first FINDINGS_MAX things, and the number of the others, for the log. */
export function shownNames(name: string, things: readonly NamedConfig[]): object {
  const more = things.length - FINDINGS_MAX;
  if (more <= 0) return { [name]: things };
  return { [name]: things.slice(0, FINDINGS_MAX), [`${name}More`]: more };
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
    for (const item of items) {
      work(item);
      const pause = this.#slices.pause();
      if (pause !== undefined) await pause;
    }
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
