/**
 * The effective configuration for people and programs: every setting with its value and source, secrets
 * masked. Its forms are JSON and YAML; a member reads the YAML as a configuration file.
 */
import { type Config, MASK } from './config.ts';
import { lineOf } from './finding.ts';
import type { LoadedConfig } from './load.ts';
import { MEMORY_KEYS, type MemoryKey } from './memory-defaults.ts';
import { refusedAmong } from './refused-settings.ts';
import { isNamed } from './setting.ts';
import { pathOf, rowOf, SETTING_KEYS, type SettingKey } from './settings.ts';
import { DEFAULT, type Source } from './source.ts';
import { textOfSteps } from './statements.ts';

interface Explained {
  /** Path, or flag of a setting without one. */
  readonly place: string;
  /** Steps of the path; none for a flag. */
  readonly steps: readonly string[];
  readonly value: unknown;
  readonly source: Source;
}

/** `{path: {value, source}}`; a setting that `serve` refuses has `refused` in the place of `value`. */
export function explainAsJson(loaded: LoadedConfig): string {
  const refused = refusedAmong(loaded.findings);
  const entries = explained(loaded).map(
    ({ place, value, source }) =>
      [place, { value: value ?? null, source: sourceText(source) }] as const,
  );
  const lines = refused.map(
    ({ path, source, reason }) => [path, { source: sourceText(source), refused: reason }] as const,
  );
  return `${JSON.stringify(Object.fromEntries([...entries, ...lines]), undefined, 2)}\n`;
}

/** The settings that share the memory: the bytes of each, and their source. */
export function explainMemory(config: Config): Readonly<Record<MemoryKey, object>> {
  const told = MEMORY_KEYS.map((key) => {
    const { value, source } = explain(config, key, '', config[key]);
    return [key, { bytes: value, source: sourceText(source) }];
  });
  return Object.fromEntries(told);
}

/** YAML with the source of each value as a comment. */
export function explainAsYaml(loaded: LoadedConfig): string {
  const refused = refusedAmong(loaded.findings);
  const all = explained(loaded);
  const flags = all.filter(({ steps }) => steps.length === 0);
  const root: Branch = new Map();
  for (const each of all) if (each.steps.length > 0) put(root, each);
  return [
    ...refused.map((each) => `# refused by serve: ${lineOf(each)}`),
    ...flags.map(({ place, value, source }) => `# ${place} ${value}  # ${sourceText(source)}`),
    'grid:',
    ...linesOf(root, '  '),
    '',
  ].join('\n');
}

type Branch = Map<string, Branch | Explained>;

function put(root: Branch, each: Explained): void {
  let branch = root;
  for (const step of each.steps.slice(0, -1)) {
    let next = branch.get(step);
    if (!(next instanceof Map)) {
      next = new Map();
      branch.set(step, next);
    }
    branch = next;
  }
  branch.set(each.steps.at(-1) ?? '', each);
}

function linesOf(branch: Branch, indent: string): string[] {
  return [...branch].flatMap(([name, below]) => {
    const key = indent + yamlText(name);
    if (ITEM.test(name)) return itemLines(below, indent);
    if (below instanceof Map) return [`${key}:`, ...linesOf(below, `${indent}  `)];
    const source = sourceText(below.source);
    if (below.value === undefined) return [`${indent}# ${yamlText(name)}:  # ${source}`];
    return [`${key}: ${yamlText(below.value)}  # ${source}`];
  });
}

/** An item of a list: its first line begins with a dash. */
function itemLines(below: Branch | Explained, indent: string): string[] {
  if (!(below instanceof Map)) {
    return [`${indent}- ${yamlText(below.value)}  # ${sourceText(below.source)}`];
  }
  const [first = '', ...rest] = linesOf(below, `${indent}  `);
  return [`${indent}- ${first.trimStart()}`, ...rest];
}

const ITEM = /^\[\d+\]$/;

function explained({ config, structured }: LoadedConfig): Explained[] {
  const rows = SETTING_KEYS.flatMap((key) => {
    const row = rowOf(key);
    if (!isNamed(row)) return [explain(config, key, '', config[key])];
    return [...(config[key] as ReadonlyMap<string, unknown>)].map(([name, value]) =>
      explain(config, key, name, value),
    );
  });
  const others = structured.map((each) => ({ place: textOfSteps(each.steps), ...each }));
  return [...rows, ...others];
}

function explain(config: Config, key: SettingKey, name: string, value: unknown): Explained {
  const row = rowOf(key);
  const place = pathOf(key, name);
  const steps = (row.path?.split('.') ?? []).map((step) => (step === '{name}' ? name : step));
  const shown = row.isSecret === true && value !== undefined ? MASK : value;
  return { place, steps, value: shown, source: config.sources.get(place) ?? DEFAULT };
}

/** `flag --port`, `default`, or a default and what it was calculated from. */
function sourceText({ kind, name, from }: Source): string {
  if (from !== undefined) return `${kind}: ${from}`;
  return name === '' ? kind : `${kind} ${name}`;
}

/** A text, number or list as YAML writes it; quoted where YAML could read it as another type. */
function yamlText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain =
    /^[A-Za-z_/][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
