/** The compatibility that the original's root element enables, and the sources that override it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Assignment } from '../../src/config/setting-table.ts';
import { explainAsJson } from '../../src/member/explain.ts';
import { loadConfig } from '../../src/member/load.ts';
import { loadText, withFindings, writeConfig } from '../config/documents.ts';

const XML = '<?xml version="1.0"?>\n<hazelcast xmlns="http://www.hazelcast.com/schema/config"/>';
const YAML = '# a member\nhazelcast:\n  cluster-name: a\n';
const OURS = YAML.replace('hazelcast', 'grid');
const withSegment = (name: string) => `${YAML}  network: {rest-api: {path-segment: ${name}}}\n`;

interface Given {
  /** Text of the file; by default YAML. */
  readonly text?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Flags by key. */
  readonly flags?: Readonly<Record<string, string>>;
}

const ON = /The root is hazelcast, so --compatibility hazelcast is on .* none turns it off$/;

/** What is given, the compatibility and its source, and the only log line, if there is one. */
const rows: readonly (readonly [Given, expected: string, note?: RegExp])[] = [
  [{ text: XML }, 'hazelcast: file FILE:2:1', ON],
  [{ text: YAML }, 'hazelcast: file FILE:2:1', ON],
  [{ text: '{"hazelcast": {}}' }, 'hazelcast: file FILE:1:2', ON],
  [{ text: OURS }, 'none: default'],
  [{ text: `${YAML}  compatibility: none\n` }, 'none: file FILE:4:18'],
  [{ flags: { compatibility: 'none' } }, 'none: flag --compatibility'],
  [{ flags: { compatibility: 'hazelcast' } }, 'hazelcast: flag --compatibility'],
  [{ environment: { GRID_COMPATIBILITY: 'none' } }, 'none: environment GRID_COMPATIBILITY'],
  [{ environment: { HZ_COMPATIBILITY: 'none' } }, 'none: environment HZ_COMPATIBILITY'],
  [
    { text: OURS, environment: { GRID_COMPATIBILITY: 'hazelcast' } },
    'hazelcast: environment GRID_COMPATIBILITY',
  ],
  [
    { environment: { GRID_COMPATIBILITY: 'hazelcast' }, flags: { compatibility: 'none' } },
    'none: flag --compatibility',
  ],
  [
    { text: withSegment('cache') },
    'none: default',
    /FILE:2:1: The root is hazelcast, but path segment "cache" is configured, so .* is off/,
  ],
  [{ flags: { pathSegment: 'grid' } }, 'none: default', /"grid" is configured/],
  [
    { environment: { GRID_NETWORK_RESTAPI_PATHSEGMENT: 'grid' } },
    'none: default',
    /"grid" is configured/,
  ],
  [
    { text: withSegment('cache'), flags: { compatibility: 'hazelcast' } },
    'hazelcast: flag --compatibility',
  ],
  // The original's own path segment, and a variable of the client.
  [{ text: withSegment('hazelcast') }, 'hazelcast: file FILE:2:1', ON],
  [{ environment: { GRID_PATH_SEGMENT: 'cache' } }, 'hazelcast: file FILE:2:1', ON],
];

describe('A file with the root of the original', () => {
  for (const [given, expected, note] of rows) {
    it(`sets compatibility as expected: ${JSON.stringify(given)}`, async () => {
      const { text = YAML, environment = {}, flags = {} } = given;
      const file = writeConfig('root', text);
      const assignments = Object.entries(flags).map(([key, flagText]): Assignment => {
        const source = { kind: 'flag', name: `--${key}` } as const;
        return { key, text: flagText, source };
      });
      const loaded = withFindings(await loadConfig({ file, environment, flags: assignments }));
      const { value, source } = JSON.parse(explainAsJson(loaded)).compatibility;
      assert.equal(`${value}: ${source.replace(file, 'FILE')}`, expected);
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
