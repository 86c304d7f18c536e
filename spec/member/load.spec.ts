/** Settings of complete files: used, overridden, without meaning, or refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explainAsJson, explainAsYaml } from '../../src/member/explain.ts';
import type { LoadedConfig } from '../../src/member/load.ts';
import { load } from '../config/documents.ts';
import { tlsFile } from '../tls/identity.ts';

function valuesOf(loaded: LoadedConfig): Record<string, unknown> {
  const entries = JSON.parse(explainAsJson(loaded)) as Record<string, { value: unknown }>;
  return Object.fromEntries(Object.entries(entries).map(([path, { value }]) => [path, value]));
}

function enabledGroups({ config }: LoadedConfig): string[] {
  return [...config.endpointGroups].filter(([, enabled]) => enabled).map(([name]) => name);
}

const YAML = `
hazelcast:
  cluster-name: dev
  network:
    port: {auto-increment: true, port-count: 100, port: 5701}
    rest-api:
      enabled: true
      endpoint-groups:
        DATA: {enabled: true}
        HEALTH_CHECK: {enabled: false}
  wan-replication:
    myReplication:
      batch-publisher:
        publisherIdKey:
          cluster-name: nyc
          batch-size: 1000
          idle-max-park-ns: 2000
          target-endpoints: 10.3.5.1:5701,10.3.5.2:5701
          sync: {consistency-check-strategy: MERKLE_TREES}
          properties: {propName1: propValue1}
      consumer: {persist-wan-replicated-data: false, properties: {}}
  map:
    orders-*: {time-to-live-seconds: 5, backup-count: 2}
    idle: {max-idle-seconds: 7}
  queue:
    jobs: {max-size: 10}
`;

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<hazelcast xmlns="http://www.hazelcast.com/schema/config"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b" id="default">
  <cluster-name>dev</cluster-name>
  <network>
    <port auto-increment="true" port-count="100">5701</port>
    <rest-api enabled="true">
      <endpoint-group name="DATA" enabled="true"/>
      <endpoint-group name="HEALTH_CHECK" enabled="false"/>
    </rest-api>
  </network>
  <wan-replication name="myReplication">
    <batch-publisher>
      <cluster-name>nyc</cluster-name>
      <publisher-id>publisherIdKey</publisher-id>
      <batch-size>1000</batch-size>
      <idle-max-park-ns>2000</idle-max-park-ns>
      <target-endpoints>10.3.5.1:5701,10.3.5.2:5701</target-endpoints>
      <sync><consistency-check-strategy>MERKLE_TREES</consistency-check-strategy></sync>
      <properties><property name="propName1">propValue1</property></properties>
    </batch-publisher>
    <consumer><persist-wan-replicated-data>false</persist-wan-replicated-data></consumer>
  </wan-replication>
  <map name="orders-*">
    <!-- each of them -->
    <time-to-live-seconds> 5 </time-to-live-seconds>
    <backup-count>2</backup-count>
  </map>
  <map name="idle"><max-idle-seconds>7</max-idle-seconds></map>
  <queue name="jobs"><max-size><![CDATA[10]]></max-size></queue>
</hazelcast>
`;

const ADVANCED_YAML = `
hazelcast:
  network: {rest-api: {enabled: true, path-segment: cache, endpoint-groups: {DATA: {enabled: true}}}}
  advanced-network:
    enabled: true
    rest-server-socket-endpoint-config:
      port: {auto-increment: false, port: 8080}
      endpoint-groups:
        WAN: {enabled: true}
`;

const ADVANCED_XML = `<hazelcast>
  <network><rest-api enabled="true" path-segment="cache"><endpoint-group name="DATA" enabled="true"/></rest-api></network>
  <advanced-network enabled="true"><rest-server-socket-endpoint-config>
    <port auto-increment="false">8080</port>
    <endpoint-groups><endpoint-group name="WAN" enabled="true"/></endpoint-groups>
  </rest-server-socket-endpoint-config></advanced-network>
</hazelcast>
`;

describe('loadConfig', () => {
  it('returns equal settings for YAML and XML', async () => {
    const yaml = await load('same.yaml', YAML);
    assert.deepEqual(valuesOf(await load('same.xml', XML)), valuesOf(yaml));
    assert.deepEqual(enabledGroups(yaml), ['CLUSTER_READ', 'DATA']);
    const { config } = yaml;
    assert.equal(config.restEnabled, true);
    assert.deepEqual([...config.queueMaxSizes], [['jobs', 10]]);
    assert.equal(config.mapTimeToLiveSeconds.get('orders-*'), 5);
    assert.equal(config.mapMaxIdleSeconds.get('idle'), 7);
  });

  it('uses an enabled advanced-network instead of network, in both forms', async () => {
    const yaml = await load('advanced.yaml', ADVANCED_YAML);
    assert.deepEqual(valuesOf(await load('advanced.xml', ADVANCED_XML)), valuesOf(yaml));
    assert.deepEqual(enabledGroups(yaml), ['CLUSTER_READ', 'HEALTH_CHECK', 'WAN']);
    const { config, warnings } = yaml;
    assert.deepEqual([config.port, config.portAutoIncrement], [8080, false]);
    assert.deepEqual([config.restEnabled, config.pathSegment], [true, 'cache']);
    assert.match(warnings.join('\n'), /Overridden by advanced-network.*groups.DATA.enabled/);
    const off = await load(
      'off.yaml',
      ADVANCED_YAML.replace('enabled: true\n', 'enabled: false\n'),
    );
    assert.deepEqual(enabledGroups(off), ['CLUSTER_READ', 'HEALTH_CHECK', 'DATA']);
    const bare = 'grid: {network: {rest-api: {enabled: true}}, advanced-network: {enabled: true}}';
    assert.equal((await load('bare.yaml', bare)).config.restEnabled, false);
  });

  it('uses join.tcp-ip of an enabled advanced-network, in both forms and from the environment', async () => {
    const yaml = (isOn: boolean) => `grid:
  network: {join: {tcp-ip: {enabled: false, member-list: [n:1]}, multicast: {enabled: false}}}
  advanced-network:
    enabled: ${isOn}
    join:
      tcp-ip: {enabled: true, connection-timeout-seconds: 3, member-list: [a:1, b:2]}
`;
    const xml = `<grid>
  <network><join><tcp-ip><member>n:1</member></tcp-ip></join></network>
  <advanced-network enabled="true"><join><tcp-ip enabled="true">
    <member-list><member>a:1</member><member>b:2</member></member-list>
  </tcp-ip></join></advanced-network>
</grid>`;
    const tcpIp = ({ config }: LoadedConfig) => [config.tcpIpEnabled, config.tcpIpMembers];
    const on = await load('join.yaml', yaml(true));
    assert.deepEqual(tcpIp(on), [true, ['a:1', 'b:2']]);
    assert.match(
      on.warnings.join('\n'),
      /Overridden by advanced-network, .*: network.join.tcp-ip.enabled, network.join.tcp-ip.member-list\[0\]\n/,
    );
    const unused = /in advanced-network: join.tcp-ip.connection-timeout-seconds$/m;
    assert.match(on.warnings.join('\n'), unused);
    assert.match(
      on.warnings.join('\n'),
      /join.yaml:6:25: network.join.tcp-ip: finds no members here; /,
    );
    assert.deepEqual(tcpIp(await load('join.xml', xml)), [true, ['a:1', 'b:2']]);
    const off = await load('join.yaml', yaml(false));
    assert.deepEqual(tcpIp(off), [false, ['n:1']]);
    assert.doesNotMatch(off.warnings.join('\n'), /finds no members/);
    const fromVariable = await load('bare.yaml', 'grid: {advanced-network: {enabled: true}}', {
      GRID_ADVANCEDNETWORK_JOIN_TCPIP_ENABLED: 'true',
      GRID_ADVANCEDNETWORK_JOIN_TCPIP_MEMBERLIST: 'c:3,d:4',
    });
    assert.deepEqual(tcpIp(fromVariable), [true, ['c:3', 'd:4']]);
  });

  it('warns that an enabled join.tcp-ip finds no members', async () => {
    const text = (on: boolean) => `grid: {network: {join: {tcp-ip: {enabled: ${on}}}}}`;
    const { warnings } = await load('join.yaml', text(true));
    assert.deepEqual(warnings.length, 1);
    assert.match(warnings[0] ?? '', /join.yaml:1:43: network.join.tcp-ip: finds no members here; /);
    assert.deepEqual((await load('join.yaml', text(false))).warnings, []);
    const variable = { HZ_NETWORK_JOIN_TCPIP_ENABLED: 'true' };
    const fromVariable = await load('join.yaml', text(false), variable);
    assert.match(
      fromVariable.warnings.join('\n'),
      /^HZ_NETWORK_JOIN_TCPIP_ENABLED: network.join.tcp-ip: finds no members/,
    );
  });

  it('reads the configuration that it shows', async () => {
    const shown = explainAsYaml(await load('shown.yaml', YAML));
    assert.deepEqual(
      valuesOf(await load('again.yaml', shown)),
      valuesOf(await load('s.yaml', YAML)),
    );
  });

  it('disables REST and listens on all interfaces with a file that sets neither', async () => {
    const { config, warnings } = await load('little.yaml', 'grid: {cluster-name: a}');
    assert.deepEqual([config.restEnabled, config.host], [false, '0.0.0.0']);
    assert.deepEqual(warnings, []);
  });

  it('follows anchors, aliases and merge keys', async () => {
    const text = `
grid:
  queue:
    a: &limits {max-size: 3, backup-count: 1}
    b: *limits
    c: {<<: *limits, max-size: 4}
`;
    const { config } = await load('anchors.yaml', text);
    assert.deepEqual(Object.fromEntries(config.queueMaxSizes), { a: 3, b: 3, c: 4 });
  });

  it('uses the deprecated properties, which other settings override, with a warning', async () => {
    const property = 'properties: {hazelcast.rest.enabled: true, hazelcast.partition.count: 11}';
    const loaded = await load('property.yaml', `grid: {${property}}`);
    assert.equal(loaded.config.restEnabled, true);
    assert.equal(loaded.config.partitionCount, 11);
    assert.ok(enabledGroups(loaded).includes('DATA'));
    assert.match(loaded.warnings[0] ?? '', /hazelcast.rest.enabled is deprecated/);
    const off = 'network: {rest-api: {endpoint-groups: {DATA: {enabled: false}}}}';
    const both = await load('both.yaml', `grid: {${property}, ${off}}`);
    assert.ok(!enabledGroups(both).includes('DATA'));
  });

  it('warns of groups that others can use without credentials, remotely or from this machine', async () => {
    const data = 'endpoint-groups: {DATA: {enabled: true}}';
    const text = (more: string) => `grid: {network: {rest-api: {enabled: true, ${data}}${more}}}`;
    const outside = await load('outside.yaml', text(''));
    assert.match(outside.warnings.join('\n'), /from outside without credentials: DATA;/);
    const local = text(', interfaces: {enabled: true, interfaces: [127.0.0.*]}');
    const inside = await load('inside.yaml', local);
    assert.match(
      inside.warnings.join('\n'),
      /^Can be used by any program on .* credentials: DATA;/,
    );
    const secured = 'grid: {security: {enabled: true}, ';
    const login = local
      .replace('enabled', 'authentication: basic, enabled')
      .replace('grid: {', secured);
    assert.deepEqual((await load('login.yaml', login)).warnings, []);
    const read = local.replace(data, 'endpoint-groups: {}');
    assert.deepEqual((await load('read.yaml', read)).warnings, []);
  });

  it('handles names that every JavaScript object has like other names', async () => {
    const endpoint = 'rest-server-socket-endpoint-config: {constructor: x, toString: y}';
    const text = `
grid:
  properties: {constructor: x, __proto__: y}
  queue: {constructor: {max-size: 4}, __proto__: {max-size: 5}}
  network: {ssl: {enabled: false, properties: {constructor: x, __proto__: y}}}
  advanced-network: {enabled: true, ${endpoint}}
`;
    const loaded = await load('names.yaml', text);
    assert.deepEqual([...loaded.config.queueMaxSizes.values()], [4, 5]);
    assert.match(loaded.warnings.join('\n'), /in properties: constructor, __proto__\n/);
    const values = valuesOf(loaded);
    assert.deepEqual(
      ['constructor', '__proto__'].map((name) => values[`queue.${name}.max-size`]),
      [4, 5],
    );
  });

  it('emits one warning for each section without meaning', async () => {
    const { warnings } = await load(
      'meaning.yaml',
      YAML.replace('dev\n', 'dev\n  license-key: x\n'),
    );
    const of = (section: string): string[] =>
      warnings.filter((warning) => warning.includes(`Ignored settings in ${section}: `));
    assert.equal(of('wan-replication').length, 1);
    assert.match(of('wan-replication')[0] ?? '', /idle-max-park-ns, .*properties.propName1/);
    assert.match(of('license-key')[0] ?? '', /: license-key$/);
  });

  it('refuses settings whose loss would weaken security, and masks secrets', async () => {
    const text = `
grid:
  persistence: {enabled: true, encryption-at-rest: {enabled: true}}
  auditlog: {enabled: true}
  config-replacers: {replacers: [{class-name: a.B}]}
  security:
    enabled: true
    realms: [{name: r, authentication: {ldap: {url: x}}}]
  network:
    socket-interceptor: {enabled: true}
    symmetric-encryption: {enabled: true, password: secret}
    ssl: {enabled: true, properties: {keyStore: k.p12, keyStorePassword: secret, ciphersuites: c}}
`;
    const loaded = await load('refused.yaml', text);
    assert.deepEqual(loaded.refused.map(({ path }) => path).sort(), [
      'config-replacers.replacers[0].class-name',
      'network.socket-interceptor.enabled',
      'network.ssl.properties.ciphersuites',
      'network.symmetric-encryption.enabled',
      'persistence.encryption-at-rest.enabled',
      'security.enabled',
      'security.realms[0].authentication.ldap.url',
    ]);
    for (const shown of [explainAsJson(loaded), explainAsYaml(loaded)]) {
      assert.doesNotMatch(shown, /secret/);
      assert.match(shown, /\*\*\*\*/);
    }
    const off = await load('off.yaml', text.replaceAll('enabled: true', 'enabled: false'));
    assert.deepEqual(
      off.refused.map(({ path }) => path),
      ['config-replacers.replacers[0].class-name'],
    );
  });

  it('refuses a placeholder without a variable in a required password', async () => {
    const ssl = 'properties: {keyStore: k.p12, keyStorePassword: "\u0024{GRIDNODE_UNSET}"}';
    const text = (on: boolean) => `grid: {network: {ssl: {enabled: ${on}, ${ssl}}}}`;
    const { refused } = await load('on.yaml', text(true));
    assert.match(refused[0]?.reason ?? '', /GRIDNODE_UNSET/);
    assert.deepEqual((await load('off.yaml', text(false))).refused, []);
  });
});

