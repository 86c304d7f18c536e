/**
 * Covers src/config/config-file.ts and src/config/*-document.ts. Files that cannot be used: serve
 * exits with 2 before anything starts, and reports file, line and column.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../cli/run-command.ts';
import { writeConfig } from './documents.ts';

/** Runs `serve` with the file. */
const serveWith = (path: string) => run('serve', '--port', '0', '--config', path);

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

/** File name, text, place of the fault, and its message. */
const broken: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'a wrong type.yaml',
    'grid:\n  network:\n    port: {port: many}\n',
    '3:18',
    /"many": not an int/,
  ],
  ['out of range.yaml', 'grid:\n  network: {port: 70000}\n', '2:19', /from 0 to 65535/],
  ['an unknown key.yaml', 'grid:\n  netwrok: {}\n', '2:3', /"netwrok" at the root.*"network"\?/],
  ['a bad indent.yaml', 'grid:\n  network:\n      port: 1\n    x: {}\n', '4:1', /same column/],
  ['a tab.yaml', 'grid:\n\tnetwork: {}\n', '2:1', /Tabs/],
  [
    'a duplicate name.yaml',
    'grid:\n  cluster-name: a\n  cluster-name: b\n',
    '3:3',
    /"cluster-name" .*unique/,
  ],
  ['a duplicate name.json', '{"grid": {"map": {"m": {}, "m": {}}}}', '1:28', /"m" occurs twice/],
  ['a merged text.yaml', 'grid: {map: {m: {<<: some}}}', '1:22', /not a mapping with names/],
  [
    'a queue without a name.yaml',
    'grid: {queue: {"": {max-size: 3}}}',
    '1:16',
    /"" as a name: it is/,
  ],
  ['a queue without a name.xml', '<grid>\n<queue name=""/></grid>', '2:8', /"" as a name: it is/],
  ['an open quote.yaml', 'grid:\n  cluster-name: "a\n', '3:1', /Missing closing "quote/],
  ['an open brace.yaml', 'grid:\n  network: {port: 1\n', '3:1', /end with a }/],
  ['an unknown anchor.yaml', 'grid:\n  map: *nowhere\n', '2:8', /alias "nowhere"/],
  ['an anchor in itself.yaml', 'grid: &a\n  map: *a\n', '2:8', /alias "a"/],
  ['not a section.yaml', 'grid:\n  network: here\n', '2:12', /network "here": not a section/],
  ['a list as section.yaml', 'grid:\n  network: [1]\n', '2:12', /a list, not a section/],
  ['not a list.yaml', 'grid:\n  listeners: one\n', '2:14', /listeners "one": not a list/],
  ['a missing value.yaml', 'grid:\n  cluster-name:\n', '2:16', /no value/],
  ['a section as text.yaml', 'grid:\n  cluster-name: {a: b}\n', '2:17', /a section, not a text/],
  ['a duplicate user.yaml', USERS, '10:28', /user "ada": it occurs twice/],
  [
    'an unknown realm.yaml',
    'grid:\n  security:\n    realms: [{name: r}]\n    member-authentication: {realm: s}\n',
    '4:36',
    /realm "s": no such realm \(known: r\)/,
  ],
  [
    'a duplicate realm.yaml',
    'grid:\n  security: {realms: [{name: r}, {name: r}]}\n',
    '2:41',
    /twice/,
  ],
  [
    'an unknown group.yaml',
    'grid:\n  network:\n    rest-api:\n      endpoint-groups:\n        DATTA:\n          enabled: true\n',
    '5:9',
    /endpoint group "DATTA".*"DATA"\?/,
  ],
  ['a wrong word.yaml', 'grid: {map: {m: {in-memory-format: X}}}\n', '1:36', /one of BINARY, OBJ/],
  [
    'not a boolean.yaml',
    'grid: {network: {rest-api: {enabled: maybe}}}\n',
    '1:38',
    /true or false/,
  ],
  ['a wrong root.yaml', 'gird: {}\n', '1:1', /root "gird".*; did you mean "grid"\?\n$/],
  ['a section as root.yaml', 'map: {}\n', '1:1', /root "map": not grid .*; put it below grid:\n$/],
  ['a section as root.xml', '<map name="m"/>', '1:1', /root "map": .*; put it below <grid>\n$/],
  ['two roots.yaml', 'grid: {}\nother: {}\n', '2:1', /one root/],
  ['two documents.yaml', 'grid: {}\n---\ngrid: {}\n', '2:1', /more than one document/],
  ['nothing.yaml', '', '1:1', /nothing in the file/],
  [
    'a property.yaml',
    'grid:\n  properties: {grid.rest.enabeld: true}\n',
    '2:16',
    /rest.enabled"\?/,
  ],
  [
    'an import of a missing file.yaml',
    'grid:\n  import: [not-there.yaml]\n',
    '2:12',
    /no such file/,
  ],
  ['an import of itself.yaml', 'grid: {import: [an import of itself.yaml]}\n', '1:17', /itself/],
  [
    'an import with a NUL.yaml',
    'grid: {import: ["a\\0b"]}',
    '1:17',
    /a file name cannot contain a NUL/,
  ],
  ['an import over HTTP.yaml', 'grid: {import: ["http://x/y"]}\n', '1:17', /not a file/],
  ['an unset placeholder.yaml', STRICT_PLACEHOLDER, '4:17', /variable GRIDNODE_UNSET/],
  [
    'not closed.xml',
    '<grid>\n  <network>\n</grid >\n',
    '3:1',
    /: <\/grid > in place of <\/network>: <network> of 2:3 is not closed\n$/,
  ],
  [
    'never closed.xml',
    '<grid>\n  <network>\n',
    '2:3',
    /: the end of the file in place of <\/network>: <network> is not closed\n$/,
  ],
  ['an end tag only.xml', '<grid>\n</netwrok></grid>', '2:1', /<\/netwrok> in place of <\/grid>/],
  [
    'an encoding.xml',
    '<?xml version="1.0" encoding="UTF-7"?><grid/>',
    '1:31',
    /"UTF-7": not UTF-8/,
  ],
  ['an element.xml', '<grid>\n <network>\n  <prot>1</prot></network></grid>', '3:3', /"port"\?/],
  [
    'an attribute.xml',
    '<grid><network><port auto-incremet="x">1</port></network></grid>',
    '1:22',
    /"attribute auto-increment"\?/,
  ],
  ['an import.xml', '<grid><import\n resorce="a"/></grid>', '2:2', /"attribute resource"\?/],
  [
    'a wrong type.xml',
    '<grid>\n<network><port auto-increment="maybe"/></network></grid>',
    '2:16',
    /true or/,
  ],
  ['out of range.xml', '<grid><network><port>\n 70000</port></network></grid>', '2:2', /65535/],
  [
    'a missing name.xml',
    '<grid>\n<map><backup-count>1</backup-count></map></grid>',
    '2:1',
    /no attribute name/,
  ],
  [
    'an entity.xml',
    '<!DOCTYPE g [<!ENTITY e SYSTEM "x">]>\n<grid><cluster-name>&e;</cluster-name></grid>',
    '2:23',
    /undefined entity/,
  ],
  [
    'a duplicate attribute.xml',
    '<grid>\n<network a="1" a="2"/></grid>',
    '2:22',
    /duplicate attribute/,
  ],
  ['text.xml', '<grid>\n  <network>here</network>\n</grid>\n', '2:12', /"here": not a section/],
  [
    'of a client.xml',
    '<hazelcast-client/>',
    '1:1',
    /root "hazelcast-client".*; the file is a client's/,
  ],
  ['two roots.xml', '<grid/>\n<grid/>', '2:6', /only one root/],
  ['an ampersand.xml', '<grid>\n<cluster-name>a & b</cluster-name></grid>', '2:17', /write &amp;/],
  ['nothing.xml', '', '1:1', /root element/],
  ['missing quotes.xml', '<grid>\n<network enabled=true/></grid>', '2:18', /unquoted/],
];

for (const [name, text, place, message] of broken) {
  test(`gridnode serve exits with 2 for ${name.replace('.', ' in ')}`, async () => {
    const path = writeConfig(name, text);
    const { code, errors } = await serveWith(path);
    assert.equal(code, 2);
    assert.equal(errors.split('\n').length, 2, errors);
    assert.ok(errors.startsWith(`${path}:${place}: Cannot `), errors);
    assert.match(errors, message);
  });
}

test('gridnode serve reports all faults of a file at once, in the order of the file', async () => {
  const lines = ['grid:', '  netwrok: {}', '  cluster-name: ""', '  network:', '    port: x'];
  const path = writeConfig('many.yaml', `${lines.join('\n')}\n  map: {m: {ttl: 1}}\n`);
  const { code, errors } = await serveWith(path);
  assert.equal(code, 2);
  const places = errors.match(/\d+:\d+(?=: Cannot)/g);
  assert.deepEqual(places, ['2:3', '3:17', '5:11', '6:13']);
});

test('gridnode serve exits with 2 for a missing file', async () => {
  const { code, errors } = await serveWith('not-there.yaml');
  assert.deepEqual(
    [code, errors],
    [2, 'Cannot read configuration file "not-there.yaml": no such file\n'],
  );
});
