/**
 * Rules for the code that the compiler does not check: which folder may import which; no dead
 * files; names of files, their header comments and their lengths; a spec for each source file; no
 * paths outside this project. The table below is the architecture: a change to it is a decision.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  code,
  files,
  importsOf,
  ownSpecOf,
  ROOT,
  sources,
  specOf,
  textOf,
} from './project-files.ts';

/** Number of lines over which a source file is listed, to ask whether it is one idea. */
const LONG_FILE_LINES = 500;
const COMMENT_COLUMNS_MAX = 110;

/**
 * The layers, from the bottom. A folder may import from the layers below it, and types from its own
 * layer: parts use one another by contracts. `engine/*`: the folders of the two engines.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['base'],
  ['http', 'config'],
  ['engine'],
  ['cluster', 'security', 'telemetry'],
  ['surface'],
  [
    'servers',
    'engine/*',
    'persistence',
    'monitoring',
    'data',
    'v1',
    'health',
    'administration',
    'wan',
    'local',
    'client',
  ],
  // Its calls are among those of v1.
  ['cp'],
  ['member'],
  ['cli', 'embedding'],
  ['index'],
  ['bin'],
];
/** Files without code of one part that other parts read. */
const CONTRACTS: readonly string[] = ['src/wan/batch-limits.ts', 'src/wan/wan-settings.ts'];

/** Entry points of programs and threads, and the files that other packages import. */
const ENTRY_FILES = [
  'bin/gridnode.ts',
  'bin/launch.ts',
  'bin/store-compiled.ts',
  'bin/package-files.ts',
  'bin/program.ts',
  'bin/no-package.ts',
  'src/index.ts',
  'src/member/reading-thread-program.ts',
];
const BANNED_NAMES = /^(utils?|helpers?|common|types|misc)\b/;

/**
 * Files that specs of `make test` load and that use real time, or a time limit below ten seconds,
 * each with the reason; a folder ends with a slash. Everything else runs on a fake clock.
 */
