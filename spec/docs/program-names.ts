/** The program's names that pages may use: settings, flags, commands, variables and paths. */
import assert from 'node:assert/strict';
import {
  documentSchema,
  type SectionSchema,
  type SettingSchema,
} from '../../src/config/document-schema.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { PROPERTY_NAMES } from '../../src/config/property-names.ts';
import { ALL_ROWS } from '../../src/config/setting-rows.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { run } from '../cli/run-command.ts';

const OWN_PATHS = ALL_ROWS.flatMap(({ path, aliases = [] }) =>
  path === undefined ? [] : [path, ...aliases],
);

const TREE = documentSchema('yaml', OWN_PATHS);

const PROPERTIES = new Set(Object.values(PROPERTY_NAMES).flat());

/** Whether the path names a setting or a section; `*`, `{name}` and `<name>` match any name. */
export function isSettingPath(path: string): boolean {
  if (PROPERTIES.has(path)) return true;
  let content: SectionSchema = TREE;
  const steps = path.replace(/\.\*$/, '').split('.');
  for (const [index, step] of steps.entries()) {
    const rest = steps.slice(index).join('.');
    if (index > 0 && (content.isOpen || PROPERTIES.has(rest))) return true;
    const next: SettingSchema | undefined = content.children.get(step) ?? content.named;
    if (next === undefined) return false;
    content = next.content.item?.content ?? next.content;
  }
  return true;
}

/** The first steps of all settings. */
export const SECTION_NAMES: ReadonlySet<string> = new Set(TREE.children.keys());

/** Each step of the paths of settings and sections. */
export const SETTING_STEPS: ReadonlySet<string> = new Set([
  ...stepsBelow(TREE, new Set()),
  ...OWN_PATHS.flatMap((path) => path.split('.')),
]);

/** The values of settings that accept only certain words. */
export const SETTING_WORDS: ReadonlySet<string> = new Set(
  ALL_ROWS.flatMap(({ expects }) => expects.replace(/^one of /, '').split(/, | or /)),
);

/** The parts of the served paths. */
export const PATH_STEPS: ReadonlySet<string> = new Set(
  ROUTES.flatMap(({ path }) => path.split('/')),
);

/** The flags of each command, by its words such as `map get`; `` is the program itself. */
export async function commandFlags(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { code, output: script } = await run('completion', 'bash');
  assert.equal(code, 0);
  const commands = new Map<string, ReadonlySet<string>>();
  for (const [, words = '', followers = ''] of script.matchAll(
    /^ {4}'(.*?)'\) words='(.*?)' ;;$/gm,
  )) {
    commands.set(words, new Set(followers.split(' ')));
  }
  assert.ok(commands.size > 10, 'the completion script lists the commands');
  return commands;
}

/** Whether a member reads a setting from that variable. */
export function isVariable(name: string): boolean {
  const { warnings } = readEnvironment({ [name]: '1' }, OWN_PATHS, { statements: [], blocks: [] });
  return warnings.length === 0;
}

function stepsBelow(content: SectionSchema, seen: Set<SectionSchema>): string[] {
  if (seen.has(content)) return [];
  seen.add(content);
  const nodes = [...content.children.values(), content.named, content.item];
  return [
    ...content.children.keys(),
    ...nodes.flatMap((node) => (node === undefined ? [] : stepsBelow(node.content, seen))),
  ];
}
