/**
 * Covers src/config/config-file.ts and src/config/*-document.ts. Files that cannot be used, and
 * files that mean something other than they appear to: each is a problem with line and column.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { run } from '../cli/run-command.ts';
import { load, problemsOf, writeConfig } from './documents.ts';

type Form = 'yaml' | 'xml' | 'json';

const BOMS = '\ufeff\ufeff';

const USERS = `
grid:
  security:
    realms:
      - name: first
        authentication:
          simple:
            users:
              - {username: ada, password: a}
              - {username: ada, password: b}
`;

const STRICT_PLACEHOLDER = `
grid:
  config-replacers: {fail-if-value-missing: true}
  cluster-name: $\{GRIDNODE_UNSET}
`;

/** Form of the file, its text, the place of the problem, and its message. */
const BROKEN: readonly (readonly [Form, string, string, RegExp])[] = [
  ['yaml', 'grid:\n  network:\n    port: {port: many}', '3:18', /"many": not an int/],
  ['yaml', 'grid:\n  netwrok: {}', '2:3', /"netwrok" at the root.*"network"\?/],
  ['yaml', 'grid:\n  network:\n      port: 1\n    x: {}', '4:1', /same column/],
  ['yaml', 'grid:\n\tnetwork: {}', '2:1', /Tabs/],
  ['yaml', 'grid:\n  cluster-name: a\n  cluster-name: b\n', '3:3', /"cluster-name" .*unique/],
  ['json', '{"grid": {"map": {"m": {}, "m": {}}}}', '1:28', /"m" occurs twice/],
  ['yaml', 'grid: {map: {m: {<<: some}}}', '1:22', /not a mapping with names/],
  ['yaml', 'grid: {queue: {"": {max-size: 3}}}', '1:16', /"" as a name: it is/],
  ['xml', '<grid>\n<queue name=""/></grid>', '2:8', /"" as a name: it is/],
  ['yaml', 'grid:\n  cluster-name: "a\n', '3:1', /Missing closing "quote/],
  ['yaml', 'grid:\n  network: {port: 1\n', '3:1', /end with a }/],
  ['yaml', 'grid:\n  map: *nowhere\n', '2:8', /alias "nowhere"/],
  ['yaml', 'grid: &a\n  map: *a\n', '2:8', /alias "a"/],
  ['yaml', 'grid:\n  network: here\n', '2:12', /network "here": not a section/],
  ['yaml', 'grid:\n  network: [1]\n', '2:12', /a list, not a section/],
  ['yaml', 'grid:\n  listeners: one\n', '2:14', /listeners "one": not a list/],
  ['yaml', 'grid:\n  cluster-name:\n', '2:16', /no value/],
  ['yaml', 'grid:\n  cluster-name: {a: b}', '2:17', /a section, not a text/],
  ['yaml', USERS, '10:28', /user "ada": it occurs twice/],
  [
    'yaml',
    'grid:\n  security:\n    realms: [{name: r}]\n    member-authentication: {realm: s}',
    '4:36',
    /realm "s": no such realm \(known: r\)/,
  ],
  ['yaml', 'grid:\n  security: {realms: [{name: r}, {name: r}]}', '2:41', /twice/],
  [
    'yaml',
    'grid:\n  network:\n    rest-api:\n      endpoint-groups:\n        DATTA:\n          enabled: true\n',
    '5:9',
    /endpoint group "DATTA".*"DATA"\?/,
  ],
  ['yaml', 'grid: {map: {m: {in-memory-format: X}}}', '1:36', /one of BINARY, OBJ/],
  ['yaml', 'gird: {}', '1:1', /root "gird".*; did you mean "grid"\?$/],
  ['yaml', 'map: {}', '1:1', /root "map": not grid .*; put it below grid:$/],
  ['xml', '<map name="m"/>', '1:1', /root "map": .*; put it below <grid>$/],
  ['yaml', 'grid: {}\nother: {}', '2:1', /one root/],
  ['yaml', 'grid: {}\n---\ngrid: {}', '2:1', /more than one document/],
  ['yaml', '', '1:1', /nothing in the file/],
  ['yaml', 'grid:\n  properties: {grid.rest.enabeld: true}', '2:16', /rest.enabled"\?/],
  ['yaml', 'grid:\n  import: [not-there.yaml]\n', '2:12', /no such file/],
  ['yaml', 'grid: {import: [broken.yaml]}', '1:17', /itself/],
  ['yaml', 'grid: {import: ["a\\0b"]}', '1:17', /a file name cannot contain a NUL/],
  ['yaml', 'grid: {import: ["http://x/y"]}', '1:17', /not a file/],
  ['yaml', STRICT_PLACEHOLDER, '4:17', /variable GRIDNODE_UNSET/],
  [
    'xml',
    '<grid>\n  <network>\n</grid >\n',
    '3:1',
    /<\/grid > in place of <\/network>: <network> of 2:3 is not closed$/,
  ],
  [
    'xml',
    '<grid>\n  <network>\n',
    '2:3',
    /the end of the file in place of <\/network>: <network> is not closed$/,
  ],
  ['xml', '<grid>\n</netwrok></grid>', '2:1', /<\/netwrok> in place of <\/grid>/],
  ['xml', '<?xml version="1.0" encoding="UTF-7"?><grid/>', '1:31', /"UTF-7": not UTF-8/],
  ['xml', '<grid>\n <network>\n  <prot>1</prot></network></grid>', '3:3', /"port"\?/],
  [
    'xml',
    '<grid><network><port auto-incremet="x">1</port></network></grid>',
    '1:22',
    /"attribute auto-increment"\?/,
  ],
  ['xml', '<grid><import\n resorce="a"/></grid>', '2:2', /"attribute resource"\?/],
  ['xml', '<grid>\n<network><port auto-increment="maybe"/></network></grid>', '2:16', /true or/],
  ['xml', '<grid><network><port>\n 70000</port></network></grid>', '2:2', /65535/],
  ['xml', '<grid>\n<map><backup-count>1</backup-count></map></grid>', '2:1', /no attribute name/],
  [
    'xml',
    '<!DOCTYPE g [<!ENTITY e SYSTEM "x">]>\n<grid><cluster-name>&e;</cluster-name></grid>',
    '2:23',
    /undefined entity/,
  ],
  ['xml', '<grid>\n<network a="1" a="2"/></grid>', '2:22', /duplicate attribute/],
  ['xml', '<grid>\n  <network>here</network>\n</grid>\n', '2:12', /"here": not a section/],
  ['xml', '<hazelcast-client/>', '1:1', /root "hazelcast-client".*; the file is a client's/],
  ['xml', '<grid/>\n<grid/>', '2:6', /only one root/],
  ['xml', '<grid>\n<cluster-name>a & b</cluster-name></grid>', '2:17', /write &amp;/],
  ['xml', '', '1:1', /root element/],
  ['xml', '<grid>\n<network enabled=true/></grid>', '2:18', /unquoted/],
  ['yaml', 'grid: 5', '1:7', /grid: "5", not a section/],
  ['yaml', 'grid: [a]', '1:7', /grid: a list, not a section/],
  ['xml', '<grid>5</grid>', '1:7', /grid: "5", not a section/],
  ['xml', '<grid>a<cluster-name>b</cluster-name></grid>', '1:7', /grid: "a"/],
  [
    'xml',
    '<grid><network>\n a <port>6000</port></network></grid>',
    '2:2',
    /network "a": a text next to elements/,
  ],
  [
    'xml',
    '<grid><cluster-name>a</cluster-name><cluster-name>b</cluster-name></grid>',
    '1:51',
    /cluster-name: it occurs twice; the first is at 1:21/,
  ],
  [
    'xml',
    '<grid><network><port>1</port></network><network><port>2</port></network></grid>',
    '1:55',
    /network\.port: it occurs twice/,
  ],
  [
    'xml',
    '<grid><map name="a"><backup-count>1</backup-count><backup-count>2</backup-count></map></grid>',
    '1:65',
    /map\.a\.backup-count: it occurs twice/,
  ],
  ['yaml', 'grid: {cluster-name: !!binary ZGV2}', '1:31', /YAML: unknown tag/],
  ['yaml', 'grid: {cluster-name: !!js/function "x"}', '1:36', /YAML: unknown tag/],
  ['yaml', 'grid: {cluster-name: !mine x}', '1:28', /YAML: unknown tag/],
  ['yaml', `${BOMS}grid: {}`, '1:2', /text: a second byte order mark/],
  ['xml', `${BOMS}<grid/>`, '1:2', /text: a second byte order mark/],
  [
    'yaml',
    'grid: {network: {port: 65536}}',
    '1:24',
    /network\.port "65536": not an integer from 0 to 65535/,
  ],
  [
    'yaml',
    'grid: {network: {port: [1]}}',
    '1:24',
    /network\.port: a list, not an integer from 0 to 65535/,
  ],
  [
    'yaml',
    'grid: {network: {port: {port: [1]}}}',
    '1:31',
    /network\.port\.port: a list, not an integer from 0 to 65535/,
  ],
  // An unknown name in a section with a meaning.
  ['yaml', 'grid: {jett: {}}', '1:8', /"jett" at the root.*"jet"/],
  [
    'yaml',
    'grid: {map: {m: {max-idle-second: 1}}}',
    '1:18',
    /"max-idle-second" in map\.m.*"max-idle-seconds"/,
  ],
  ['yaml', 'grid: {network: {joyn: {}}}', '1:18', /"joyn" in network: unknown/],
  ['yaml', 'grid: {network: {join: {tcpip: {}}}}', '1:25', /"tcpip" in network\.join.*"tcp-ip"/],
  [
    'yaml',
    'grid: {advanced-network: {rest-server-socket-endpoint-config: {prt: 1}}}',
    '1:64',
    /"prt".*"port"/,
  ],
  [
    'yaml',
    'grid: {persistence: {encryption-at-rest: {enabld: true}}}',
    '1:43',
    /"enabld".*"enabled"/,
  ],
  ['yaml', 'grid: {network: {socket-interceptor: {enable: true}}}', '1:39', /"enable".*"enabled"/],
  [
    'yaml',
    'grid: {config-replacers: {replacers: [{class-nam: a}]}}',
    '1:40',
    /"class-nam".*"class-name"/,
  ],
  ['yaml', 'grid: {network: {ssl: {properties: {keyFiel: a}}}}', '1:37', /"keyFiel".*"keyFile"/],
  ['yaml', 'grid: {auditlog: {enable: true}}', '1:19', /"enable" in auditlog.*"enabled"/],
  [
    'yaml',
    'grid: {security: {realms: [{identity: {token: {valeu: a}}}]}}',
    '1:48',
    /"valeu".*"value"/,
  ],
  [
    'yaml',
    'grid: {security: {client-permissions: {sql: [{prinicpal: a}]}}}',
    '1:47',
    /"prinicpal".*"principal"/,
  ],
  ['yaml', 'grid: {security: {client-permissions: {mapp: [{name: a}]}}}', '1:40', /"mapp".*"map"/],
  [
    'xml',
    '<grid><queue><max-size>1</max-size></queue></grid>',
    '1:7',
    /"queue": no attribute name/,
  ],
  [
    'xml',
    '<grid><security><client-permission-policy class-name="a"><properties><property>x</property></properties></client-permission-policy></security></grid>',
    '1:70',
    /"property": no attribute name/,
  ],
  ['yaml', 'grid: {jet: {enabled: maybe}}', '1:23', /jet\.enabled "maybe": not true or false/],
  ['yaml', 'grid: {map: {m: {map-store: [a]}}}', '1:29', /map-store: a list, not a section/],
  ['yaml', 'hazelcast-client: {}', '1:1', /root "hazelcast-client"/],
];

/** Texts that resemble those above and are valid. */
const RIGHT: readonly (readonly [Form, string])[] = [
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
  for (const [form, text, place, message] of BROKEN) {
    it(`refuses ${JSON.stringify(text).slice(0, 120)}`, async () => {
      const [problem = '', ...more] = await problemsOf(load(`broken.${form}`, text));
      assert.deepEqual(more, []);
      const [, at, shown = problem] = /broken\.\w+:(\d+:\d+): (.*)/s.exec(problem) ?? [];
      assert.deepEqual([at, shown.slice(0, 7)], [place, 'Cannot ']);
      assert.match(shown, message);
    });
  }
  for (const [form, text] of RIGHT) {
    it(`accepts ${JSON.stringify(text)}`, async () => {
      await load(`right.${form}`, text);
    });
  }
});

test('gridnode serve reports all faults of a file at once, in the order of the file', async () => {
  const lines = ['grid:', '  netwrok: {}', '  cluster-name: ""', '  network:', '    port: x'];
  const path = writeConfig('many.yaml', `${lines.join('\n')}\n  map: {m: {ttl: 1}}\n`);
  const { code, errors } = await run('serve', '--port', '0', '--config', path);
  assert.equal(code, 2);
  const places = errors.match(/\d+:\d+(?=: Cannot)/g);
  assert.deepEqual(places, ['2:3', '3:17', '5:11', '6:13']);
});

test('gridnode serve exits with 2 for a missing file', async () => {
  const { code, errors } = await run('serve', '--config', 'not-there.yaml');
  assert.deepEqual(
    [code, errors],
    [2, 'Cannot read configuration file "not-there.yaml": no such file\n'],
  );
});
