/**
 * The path of a setting and its default are written only in the table of settings; all other code
 * gets them from there by the key of the setting. A changed path therefore changes in every
 * message, and no part of the member can have another default.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnySetting } from '../src/config/setting.ts';
import { SETTINGS } from '../src/member/settings.ts';
import { SECURITY_PATHS } from '../src/security/security-settings.ts';
import { sources, textOf } from './project-files.ts';

/** Files of the rows. */
const ROWS = [
  'src/cluster/cluster-settings.ts',
  'src/config/placeholders.ts',
  'src/cp/cp-settings.ts',
  'src/persistence/persistence-settings.ts',
  'src/security/security-settings.ts',
  'src/security/tls-settings.ts',
  'src/wan/wan-settings.ts',
  'src/data/data-settings.ts',
  'src/engine/engine-settings.ts',
  'src/servers/server-settings.ts',
  'src/surface/surface-settings.ts',
  'src/telemetry/log-settings.ts',
  'src/base/settings-in-messages.ts',
  'src/base/default-port.ts',
];
/**
 * Strings in other files that equal a path but do not name a setting there. This list may only
 * become shorter.
 */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  // A command and a path of REST.
  'src/administration/administration-routes.ts': ['log-level'],
};

const rows: [string, AnySetting][] = Object.entries(SETTINGS);
const paths = [
  // A path equal to its key cannot be distinguished from the key.
  ...rows.flatMap(([key, { path = key, aliases = [] }]) =>
    [path, ...aliases].filter((each) => each !== key),
  ),
  ...Object.values(SECURITY_PATHS),
];

test('Paths of settings are written only in the table', () => {
  const found: Record<string, string[]> = {};
  for (const file of sources) {
    if (ROWS.includes(file)) continue;
    const inFile = pathsIn(textOf(file));
    if (inFile.length > 0) found[file] = inFile;
  }
  assert.deepEqual(found, EXCEPTIONS);
});

test('pathsIn finds a path as a whole word in strings and templates, not in comments', () => {
  const code = [
    'const quotes = /^[\'`"/]$/;',
    "const a = 'the x of network.port.port, say'; // network.port.port",
    `/* persistence.sync */ const b = \`max-memory ${'$'}{c} network.port.ports my-max-memory\`;`,
    `const url = "http://x" + security.realms; const d = 'network.rest-api.endpoint-groups.' + "partition-count";`,
    `const e = \`network.rest-api.endpoint-groups.${'$'}{group}.enabled, queue.a.max-size\`;`,
  ].join('\n');
  assert.deepEqual(pathsIn(code), [
    'network.port.port',
    'max-memory',
    'partition-count',
    'network.rest-api.endpoint-groups.{}.enabled',
    'queue.a.max-size',
  ]);
});

/** Strings, templates, comments and regular expressions; the latter two begin with a slash. */
const TOKENS = new RegExp(
  [
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/,
    /\/\/.*|\/\*[\s\S]*?\*\//,
    /(?<=[=(,:!&|?[]\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** Returns the paths in the strings and templates of the code. */
function pathsIn(code: string): string[] {
  const texts = (code.match(TOKENS) ?? [])
    .filter((token) => !token.startsWith('/'))
    .map((token) => token.slice(1, -1).replace(/\$\{[^{}]*\}/g, '{}'));
  const patterns = paths
    .toSorted((one, other) => other.length - one.length)
    .map((path) => path.replaceAll('.', '\\.').replace('{name}', '[\\w*{}-]+'));
  const words = new RegExp(`(?<![\\w./-])(?:${patterns.join('|')})(?![\\w/-]|\\.[\\w{[])`, 'g');
  return texts.flatMap((text) => text.match(words) ?? []);
}

/** Returns the settings that the text gives a number: `port = 1`, `PORT: 1`, `port ?? 1`. */
function defaultsIn(text: string): string[] {
  const names = rows
    .filter(([, { fallback }]) => typeof fallback === 'number')
    .flatMap(([key]) => [key, key.replace(/[A-Z]/g, '_$&').toUpperCase()]);
  const assigned = new RegExp(
    `(?<![\\w.#])(${names.join('|')})\\b(: number)? ?(=|:|\\?\\?) ?\\d[\\d_]*`,
    'g',
  );
  return text.match(assigned) ?? [];
}

test('Defaults of settings are written only in the table', () => {
  assert.deepEqual(defaultsIn('const PORT = 5701;\nlet { port = 1 } = x; port ?? 2; port === 3'), [
    'PORT = 5701',
    'port = 1',
    'port ?? 2',
  ]);
  const found = sources
    .filter((file) => !ROWS.includes(file))
    .flatMap((file) => defaultsIn(textOf(file)).map((each) => `${file} ${each}`));
  assert.deepEqual(found, []);
});
