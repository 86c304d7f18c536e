/**
 * Sections with settings that are used or refused. In such a section an unknown name may be a
 * misspelt one of these, so it is an error. In other sections an unknown name has no effect, so it
 * is a warning. Tested by document-schema.spec.ts.
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
} from './wan-settings.ts';

/**
 * Patterns of WAN replication in addition to its rows: those of XML, and those that are refused.
 */
const OF_WAN: readonly string[] = [
  ...[PUBLISHER_PATH, PUBLISHER_ITEM].flatMap((publisher) =>
    ['any', 'properties.{name}', 'sync.any'].map((name) => `${publisher}.${name}`),
  ),
  ...['custom-publisher.{name}.any', 'custom-publisher.any', 'consumer.any'].map(
    (name) => `${REPLICATION_PATTERN}.${name}`,
  ),
  `${REF_PATH}.filters.any`,
  ...['ssl.properties.{name}', 'symmetric-encryption.any', 'socket-interceptor.any'].map(
    (name) => `${ENDPOINT_PATTERN}.${name}`,
  ),
];

/** Patterns of the sections, as in statements; that of the root is ''. */
export const STRICT_SECTIONS = strictSections();

/** Patterns of the XML elements that are items of a list although their path has no number. */
export const LIST_PATTERNS = listPatterns();

function strictSections(): ReadonlySet<string> {
  const patterns = [
    ...patternsOf(ALL_ROWS),
    ...REFUSED_PATTERNS,
    'import.resource',
    'auditlog.enabled',
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

function listPatterns(): ReadonlySet<string> {
  const lists = patternsOf(ALL_ROWS.filter(({ isList }) => isList));
  return new Set([...lists, ...advancedPatterns(lists), `${REF_PATH}.filters.filter-impl`]);
}

function patternsOf(rows: readonly AnySetting[]): string[] {
  return rows.flatMap(({ path, aliases = [] }) => [
    ...(path === undefined ? [] : [path]),
    ...aliases,
  ]);
}
