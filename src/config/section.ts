/** The sections of the settings in help and documentation. Tested by describe.spec.ts. */
import type { AnySetting } from './setting.ts';
import { pathOf } from './settings.ts';
import { MAP_WAN_SETTINGS } from './wan-settings.ts';

/** In the order in which readers look for them. */
export const SECTIONS = [
  'Address',
  'TLS',
  'What is served',
  'Maps, queues and memory',
  'Member',
  'Data on the disk',
  'Several members',
  'WAN replication',
  'Limits',
] as const;

export type Section = (typeof SECTIONS)[number];

/** Path prefixes of each section; the first match is used. */
const PREFIXES: readonly (readonly [prefix: string, section: Section])[] = [
  ['network.http.', 'Limits'],
  ['network.ssl.', 'TLS'],
  ['network.rest-api.', 'What is served'],
  [pathOf('compatibility'), 'What is served'],
  ['network.', 'Address'],
  ['persistence.', 'Data on the disk'],
  ['engine.', 'Several members'],
  ['wan.', 'WAN replication'],
  ['wan-replication.', 'WAN replication'],
  ...Object.values(MAP_WAN_SETTINGS).map(({ path = '' }) => [path, 'WAN replication'] as const),
  ['map.', 'Maps, queues and memory'],
  ['queue.', 'Maps, queues and memory'],
  [pathOf('maxMemory'), 'Maps, queues and memory'],
  [pathOf('partitionCount'), 'Maps, queues and memory'],
];

export function sectionOf({ path }: Pick<AnySetting, 'path'>): Section {
  if (path === undefined) return 'Address';
  return PREFIXES.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'Member';
}
