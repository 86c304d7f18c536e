/**
 * Sections that have names which are used or refused here. In such a section an unknown name may be a
 * misspelt one of those, so it is an error. In another section an unknown name changes nothing that
 * this member does, so it is a warning.
 */
import { advancedPatterns } from './advanced-network.ts';
import { PROPERTY_NAMES } from './property-names.ts';
import { REFUSED_PATTERNS } from './refused-settings.ts';
import type { AnySetting } from './setting.ts';
import { ALL_ROWS } from './setting-rows.ts';
import {
  ENDPOINT_PATTERN,
  PUBLISHER_ITEM,
  PUBLISHER_PATH,
  REF_PATH,
  REPLICATION_PATTERN,
} from './wan-paths.ts';

/** The sections by the patterns of their paths, as a statement has them; the root is ''. */
export function sectionsWithMeaning(): ReadonlySet<string> {
  const patterns = [
    ...patternsOf(ALL_ROWS),
    ...REFUSED_PATTERNS,
    ...['import.resource', 'auditlog.enabled'],
    ...OF_WAN,
    ...Object.keys(PROPERTY_NAMES).map((section) => `${section}.{name}`),
  ];
  const sections = new Set<string>();
  for (const pattern of [...patterns, ...advancedPatterns(patterns)]) {
    const steps = pattern.split('.');
    for (let length = 0; length < steps.length; length++) {
      sections.add(steps.slice(0, length).join('.'));
    }
  }
  return sections;
}

/** Patterns of the elements of XML each of which is an item of a list, though its path has no number. */
export function listPatterns(): ReadonlySet<string> {
  const lists = patternsOf(ALL_ROWS.filter(({ isList }) => isList));
  return new Set([...lists, ...advancedPatterns(lists), `${REF_PATH}.filters.filter-impl`]);
}

/** Patterns of WAN replication beside its rows: those of XML, and what is refused. */
const OF_WAN: readonly string[] = [
  ...[PUBLISHER_PATH, PUBLISHER_ITEM].flatMap((publisher) => [
    ...['any', 'properties.{name}', 'sync.any'].map((name) => `${publisher}.${name}`),
  ]),
  ...['custom-publisher.{name}.any', 'custom-publisher.any', 'consumer.any'].map(
    (name) => `${REPLICATION_PATTERN}.${name}`,
  ),
  `${REF_PATH}.filters.any`,
  ...['ssl.properties.{name}', 'symmetric-encryption.any', 'socket-interceptor.any'].map(
    (name) => `${ENDPOINT_PATTERN}.${name}`,
  ),
];

function patternsOf(rows: readonly AnySetting[]): string[] {
  return rows.flatMap(({ path, aliases = [] }) => [
    ...(path === undefined ? [] : [path]),
    ...aliases,
  ]);
}
