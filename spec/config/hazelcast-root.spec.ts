/** The compatibility that the original's root element enables, and the sources that override it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Assignment } from '../../src/config/config.ts';
import { explainAsJson } from '../../src/config/explain.ts';
import { loadConfig } from '../../src/config/load.ts';
import { loadText, withFindings, writeConfig } from './documents.ts';

const XML = '<?xml version="1.0"?>\n<hazelcast xmlns="http://www.hazelcast.com/schema/config"/>';
const YAML = '# a member\nhazelcast:\n  cluster-name: a\n';
const segment = (name: string) => `network: {rest-api: {path-segment: ${name}}}`;

interface Row {
  readonly title: string;
  readonly text: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Flags by key. */
  readonly flags?: Readonly<Partial<Record<Assignment['key'], string>>>;
  /** The compatibility and its source. */
  readonly expected: readonly [value: 'none' | 'hazelcast', source: string];
  /** The only log line; undefined: no line. */
  readonly note?: RegExp;
}

const on = /The root is hazelcast, so --compatibility hazelcast is on .* none turns it off$/;

const rows: readonly Row[] = [
  { title: 'XML', text: XML, expected: ['hazelcast', 'file FILE:2:1'], note: on },
  { title: 'YAML', text: YAML, expected: ['hazelcast', 'file FILE:2:1'], note: on },
  { title: 'JSON', text: '{"hazelcast": {}}', expected: ['hazelcast', 'file FILE:1:2'], note: on },
  { title: 'our root', text: YAML.replace('hazelcast', 'grid'), expected: ['none', 'default'] },
  {
    title: '--compatibility none',
    text: YAML,
    flags: { compatibility: 'none' },
    expected: ['none', 'flag --compatibility'],
  },
  {
    title: '--compatibility hazelcast',
    text: YAML,
    flags: { compatibility: 'hazelcast' },
    expected: ['hazelcast', 'flag --compatibility'],
  },
  {
    title: 'the environment',
    text: YAML,
    environment: { GRID_COMPATIBILITY: 'none' },
    expected: ['none', 'environment GRID_COMPATIBILITY'],
  },
  {
    title: "the original's prefix in the environment",
    text: YAML,
    environment: { HZ_COMPATIBILITY: 'none' },
    expected: ['none', 'environment HZ_COMPATIBILITY'],
  },
  {
    title: 'the file itself',
    text: `${YAML}  compatibility: none\n`,
    expected: ['none', 'file FILE:4:18'],
  },
  {
    title: 'a path segment in the file',
    text: `${YAML}  ${segment('cache')}\n`,
    expected: ['none', 'default'],
    note: /FILE:2:1: The root is hazelcast, but path segment "cache" is configured, so .* is off/,
  },
  {
    title: 'a path segment of a flag',
    text: YAML,
    flags: { pathSegment: 'grid' },
    expected: ['none', 'default'],
    note: /"grid" is configured/,
  },
  {
    title: 'a path segment of the environment',
    text: YAML,
    environment: { GRID_NETWORK_RESTAPI_PATHSEGMENT: 'grid' },
    expected: ['none', 'default'],
    note: /"grid" is configured/,
  },
  {
    title: 'a path segment and the flag',
    text: `${YAML}  ${segment('cache')}\n`,
    flags: { compatibility: 'hazelcast' },
    expected: ['hazelcast', 'flag --compatibility'],
  },
  {
    title: "the original's own path segment",
    text: `${YAML}  ${segment('hazelcast')}\n`,
    expected: ['hazelcast', 'file FILE:2:1'],
    note: on,
  },
  {
    title: "the command line client's path segment",
    text: YAML,
    environment: { GRID_PATH_SEGMENT: 'cache' },
    expected: ['hazelcast', 'file FILE:2:1'],
    note: on,
  },
];

describe('A file with the root of the original', () => {
  for (const { title, text, environment = {}, flags = {}, expected, note } of rows) {
    it(`sets compatibility as expected: ${title}`, async () => {
      const file = writeConfig('root', text);
      const assignments = Object.entries(flags).map(([key, flagText]): Assignment => {
        const source = { kind: 'flag', name: `--${key}` } as const;
        return { key: key as Assignment['key'], text: flagText, source };
      });
      const loaded = withFindings(await loadConfig({ file, environment, flags: assignments }));
      const [value, source] = expected;
      const { compatibility } = JSON.parse(explainAsJson(loaded)) as Record<string, unknown>;
      assert.deepEqual(compatibility, { value, source: source.replace('FILE', file) });
      assert.equal(loaded.config.compatibility, value);
      assert.equal(loaded.notes.length, note === undefined ? 0 : 1);
      if (note !== undefined) assert.match(loaded.notes[0]?.replace(file, 'FILE') ?? '', note);
      assert.doesNotMatch(loaded.warnings.join('\n'), /compatibility/);
    });
  }

  it('sets it only as the first file, not as an imported one', async () => {
    writeConfig('imported.yaml', 'hazelcast: {cluster-name: imported}');
    writeConfig('ours.yaml', 'grid: {cluster-name: imported}');
    const of = async (root: string, imported: string) => {
      const file = writeConfig('importing.yaml', `${root}: {import: [${imported}]}`);
      return (await loadConfig({ file, environment: {}, flags: [] })).config.compatibility;
    };
    assert.equal(await of('grid', 'imported.yaml'), 'none');
    assert.equal(await of('hazelcast', 'ours.yaml'), 'hazelcast');
  });

  it('sets it if GRID_CONFIG names the file', async () => {
    const environment = { GRID_CONFIG: writeConfig('named', YAML) };
    const { config } = await loadConfig({ file: undefined, environment, flags: [] });
    assert.equal(config.compatibility, 'hazelcast');
  });

  it('does not set it as a text that is added', async () => {
    for (const text of [XML, YAML]) {
      const loaded = await loadText(text);
      assert.equal(loaded.config.compatibility, 'none');
      assert.deepEqual(loaded.notes, []);
    }
  });
});
