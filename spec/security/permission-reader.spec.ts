/** Permissions in files: each is understood completely or is an error; none grants too much. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { lineOf } from '../../src/config/finding.ts';
import { matchingAddress } from '../../src/config/interface-pattern.ts';
import { explainAsYaml } from '../../src/member/explain.ts';
import type { LoadedConfig } from '../../src/member/load.ts';
import { Grants, MAP, PUT, QUEUE, READ } from '../../src/security/permissions.ts';
import { load, writeConfig } from '../config/documents.ts';

const REALM = `
    realms: [{name: r, authentication: {simple: {users: [{username: ann, password: x}]}}}]
    member-authentication: {realm: r}`;

function yaml(permissions: string): string {
  return `grid:\n  security:\n    enabled: true${REALM}\n    client-permissions:${permissions}\n`;
}

function xml(permissions: string): string {
  return `<grid><security enabled="1"><realms><realm name="r"><authentication><simple>
    <user username="ann" password="x"/></simple></authentication></realm></realms>
    <member-authentication realm="r"/>${permissions}</security></grid>`;
}

/** Loads a file with the permissions, the content of their section or element. */
function loadWith(permissions: string) {
  if (!permissions.startsWith('<')) return load('whole.yaml', yaml(permissions));
  return load('whole.xml', xml(`<client-permissions>${permissions}</client-permissions>`));
}

/** Whether ann may read map `m`, put into it, and read queue `q`, as a text of 1 and 0. */
function rightsOf({ config }: LoadedConfig, address = '127.0.0.1'): string {
  const { permissions, prefersGrant } = config.security;
  const all = permissions?.map(({ endpoints, ...permission }) => ({
    ...permission,
    appliesAt: (client: string) =>
      endpoints.length === 0 || matchingAddress(endpoints, [client]) !== undefined,
  }));
  const grants = new Grants({ name: 'ann', roles: [] }, address, all, prefersGrant);
  const name = (text: string) => new Span().set(Buffer.from(text), 0, text.length);
  const may = [
    grants.allow(MAP, name('m'), READ),
    grants.allow(MAP, name('m'), PUT),
    grants.allow(QUEUE, name('q'), READ),
  ];
  // Of several actions, each must be granted.
  assert.equal(grants.allow(MAP, name('m'), READ | PUT), may[0] && may[1]);
  return may.map(Number).join('');
}

const EVERYTHING = "\n      map: [{name: '*', actions: [all]}]\n      ";
const granted: readonly (readonly [string, string, string])[] = [
  ['null', '', '000'],
  ['an empty mapping', ' {}', '000'],
  ['an empty text', ' ""', '000'],
  ['an emptied list', ' {map: [], queue: }', '000'],
  ['empty items', ' {map: [{}], all: {}}', '000'],
  ['only a topic permission', ' {topic: [{name: t, principal: "*", actions: [all]}]}', '000'],
  ['only priority-grant', ' {priority-grant: true}', '000'],
  ['only on-join-operation', ' {on-join-operation: NONE}', '000'],
  ["the original's other actions", ' {map: [{name: m, actions: [create, lock]}]}', '000'],
  ['actions in capitals', ' {map: [{name: m, actions: [READ]}]}', '100'],
  ['one for all', ' {all: {principal: ann}}', '111'],
  ['one for all that names actions', ' {all: {principal: ann, actions: [read]}}', '101'],
  ['one for all of another principal', ' {all: {principal: bob}}', '000'],
  ['all actions, denied again', `${EVERYTHING}all: {deny: TRUE}`, '000'],
  ['deny: 1', ' {map: [{actions: [all]}, {actions: [put], deny: 1}]}', '100'],
  ['deny: 0', ' {map: [{actions: [all]}, {actions: [put], deny: 0}]}', '110'],
  ['actions denied in capitals', ' {map: [{actions: [all]}, {actions: [PUT], deny: true}]}', '100'],
  ['a denial without actions', ' {map: [{actions: [all]}, {name: m, deny: true}]}', '000'],
  [
    'a denial for all that names one map',
    ' {map: [{actions: [all]}], all: {name: x, actions: [add], deny: true}}',
    '000',
  ],
  [
    'a denial at an invalid address',
    ' {map: [{actions: [all]}, {actions: [put], deny: true, endpoints: [localhost]}]}',
    '100',
  ],
  ['a grant at an invalid address', ' {all: {endpoints: [localhost]}}', '000'],
  ['a grant at any address', ' {all: {endpoints: ["*.*.*.*"]}}', '111'],
  ['an empty element for all', '<all-permissions/>', '000'],
  [
    'deny="1"',
    `<all-permissions principal="*"/><map-permission name="m" deny="1">
      <actions><action>put</action></actions></map-permission>`,
    '101',
  ],
  [
    'several elements for all, each with its own addresses',
    `<all-permissions principal="bob"/>
      <all-permissions principal="ann"><endpoints><endpoint>10.0.0.1</endpoint></endpoints>
      </all-permissions>`,
    '000',
  ],
];
for (const [what, permissions, rights] of granted) {
  test(`Rights from ${what} are ${rights}`, async () => {
    const loaded = await loadWith(permissions);
    assert.deepEqual(loaded.refused, []);
    assert.equal(rightsOf(loaded), rights);
    // The shown text is read back with the same meaning; YAML has one permission for all.
    if (what.startsWith('several')) return;
    assert.equal(rightsOf(await load('again.yaml', explainAsYaml(loaded))), rights);
  });
}

