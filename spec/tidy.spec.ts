/**
 * The rules of the code that no compiler knows: which folder may import which; that no file is dead; how
 * files are named, how they open and how long they are; that nothing names places outside this project.
 * The table below is the architecture: a change of it is a decision.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { code, files, importsOf, ROOT, sources, textOf } from './project-files.ts';

/** A source file over this many lines is listed: is it one idea? */
const LONG_FILE_LINES = 500;
const COMMENT_COLUMNS_MAX = 110;

/**
 * The imports that each part may have besides its own files: parts, single files that are a part's
 * contract, or `types of` a part, which allows only imports that the compiler erases.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  bin: ['cli', 'index', 'src/config/reading-thread-answers.ts'],
  index: ['embedding', 'local', 'config', 'base'],
  embedding: ['member', 'local', 'config', 'telemetry', 'base'],
  local: ['types of http', 'src/http/output-piece.ts', 'types of cluster', 'engine', 'base'],
  cli: [
    ...['member', 'client', 'persistence', 'security', 'types of wan', 'config', 'telemetry'],
    'base',
  ],
  listening: ['config', 'base'],
  reloader: ['cluster', 'config', 'telemetry', 'base'],
  'member-persistence-events': ['types of http', 'persistence', 'types of telemetry'],
  'member-persistence': [
    'member-persistence-events',
    ...['types of http', 'persistence', 'cluster', 'telemetry', 'config', 'engine', 'base'],
  ],
  'member-replicas': ['config', 'base'],
  'member-shared-engine': ['member-replicas', 'config', 'engine/*', 'telemetry', 'base'],
  'member-engine': [
    'member-persistence',
    'member-replicas',
    'member-shared-engine',
    'member-wan-maps',
    'types of cluster',
    'config',
    'engine',
    'engine/*',
    'telemetry',
    'base',
  ],
  'member-wan-maps': ['types of wan', 'config', 'base'],
  'member-wan-replications': [
    ...['types of member-wan-maps', 'src/rest/replication-endpoints.ts', 'http', 'wan'],
    ...['types of engine', 'types of telemetry', 'config', 'base'],
  ],
  'member-wan': [
    ...['member-wan-replications', 'types of member-wan-maps', 'types of rest', 'http'],
    ...['types of wan', 'types of engine', 'types of telemetry', 'config', 'base'],
  ],
  'member-cluster': ['types of member-engine', 'cluster', 'types of telemetry', 'base'],
  'member-descriptors': ['src/wan/batch-limits.ts', 'config', 'base'],
  'member-configuration': [
    ...['member-descriptors', 'member-servers', 'types of reloader'],
    ...['http', 'rest', 'security', 'telemetry', 'config', 'base'],
  ],
  'member-reloads': [
    ...['member-configuration', 'reloader', 'types of cluster', 'types of rest', 'types of http'],
    ...['security', 'types of telemetry', 'types of config'],
  ],
  'member-servers': ['rest', 'http', 'config', 'telemetry', 'base'],
  member: [
    ...[
      'listening',
      'reloader',
      'member-configuration',
      'member-descriptors',
      'member-engine',
      'member-cluster',
      'member-reloads',
      'member-servers',
      'member-wan',
    ],
    ...['rest', 'http', 'cluster', 'security', 'telemetry', 'config', 'types of engine', 'base'],
  ],
  rest: [
    ...['types of http', 'src/http/response-delay.ts', 'src/http/methods.ts'],
    ...['engine', 'cluster', 'security', 'persistence', 'wan', 'config'],
    ...['telemetry', 'base'],
  ],
  http: ['base'],
  engine: ['base'],
  'engine/*': ['engine', 'types of cluster', 'src/cluster/membership-store.ts', 'base'],
  persistence: ['types of cluster', 'engine', 'base'],
  wan: ['src/http/response-parser.ts', 'engine', 'base'],
  client: ['base'],
  cluster: ['engine', 'base'],
  security: ['types of config', 'base'],
  config: ['base'],
  telemetry: ['base'],
  base: [],
};

/** Files where a program or a thread begins, and the files that other packages import. */
const FIRST_FILES = [
  ...['bin/gridnode.ts', 'bin/launch.ts', 'bin/store-compiled.ts', 'bin/package-files.ts'],
  ...['bin/program.ts', 'bin/no-package.ts', 'src/index.ts'],
  'src/config/reading-thread-program.ts',
];
const BANNED_NAMES = /^(utils?|helpers?|common|types|misc)\b/;

