/** Permissions in files: each is understood completely or is an error; none grants too much. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { explainAsYaml } from '../../src/config/explain.ts';
import { lineOf } from '../../src/config/finding.ts';
import { matchingAddress } from '../../src/config/interface-pattern.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import { Grants, MAP, PUT, QUEUE, READ } from '../../src/security/permissions.ts';
import { load, writeConfig } from './documents.ts';

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
  return may.map(Number).join('');
}

const EVERYTHING = "\n      map: [{name: '*', actions: [all]}]\n      ";
const granted: readonly (readonly [string, string, string])[] = [
  ['no permissions at all', yaml('').replace(/ +client-permissions:\n/, ''), '111'],
  ['null', yaml(''), '000'],
  ['an empty mapping', yaml(' {}'), '000'],
  ['an empty text', yaml(' ""'), '000'],
  ['an emptied list', yaml(' {map: [], queue: }'), '000'],
  ['empty items', yaml(' {map: [{}], all: {}}'), '000'],
  ['only a topic permission', yaml(' {topic: [{name: t, principal: "*", actions: [all]}]}'), '000'],
  ['only priority-grant', yaml(' {priority-grant: true}'), '000'],
  ['only on-join-operation', yaml(' {on-join-operation: NONE}'), '000'],
  ["the original's other actions", yaml(' {map: [{name: m, actions: [create, lock]}]}'), '000'],
  ['actions in capitals', yaml(' {map: [{name: m, actions: [READ]}]}'), '100'],
  ['one for all', yaml(' {all: {principal: ann}}'), '111'],
  ['one for all that names actions', yaml(' {all: {principal: ann, actions: [read]}}'), '101'],
  ['one for all of another principal', yaml(' {all: {principal: bob}}'), '000'],
  ['all actions, denied again', yaml(`${EVERYTHING}all: {deny: TRUE}`), '000'],
  ['deny: 1', yaml(' {map: [{actions: [all]}, {actions: [put], deny: 1}]}'), '100'],
  ['deny: 0', yaml(' {map: [{actions: [all]}, {actions: [put], deny: 0}]}'), '110'],
  [
    'actions denied in capitals',
    yaml(' {map: [{actions: [all]}, {actions: [PUT], deny: true}]}'),
    '100',
  ],
  ['a denial without actions', yaml(' {map: [{actions: [all]}, {name: m, deny: true}]}'), '000'],
  [
    'a denial for all that names one map',
    yaml(' {map: [{actions: [all]}], all: {name: x, actions: [add], deny: true}}'),
    '000',
  ],
  [
    'a denial at an invalid address',
    yaml(' {map: [{actions: [all]}, {actions: [put], deny: true, endpoints: [localhost]}]}'),
    '100',
  ],
  ['a grant at an invalid address', yaml(' {all: {endpoints: [localhost]}}'), '000'],
  ['a grant at any address', yaml(' {all: {endpoints: ["*.*.*.*"]}}'), '111'],
  ['an empty element', xml('<client-permissions/>'), '000'],
  ['no element', xml(''), '111'],
  [
    'an empty element for all',
    xml('<client-permissions><all-permissions/></client-permissions>'),
    '000',
  ],
  [
    'deny="1"',
    xml(`<client-permissions><all-permissions principal="*"/><map-permission name="m" deny="1">
      <actions><action>put</action></actions></map-permission></client-permissions>`),
    '101',
  ],
  [
    'several elements for all, each with its own addresses',
    xml(`<client-permissions><all-permissions principal="bob"/>
      <all-permissions principal="ann"><endpoints><endpoint>10.0.0.1</endpoint></endpoints>
      </all-permissions></client-permissions>`),
    '000',
  ],
];
for (const [what, text, rights] of granted) {
  test(`Rights from ${what} are ${rights}`, async () => {
    const loaded = await load(`granted.${text.startsWith('<') ? 'xml' : 'yaml'}`, text);
    assert.deepEqual(loaded.refused, []);
    assert.equal(rightsOf(loaded), rights);
    // The shown text is read back with the same meaning; YAML has one permission for all.
    if (what.startsWith('several')) return;
    assert.equal(rightsOf(await load('again.yaml', explainAsYaml(loaded))), rights);
  });
}

const faults: readonly (readonly [string, string, RegExp])[] = [
  ['a list for all', yaml(' {all: [{principal: adm}]}'), /all: a list, not a section/],
  ['an unknown key for all', yaml(' {all: {user: adm}}'), /"user" in .*all: unknown/],
  ['an unknown key', yaml(' {map: [{name: m, user: adm}]}'), /"user" in .*map\[0\]: unknown/],
  ['a misspelt key', yaml(' {map: [{principl: adm}]}'), /did you mean "principal"/],
  ['a section in place of a list', yaml(' {map: {name: m}}'), /"name" in .*map: unknown/],
  ['a text in place of a list', yaml(' {queue: q}'), /queue "q": not a list/],
  ['a text in place of the section', yaml(' none'), /client-permissions "none": not a section/],
  ['a list in place of the section', yaml(' [all]'), /client-permissions: a list/],
  ['a text in place of endpoints', yaml(' {map: [{endpoints: "10.*"}]}'), /endpoints .*not a list/],
  ['a wrong action', yaml(' {map: [{actions: [reed]}]}'), /actions\[0\] "reed": not one of/],
  ['deny: yes', yaml(' {map: [{deny: yes}]}'), /deny "yes": not true or false/],
  [
    'emptied endpoints',
    yaml(' {all: {principal: ann, endpoints: []}}'),
    /all\.endpoints: it is empty/,
  ],
  ['emptied actions', yaml(' {map: [{name: m, actions: }]}'), /actions: it is empty/],
  ['no principal', yaml(' {all: {principal: ""}}'), /principal "": it is empty/],
  ['a misspelt kind', yaml(' {mpa: [{name: m}]}'), /did you mean "map"/],
  ['a merge key with a text', yaml(' {map: [{<<: adm, actions: [read]}]}'), /Cannot merge/],
  [
    'an element with an unknown attribute',
    xml('<client-permissions><all-permissions user="a"/></client-permissions>'),
    /attribute user/,
  ],
  [
    'an emptied element',
    xml(
      '<client-permissions><map-permission name="m"><endpoints/></map-permission></client-permissions>',
    ),
    /endpoints: it is empty/,
  ],
];
for (const [what, text, message] of faults) {
  test(`Permissions with ${what} are an error`, async () => {
    await assert.rejects(load(`fault.${text.startsWith('<') ? 'xml' : 'yaml'}`, text), message);
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
