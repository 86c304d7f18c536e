/**
 * Covers src/config/load.ts. Input that means something other than it appears to is an error with
 * its place.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { load, writeConfig } from './documents.ts';

const BOMS = '\ufeff\ufeff';

/** Form of the file, its text, and the place and the start of the problem. */
const WRONG: readonly (readonly ['yaml' | 'xml', string, string])[] = [
  ['yaml', 'grid: 5', '1:7: Cannot use grid: "5", not a section'],
  ['yaml', 'grid: [a]', '1:7: Cannot use grid: a list, not a section'],
  ['yaml', 'grid: "x"', '1:7: Cannot use grid: "x", not a section'],
  ['xml', '<grid>5</grid>', '1:7: Cannot use grid: "5", not a section'],
  ['xml', '<grid>a<cluster-name>b</cluster-name></grid>', '1:7: Cannot use grid: "a"'],
  [
    'xml',
    '<grid><network>\n a <port>6000</port></network></grid>',
    '2:2: Cannot use network "a": a text next to elements',
  ],
  [
    'xml',
    '<grid><cluster-name>a</cluster-name><cluster-name>b</cluster-name></grid>',
    '1:51: Cannot use cluster-name: it occurs twice; the first is at 1:21',
  ],
  [
    'xml',
    '<grid><network><port>1</port></network><network><port>2</port></network></grid>',
    '1:55: Cannot use network.port: it occurs twice',
  ],
  [
    'xml',
    '<grid><map name="a"><backup-count>1</backup-count><backup-count>2</backup-count></map></grid>',
    '1:65: Cannot use map.a.backup-count: it occurs twice',
  ],
  ['yaml', 'grid: {cluster-name: !!binary ZGV2}', '1:31: Cannot read YAML: unknown tag'],
  ['yaml', 'grid: {cluster-name: !!js/function "x"}', '1:36: Cannot read YAML: unknown tag'],
  ['yaml', 'grid: {cluster-name: !mine x}', '1:28: Cannot read YAML: unknown tag'],
  ['yaml', `${BOMS}grid: {}`, '1:2: Cannot read text: a second byte order mark'],
  ['xml', `${BOMS}<grid/>`, '1:2: Cannot read text: a second byte order mark'],
  [
    'yaml',
    'grid: {network: {port: 65536}}',
    '1:24: Cannot use network.port "65536": not an integer from 0 to 65535',
  ],
  [
    'yaml',
    'grid: {network: {port: [1]}}',
    '1:24: Cannot use network.port: a list, not an integer from 0 to 65535',
  ],
  [
    'yaml',
    'grid: {network: {port: {port: [1]}}}',
    '1:31: Cannot use network.port.port: a list, not an integer from 0 to 65535',
  ],
];

/** Texts that resemble those above and are valid. */
const RIGHT: readonly (readonly ['yaml' | 'xml', string])[] = [
  ['yaml', 'grid:'],
  ['yaml', 'grid: {}'],
  ['yaml', 'grid: null'],
  ['xml', '<grid/>'],
  ['xml', '<grid>\n</grid>'],
  ['yaml', '\ufeffgrid: {}'],
  ['yaml', 'grid: {cluster-name: !!str 5, network: {port: !!int "6000"}}'],
  [
    'xml',
    '<grid><network><join><tcp-ip><member>a</member><member>b</member></tcp-ip></join></network></grid>',
  ],
  [
    'xml',
    '<grid><network><interfaces><interface>10.0.0.1</interface><interface>10.0.0.2</interface></interfaces></network></grid>',
  ],
  [
    'xml',
    '<grid><map name="a"/><map name="b"/><network><public-address>a</public-address></network></grid>',
  ],
];

describe('loadConfig', () => {
  for (const [form, text, problem] of WRONG) {
    it(`refuses ${JSON.stringify(text)}`, async () => {
      await assert.rejects(load(`wrong.${form}`, text), ({ message }: Error) => {
        const [, shown = message] = /wrong\.\w+:(.*)/s.exec(message) ?? [];
        assert.equal(shown.slice(0, problem.length), problem);
        return true;
      });
    });
  }
  for (const [form, text] of RIGHT) {
    it(`accepts ${JSON.stringify(text)}`, async () => {
      await load(`right.${form}`, text);
    });
  }

  it('refuses variables that expand a text beyond 16 MiB, with the place', async () => {
    const environment = { BIG: 'x'.repeat(100_000) };
    for (const text of [
      `grid:\n  cluster-name: "${'$\u007bBIG}'.repeat(20_000)}"`,
      `grid:\n  member-attributes:\n${Array.from({ length: 200 }, (_, at) => `    a${at}: {value: "$\u007bBIG}"}\n`).join('')}`,
    ]) {
      const loading = load('bomb.yaml', text, environment);
      await assert.rejects(
        loading,
        /bomb\.yaml:\d+:\d+: .*: its variables expand to more than 16777216/,
      );
    }
  });

  it('reads 40,000 map names in YAML, and 40,000 queue names in XML', async () => {
    const names = Array.from({ length: 40_000 }, (_, at) => `m${at}`);
    const texts = {
      'many.yaml': `grid:\n  map:\n${names.map((name) => `    ${name}:\n      backup-count: 2\n`).join('')}`,
      'many.xml': `<grid>${names.map((name) => `<queue name="${name}"/>`).join('')}</grid>`,
    };
    for (const [name, text] of Object.entries(texts)) {
      const done: string[] = [];
      const { config } = await loadConfig({
        ...{ file: writeConfig(name, text), environment: {}, flags: [] },
        onProgress: (part) => done.push(part),
      });
      assert.equal(config.mapTimeToLiveSeconds.size + config.queueMaxSizes.size, 40_000);
      if (text.length > 2 ** 20) assert.match(done.join(), /many\.\w+, \d+ %/);
    }
  });
});