test('every import of a source file goes in the direction of the table', () => {
  const wrong: string[] = [];
  for (const file of sources) {
    const from = partOf(file);
    const allowed = MAY_IMPORT[from];
    assert.ok(allowed, `Cannot judge ${file}: the table has no part "${from}"`);
    for (const { path, typesOnly } of importsOf(file)) {
      const to = partOf(path);
      const names = typesOnly ? [to, path, `types of ${to}`] : [to, path];
      if (to !== from && !names.some((name) => allowed.includes(name)))
        wrong.push(`${file} imports ${path}${typesOnly ? '' : ' (not only types)'}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('every relative import names a file, with its extension', () => {
  const wrong = code.flatMap((file) =>
    importsOf(file)
      .filter(({ path }) => !path.endsWith('.ts') || !existsSync(join(ROOT, path)))
      .map(({ path }) => `${file} imports ${path}`),
  );
  assert.deepEqual(wrong, []);
});

test('no source file is dead: each is imported, directly or not, by a first file', () => {
  const reached = new Set<string>();
  const open = [...FIRST_FILES];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    open.push(...importsOf(file).map(({ path }) => path));
  }
  assert.deepEqual(
    sources.filter((file) => !reached.has(file)),
    [],
  );
});

test('files are named in kebab case, after a thing', () => {
  const wrong = code.filter((file) => {
    const name = file.slice(file.lastIndexOf('/') + 1);
    return (
      BANNED_NAMES.test(name) ||
      !/^[a-z0-9]+(-[a-z0-9]+)*(\.(spec|case|group|peers|soak))?\.ts$/.test(name)
    );
  });
  assert.deepEqual(wrong, []);
});

test('files open with a comment that says what they are', () => {
  const wrong = code.filter(
    (file) => !file.startsWith('spec/') && !/^(#!.*\n)?\/\*\*/.test(textOf(file)),
  );
  assert.deepEqual(wrong, []);
});

test(`source files over ${LONG_FILE_LINES} lines are listed`, (t) => {
  for (const file of sources) {
    const lines = textOf(file).split('\n').length;
    if (lines > LONG_FILE_LINES) t.diagnostic(`${file} has ${lines} lines`);
  }
});

test('no line of a comment is wider than can be read', () => {
  const wide = code.flatMap((file) => {
    const lines = textOf(file).split('\n');
    const isWide = (line: string) =>
      line.length > COMMENT_COLUMNS_MAX && /^\s*(\*|\/[*/])/.test(line);
    return lines.flatMap((line, index) => (isWide(line) ? [`${file}:${index + 1}`] : []));
  });
  assert.deepEqual(wide, []);
});

test('code says nothing that is to be done later, and hides nothing from the compiler', () => {
  const rules = [
    /\bTO[D]O\b/,
    /\bFIXM[E]\b/,
    /@ts-(ignore|no[c]heck)/,
    // Not in a comment, where `any` is a word.
    /^(?!\s*(\/?\*|\/\/)).*(:|\bas|<|,) ?an[y]\b(?! \w)/,
  ];
  assert.deepEqual(findings(code, rules), []);
});

test('no getter is private: V8 calls its runtime for each use of one, in optimized code, too', () => {
  assert.deepEqual(findings(sources, [/\bget #/]), []);
});
test('nothing names a place outside this project', () => {
  const rules = [/\.\.\/share[d]\b/, /(^|[\s'"`(=])\/(work|home|root|Users)\/\w/m];
  assert.deepEqual(findings([...files], rules), []);
});

function findings(among: readonly string[], rules: readonly RegExp[]): string[] {
  return among.flatMap((file) =>
    textOf(file)
      .split('\n')
      .map((line, index) => ({ line, where: `${file}:${index + 1}` }))
      .filter(({ line }) => rules.some((rule) => rule.test(line)))
      .map(({ line, where }) => `${where}: ${line.trim()}`),
  );
}

/** The part of the architecture that a file belongs to. */
function partOf(file: string): string {
  const [top = '', folder = '', deeper, rest] = file.split('/');
  if (top !== 'src') return top;
  if (deeper === undefined) return folder.replace(/\.ts$/, '');
  return folder === 'engine' && rest !== undefined ? 'engine/*' : folder;
}
