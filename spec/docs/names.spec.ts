/** Every name of a setting, flag, command or variable in the pages is one of the program. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { slippedNames } from '../../src/config/nearest-name.ts';
import {
  commandFlags,
  isSettingPath,
  isVariable,
  PATH_STEPS,
  SECTION_NAMES,
  SETTING_STEPS,
  SETTING_WORDS,
} from './known-names.ts';
import { PAGES, ROOT, spansOf } from './pages.ts';

const FILE_NAME = /\.(c?js|ts|md|ya?ml|xml|json|tmp|tgz|wasm|pem|p12|service|lua|sh)$/;
/** Flags of Node that stand alone in prose. */
const OTHER_FLAGS = new Set(['--v8-pool-size', '--enable-source-maps']);
/** Words with a dash that are not names of gridnode. */
const OTHER_WORDS = new Set([
  ...['fast-check', 'fast-xml-parser', 'js-yaml', 'log-end', 'pino-pretty', 'wan-marks'],
  'wan-marks-unsynced',
  ...['redis-benchmark', 'redis-cli', 'redis-server'],
  // Of Redis and Valkey.
  ...[
    'cluster-node-timeout',
    'cluster-require-full-coverage',
    'maxmemory-policy',
    'min-replicas-to-write',
  ],
  // Of the header field Grid-Outcome.
  'not-applied',
]);
const OWN_FILE = /^(\.ci|bench|bin|docs|packaging|spec|src)\/[\w./-]*$/;

const spans = PAGES.flatMap(spansOf);
/** Lines of prose and tables, with the code in them. */
const prose = PAGES.flatMap(({ path, lines }) =>
  lines
    .filter(({ kind }) => kind === 'prose' || kind === 'table')
    .map(({ text, number }) => ({ text, where: `${path}:${number}` })),
);

test('settings are written as the configuration has them', () => {
  const dotted = spans.filter(
    ({ text }) =>
      /^[a-z][\w-]*(\.[\w{}<>*-]+)+$/.test(text) && !FILE_NAME.test(text) && !isOfCode(text),
  );
  assert.ok(dotted.length > 30, 'pages name settings');
  assert.deepEqual(dotted.filter(({ text }) => !isSettingPath(text)).map(told), []);
});

test('words with dashes are settings, commands, parts of paths or other known words', async () => {
  const commands = new Set([...(await commandFlags()).keys()].flatMap((words) => words.split(' ')));
  const flags = new Set([...(await commandFlags()).values()].flatMap((all) => [...all]));
  const wrong = spans
    .filter(({ text }) => /^[a-z]+(-[a-z]+)+$/.test(text))
    .filter(
      ({ text }) =>
        ![SETTING_STEPS, SETTING_WORDS, PATH_STEPS, commands, OTHER_WORDS].some((known) =>
          known.has(text),
        ),
    )
    .filter(({ text }) => !flags.has(`--${text}`));
  assert.deepEqual(wrong.map(told), []);
});

test('flags are those of a command; behind a command they are its own', async () => {
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
    const known = typed === undefined ? all : flagsOf(commands, typed);
    for (const flag of flagsIn(typed ?? '')) {
      if (!known.has(flag)) wrong.push(`${told(each)}: ${flag}`);
    }
  }
  for (const each of prose) {
    // Flags behind another program's name belong to that program.
    const text = each.text.replace(/`([^`]*)`/g, (span, inside: string) =>
      /^(gridnode|--)/.test(inside) ? span : '',
    );
    for (const flag of flagsIn(text)) {
      if (!all.has(flag) && !OTHER_FLAGS.has(flag)) wrong.push(`${told(each)}: ${flag}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('variables are those that the member or the client reads', () => {
  const wrong = prose.flatMap((line) =>
    [...line.text.matchAll(/\bGRID_[A-Z][A-Z_]*[A-Z]\b/g)]
      .filter(([name]) => !isVariable(name))
      .map(([name]) => `${told(line)}: ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('files of the project and targets of make exist', () => {
  const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8');
  const isThere = (text: string): boolean => {
    if (OWN_FILE.test(text)) return existsSync(join(ROOT, text));
    const target = /^make ([a-z-]+)/.exec(text)?.[1];
    return target === undefined || makefile.includes(`\n${target}:`);
  };
  assert.deepEqual(spans.filter(({ text }) => !isThere(text)).map(told), []);
});

function flagsIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w-])--[a-z][a-z0-9-]*/g)].map(([flag]) => flag);
}

/** Whether it is code, as `net.Server`: its first step is no setting's, nor a misspelling of one. */
function isOfCode(text: string): boolean {
  const first = text.split('.')[0] ?? '';
  if (SECTION_NAMES.has(first)) return false;
  return first.length <= 3 || slippedNames(first, SECTION_NAMES).length === 0;
}

/** Lines of a shell; lines that end in a backslash are joined with the next. */
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

function told({ text, where }: { text: string; where: string }): string {
  return `${where}: ${text}`;
}
