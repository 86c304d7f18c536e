/**
 * Reads the WAN replication settings of maps: the replication that receives the changes of a map,
 * the statistics of its entries, and its Merkle tree. Tested by wan.spec.ts.
 */
import { quoted } from './finding-list.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import { formatPlace, type Place } from './place.ts';
import { DEFAULT, sourceAt } from './source.ts';
import { isOfType, pathText, type Statement } from './statements.ts';
import { type MapWan, MERKLE_DEPTH_COUNTED_MAX, type WanReplicationRef } from './wan-config.ts';
import type { WanFindings, WanText } from './wan-findings.ts';
import {
  FILTERS_MAX,
  KEY_FILTER,
  keyFilterOf,
  MAP_WAN_SETTINGS,
  type MapWanKey,
  mergePolicyHint,
} from './wan-map-settings.ts';
import { REF_PATH } from './wan-paths.ts';

/** The settings of a map while they are read. */
interface Draft {
  /** The name of its replication, with its first place. */
  ref: { readonly name: string; readonly at: Place } | undefined;
  readonly statements: Map<MapWanKey, Statement>;
  readonly filters: Statement[];
}

type Values = { -readonly [Key in MapWanKey]: (typeof MAP_WAN_SETTINGS)[Key]['fallback'] };

/** A filter in YAML and in XML. */
const FILTER_PATTERNS = ['[]', 'filter-impl'].map((step) => `${REF_PATH}.filters.${step}`);
const KEYS: ReadonlyMap<string, MapWanKey> = new Map(
  (Object.keys(MAP_WAN_SETTINGS) as MapWanKey[]).map((key) => [
    MAP_WAN_SETTINGS[key].path ?? '',
    key,
  ]),
);
/** Policies that compare values which only the statistics of entries provide. */
const BY_STATISTICS: ReadonlySet<string> = new Set(['HigherHits', 'LatestAccess']);

/** Reads the settings. `replications`: the names that maps may refer to. */
export function readMapWan(
  text: WanText,
  replications: ReadonlySet<string>,
  findings: WanFindings,
): ReadonlyMap<string, MapWan> {
  return new MapWanReader(replications, findings).read(text);
}

class MapWanReader {
  readonly #replications: ReadonlySet<string>;
  readonly #findings: WanFindings;
  readonly #drafts = new Map<string, Draft>();

  constructor(replications: ReadonlySet<string>, findings: WanFindings) {
    this.#replications = replications;
    this.#findings = findings;
  }

  read({ statements, blocks }: WanText): ReadonlyMap<string, MapWan> {
    for (const { pattern, path, name, at } of blocks) {
      if (pattern === REF_PATH && name !== '') this.#refer(path, name, at);
    }
    for (const statement of statements) {
      const { pattern, path } = statement;
      const key = pattern.startsWith('map.') ? KEYS.get(pattern) : undefined;
      if (key !== undefined) this.#draftOf(path).statements.set(key, statement);
      else if (FILTER_PATTERNS.includes(pattern)) this.#draftOf(path).filters.push(statement);
    }
    return new Map([...this.#drafts].map(([map, draft]) => [map, this.#settingsOf(map, draft)]));
  }

  #draftOf(path: readonly string[]): Draft {
    const map = path[1] ?? '';
    const draft = this.#drafts.get(map) ?? { ref: undefined, statements: new Map(), filters: [] };
    this.#drafts.set(map, draft);
    return draft;
  }

  #refer(path: readonly string[], name: string, at: Place): void {
    const { problems } = this.#findings;
    const draft = this.#draftOf(path);
    const first = draft.ref;
    draft.ref ??= { name, at };
    if (first !== undefined && first.name !== name) {
      const other = `${quoted(first.name)} at ${formatPlace(first.at)}`;
      problems.add(at, () => `Cannot use ${pathText(path)}: the map already refers to ${other}`);
    } else if (!this.#replications.has(name)) {
      const hint = hintOf(nearestNames(name, this.#replications));
      problems.add(at, () => `Cannot use ${pathText(path)}: no such wan-replication${hint}`);
    }
  }

  #settingsOf(map: string, { ref, statements, filters }: Draft): MapWan {
    const values = this.#valuesOf(statements);
    const policy = statements.get('mergePolicy');
    if (policy !== undefined && BY_STATISTICS.has(values.mergePolicy)) {
      this.#checkStatistics(policy, values);
    }
    const { perEntryStatsEnabled, merkleTreeEnabled, merkleTreeDepth } = values;
    const depth = statements.get('merkleTreeDepth');
    if (depth !== undefined && merkleTreeDepth > MERKLE_DEPTH_COUNTED_MAX) this.#warnOfDepth(depth);
    const merkleTree = { enabled: merkleTreeEnabled, depth: merkleTreeDepth };
    const patterns = this.#patternsOf(filters);
    const { mergePolicy, republishingEnabled } = values;
    const whole: WanReplicationRef | undefined = ref && {
      name: ref.name,
      mergePolicy,
      republishingEnabled,
      filters: patterns,
    };
    this.#show(map, ref?.name, statements, values);
    for (const [index, statement] of filters.entries()) {
      this.#findings.showOnce(statement, [...statement.path.slice(0, -1), `[${index}]`]);
    }
    return { ref: whole, perEntryStatsEnabled, merkleTree };
  }

  /** Returns the values of the settings; invalid ones are problems. */
  #valuesOf(statements: ReadonlyMap<MapWanKey, Statement>): Values {
    const rows = Object.entries(MAP_WAN_SETTINGS);
    const values: Record<string, unknown> = Object.fromEntries(
      rows.map(([key, { fallback }]) => [key, fallback]),
    );
    for (const [key, statement] of statements) {
      const { text, path, at } = statement;
      const { expects, ...row } = MAP_WAN_SETTINGS[key];
      const parsed = row.parse(text);
      this.#findings.used.add(statement);
      if ('value' in parsed) values[key] = parsed.value;
      // A text of another type is a problem reported elsewhere.
      else if (isOfType(statement)) {
        const hint = key === 'mergePolicy' ? mergePolicyHint(text) : '';
        const message = () => `Cannot use ${pathText(path)} ${quoted(text)}: not ${expects}${hint}`;
        this.#findings.problems.add(at, message);
      }
    }
    return values as Values;
  }

