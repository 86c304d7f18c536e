/** Security in files: realms, their users, permissions, and faults in them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigFault, lineOf } from '../../src/config/finding.ts';
import { explainAsYaml } from '../../src/member/explain.ts';
import { load } from '../config/documents.ts';

const YAML = `
grid:
  security:
    enabled: true
    realms:
      - name: members
        authentication:
          simple:
            users:
              - {username: admin, password: 'p&w é', roles: [root]}
        identity: {username-password: {username: a, password: b}}
      - name: clients
        authentication:
          simple:
            users:
              - {username: ann, password: secret, roles: [writer]}
    member-authentication: {realm: members}
    client-authentication: {realm: clients}
    client-permissions:
      map:
        - {name: 'orders-*', principal: writer, endpoints: ['127.0.0.*'], actions: [put, read]}
      queue:
        - name: jobs
          principal: '*'
          actions: [all]
  network:
    rest-api:
      enabled: true
      authentication: basic
      endpoint-groups: {DATA: {enabled: true}, CLUSTER_WRITE: {enabled: true}}
`;

const XML = `
<grid>
  <security enabled="true">
    <realms>
      <realm name="members"><authentication><simple><user username="admin" password="p&amp;w é"><role>root</role></user></simple></authentication>
        <identity><username-password username="a" password="b"/></identity></realm>
      <realm name="clients"><authentication><simple><user username="ann" password="secret"><role>writer</role></user></simple></authentication></realm>
    </realms>
    <member-authentication realm="members"/>
    <client-authentication realm="clients"/>
    <client-permissions>
      <map-permission name="orders-*" principal="writer"><endpoints><endpoint>127.0.0.*</endpoint></endpoints><actions><action>put</action><action>read</action></actions></map-permission>
      <queue-permission name="jobs" principal="*"><actions><action>all</action></actions></queue-permission>
    </client-permissions>
  </security>
  <network><rest-api enabled="true" authentication="basic"><endpoint-group name="DATA" enabled="true"/><endpoint-group name="CLUSTER_WRITE" enabled="true"/></rest-api></network>
</grid>
`;

for (const [name, text] of [
  ['security.yaml', YAML],
  ['security.xml', XML],
] as const) {
  test(`${name} defines the users of each realm, and the permissions`, async () => {
    const { config, warnings, refused } = await load(name, text);
    assert.deepEqual(config.security, {
      isEnabled: true,
      realms: new Map([
        ['members', [{ name: 'admin', password: 'p&w é', roles: ['root'] }]],
        ['clients', [{ name: 'ann', password: 'secret', roles: ['writer'] }]],
      ]),
      memberRealm: 'members',
      clientRealm: 'clients',
      permissions: [
        {
          kind: 'map',
          name: 'orders-*',
          principal: 'writer',
          endpoints: ['127.0.0.*'],
          actions: ['put', 'read'],
          isDenial: false,
        },
        {
          kind: 'queue',
          name: 'jobs',
          principal: '*',
          endpoints: [],
          actions: ['all'],
          isDenial: false,
        },
      ],
      prefersGrant: false,
    });
    assert.equal(config.authentication, 'basic');
    assert.deepEqual([warnings, refused], [[], []]);
  });
}

test('disabled security protects nothing: groups that are reachable remotely cause a warning', async () => {
  const { config, warnings } = await load(
    'off.yaml',
    YAML.replace('true', 'false').replace(/^ +authentication: basic\n/m, ''),
  );
  assert.equal(config.security.isEnabled, false);
  assert.match(warnings.join('\n'), /without credentials: CLUSTER_WRITE, DATA/);
});

const SECURED = 'grid:\n  security:\n    enabled: true\n';
const REALM = `${SECURED}    member-authentication: {realm: r}\n    realms:\n      - name: r\n`;
const USERS = `${REALM}        authentication: {simple: {users: `;
const faults: readonly (readonly [string, string, string, RegExp])[] = [
  ['no password', `${USERS}[{username: u}]}}\n`, '7:54', /user "u" of realm "r": no password/],
  ['no user name', `${USERS}[{password: u}]}}\n`, '7:54', /user of realm "r": no username/],
  [
    'a broken hash',
    `${USERS}[{username: u, password: scrypt$3$8$1$x$y}]}}\n`,
    '7:67',
    /password hash: its first number/,
  ],
  [
    'no user to log in',
    'grid:\n  network: {rest-api: {authentication: basic}}\n',
    '2:40',
    /network\.rest-api\.authentication "basic": security\.enabled is not true/,
  ],
];
for (const [name, text, place, message] of faults) {
  test(`security with ${name} is refused, with its place`, async () => {
    await assert.rejects(load('fault.yaml', text), (error) => {
      assert.ok(error instanceof ConfigFault);
      assert.equal(error.problems.length, 1, error.message);
      assert.match(error.message, new RegExp(`fault\\.yaml:${place}: Cannot use`));
      assert.match(error.message, message);
      return true;
    });
  });
}

test('security without a realm for the login is refused', async () => {
  const { refused } = await load('realm.yaml', SECURED);
  assert.match(refused.map(lineOf).join(), /security\.enabled: no user could log in/);
});

/**
 * The original's documentation protects a cluster like this: one identity for all members, no
 * users.
 */
