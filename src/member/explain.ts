/**
 * Prints the effective configuration: every setting with its value and source, secrets masked. Its
 * forms are JSON and YAML; a member can read the YAML as a configuration file.
 * Tested by load.spec.ts.
 */

import { lineOf } from '../config/finding.ts';
import { refusedAmong } from '../config/refused-settings.ts';
import { type AnySetting, isNamed, MASK, pathOf } from '../config/setting.ts';
import { DEFAULT, type Source } from '../config/source.ts';
import { textOfSteps } from '../config/statements.ts';
import type { Config } from './config.ts';
import type { LoadedConfig } from './load.ts';
import { MEMORY_KEYS, type MemoryKey } from './memory-defaults.ts';
import { SETTING_KEYS, SETTINGS, type SettingKey } from './settings.ts';

interface Explained {
  /** Path, or the flag of a setting without one. */
  readonly place: string;
  /** Steps of the path; empty for a flag. */
  readonly steps: readonly string[];
  readonly value: unknown;
  readonly source: Source;
}

/**
 * Returns `{path: {value, source}}`; a setting that `serve` refuses has `refused` instead of
 * `value`.
 */
export function explainAsJson(loaded: LoadedConfig): string {
  const refused = refusedAmong(loaded.findings);
  const entries: Record<string, object> = {};
  for (const { place, value, source } of explained(loaded)) {
    entries[place] = { value: value ?? null, source: sourceText(source) };
  }
  for (const { path, source, reason } of refused) {
    entries[path] = { source: sourceText(source), refused: reason };
  }
  return `${JSON.stringify(entries, undefined, 2)}\n`;
}

/** Returns the settings that share the memory: the bytes of each, and their source. */
export function explainMemory(config: Config): Readonly<Record<MemoryKey, object>> {
  const listed = MEMORY_KEYS.map((key) => {
    const { value, source } = explain(config, key, '', config[key]);
    return [key, { bytes: value, source: sourceText(source) }];
  });
  return Object.fromEntries(listed);
}

/** Returns YAML with the source of each value as a comment. */
export function explainAsYaml(loaded: LoadedConfig): string {
  const lines = refusedAmong(loaded.findings).map((each) => `# refused by serve: ${lineOf(each)}`);
  const root: Branch = new Map();
  for (const each of explained(loaded)) {
    if (each.steps.length > 0) put(root, each);
    else lines.push(`# ${each.place} ${each.value}  # ${sourceText(each.source)}`);
  }
  lines.push('grid:');
  addLines(lines, root, '  ');
  lines.push('');
  return lines.join('\n');
}

type Branch = Map<string, Branch | Explained>;

function put(root: Branch, each: Explained): void {
  const { steps } = each;
  const last = steps.length - 1;
  let branch = root;
  for (let at = 0; at < last; at++) {
    const step = steps[at] as string;
    let next = branch.get(step);
    if (!(next instanceof Map)) {
      next = new Map();
      branch.set(step, next);
    }
    branch = next;
  }
  branch.set(steps[last] ?? '', each);
}

/** Adds the lines of the branch. `indentFirst`: the start of the first line. */
function addLines(lines: string[], branch: Branch, indent: string, indentFirst = indent): void {
  let begin = indentFirst;
  for (const [name, below] of branch) {
    const isItem = ITEM.test(name);
    if (below instanceof Map) {
      // The first line of an item begins with a dash.
      if (isItem) addLines(lines, below, `${indent}  `, `${begin}- `);
      else {
        lines.push(`${begin}${yamlText(name)}:`);
        addLines(lines, below, `${indent}  `);
      }
    } else {
      const source = sourceText(below.source);
      const key = isItem ? '- ' : `${yamlText(name)}: `;
      if (below.value === undefined) lines.push(`${begin}# ${key} # ${source}`);
      else lines.push(`${begin}${key}${yamlText(below.value)}  # ${source}`);
    }
    begin = indent;
  }
}

const ITEM = /^\[\d+\]$/;

function* explained({ config, structured }: LoadedConfig): Generator<Explained> {
  for (const key of SETTING_KEYS) {
    const row: AnySetting = SETTINGS[key];
    if (isNamed(row)) {
      for (const [name, value] of config[key] as ReadonlyMap<string, unknown>) {
        yield explain(config, key, name, value);
      }
    } else yield explain(config, key, '', config[key]);
  }
  for (const each of structured) yield { place: textOfSteps(each.steps), ...each };
}

function explain(config: Config, key: SettingKey, name: string, value: unknown): Explained {
  const row: AnySetting = SETTINGS[key];
  const place = pathOf(row, name);
  const steps = (STEPS.get(key) ?? []).map((step) => (step === '{name}' ? name : step));
  const shown = row.isSecret === true && value !== undefined ? MASK : value;
  return { place, steps, value: shown, source: config.sources.get(place) ?? DEFAULT };
}

/** The steps of the path of each setting that has one. */
const STEPS: ReadonlyMap<SettingKey, readonly string[]> = new Map(
  SETTING_KEYS.map((key) => {
    const { path }: AnySetting = SETTINGS[key];
    return [key, path?.split('.') ?? []];
  }),
);

/** Returns `flag --port`, `default`, or a default with its calculation. */
function sourceText({ kind, name, from }: Source): string {
  if (from !== undefined) return `${kind}: ${from}`;
  return name === '' ? kind : `${kind} ${name}`;
}

/** Returns a text, number or list in YAML, quoted if YAML could read it as another type. */
function yamlText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain =
    /^[A-Za-z_/][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