  #checkStatistics({ path, text, at }: Statement, { perEntryStatsEnabled }: Values): void {
    if (perEntryStatsEnabled) return;
    const needed = pathText(['map', path[1] ?? '', 'per-entry-stats-enabled']);
    const message = () => `Cannot use ${pathText(path)} ${quoted(text)}: ${needed} is not true`;
    this.#findings.problems.add(at, message);
  }

  #warnOfDepth({ path, text, at }: Statement): void {
    const counted = MERKLE_DEPTH_COUNTED_MAX;
    const message = () => `${pathText(path)} ${quoted(text)} counts as ${counted}`;
    this.#findings.warnings.add(at, message);
  }

  #patternsOf(filters: readonly Statement[]): string[] {
    const patterns: string[] = [];
    for (const [index, statement] of filters.entries()) {
      const { path, text, at } = statement;
      const pattern = keyFilterOf(text);
      if (pattern !== undefined) patterns.push(pattern);
      else if (text.startsWith(KEY_FILTER) || text === '') {
        const { expects } = MAP_WAN_SETTINGS.filters;
        const message = () => `Cannot use ${pathText(path)} ${quoted(text)}: not ${expects}`;
        this.#findings.problems.add(at, message);
      } else {
        this.#findings.refuse(
          statement,
          'classes that filter changes are not supported; key:PATTERN excludes the keys that match',
        );
      }
      if (index === FILTERS_MAX) {
        const message = () => `Cannot use ${pathText(path)}: more than ${FILTERS_MAX} filters`;
        this.#findings.problems.add(at, message);
      }
    }
    return patterns;
  }

  /** Shows the settings that are set, and for a reference also the defaults. */
  #show(
    map: string,
    ref: string | undefined,
    statements: ReadonlyMap<MapWanKey, Statement>,
    values: Values,
  ): void {
    for (const key of Object.keys(MAP_WAN_SETTINGS) as MapWanKey[]) {
      const statement = statements.get(key);
      const pattern = MAP_WAN_SETTINGS[key].path ?? '';
      const isOfRef = ref !== undefined && pattern.startsWith(REF_PATH);
      const value = values[key];
      if (value === undefined || typeof value === 'object') continue;
      if (!isOfRef && statement === undefined) continue;
      const [, , ...below] = pattern.split('.');
      const steps = ['map', map, ...below.map((step) => (step === '{name}' ? (ref ?? '') : step))];
      const source = statement === undefined ? DEFAULT : sourceAt(statement.at);
      this.#findings.values.push({ steps, value, source });
    }
  }
}
