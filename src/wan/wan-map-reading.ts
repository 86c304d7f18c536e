/**
 * Reads the WAN replication settings of maps: the replication that receives the changes of a map,
 * the statistics of its entries, and its Merkle tree. Tested by wan-reading.spec.ts.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import { pathText, quoted } from '../config/finding-list.ts';
import { hintOf, nearestNames } from '../config/nearest-name.ts';
import { defaultsOf, type SectionReading } from '../config/section-reading.ts';
import { pathOf } from '../config/setting.ts';
import { formatPlace } from '../config/source.ts';
import type { NamedBlock, Statement } from '../config/statements.ts';
import { ENGINE_SETTINGS } from '../engine/engine-settings.ts';
import type { MapWan } from './wan-config.ts';
import {
  FILTERS_MAX,
  KEY_FILTER,
  keyFilterOf,
  MAP_WAN_SETTINGS,
  type MapWanKey,
  MERKLE_DEPTH_COUNTED_MAX,
  REF_PATH,
} from './wan-settings.ts';

/** The settings of a map while they are read. */
interface Draft {
  /** The name of its replication, with its first place. */
  ref: NamedBlock | undefined;
  readonly statements: Map<MapWanKey, Statement>;
  readonly filters: Statement[];
}

interface MapTexts {
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
}

/** A filter in YAML and in XML. */
const FILTER_PATTERNS = ['[]', 'filter-impl'].map((step) => `${REF_PATH}.filters.${step}`);
const MAP_WAN_KEYS = Object.keys(MAP_WAN_SETTINGS) as readonly MapWanKey[];
const KEYS: ReadonlyMap<string, MapWanKey> = new Map(
  MAP_WAN_KEYS.map((key) => [MAP_WAN_SETTINGS[key].path ?? '', key]),
);
const DEFAULTS = defaultsOf(MAP_WAN_SETTINGS);
/** Policies that compare values which only the statistics of entries provide. */
const BY_STATISTICS: ReadonlySet<string> = new Set(['HigherHits', 'LatestAccess']);

/**
 * Reads the settings. `replications`: the names that maps may refer to. `isOnServers`: whether servers
 * store the data, which do not count reads.
 */
export function readMapWan(
  { statements, blocks }: MapTexts,
  replications: ReadonlySet<string>,
  isOnServers: boolean,
  reading: SectionReading,
): ReadonlyMap<string, MapWan> {
  const drafts = new Map<string, Draft>();
  const draftOf = ([, map = '']: readonly string[]): Draft =>
    getOrCreate(drafts, map, () => ({ ref: undefined, statements: new Map(), filters: [] }));
  for (const block of blocks) {
    const { pattern, path, name } = block;
    if (pattern !== REF_PATH || name === '') continue;
    const draft = draftOf(path);
    const first = draft.ref;
    draft.ref ??= block;
    if (first !== undefined && first.name !== name) {
      const other = `${quoted(first.name)} at ${formatPlace(first.at)}`;
      reading.problems.refuse(block, () => `the map already refers to ${other}`);
    } else if (!replications.has(name)) {
      const hint = () => hintOf(nearestNames(name, replications));
      reading.problems.refuse(block, () => `no such wan-replication${hint()}`);
    }
  }
  for (const statement of statements) {
    const { pattern, path } = statement;
    const key = pattern.startsWith('map.') ? KEYS.get(pattern) : undefined;
    if (key !== undefined) draftOf(path).statements.set(key, statement);
    else if (FILTER_PATTERNS.includes(pattern)) draftOf(path).filters.push(statement);
  }
  return new Map(
    [...drafts].map(([map, draft]) => [map, settingsOf(map, draft, isOnServers, reading)]),
  );
}

function settingsOf(
  map: string,
  draft: Draft,
  isOnServers: boolean,
  reading: SectionReading,
): MapWan {
  const { ref, statements, filters } = draft;
  const values = { ...DEFAULTS, ...reading.rows(MAP_WAN_SETTINGS, statements).values };
  const { mergePolicy, republishingEnabled, perEntryStatsEnabled, merkleTreeDepth } = values;
  const policy = statements.get('mergePolicy');
  if (policy !== undefined && BY_STATISTICS.has(mergePolicy) && isOnServers) {
    const engine = pathOf(ENGINE_SETTINGS.engineUrl);
    reading.problems.refuseText(policy, () => `reads are not counted with ${engine}`);
  } else if (policy !== undefined && BY_STATISTICS.has(mergePolicy) && !perEntryStatsEnabled) {
    const needed = pathText(['map', map, 'per-entry-stats-enabled']);
    reading.problems.refuseText(policy, () => `${needed} is not true`);
  }
  const depth = statements.get('merkleTreeDepth');
  if (depth !== undefined && merkleTreeDepth > MERKLE_DEPTH_COUNTED_MAX) {
    const counted = `${quoted(depth.text)} counts as ${MERKLE_DEPTH_COUNTED_MAX}`;
    reading.warnings.add(depth.at, () => `${pathText(depth.path)} ${counted}`);
  }
  const patterns = patternsOf(filters, reading);
  // Shows the settings that are set, and for a reference also the defaults.
  for (const key of MAP_WAN_KEYS) {
    const row = MAP_WAN_SETTINGS[key];
    const { path = '' } = row;
    const at = statements.get(key)?.at;
    const isShown = at !== undefined || (ref !== undefined && path.startsWith(REF_PATH));
    if (!isShown || values[key] === undefined || typeof values[key] === 'object') continue;
    const [, , ...below] = path.split('.');
    const steps = below.map((step) => (step === '{name}' ? (ref?.name ?? '') : step));
    reading.show(['map', map, ...steps], row, values[key], at);
  }
  for (const [index, statement] of filters.entries()) {
    reading.showOnce(statement, [...statement.path.slice(0, -1), `[${index}]`]);
  }
  return {
    ref: ref && { name: ref.name, mergePolicy, republishingEnabled, filters: patterns },
    perEntryStatsEnabled,
    merkleTree: { enabled: values.merkleTreeEnabled, depth: merkleTreeDepth },
  };
}

function patternsOf(filters: readonly Statement[], reading: SectionReading): string[] {
  const patterns: string[] = [];
  for (const [index, statement] of filters.entries()) {
    const { text } = statement;
    const pattern = keyFilterOf(text);
    if (pattern !== undefined) patterns.push(pattern);
    else if (text.startsWith(KEY_FILTER) || text === '') {
      reading.problems.refuseText(statement, () => `not ${MAP_WAN_SETTINGS.filters.expects}`);
    } else {
      reading.refuse(
        statement,
        'classes that filter changes are not supported; key:PATTERN excludes the keys that match',
      );
    }
    if (index === FILTERS_MAX) {
      reading.problems.refuse(statement, () => `more than ${FILTERS_MAX} filters`);
    }
  }
  return patterns;
}
