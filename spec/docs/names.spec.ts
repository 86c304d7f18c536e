/** Every setting, flag, command or variable that a page names exists in the program. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  documentSchema,
  type SectionSchema,
  type SettingSchema,
} from '../../src/config/document-schema.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { slippedNames } from '../../src/config/nearest-name.ts';
import { PROPERTY_NAMES } from '../../src/config/property-names.ts';
import { TABLE } from '../../src/member/settings.ts';
import { run } from '../cli/run-command.ts';
import { PATHS } from '../surface/table.ts';
import { PAGES, ROOT, spansOf } from './pages.ts';

const FILE_NAME = /\.(c?js|ts|md|ya?ml|xml|json|tmp|tgz|wasm|pem|p12|service|lua|sh)$/;
/** Flags of Node that prose names without Node's command. */
const OTHER_FLAGS = new Set(['--v8-pool-size', '--enable-source-maps']);
/** Words with a dash that are not names of gridnode. */
const OTHER_WORDS = new Set([
  ...['fast-check', 'fast-xml-parser', 'js-yaml', 'log-end', 'pino-pretty', 'wan-marks'],
  'hazelcast-client',
  'wan-marks-unsynced',
  ...['redis-benchmark', 'redis-cli', 'redis-server'],
  // Settings of Redis and Valkey.
  ...[
    'cluster-node-timeout',
    'cluster-require-full-coverage',
    'maxmemory-policy',
    'min-replicas-to-write',
  ],
  // A setting of haproxy.
  'retry-on',
  // A value of the header field Grid-Outcome.
  'not-applied',
]);
const PROJECT_FILE = /^(\.ci|bench|bin|docs|packaging|spec|src)\/[\w./-]*$/;

// The program's names that pages may use.
const OWN_PATHS = TABLE.all.flatMap(({ path, aliases = [] }) =>
  path === undefined ? [] : [path, ...aliases],
);

const TREE = documentSchema('yaml', OWN_PATHS);

const PROPERTIES = new Set(Object.values(PROPERTY_NAMES).flat());

/** The first steps of all settings. */
const SECTION_NAMES: ReadonlySet<string> = new Set(TREE.children.keys());

/** Each step of the paths of settings and sections. */
const SETTING_STEPS: ReadonlySet<string> = new Set([
  ...stepsBelow(TREE, new Set()),
  ...OWN_PATHS.flatMap((path) => path.split('.')),
]);

/** The values of settings that accept only certain words. */
const SETTING_WORDS: ReadonlySet<string> = new Set(
  TABLE.all.flatMap(({ expects }) => expects.replace(/^one of /, '').split(/, | or /)),
);

/** The parts of the served paths. */
const PATH_STEPS: ReadonlySet<string> = new Set(PATHS.flatMap((path) => path.split('/')));

const spans = PAGES.flatMap(spansOf);
/** Lines of prose and tables, including code spans. */
const prose = PAGES.flatMap(({ path, lines }) =>
  lines
    .filter(({ kind }) => kind === 'prose' || kind === 'table')
    .map(({ text, number }) => ({ text, where: `${path}:${number}` })),
);

test('pages write settings as in the configuration', () => {
  const dotted = spans.filter(
    ({ text }) =>
      /^[a-z][\w-]*(\.[\w{}<>*-]+)+$/.test(text) && !FILE_NAME.test(text) && !isOfCode(text),
  );
  assert.ok(dotted.length > 30, 'pages name settings');
  assert.deepEqual(dotted.filter(({ text }) => !isSettingPath(text)).map(withPlace), []);
});