const IDENTITY_YAML = `
hazelcast:
  security:
    enabled: true
    realms:
      - name: passwordRealm
        identity:
          username-password:
            username: members-username
            password: members-password
    member-authentication:
      realm: passwordRealm
`;
const IDENTITY_XML = `
<hazelcast>
  <security enabled="true">
    <realms>
      <realm name="passwordRealm">
        <identity><username-password username="members-username" password="members-password"/></identity>
      </realm>
    </realms>
    <member-authentication realm="passwordRealm"/>
  </security>
</hazelcast>
`;

for (const [name, text] of [
  ['identity.yaml', IDENTITY_YAML],
  ['identity.xml', IDENTITY_XML],
] as const) {
  test(`${name}: the identity of a realm without users is its user`, async () => {
    const { config, refused } = await load(name, text);
    assert.deepEqual(config.security.realms.get('passwordRealm'), [
      { name: 'members-username', password: 'members-password', roles: [] },
    ]);
    assert.deepEqual(refused, []);
  });
}

test('a realm without users whose identity has no password is refused', async () => {
  const text = IDENTITY_YAML.replace(/^ +password: .*\n/m, '');
  await assert.rejects(
    load('identity.yaml', text),
    /user "members-username" of realm "passwordRealm": no password/,
  );
});

test('security is refused if no user can log in, or one with an empty password, and the reason names the realm', async () => {
  const users = `${USERS}[{username: u, password: p}]}}\n`;
  const client = (realm: string) => `    client-authentication: {realm: ${realm}}\n`;
  for (const [text, expected] of [
    [REALM, ['security.member-authentication.realm: no user could log in: realm "r" has no users']],
    [`${USERS}[]}}\n`, ['realm "r" has no users']],
    [`${REALM}        identity: {token: {value: x}}\n`, ['realm "r" has no users']],
    [users, []],
    [users + client('r'), []],
    [users.replace(': p}', ": ''}"), ['user "u" of realm "r" has an empty password']],
    [users.replace(': p}', ": ''}").replace('true', 'false'), []],
    [
      `${users}      - name: s\n${client('s')}`,
      ['realm "s" has no users; add authentication.simp'],
    ],
    [REALM.replace('true', 'false'), []],
  ] as const) {
    const { refused } = await load('realm.yaml', text);
    const lines = refused.map(lineOf);
    assert.equal(lines.length, expected.length, `${text}${lines.join()}`);
    for (const [index, part] of expected.entries())
      assert.ok(lines[index]?.includes(part), lines[index]);
  }
});

test('gridnode config shows realms and permissions, without passwords, and its output can be read back', async () => {
  const shown = explainAsYaml(await load('shown.yaml', YAML));
  assert.doesNotMatch(shown, /secret|p&w/);
  const { config } = await load('again.yaml', shown);
  const { config: before } = await load('shown.yaml', YAML);
  assert.deepEqual(config.security.permissions, before.security.permissions);
  assert.deepEqual(config.security.realms.get('clients'), [
    { name: 'ann', password: '****', roles: ['writer'] },
  ]);
});

test('classes that decide about access are refused while security is on', async () => {
  const text = `${REALM}        access-control-service: {factory-class-name: a.B}\n`;
  const { refused } = await load('class.yaml', text);
  assert.match(refused.map(lineOf).join(), /access-control-service.*client-permissions/);
  const off = await load('class.yaml', text.replace('true', 'false'));
  assert.deepEqual(off.refused, []);
});
