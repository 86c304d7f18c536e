/**
 * The WAN configuration that the members of a cluster on servers have in common: the replications, and
 * the references and hash trees of the maps, in their files. A member with others cannot join. User and
 * password of a publisher, its TLS files, and settings without effect may differ.
 */
import { GridError } from '../base/errors.ts';
import { addressText } from '../base/server-address.ts';
import type { CommonConfig } from '../cluster/membership.ts';
import { byName, isPattern } from '../config/name-lookup.ts';
import type {
  MapWan,
  WanConfig,
  WanEndpoint,
  WanPublisherOptions,
  WanReplicationRef,
} from './wan-config.ts';
import {
  MAP_WAN_SETTINGS,
  MERKLE_DEPTH_COUNTED_MAX,
  PUBLISHER_KEYS,
  type PublisherKey,
  publisherNameOf,
} from './wan-settings.ts';

/** Settings of a publisher that may differ. */
const OWN_SETTINGS: ReadonlySet<PublisherKey> = new Set<PublisherKey>([
  'publisherId',
  'endpoint',
  'username',
  'password',
  'queueBytesMax',
  'snapshotEnabled',
]);
/** Maximum length of a value in a message, in characters. */
const SHOWN_LENGTH_MAX = 200;

/** Part of the places of a map's hash tree. */
const TREE = '.merkle-tree.';
const DEFAULT_DEPTH = MAP_WAN_SETTINGS.merkleTreeDepth.fallback;
/** A map that the settings of a pattern or of `default` do not apply to. */
const NO_SETTINGS: MapWan = {
  ref: undefined,
  perEntryStatsEnabled: false,
  merkleTree: { enabled: undefined, depth: DEFAULT_DEPTH },
};

/** Values by their places, in the order of the places. */
type Entries = readonly (readonly [place: string, value: unknown])[];

/**
 * Returns the settings of the maps of a cluster, without regard to the other maps that a member
 * configures: those with a reference, or other than the default hash trees, and those configured without, to
 * which the settings of a pattern, or of `default`, would apply. `names`: the configured maps.
 */
export function sharedMapWan(
  mapWan: WanConfig['mapWan'],
  names: Iterable<string>,
): WanConfig['mapWan'] {
  const shared = new Map([...mapWan].filter(([, settings]) => isShared(settings)));
  const hasRules = [...shared.keys()].some((name) => isPattern(name) || name === 'default');
  if (!hasRules) return inOrder(shared);
  const applied = byName(new Map(shared));
  for (const name of [...mapWan.keys(), ...names]) {
    if (shared.has(name)) continue;
    const isCovered = isPattern(name) || applied(Buffer.from(name)) !== undefined;
    if (isCovered) shared.set(name, mapWan.get(name) ?? NO_SETTINGS);
  }
  return inOrder(shared);
}

function isShared({ ref, merkleTree: { enabled, depth } }: MapWan): boolean {
  return ref !== undefined || enabled === false || depth !== DEFAULT_DEPTH;
}

/** The last one of patterns that match equally well applies, so all members need the same order. */
function inOrder(mapWan: WanConfig['mapWan']): WanConfig['mapWan'] {
  return new Map([...mapWan].sort(byText));
}

/** Returns the part of the configuration in common. `mapWan` is that of `sharedMapWan`. */
export function sharedWanConfig(
  config: Pick<WanConfig, 'wanReplications' | 'mapWan'>,
): CommonConfig {
  const own = entriesOf(config);
  return {
    text: own.length === 0 ? '' : JSON.stringify(own),
    differenceFrom(other) {
      const theirs = other === '' ? [] : (JSON.parse(other) as Entries);
      return new GridError('WAN_CONFIG_DIFFERS', firstDifference(own, theirs));
    },
  };
}

function entriesOf({ wanReplications, mapWan }: Pick<WanConfig, 'wanReplications' | 'mapWan'>) {
  const entries: [string, unknown][] = [];
  for (const { name, publishers } of wanReplications.values()) {
    const path = `wan-replication.${name}`;
    entries.push([path, true]);
    for (const publisher of publishers) {
      const below = `${path}.batch-publisher.${publisher.publisherId}`;
      entries.push([below, true]);
      for (const key of PUBLISHER_KEYS) {
        if (OWN_SETTINGS.has(key)) continue;
        entries.push([`${below}.${publisherNameOf(key)}`, settingOf(publisher, key)]);
      }
    }
  }
  for (const [map, { ref, merkleTree }] of mapWan) {
    const { enabled, depth } = merkleTree;
    entries.push([`map.${map}.wan-replication-ref`, refText(ref)]);
    entries.push([`map.${map}${TREE}enabled`, enabled !== false]);
    entries.push([`map.${map}${TREE}depth`, Math.min(depth, MERKLE_DEPTH_COUNTED_MAX)]);
  }
  return entries.sort(byText);
}

function byText([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}

function settingOf(publisher: WanPublisherOptions, key: PublisherKey): unknown {
  if (key !== 'targetEndpoints') return publisher[key as keyof WanPublisherOptions];
  return publisher.targetEndpoints.map(endpointText).join(',');
}

function endpointText({ tls, segment, ...address }: WanEndpoint): string {
  const path = segment === undefined ? '' : `/${segment}`;
  return `${tls ? 'https' : 'http'}://${addressText(address)}${path}`;
}

function refText(ref: WanReplicationRef | undefined): object | false {
  if (ref === undefined) return false;
  const { name, mergePolicy, republishingEnabled, filters } = ref;
  return {
    [name]: {
      'merge-policy-class-name': mergePolicy,
      'republishing-enabled': republishingEnabled,
      filters,
    },
  };
}

function firstDifference(own: Entries, theirs: Entries) {
  const others = new Map(theirs.map(([place, value]) => [place, JSON.stringify(value)]));
  const owns = new Map(own.map(([place, value]) => [place, JSON.stringify(value)]));
  const places = [...own, ...theirs].sort(byText).map(([place]) => place);
  const different = places.filter((each) => owns.get(each) !== others.get(each));
  // A map that a member lacks is named by its reference.
  const place = different.find((each) => !each.includes(TREE)) ?? different[0] ?? '';
  return { place: shown(place), value: shown(owns.get(place)), other: shown(others.get(place)) };
}

function shown(text = 'missing'): string {
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}