test('words with dashes are settings, commands, parts of paths or listed words', async () => {
  const commands = new Set([...(await commandFlags()).keys()].flatMap((words) => words.split(' ')));
  const flags = new Set([...(await commandFlags()).values()].flatMap((all) => [...all]));
  const wrong = spans
    .filter(({ text }) => /^[a-z]+(-[a-z]+)+$/.test(text))
    .filter(
      ({ text }) =>
        ![SETTING_STEPS, SETTING_WORDS, PATH_STEPS, commands, OTHER_WORDS].some((names) =>
          names.has(text),
        ),
    )
    .filter(({ text }) => !flags.has(`--${text}`));
  assert.deepEqual(wrong.map(withPlace), []);
});

test('every flag is one of a command, and of the command that it follows', async () => {
  const commands = await commandFlags();
  const all = new Set([...commands.values()].flatMap((flags) => [...flags]));
  const lines = PAGES.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language }) => /^(console|sh)$/.test(language))
      .flatMap(({ text, number }) =>
        joined(text).map((line) => ({ text: line, where: `${path}:${number}` })),
      ),
  );
  const wrong: string[] = [];
  for (const each of [...spans, ...lines]) {
    const typed = /(?:^|\s)gridnode\s(.*)$/.exec(each.text)?.[1]?.split(/\s[|>&;<]|\s#/)[0];
    const allowed = typed === undefined ? all : flagsOf(commands, typed);
    for (const flag of flagsIn(typed ?? '')) {
      if (!allowed.has(flag)) wrong.push(`${withPlace(each)}: ${flag}`);
    }
  }
  for (const each of prose) {
    // Flags after another program's name belong to that program.
    const text = each.text.replace(/`([^`]*)`/g, (span, inside: string) =>
      /^(gridnode|--)/.test(inside) ? span : '',
    );
    for (const flag of flagsIn(text)) {
      if (!all.has(flag) && !OTHER_FLAGS.has(flag)) wrong.push(`${withPlace(each)}: ${flag}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('every variable is read by the member or the client', () => {
  const wrong = prose.flatMap((line) =>
    [...line.text.matchAll(/\bGRID_[A-Z][A-Z_]*[A-Z]\b/g)]
      .filter(([name]) => !isVariable(name))
      .map(([name]) => `${withPlace(line)}: ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('every named file of the project and make target exists', () => {
  const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8');
  const exists = (text: string): boolean => {
    if (PROJECT_FILE.test(text)) return existsSync(join(ROOT, text));
    const target = /^make ([a-z-]+)/.exec(text)?.[1];
    return target === undefined || makefile.includes(`\n${target}:`);
  };
  assert.deepEqual(spans.filter(({ text }) => !exists(text)).map(withPlace), []);
});

function flagsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w-])--[a-z][a-z0-9-]*/g)].map(([flag]) => flag);
}

/** Whether the text is code, as `net.Server`: its first step is not a section, even misspelt. */
function isOfCode(text: string): boolean {
  const first = text.split('.')[0] ?? '';
  if (SECTION_NAMES.has(first)) return false;
  return first.length <= 3 || slippedNames(first, SECTION_NAMES).length === 0;
}

/** The lines of shell input; lines that end in a backslash are joined with the next. */
function joined(text: string): readonly string[] {
  return text.replace(/\\\n\s*/g, '').split('\n');
}

/** The flags of the command with which the words begin. */
function flagsOf(
  commands: ReadonlyMap<string, ReadonlySet<string>>,
  words: string,
): ReadonlySet<string> {
  const parts = words.split(/\s+/);
  for (let count = Math.min(2, parts.length); count >= 0; count--) {
    const flags = commands.get(parts.slice(0, count).join(' '));
    if (flags !== undefined) return flags;
  }
  return new Set();
}

function withPlace({ text, where }: { text: string; where: string }): string {
  return `${where}: ${text}`;
}

/** Whether the path names a setting or a section; `*`, `{name}` and `<name>` match any name. */
function isSettingPath(path: string): boolean {
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

/** The flags of each command, by its words such as `map get`; `` is the program itself. */
async function commandFlags(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
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
function isVariable(name: string): boolean {
  const { warnings } = readEnvironment(TABLE, { [name]: '1' }, { statements: [], blocks: [] });
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
