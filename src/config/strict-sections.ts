/**
 * Sections with settings that are used or refused. In such a section an unknown name may be a
 * misspelt one of these, so it is an error. In other sections an unknown name has no effect, so it
 * is a warning. Tested by document-schema.spec.ts.
 */
import { advancedPatterns } from './interpretation.ts';
import { PROPERTY_NAMES } from './property-names.ts';
import { REFUSED_PATTERNS } from './refused-settings.ts';
import { patternsOf, type SettingTable } from './setting-table.ts';

/** Returns the patterns of the sections, as in statements; that of the root is ''. */
export function strictSections(table: SettingTable): ReadonlySet<string> {
  const patterns = [
    ...patternsOf(table.all),
    ...REFUSED_PATTERNS,
    'import.resource',
    'auditlog.enabled',
    ...table.patterns,
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

/**
 * Returns the patterns of the XML elements that are items of a list although their path has no
 * number.
 */
export function listPatterns(table: SettingTable): ReadonlySet<string> {
  const lists = patternsOf(table.all.filter(({ isList }) => isList));
  const ofXml = table.patterns.filter((pattern) => pattern.endsWith('.filter-impl'));
  return new Set([...lists, ...advancedPatterns(lists), ...ofXml]);
}