test('A file without permissions grants everything; an empty element grants nothing', async () => {
  const without = yaml('').replace(/ +client-permissions:\n/, '');
  for (const [name, text, rights] of [
    ['without.yaml', without, '111'],
    ['without.xml', xml(''), '111'],
    ['empty.xml', xml('<client-permissions/>'), '000'],
  ] as const) {
    const loaded = await load(name, text);
    assert.deepEqual([loaded.refused, rightsOf(loaded)], [[], rights]);
    assert.equal(rightsOf(await load('again.yaml', explainAsYaml(loaded))), rights);
  }
});

const faults: readonly (readonly [string, string, RegExp])[] = [
  ['a list for all', ' {all: [{principal: adm}]}', /all: a list, not a section/],
  ['an unknown key for all', ' {all: {user: adm}}', /"user" in .*all: unknown/],
  ['an unknown key', ' {map: [{name: m, user: adm}]}', /"user" in .*map\[0\]: unknown/],
  ['a misspelt key', ' {map: [{principl: adm}]}', /did you mean "principal"/],
  ['a section in place of a list', ' {map: {name: m}}', /"name" in .*map: unknown/],
  ['a text in place of a list', ' {queue: q}', /queue "q": not a list/],
  ['a text in place of the section', ' none', /client-permissions "none": not a section/],
  ['a list in place of the section', ' [all]', /client-permissions: a list/],
  ['a text in place of endpoints', ' {map: [{endpoints: "10.*"}]}', /endpoints .*not a list/],
  ['a wrong action', ' {map: [{actions: [reed]}]}', /actions\[0\] "reed": not one of/],
  ['deny: yes', ' {map: [{deny: yes}]}', /deny "yes": not true or false/],
  ['emptied endpoints', ' {all: {principal: ann, endpoints: []}}', /all\.endpoints: it is empty/],
  ['emptied actions', ' {map: [{name: m, actions: }]}', /actions: it is empty/],
  ['no principal', ' {all: {principal: ""}}', /principal "": it is empty/],
  ['a misspelt kind', ' {mpa: [{name: m}]}', /did you mean "map"/],
  ['a merge key with a text', ' {map: [{<<: adm, actions: [read]}]}', /Cannot merge/],
  ['an element with an unknown attribute', '<all-permissions user="a"/>', /attribute user/],
  [
    'an emptied element',
    '<map-permission name="m"><endpoints/></map-permission>',
    /endpoints: it is empty/,
  ],
];
for (const [what, permissions, message] of faults) {
  test(`Permissions with ${what} are an error`, async () => {
    await assert.rejects(loadWith(permissions), message);
  });
}

test('Permissions that no request is checked for cause a warning', async () => {
  const warnings = async (text: string) => (await load('asked.yaml', text)).warnings.join('\n');
  const basic = `${yaml('')}  network: {rest-api: {authentication: basic}}\n`;
  assert.match(await warnings(yaml('')), /has no effect: network\.rest-api\.authentication is/);
  assert.match(await warnings(yaml('').replace('true', 'false')), /security\.enabled is not true/);
  assert.equal(await warnings(basic), '');
});

test('A file that imports others has the permissions of all; a permission for all names is in only one file', async () => {
  writeConfig('granting.yaml', 'grid: {security: {client-permissions: {all: {principal: ann}}}}');
  const importing = (permissions: string) => `${yaml(permissions)}  import: [granting.yaml]\n`;
  assert.equal(rightsOf(await load('importing.yaml', importing(' {}'))), '111');
  writeConfig('granting.yaml', 'grid: {security: {client-permissions: }}');
  const without = yaml('').replace(/ +client-permissions:\n/, '');
  const emptied = await load('importing.yaml', `${without}  import: [granting.yaml]\n`);
  assert.equal(rightsOf(emptied), '000');
  writeConfig('granting.yaml', 'grid: {security: {client-permissions: {all: {principal: ann}}}}');
  await assert.rejects(
    load('twice.yaml', importing(' {all: {deny: true}}')),
    /granting\.yaml" has/,
  );
});

test('A variable overrides the file: its addresses replace those of the file', async () => {
  const text = yaml(' {all: {principal: ann, endpoints: [10.0.0.1]}}');
  const variable = { GRID_SECURITY_CLIENTPERMISSIONS_ALL_ENDPOINTS: '10.0.0.2, 10.0.0.3' };
  const loaded = await load('variable.yaml', text, variable);
  const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
  assert.deepEqual(
    addresses.map((address) => rightsOf(loaded, address)),
    ['000', '111', '111'],
  );
  const alone = { GRID_SECURITY_CLIENTPERMISSIONS_PRIORITYGRANT: 'true' };
  const without = yaml('').replace(/ +client-permissions:\n/, '');
  assert.equal(rightsOf(await load('alone.yaml', without, alone)), '000');
});

test('serve refuses settings that would weaken security: a placeholder without a variable, skipped roles', async () => {
  const reasons = async (text: string) =>
    (await load('refused.yaml', text)).refused.map(lineOf).join('\n');
  const unset = yaml(
    ` {map: [{actions: [all]}, {principal: '$\{GONE}', actions: [put], deny: 1}]}`,
  );
  assert.match(await reasons(unset), /principal: no environment variable GONE/);
  const skipping = yaml('').replace('{users:', '{skip-role: true, users:');
  assert.match(await reasons(skipping), /skip-role: .*are always checked/);
  assert.equal(await reasons(skipping.replace('role: true', 'role: false')), '');
  const nobody = yaml('\n    client-authentication: {}');
  assert.match(await reasons(nobody), /client-authentication has no realm/);
});
