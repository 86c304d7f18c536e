/**
 * Describes the settings as text: a configuration file in which every setting is commented out,
 * with its description, and the tables of the documentation, in sections as in the help.
 */
import { type AnySetting, isNamed, pathOf } from '../config/setting.ts';
import { MAP_WAN_SETTINGS } from '../wan/wan-settings.ts';
import { SETTINGS, TABLE } from './settings.ts';

/** In the order in which readers look for them. */
const SECTIONS = [
  'Address',
  'TLS',
  'What is served',
  'Maps, queues and memory',
  'Member',
  'Data on the disk',
  'Several members',
  'WAN replication',
  'CP subsystem',
  'Limits',
] as const;

type Section = (typeof SECTIONS)[number];

/** Path prefixes of each section; the first match is used. */
const PREFIXES: readonly (readonly [prefix: string, section: Section])[] = [
  ['network.http.', 'Limits'],
  ['network.ssl.', 'TLS'],
  ['network.rest-api.', 'What is served'],
  [pathOf(SETTINGS.compatibility), 'What is served'],
  ['network.', 'Address'],
  ['persistence.', 'Data on the disk'],
  ['engine.', 'Several members'],
  ['wan.', 'WAN replication'],
  ['wan-replication.', 'WAN replication'],
  ['cp-subsystem.', 'CP subsystem'],
  ...Object.values(MAP_WAN_SETTINGS).map(({ path = '' }) => [path, 'WAN replication'] as const),
  ['map.', 'Maps, queues and memory'],
  ['queue.', 'Maps, queues and memory'],
  [pathOf(SETTINGS.maxMemory), 'Maps, queues and memory'],
  [pathOf(SETTINGS.partitionCount), 'Maps, queues and memory'],
];

export function sectionOf({ path }: Pick<AnySetting, 'path'>): Section {
  if (path === undefined) return 'Address';
  return PREFIXES.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'Member';
}

const EXAMPLE_NAME = 'example';

/** Returns a file with every setting as a comment: its description, range and default. */
export function exampleFile(): string {
  const lines = [
    '## All settings of a member with their defaults. A line with "##" describes the next line.',
    '## gridnode serve --config FILE reads it; gridnode config --config FILE shows the effective values.',
    'grid:',
  ];
  let around: readonly string[] = [];
  for (const { steps, about, value } of sortedByPath()) {
    const shared = steps.findIndex((step, index) => step !== around[index]);
    for (let depth = shared; depth < steps.length - 1; depth++) {
      lines.push(`#${indent(depth)}${steps[depth]}:`);
    }
    lines.push(`##${indent(steps.length - 1)}${about}`);
    lines.push(`#${indent(steps.length - 1)}${steps.at(-1)}: ${value}`);
    around = steps.slice(0, -1);
  }
  return `${lines.join('\n')}\n`;
}

/** Returns Markdown: a table for each section, of setting, flag, range, default and meaning. */
export function settingsTables(): string {
  const rows = new Map<Section, string[]>(SECTIONS.map((section) => [section, []]));
  for (const row of TABLE.all) rows.get(sectionOf(row))?.push(tableRow(row));
  return [...rows]
    .map(([section, lines]) => [`## ${section}`, '', ...TABLE_HEAD, ...lines].join('\n'))
    .join('\n\n');
}

const TABLE_HEAD = ['| Setting | Flag | Range | Default | Meaning |', '|---|---|---|---|---|'];

function tableRow(row: AnySetting): string {
  const path = row.path === undefined ? 'no setting' : `\`${row.path}\``;
  const flags = row.flags.map(({ name, argument }) => `\`${name} ${argument}\``).join(', ');
  const unit = row.unit === undefined ? '' : `, in ${row.unit}`;
  const cells = [path, flags, row.expects + unit, defaultText(row), row.about];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

interface ExampleLine {
  readonly steps: readonly string[];
  readonly about: string;
  readonly value: string;
}

/**
 * Returns the settings with a path, grouped by the sections of their paths; within a section in the
 * order of the table.
 */
function sortedByPath(): ExampleLine[] {
  const lines = TABLE.all.flatMap(linesOf);
  const sections = new Map<string, ExampleLine[]>();
  for (const line of lines) {
    const section = line.steps.slice(0, -1).join('.');
    sections.set(section, [...(sections.get(section) ?? []), line]);
  }
  return [...sections.keys()].sort().flatMap((section) => sections.get(section) ?? []);
}

function linesOf(row: AnySetting): ExampleLine[] {
  if (row.path === undefined) return [];
  const unit = row.unit === undefined ? '' : `, in ${row.unit}`;
  const about = `${row.about} (${row.expects}${unit}; default ${defaultText(row)})`;
  const names = isNamed(row) ? [...row.fallback.keys()] : [EXAMPLE_NAME];
  return (names.length === 0 ? [EXAMPLE_NAME] : names).map((name) => ({
    steps: row.path?.split('.').map((step) => (step === '{name}' ? name : step)) ?? [],
    about,
    value: exampleOf(row, name),
  }));
}

function defaultText(row: AnySetting): string {
  if (row.fallbackText !== undefined) return row.fallbackText;
  if (!isNamed(row)) return String(row.fallback);
  const isSame = new Set(row.fallback.values()).size <= 1;
  if (isSame) return String([...row.fallback.values()][0] ?? 0);
  const on = [...row.fallback].filter(([, value]) => value === true).map(([name]) => name);
  return `true for ${on.join(' and ')}`;
}

function exampleOf(row: AnySetting, name: string): string {
  if (row.example !== undefined) return row.isList ? JSON.stringify([row.example]) : row.example;
  const value = isNamed(row) ? (row.fallback.get(name) ?? 0) : row.fallback;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function indent(depth: number): string {
  return '  '.repeat(depth + 1);
}
