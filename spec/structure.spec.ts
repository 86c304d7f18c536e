/**
 * Rules for the structure of the code, besides the directions of imports: no import cycles, no long
 * functions, no superclasses, no two files of one name, no unused exports. Each exception has its
 * reason, and the lists may only become shorter.
 */
import assert from 'node:assert/strict';
import { basename, dirname } from 'node:path';
import { test } from 'node:test';
import { filesOf, GROUPS } from './groups/groups.ts';
import { files, importsOf, sources, textOf } from './project-files.ts';

const FUNCTION_LINES_MAX = 80;
const SUBCLASS = /class (\w+)(?:<[^{]*?>)? extends (\w+)/g;

/** Exports that only specs and benches use, each with its reason. */
const UNUSED_EXPORTS: Readonly<Record<string, string>> = {
  'src/base/machine-memory.ts memoryBelow': 'the spec passes a directory of control groups',
  'src/cli/node-version.ts versionFault': 'the spec passes other versions of Node',
  'src/cluster/state-changes.ts TRANSITION_MS': 'specs advance the clock by it',
  'src/member/config.ts resolveConfig': 'specs and a bench create configurations without a file',
  'src/member/describe.ts settingsTables': '`make docs` writes the tables of a page with it',
  'src/config/document-schema.ts readNotation': 'specs read other notations',
  'src/embedding/member-options.ts optionNames': 'the spec compares the names with the flags',
  'src/engine/redis/control-connection.ts replyValue':
    'the spec of replies and a server for specs use it',
  'src/engine/redis/redis-engine.ts RedisEngineOptions': 'specs create engines with it',
  'src/engine/redis/reply.ts ReplyFault':
    'the spec distinguishes faults of a reply from faults of the reader',
  'src/http/parser.ts AT_REFUSAL': 'the connection handles it as its last case; the spec names it',
  'src/http/socket-carrier.ts readInto': 'a bench compares ways to read a socket',
};

test('There are no import cycles, except of types within one folder', () => {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) cycles.push([...path.slice(at), file].join(' → '));
    if (at >= 0 || done.has(file)) return;
    for (const { path: imported, typesOnly } of importsOf(file)) {
      if (!typesOnly || dirname(imported) !== dirname(file)) visit(imported, [...path, file]);
    }
    done.add(file);
  };
  for (const file of sources) visit(file, []);
  assert.deepEqual(cycles, []);
});

test(`Functions have at most ${FUNCTION_LINES_MAX} lines`, () => {
  const long = sources.flatMap((file) =>
    functionsOf(file)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ name }) => `${file} ${name}`),
  );
  assert.deepEqual(long, []);
});

test('Only errors have a superclass', () => {
  const superclasses = new Map<string, string>();
  for (const file of sources) {
    for (const [, name = '', superclass = ''] of textOf(file).matchAll(SUBCLASS))
      superclasses.set(name, superclass);
  }
  const isError = (name: string | undefined): boolean =>
    name === 'Error' || (name !== undefined && isError(superclasses.get(name)));
  assert.deepEqual(
    [...superclasses.keys()].filter((name) => !isError(name)),
    [],
  );
});

test('Every spec file is in one group, and every group is run', () => {
  const groups = Object.keys(GROUPS);
  const grouped = groups.flatMap((group) => filesOf(group).map((file) => `spec/${file}`));
  const specs = files.filter((file) => file.endsWith('.spec.ts'));
  assert.deepEqual(grouped.sort(), [...specs].sort());
  const entries = files.filter((file) => file.endsWith('.group.ts'));
  assert.deepEqual(
    [...entries].sort(),
    groups.map((name) => `spec/groups/${name}.group.ts`).sort(),
  );
  for (const group of groups) {
    assert.match(
      textOf(`spec/groups/${group}.group.ts`),
      new RegExp(`^runGroup\\('${group}'\\);$`, 'm'),
    );
  }
});

test('No two files of src have the same name', () => {
  const places = new Map<string, string[]>();
  for (const file of sources.filter((each) => each.startsWith('src/'))) {
    places.set(basename(file), [...(places.get(basename(file)) ?? []), file]);
  }
  const twins = [...places].filter(([, files]) => files.length > 1).map(([name]) => name);
  assert.deepEqual(twins, []);
});

test('Every export is used in src or bin', () => {
  const used = new Set(
    sources.flatMap((file) =>
      importsOf(file).flatMap(({ path, names }) => names.map((name) => `${path} ${name}`)),
    ),
  );
  const unused = sources
    .filter((file) => file !== 'src/index.ts')
    .flatMap((file) =>
      exportsOf(file)
        .map((name) => `${file} ${name}`)
        .filter((each) => !used.has(each)),
    );
  assert.deepEqual(unused.sort(), Object.keys(UNUSED_EXPORTS).sort());
});

test('Every bench that a comment names exists', () => {
  const benches = files.flatMap((file) => /^bench\/([\w-]+)\.ts$/.exec(file)?.[1] ?? []);
  const named = sources.flatMap((file) => {
    const text = textOf(file).replace(/\n\s*(\*|\/\/)/g, '');
    return [...text.matchAll(/\bbench: ([\w-]+)/g)].map(([, name = '']) => ({ file, name }));
  });
  assert.notEqual(named.length, 0);
  const missing = named.filter(({ name }) => !benches.includes(name));
  assert.deepEqual(missing, []);
});

/**
 * Returns the functions and methods of a file. Because of the formatting, each ends at the first
 * line with its own indent.
 */
function functionsOf(file: string): { readonly name: string; readonly lines: number }[] {
  const lines = textOf(file).split('\n');
  return lines.flatMap((line, index) => {
    const [, indent, ...names] = HEAD.exec(line) ?? [];
    const name = names.find((each) => each !== undefined);
    if (indent === undefined || name === undefined || NO_FUNCTION.test(name)) return [];
    if (!isHead(lines, index, indent)) return [];
    const isEnd = (each: string) => each.startsWith(`${indent}}`) && !each.endsWith('{');
    const length = lines.slice(index + 1).findIndex(isEnd) + 2;
    return [{ name, lines: length }];
  });
}

/** Whether a body follows: the line, or the line that ends the parameters, ends with a brace. */
function isHead(lines: readonly string[], index: number, indent: string): boolean {
  const line = lines[index] as string;
  if (!line.endsWith('(')) return line.endsWith('{');
  return (
    lines
      .slice(index)
      .find((each) => each.startsWith(`${indent})`))
      ?.endsWith('{') === true
  );
}

const NO_FUNCTION = /^(if|for|while|switch|catch|super|return)$/;
const HEAD =
  /^( *)(?:export )?(?:static )?(?:async )?(?:(?:function\*? |get |set )(#?\w+)|(?:const )?(#?\w+) = (?:async )?\(|(#?\w+)(?:<.*>)?\((?!.*\);?$))/;

/** Returns the names that a file declares and exports. */
function exportsOf(file: string): string[] {
  const declared =
    /^export (?:async |abstract )*(?:function\*?|class|const|interface|type) (\w+)/gm;
  return [...textOf(file).matchAll(declared)].map(([, name = '']) => name);
}
