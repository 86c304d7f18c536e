/** The sections of the settings in help and documentation. */
import { pathOf, SETTINGS, type SettingKey } from './settings.ts';

/** In the order in which readers look for settings. */
export const SECTIONS = [
  'Address',
  'TLS',
  'What is served',
  'Maps, queues and memory',
  'Member',
  'Data on the disk',
  'Several members',
  'Limits',
] as const;

export type Section = (typeof SECTIONS)[number];

/** Path prefixes of each section; the first one that matches counts. */
const PREFIXES: readonly (readonly [prefix: string, section: Section])[] = [
  ['network.http.', 'Limits'],
  ['network.ssl.', 'TLS'],
  ['network.rest-api.', 'What is served'],
  [pathOf('compatibility'), 'What is served'],
  ['network.', 'Address'],
  ['persistence.', 'Data on the disk'],
  ['engine.', 'Several members'],
  ['map.', 'Maps, queues and memory'],
  ['queue.', 'Maps, queues and memory'],
  [pathOf('maxMemory'), 'Maps, queues and memory'],
  [pathOf('partitionCount'), 'Maps, queues and memory'],
];

export function sectionOf(key: SettingKey): Section {
  const { path } = SETTINGS[key];
  if (path === undefined) return 'Address';
  return PREFIXES.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'Member';
}