describe('loadConfig of network.ssl', () => {
  const ssl = async (properties: Record<string, string>, more = '') =>
    await load(
      'ssl.yaml',
      `grid: {network: {ssl: {enabled: true, ${more} properties: ${JSON.stringify(properties)}}}}`,
    );

  it('accepts a PKCS12 key store, or PEM files and authorities', async () => {
    const keyStore = tlsFile('key-store.p12');
    const factory = 'factory-class-name: com.hazelcast.nio.ssl.BasicSSLContextFactory,';
    const store = await ssl(
      { keyStore, keyStorePassword: 'test-only', keyStoreType: 'PKCS12' },
      factory,
    );
    assert.deepEqual([store.refused, store.warnings], [[], []]);
    assert.deepEqual(
      [store.config.tlsKeyStore, store.config.tlsKeyStorePassword],
      [keyStore, 'test-only'],
    );
    const files = { keyFile: tlsFile('server-key.pem'), keyCertChainFile: tlsFile('server.pem') };
    const authorities = { trustCertCollectionFile: tlsFile('authority.pem') };
    const pem = await ssl({ ...files, ...authorities, mutualAuthentication: 'REQUIRED' });
    assert.deepEqual(pem.refused, []);
    assert.equal(pem.config.tlsCertificate, files.keyCertChainFile);
    assert.equal(pem.config.tlsClientCa, authorities.trustCertCollectionFile);
    const optional = await ssl({ ...files, ...authorities });
    assert.equal(optional.config.tlsClientCa, undefined);
  });

  it('refuses files that it cannot read, with the command that makes them readable', async () => {
    const own = { keyStore: tlsFile('key-store.p12'), keyStorePassword: 'test-only' };
    const required = { ...own, mutualAuthentication: 'REQUIRED' };
    const reasons = async (properties: Record<string, string>): Promise<string> =>
      (await ssl(properties)).refused.map(({ reason }) => reason).join('\n');
    assert.match(await reasons({}), /write keyStore \(PKCS12\)/);
    const jks = tlsFile('key-store.jks');
    assert.match(await reasons({ keyStore: jks }), /keytool -importkeystore -srckeystore \S*jks /);
    assert.match(await reasons({ ...own, keyStoreType: 'JKS', keyStore: 'gone' }), /only PKCS12/);
    assert.match(await reasons(required), /set trustCertCollectionFile/);
    const trusted = async (name: string) => reasons({ ...required, trustStore: tlsFile(name) });
    assert.match(await trusted('trust-store.p12'), /openssl pkcs12 -in \S*p12 -nokeys -out \S*pem/);
    assert.match(await trusted('trust-store.jks'), /keytool -list -rfc -keystore \S*jks > \S*pem/);
    assert.equal(await trusted('authority.pem'), '');
    assert.match(await reasons({ ...own, protocol: 'TLSv1.3' }), /1\.2 and 1\.3/);
  });
});