const REAL_TIME: Readonly<Record<string, string>> = {
  'spec/base/clock.spec.ts': 'the system clock itself',
  'spec/docs/console.spec.ts': 'repeats a command of a page until a process has the expected state',
  'spec/embedding/embedded-member.spec.ts': 'the API of an embedded member has no clock to set',
  'spec/embedding/start-and-stop.ts': 'a thread of V8 frees the collected buffers',
  'spec/integration/member-process.ts': 'waits until a process no longer listens',
  'spec/integration/paused-output.spec.ts': 'reads the output of a process after a pause',
  'spec/integration/rolling.ts': 'members are processes that are replaced under load',
  'spec/integration/wan-members.ts': 'members replicate over sockets',
  'spec/integration/wan-sync.spec.ts': 'members replicate over sockets',
};
const REAL_TIME_RULES = [
  /\bset(Timeout|Interval)\(|\bsetTimeout as\b|\{ setTimeout \}/,
  /\bDate\.now\b|\bperformance\.now\(|\bprocess\.hrtime\b|\bnew Date\(\)/,
  /\b(new|extends) SystemClock\b/,
  /\b(timeout: |AbortSignal\.timeout\()([\d_]{1,4}|\d_\d{3})\b/,
];

/**
 * Files that run without an import, by a text that is in the files that run them: programs that
 * specs start, steps of `make build` whose output specs read, and the program of a thread.
 */
const STARTED: Readonly<Record<string, readonly string[]>> = {
  'bin/gridnode': ['bin/gridnode.ts', 'bin/launch.ts'],
  'dist/licences.txt': ['bin/package-files.ts'],
  'serve.cache': ['bin/store-compiled.ts'],
  'reading-thread-program': ['src/member/reading-thread-program.ts'],
};
const specs = code.filter((file) => /\.(spec|peers)\.ts$/.test(file));
/** Specs of the project's own files, pages and tools. */
const NOT_OF_SOURCES =
  /^spec\/(docs|bench|mutate|peers|soak|(tidy|structure|plain-english|setting-paths)\.)/;

test('Every import of a source file is allowed by the table', () => {
  const layerOf = (file: string): number => {
    const layer = LAYERS.findIndex((parts) => parts.includes(partOf(file)));
    assert.ok(layer >= 0, `Cannot judge ${file}: the table has no part "${partOf(file)}"`);
    return layer;
  };
  const wrong = sources.flatMap((file) =>
    importsOf(file)
      .filter(({ path, typesOnly }) => {
        if (partOf(path) === partOf(file)) return false;
        const above = layerOf(path) - layerOf(file);
        return above > 0 || (above === 0 && !typesOnly && !CONTRACTS.includes(path));
      })
      .map(
        ({ path, typesOnly }) => `${file} imports ${path}${typesOnly ? '' : ' (not only types)'}`,
      ),
  );
  assert.deepEqual(wrong, []);
});

test('Every relative import names a file with its extension', () => {
  const wrong = code.flatMap((file) =>
    importsOf(file)
      .filter(({ path }) => !path.endsWith('.ts') || !existsSync(join(ROOT, path)))
      .map(({ path }) => `${file} imports ${path}`),
  );
  assert.deepEqual(wrong, []);
});

test('Every source file is imported, directly or not, by an entry file', () => {
  const reached = reachedFrom(ENTRY_FILES);
  assert.deepEqual(
    sources.filter((file) => !reached.has(file)),
    [],
  );
});

test('Files are named in kebab case, after a thing', () => {
  const wrong = code.filter((file) => {
    const name = file.slice(file.lastIndexOf('/') + 1);
    return (
      BANNED_NAMES.test(name) ||
      !/^[a-z0-9]+(-[a-z0-9]+)*(\.(spec|case|group|peers|soak))?\.ts$/.test(name)
    );
  });
  assert.deepEqual(wrong, []);
});

test('Every file outside spec opens with a header comment', () => {
  const wrong = code.filter(
    (file) => !file.startsWith('spec/') && !/^(#!.*\n)?\/\*\*/.test(textOf(file)),
  );
  assert.deepEqual(wrong, []);
});

test(`Source files over ${LONG_FILE_LINES} lines are listed`, (t) => {
  for (const file of sources) {
    const lines = textOf(file).split('\n').length;
    if (lines > LONG_FILE_LINES) t.diagnostic(`${file} has ${lines} lines`);
  }
});

test(`Lines of comments have at most ${COMMENT_COLUMNS_MAX} columns`, () => {
  const wide = code.flatMap((file) => {
    const lines = textOf(file).split('\n');
    const isWide = (line: string) =>
      line.length > COMMENT_COLUMNS_MAX && /^\s*(\*|\/[*/])/.test(line);
    return lines.flatMap((line, index) => (isWide(line) ? [`${file}:${index + 1}`] : []));
  });
  assert.deepEqual(wide, []);
});

test('Code has no notes of future work, and no escapes from the compiler', () => {
  const rules = [
    /\bTO[D]O\b/,
    /\bFIXM[E]\b/,
    /@ts-(ignore|no[c]heck)/,
    // In a comment, `any` is an ordinary word.
    /^(?!\s*(\/?\*|\/\/)).*(:|\bas|<|,) ?an[y]\b(?! \w)/,
  ];
  assert.deepEqual(findings(code, rules), []);
});

test('No getter is private: even optimized code calls the V8 runtime for each use', () => {
  assert.deepEqual(findings(sources, [/\bget #/]), []);
});

test('Specs of `make test` do not depend on real time', () => {
  const reached = reachedFrom(specs.filter((file) => file.endsWith('.spec.ts')));
  const loaded = [...reached].filter((file) => file.startsWith('spec/'));
  const used = new Set<string>();
  const isListed = (finding: string) => {
    const place = Object.keys(REAL_TIME).find((each) => finding.startsWith(each));
    if (place !== undefined) used.add(place);
    return place !== undefined;
  };
  const unlisted = findings(loaded, REAL_TIME_RULES).filter((finding) => !isListed(finding));
  assert.deepEqual(unlisted, []);
  assert.deepEqual([...used].sort(), Object.keys(REAL_TIME).sort());
});

test('Every source file with code has a spec of its name, or names the spec that tests it', () => {
  const run = new Map(code.map((file) => [file, runBy(file)]));
  const reached = specs.map((spec) => reachedFrom([spec], (file) => run.get(file) ?? []));
  const tested = new Map(specs.map((spec, index) => [spec, reached[index]]));
  const wrong = sources.flatMap((file) => {
    const spec = specOf(file);
    if (spec !== ownSpecOf(file) && tested.has(ownSpecOf(file)))
      return [`${file} names ${spec}, but has a spec of its name`];
    if (!hasCode(file) || tested.get(spec)?.has(file)) return [];
    return [`${file}: ${spec} ${tested.has(spec) ? 'does not import it' : 'does not exist'}`];
  });
  assert.deepEqual(wrong, []);
});

test('Every other spec begins with the files and folders that it covers', () => {
  const own = new Set(sources.map(ownSpecOf));
  const others = specs.filter((spec) => !own.has(spec) && !NOT_OF_SOURCES.test(spec));
  const wrong = others.flatMap((spec) => {
    const covered = placesOf(spec);
    if (covered.length === 0) return [`${spec} does not begin with "Covers …."`];
    const unknown = covered.filter((place) => !files.some((file) => isAt(file, place)));
    return unknown.map((place) => `${spec} covers ${place}, which does not exist`);
  });
  assert.deepEqual(wrong, []);
});

test('Nothing names a path outside this project', () => {
  const rules = [/\.\.\/share[d]\b/, /(^|[\s'"`(=])\/(work|home|root|Users)\/\w/m];
  assert.deepEqual(findings([...files], rules), []);
});

/** Returns the files and all that they import, directly or not. */
function reachedFrom(entries: readonly string[], nextOf = importedBy): Set<string> {
  const reached = new Set<string>();
  const open = [...entries];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    open.push(...nextOf(file));
  }
  return reached;
}

function importedBy(file: string): string[] {
  return importsOf(file).map(({ path }) => path);
}

/** The files that run because a file does. */
function runBy(file: string): string[] {
  const imported = importsOf(file).filter(({ typesOnly }) => !typesOnly);
  const started = Object.entries(STARTED).filter(([text]) => textOf(file).includes(text));
  return [...imported.map(({ path }) => path), ...started.flatMap(([, names]) => names)];
}

/** Whether a file has more than types and constants. */
function hasCode(file: string): boolean {
  const text = textOf(file)
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .replace(/^(export )?(interface [\s\S]*?(^\}|\{\})|type [\s\S]*?;\n(?=\S|\n|$))/gm, '');
  return /\bfunction[ *(]|=>|\bclass [A-Z{]/.test(text);
}

/** The paths between "Covers" and the period in the first line of a spec's header. */
function placesOf(spec: string): string[] {
  const [, places = ''] = /^\/\*\*(?:\n \*)? Covers (.+?)\.(?=\s)/.exec(textOf(spec)) ?? [];
  return places.split(/, | and /).filter((place) => place !== '');
}

/** Whether a file is, or is below, a place, in which `*` stands for a part of a name. */
function isAt(file: string, place: string): boolean {
  const pattern = place.replaceAll('.', '\\.').replaceAll('*', '[^/]*');
  return new RegExp(`^${pattern}(/|$)`).test(file);
}

function findings(among: readonly string[], rules: readonly RegExp[]): string[] {
  return among.flatMap((file) =>
    textOf(file)
      .split('\n')
      .map((line, index) => ({ line, where: `${file}:${index + 1}` }))
      .filter(({ line }) => rules.some((rule) => rule.test(line)))
      .map(({ line, where }) => `${where}: ${line.trim()}`),
  );
}

/** Returns the part of the architecture to which a file belongs. */
function partOf(file: string): string {
  const [top = '', folder = '', deeper, rest] = file.split('/');
  if (top !== 'src') return top;
  if (deeper === undefined) return folder.replace(/\.ts$/, '');
  return folder === 'engine' && rest !== undefined ? 'engine/*' : folder;
}
