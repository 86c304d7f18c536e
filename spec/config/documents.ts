/** Documents that set one setting, in either form, the line where they set it, and their loading. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigFault, linesOf } from '../../src/config/finding.ts';
import { type RefusedSetting, refusedAmong } from '../../src/config/refused-settings.ts';
import { type LoadedConfig, loadConfig } from '../../src/member/load.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder();

/** Writes a temporary file. Returns its path. */
export function writeConfig(name: string, text: string): string {
  const path = join(folder, name);
  // On ext4, overwriting a file waits for the disk; creating one does not.
  rmSync(path, { force: true });
  writeFileSync(path, text);
  return path;
}

/** A loaded configuration, with its findings by severity. */
export interface LoadedWithFindings extends LoadedConfig {
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
  readonly refused: readonly RefusedSetting[];
}

export function withFindings(loaded: LoadedConfig): LoadedWithFindings {
  const { findings } = loaded;
  const refused = refusedAmong(findings);
  return {
    ...loaded,
    ...{ warnings: linesOf(findings, 'warning'), notes: linesOf(findings, 'note'), refused },
  };
}

export async function load(
  name: string,
  text: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<LoadedWithFindings> {
  return withFindings(await loadConfig({ file: writeConfig(name, text), environment, flags: [] }));
}

/** Loads a text that is not in a file. */
export async function loadText(text: string): Promise<LoadedWithFindings> {
  return withFindings(await loadConfig({ file: { text }, environment: {}, flags: [] }));
}

/** Returns the problems for which a configuration is refused. */
export async function problemsOf(loading: Promise<unknown>): Promise<readonly string[]> {
  const outcome = await loading.catch((error: unknown) => error);
  assert.ok(outcome instanceof ConfigFault, String(outcome));
  return outcome.problems;
}

/** A document, and the line, from 1, of the last step of its path. */
export interface Stated {
  readonly text: string;
  readonly line: number;
}

/** Returns a YAML document. `steps`: names, and `[]` for the only item of a list. */
export function yamlOf(root: string, steps: readonly string[], value: string): Stated {
  const lines = [`${root}:`];
  let dashes = '';
  let depth = 1;
  let line = 1;
  for (const [index, step] of steps.entries()) {
    if (step === '[]') {
      dashes += '- ';
      continue;
    }
    const isLast = steps.slice(index + 1).every((each) => each === '[]');
    const items = '- '.repeat(steps.length - 1 - index);
    const end = isLast ? (items === '' ? ` ${value}` : '') : '';
    lines.push(`${'  '.repeat(depth)}${dashes}${JSON.stringify(step)}:${end}`);
    line = lines.length;
    depth += 1 + dashes.length / 2;
    dashes = '';
    if (isLast && items !== '') lines.push(`${'  '.repeat(depth)}${items}${value}`);
  }
  return { text: `${lines.join('\n')}\n`, line };
}

/**
 * Returns an XML document. `steps`: elements, the last of which may be an attribute (`@enabled`);
 * `name{}` has an attribute `name`.
 */
export function xmlOf(root: string, steps: readonly string[], value: string): Stated {
  const open: string[] = [];
  const close: string[] = [];
  let line = 0;
  for (const step of steps) {
    if (step.startsWith('@') && open.length === 0) {
      return { text: `<${root}\n ${step.slice(1)}="${value}"/>\n`, line: 2 };
    }
    if (step.startsWith('@')) {
      open[open.length - 1] = `${open.at(-1)?.slice(0, -1)}\n ${step.slice(1)}="${value}">`;
      line = open.join('\n').split('\n').length + 1;
      return { text: documentOf(root, open, '', close), line };
    }
    const name = step.replace('{}', '');
    const chosen = name === 'endpoint-group' ? 'DATA' : 'some';
    open.push(step.endsWith('{}') ? `<${name} name="${chosen}">` : `<${name}>`);
    close.unshift(`</${name}>`);
    line = open.length + 1;
  }
  return { text: documentOf(root, open, value, close), line };
}

function documentOf(
  root: string,
  open: readonly string[],
  text: string,
  close: readonly string[],
): string {
  return `<${root}>\n${open.join('\n')}${text}${close.join('')}</${root}>\n`;
}
