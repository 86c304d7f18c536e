/**
 * Sections that have names which are used or refused here. In such a section an unknown name may be a
 * misspelt one of those, so it is an error. In another section an unknown name changes nothing that
 * this member does, so it is a warning.
 */
import { advancedPatterns } from './advanced-network.ts';
import { PROPERTY_NAMES } from './known-settings.ts';
import { REFUSED_PATTERNS } from './refused-settings.ts';
import { rowOf, SETTING_KEYS } from './settings.ts';

/** The sections by the patterns of their paths, as a statement has them; the root is ''. */
export function sectionsWithMeaning(): ReadonlySet<string> {
  const patterns = [
    ...settingPatterns(),
    ...REFUSED_PATTERNS,
    ...['import.resource', 'auditlog.enabled'],
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

function settingPatterns(): string[] {
  return SETTING_KEYS.flatMap((key) => {
    const { path, aliases = [] } = rowOf(key);
    return [...(path === undefined ? [] : [path]), ...aliases];
  });
}
