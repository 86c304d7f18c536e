/**
 * WAN replication settings of maps, one row each. Defaults are those of the original 5.7.0.
 * Tested by wan.spec.ts.
 */
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

/** Prefix of a filter, before a pattern of keys; any other text is a class of the original. */
export const KEY_FILTER = 'key:';
/** Maximum number of filters of a map; all of them are tried for each change. */
export const FILTERS_MAX = 100;
/** Minimum and maximum depth, as in the original. */
const DEPTH = { min: 2, max: 27 };
const SUFFIX = 'MergePolicy';

export const MAP_WAN_SETTINGS = {
  mergePolicy: wordSetting<WanReplicationRef['mergePolicy']>({
    path: `${REF_PATH}.merge-policy-class-name`,
    about:
      'Decides between the received value of a key and the value at the target; the name may have a package ' +
      'prefix and the suffix MergePolicy. HigherHits and LatestAccess need per-entry-stats-enabled',
    fallback: 'PassThrough',
    expects: `one of ${MERGE_POLICIES.join(', ')}`,
    read: readMergePolicy,
  }),
  republishingEnabled: booleanSetting({
    path: `${REF_PATH}.republishing-enabled`,
    about: 'Whether changes received from other clusters are sent on',
    fallback: true,
  }),
  filters: listSetting({
    path: `${REF_PATH}.filters`,
    about: 'Keys whose changes are not sent; "*" matches any text',
    fallback: [],
    fallbackText: 'none',
    example: `${KEY_FILTER}local-*`,
    expects: `texts of the form ${KEY_FILTER}PATTERN, at most ${FILTERS_MAX}`,
    allows: (text) => keyFilterOf(text) !== undefined,
  }),
  perEntryStatsEnabled: booleanSetting({
    path: 'map.{name}.per-entry-stats-enabled',
    about: 'Whether the number of reads of an entry, and the time of the last one, are recorded',
    fallback: false,
  }),
  merkleTreeEnabled: {
    path: 'map.{name}.merkle-tree.enabled',
    flags: [],
    about: 'Whether the map can be compared with the same map of a target',
    fallback: undefined,
    fallbackText: 'true if a publisher of the map has MERKLE_TREES',
    example: 'true',
    ...booleanRule,
  } satisfies Setting<boolean | undefined> as Setting<boolean | undefined>,
  merkleTreeDepth: integerSetting({
    path: 'map.{name}.merkle-tree.depth',
    about: `Levels of the tree of each partition; every further level doubles the leaves; more than ${MERKLE_DEPTH_COUNTED_MAX} count as ${MERKLE_DEPTH_COUNTED_MAX}`,
    unit: 'levels',
    fallback: MERKLE_DEPTH_DEFAULT,
    minimum: DEPTH.min,
    maximum: DEPTH.max,
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type MapWanKey = keyof typeof MAP_WAN_SETTINGS;

/** Returns the pattern of a filter of keys, or undefined for any other text. */
export function keyFilterOf(text: string): string | undefined {
  const pattern = text.slice(KEY_FILTER.length);
  return text.startsWith(KEY_FILTER) && pattern !== '' ? pattern : undefined;
}

/** Returns a hint with the name that an invalid policy probably means. */
export function mergePolicyHint(text: string): string {
  return hintOf(nearestNames(bareName(text), MERGE_POLICIES));
}

function readMergePolicy(text: string): WanReplicationRef['mergePolicy'] | undefined {
  return MERGE_POLICIES.find((name) => name === bareName(text));
}

/** Returns the name without a package and the suffix. */
function bareName(text: string): string {
  const name = text.slice(text.lastIndexOf('.') + 1);
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}
