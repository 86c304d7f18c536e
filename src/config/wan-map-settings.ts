/** The settings of maps for WAN replication, one row each. Defaults are those of the original 5.7.0. */
import { hintOf, nearestNames } from './nearest-name.ts';
import {
  booleanRule,
  booleanSetting,
  integerSetting,
  listSetting,
  type Setting,
  wordSetting,
} from './setting.ts';
import {
  MERGE_POLICIES,
  MERKLE_DEPTH_COUNTED_MAX,
  MERKLE_DEPTH_DEFAULT,
  type WanReplicationRef,
} from './wan-config.ts';
import { REF_PATH } from './wan-paths.ts';

/** A filter is this and a pattern of keys; any other text is a class of the original's. */
export const KEY_FILTER = 'key:';
/** All of them are tried for each change. */
export const FILTERS_MAX = 100;
/** As in the original. */
const DEPTH = { min: 2, max: 27 };
const SUFFIX = 'MergePolicy';

export const MAP_WAN_SETTINGS = {
  mergePolicy: wordSetting<WanReplicationRef['mergePolicy']>({
    path: `${REF_PATH}.merge-policy-class-name`,
    about:
      'Which of two values of a key stays at the target, the one that comes or its own; a package may stand ' +
      'before the name, and MergePolicy behind it. HigherHits and LatestAccess need per-entry-stats-enabled',
    fallback: 'PassThrough',
    expects: `one of ${MERGE_POLICIES.join(', ')}`,
    read: readMergePolicy,
  }),
  republishingEnabled: booleanSetting({
    path: `${REF_PATH}.republishing-enabled`,
    about: 'Whether changes that came from other clusters are sent on',
    fallback: true,
  }),
  filters: listSetting({
    path: `${REF_PATH}.filters`,
    about: 'Keys whose changes are not sent; "*" stands for any text',
    fallback: [],
    fallbackText: 'none',
    example: `${KEY_FILTER}local-*`,
    expects: `texts of the form ${KEY_FILTER}PATTERN, ${FILTERS_MAX} at most`,
    allows: (text) => keyFilterOf(text) !== undefined,
  }),
  perEntryStatsEnabled: booleanSetting({
    path: 'map.{name}.per-entry-stats-enabled',
    about: 'Whether the number of reads of an entry, and the time of the last, are kept',
    fallback: false,
  }),
  merkleTreeEnabled: {
    path: 'map.{name}.merkle-tree.enabled',
    flags: [],
    about: 'Whether the map can be compared with that of a target',
    fallback: undefined,
    fallbackText: 'true where a publisher of the map has MERKLE_TREES',
    example: 'true',
    ...booleanRule,
  } satisfies Setting<boolean | undefined> as Setting<boolean | undefined>,
  merkleTreeDepth: integerSetting({
    path: 'map.{name}.merkle-tree.depth',
    about: `Levels of the tree of each partition; each more doubles the leaves; more than ${MERKLE_DEPTH_COUNTED_MAX} count as ${MERKLE_DEPTH_COUNTED_MAX}`,
    unit: 'levels',
    fallback: MERKLE_DEPTH_DEFAULT,
    minimum: DEPTH.min,
    maximum: DEPTH.max,
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type MapWanKey = keyof typeof MAP_WAN_SETTINGS;

/** The pattern of a filter of keys; undefined for any other text. */
export function keyFilterOf(text: string): string | undefined {
  const pattern = text.slice(KEY_FILTER.length);
  return text.startsWith(KEY_FILTER) && pattern !== '' ? pattern : undefined;
}

/** The name that a wrong policy probably means. */
export function mergePolicyHint(text: string): string {
  return hintOf(nearestNames(bareName(text), MERGE_POLICIES));
}

function readMergePolicy(text: string): WanReplicationRef['mergePolicy'] | undefined {
  return MERGE_POLICIES.find((name) => name === bareName(text));
}

/** Without a package and the suffix. */
function bareName(text: string): string {
  const name = text.slice(text.lastIndexOf('.') + 1);
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}
