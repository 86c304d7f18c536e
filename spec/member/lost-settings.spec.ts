/**
 * Covers src/config/unused-settings.ts and src/member/lost-settings.ts. A file like the original's
 * full example, in both forms, that asks for each function once that this member does not have.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnused } from '../../src/config/finding.ts';
import { explainAsJson } from '../../src/member/explain.ts';
import { type LoadedWithFindings, load } from '../config/documents.ts';

const YAML = `hazelcast:
  cluster-name: my-cluster
  license-key: KEY
  management-center: {scripting-enabled: false, trusted-interfaces: [10.3.16.*]}
  properties: {your-property: value}
  network:
    public-address: 10.3.16.1
    reuse-address: false
    port: {auto-increment: true, port-count: 100, port: 5701}
    outbound-ports: [33000-35000]
    join:
      multicast: {enabled: true, multicast-group: 224.2.2.3, multicast-port: 54327}
      tcp-ip: {enabled: true, connection-timeout-seconds: 5, member-list: [10.3.16.1]}
      aws: {enabled: true, access-key: k, secret-key: s}
      gcp: {enabled: true, zones: us-east1-b}
      azure: {enabled: true, tenant-id: T}
      kubernetes: {enabled: true, namespace: n}
      eureka: {enabled: true, self-registration: true}
      auto-detection: {enabled: true}
      discovery-strategies:
        discovery-strategies: [{enabled: true, class: a.Strategy, properties: {k: v}}]
    memcache-protocol: {enabled: true}
    member-address-provider: {enabled: true, class-name: a.Provider}
    failure-detector: {icmp: {enabled: false, ttl: 255}}
    rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: false}}}
  advanced-network: {enabled: false, join: {multicast: {enabled: true}}}
  partition-group: {enabled: false, group-type: PER_MEMBER}
  executor-service: {default: {pool-size: 16, queue-capacity: 0}}
  map:
    default:
      in-memory-format: BINARY
      metadata-policy: CREATE_ON_UPDATE
      statistics-enabled: true
      cache-deserialized-values: INDEX-ONLY
      backup-count: 1
      async-backup-count: 1
      read-backup-data: false
      time-to-live-seconds: 0
      eviction: {eviction-policy: NONE, max-size-policy: PER_NODE, size: 0}
      merge-policy: {batch-size: 100, class-name: PutIfAbsentMergePolicy}
      data-persistence: {enabled: true, fsync: true}
      event-journal: {enabled: false, capacity: 10000}
      indexes: [{type: HASH, attributes: [age]}]
    sessions:
      eviction: {eviction-policy: LRU, max-size-policy: PER_NODE, size: 5000}
      map-store: {enabled: true, class-name: a.Store, write-delay-seconds: 60}
      near-cache: {max-idle-seconds: 60, eviction: {eviction-policy: LRU, size: 5000}}
      entry-listeners: [{class-name: a.Listener, include-value: true}]
      partition-lost-listeners: [a.Listener]
      tiered-store: {enabled: true, disk-tier: {enabled: true, device-name: d}}
    quiet:
      async-backup-count: 0
      map-store: {enabled: false, class-name: a.Store}
      tiered-store: {enabled: false}
  queue:
    default:
      max-size: 0
      backup-count: 1
      async-backup-count: 1
      empty-queue-ttl: -1
      statistics-enabled: true
      queue-store: {class-name: a.Store, properties: {binary: false}}
      item-listeners: [{include-value: true, class-name: a.Listener}]
    quiet: {backup-count: 0, queue-store: {enabled: false, class-name: a.Store}}
  multimap: {default: {backup-count: 1, value-collection-type: SET}}
  topic: {empty: {}}
  listeners: [a.Listener]
  split-brain-protection:
    on: {enabled: true, minimum-cluster-size: 3}
    off: {enabled: false, minimum-cluster-size: 3}
  lite-member: {enabled: true}
  persistence: {enabled: true, base-dir: data, parallelism: 1, rebalance-delay-seconds: 0}
  user-code-deployment: {enabled: true, class-cache-mode: ETERNAL}
  user-code-namespaces: {enabled: true}
  cp-subsystem: {cp-member-count: 3, group-size: 3}
  metrics: {enabled: true, jmx: {enabled: true}}
  auditlog: {enabled: true, factory-class-name: a.Factory}
  instance-tracking: {enabled: true, file-name: f}
  jet: {enabled: true, cooperative-thread-count: 4}
  rest: {enabled: true, port: 8443}
`;

const XML = `<hazelcast>
  <cluster-name>my-cluster</cluster-name>
  <license-key>KEY</license-key>
  <management-center scripting-enabled="false"><trusted-interfaces>
    <interface>10.3.16.*</interface></trusted-interfaces></management-center>
  <properties><property name="your-property">value</property></properties>
  <network>
    <public-address>10.3.16.1</public-address>
    <reuse-address>false</reuse-address>
    <port auto-increment="true" port-count="100">5701</port>
    <outbound-ports><ports>33000-35000</ports></outbound-ports>
    <join>
      <multicast enabled="true"><multicast-group>224.2.2.3</multicast-group></multicast>
      <tcp-ip enabled="true" connection-timeout-seconds="5"><member>10.3.16.1</member></tcp-ip>
      <aws enabled="true"><access-key>k</access-key></aws>
      <gcp enabled="true"><zones>us-east1-b</zones></gcp>
      <azure enabled="true"><tenant-id>T</tenant-id></azure>
      <kubernetes enabled="true"><namespace>n</namespace></kubernetes>
      <eureka enabled="true"><self-registration>true</self-registration></eureka>
      <auto-detection enabled="true"/>
      <discovery-strategies><discovery-strategy enabled="true" class="a.Strategy">
        <properties><property name="k">v</property></properties>
      </discovery-strategy></discovery-strategies>
    </join>
    <memcache-protocol enabled="true"/>
    <member-address-provider enabled="true"><class-name>a.Provider</class-name></member-address-provider>
    <failure-detector><icmp enabled="false"><ttl>255</ttl></icmp></failure-detector>
    <rest-api enabled="true"><endpoint-group name="DATA" enabled="false"/></rest-api>
  </network>
  <advanced-network enabled="false"><join><multicast enabled="true"/></join></advanced-network>
  <partition-group enabled="false" group-type="PER_MEMBER"/>
  <executor-service name="default"><pool-size>16</pool-size></executor-service>
  <map name="default">
    <in-memory-format>BINARY</in-memory-format>
    <metadata-policy>CREATE_ON_UPDATE</metadata-policy>
    <statistics-enabled>true</statistics-enabled>
    <cache-deserialized-values>INDEX-ONLY</cache-deserialized-values>
    <backup-count>1</backup-count>
    <async-backup-count>1</async-backup-count>
    <read-backup-data>false</read-backup-data>
    <eviction eviction-policy="NONE" max-size-policy="PER_NODE" size="0"/>
    <merge-policy batch-size="100">com.hazelcast.spi.merge.PutIfAbsentMergePolicy</merge-policy>
    <data-persistence enabled="true"><fsync>true</fsync></data-persistence>
    <event-journal enabled="false"><capacity>10000</capacity></event-journal>
    <indexes><index type="HASH"><attributes><attribute>age</attribute></attributes></index></indexes>
  </map>
  <map name="sessions">
    <eviction eviction-policy="LRU" max-size-policy="PER_NODE" size="5000"/>
    <map-store enabled="true"><class-name>a.Store</class-name></map-store>
    <near-cache><max-idle-seconds>60</max-idle-seconds><eviction eviction-policy="LRU"/></near-cache>
    <entry-listeners><entry-listener include-value="true">a.Listener</entry-listener></entry-listeners>
    <partition-lost-listeners>
      <partition-lost-listener>a.Listener</partition-lost-listener></partition-lost-listeners>
    <tiered-store enabled="true"><disk-tier enabled="true" device-name="d"/></tiered-store>
  </map>
  <map name="quiet">
    <async-backup-count>0</async-backup-count>
    <map-store enabled="false"><class-name>a.Store</class-name></map-store>
    <tiered-store enabled="false"/>
  </map>
  <queue name="default">
    <backup-count>1</backup-count>
    <async-backup-count>1</async-backup-count>
    <empty-queue-ttl>-1</empty-queue-ttl>
    <statistics-enabled>true</statistics-enabled>
    <queue-store><class-name>a.Store</class-name></queue-store>
    <item-listeners><item-listener include-value="true">a.Listener</item-listener></item-listeners>
  </queue>
  <queue name="quiet"><queue-store enabled="false"><class-name>a.Store</class-name></queue-store></queue>
  <multimap name="default"><backup-count>1</backup-count></multimap>
  <topic name="empty"/>
  <listeners><listener>a.Listener</listener></listeners>
  <split-brain-protection name="on" enabled="true">
    <minimum-cluster-size>3</minimum-cluster-size></split-brain-protection>
  <split-brain-protection name="off" enabled="false">
    <minimum-cluster-size>3</minimum-cluster-size></split-brain-protection>
  <lite-member enabled="true"/>
  <persistence enabled="true"><base-dir>data</base-dir><parallelism>1</parallelism></persistence>
  <user-code-deployment enabled="true"><class-cache-mode>ETERNAL</class-cache-mode></user-code-deployment>
  <user-code-namespaces enabled="true"/>
  <cp-subsystem><cp-member-count>3</cp-member-count><group-size>3</group-size></cp-subsystem>
  <metrics enabled="true"><jmx enabled="true"/></metrics>
  <auditlog enabled="true"><factory-class-name>a.Factory</factory-class-name></auditlog>
  <instance-tracking enabled="true"><file-name>f</file-name></instance-tracking>
  <jet enabled="true"><cooperative-thread-count>4</cooperative-thread-count></jet>
  <rest enabled="true"><port>8443</port></rest>
</hazelcast>
`;

/** Paths of the losses, in the order of the file; those of used settings follow. */
const LOST = [
  ...['multicast', 'aws', 'gcp', 'azure', 'kubernetes', 'eureka', 'discovery-strategies'].map(
    (name) => `network.join.${name}`,
  ),
  'network.memcache-protocol',
  'network.member-address-provider',
  'map.default.async-backup-count',
  'map.default.data-persistence.fsync',
  ...['eviction', 'map-store', 'near-cache', 'entry-listeners'].map(
    (name) => `map.sessions.${name}`,
  ),
  ...['partition-lost-listeners', 'tiered-store'].map((name) => `map.sessions.${name}`),
  'queue.default.async-backup-count',
  'queue.default.queue-store',
  'queue.default.item-listeners',
  'listeners',
  'split-brain-protection.on',
  ...['user-code-deployment', 'user-code-namespaces', 'auditlog'],
  ...['instance-tracking', 'jet', 'rest'],
  'map.{name}.backup-count',
  'queue.{name}.backup-count',
  'network.join.tcp-ip',
];

const unusedIn = ({ findings }: LoadedWithFindings, isLoss: boolean) =>
  findings.filter(isUnused).filter((each) => each.isLoss === isLoss);

/** The losses as `path: effect`, without the place. */
const lossesIn = (loaded: LoadedWithFindings) => unusedIn(loaded, true).map((each) => each.listed);

for (const [form, text] of [
  ['yaml', YAML],
  ['xml', XML],
] as const) {
  test(`a full example in ${form} names each lost function once, before all other warnings`, async () => {
    const loaded = await load(`full.${form}`, text);
    const paths = lossesIn(loaded).map((each) => each.replace(/: .*/, ''));
    assert.deepEqual(paths, LOST);
    assert.ok(loaded.findings.slice(0, LOST.length).every(isUnused));
    assert.deepEqual(loaded.refused, []);
    const ignored = unusedIn(loaded, false).map((each) => each.listed);
    assert.deepEqual(
      ignored.map((each) => each.replace(/: .*/, '')),
      [
        ...['license-key', 'management-center', 'properties', 'network', 'executor-service'],
        ...['map', 'multimap', 'cp-subsystem'],
      ],
    );
    assert.match(ignored.join('\n'), /^network: outbound-ports[^ ]*$/m);
    assert.match(ignored.join('\n'), /^map: \{name\}\.indexes\S*, \{name\}\.indexes\S*$/m);
    const json: object = JSON.parse(explainAsJson(loaded));
    assert.ok(Object.values(json).every((each) => 'value' in each && 'source' in each));
  });
}

test('a loss has its place and a consequence', async () => {
  const { warnings } = await load(
    'sessions.yaml',
    'grid:\n  map:\n    sessions:\n      eviction: {size: 9, eviction-policy: LRU}\n',
  );
  assert.equal(warnings.length, 1);
  const place = /sessions\.yaml:4:44: /;
  assert.match(warnings[0] ?? '', place);
  assert.equal(
    warnings[0]?.replace(/^.*sessions\.yaml\S+ /, ''),
    'map.sessions.eviction: no eviction here; writes get 503 at max-memory',
  );
});

test('a loss depends on the effective value, not on those that it overrides', async () => {
  const text = 'grid: {map: {m: {eviction: {eviction-policy: LRU, size: 9}}}}';
  const none = { GRID_MAP_M_EVICTION_EVICTIONPOLICY: 'NONE' };
  assert.deepEqual((await load('policy.yaml', text, none)).warnings, []);
  const lru = { GRID_MAP_M_EVICTION_EVICTIONPOLICY: 'lru' };
  const { warnings } = await load('policy.yaml', text.replace('LRU', 'NONE'), lru);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /GRID_MAP_M_EVICTION_EVICTIONPOLICY: map\.m\.eviction: no evict/);
});

test('settings that have an effect with other settings are not lost', async () => {
  const map = 'map: {m: {backup-count: 1, async-backup-count: 1}}';
  const join = 'network: {join: {kubernetes: {enabled: true}, tcp-ip: {enabled: true}}}';
  const text = `grid: {engine: {url: redis://a}, ${map}, ${join}}`;
  assert.deepEqual(lossesIn(await load('engine.yaml', text)), []);
  const fsync = (sync: string) =>
    `grid: {persistence: {enabled: true, sync: ${sync}}, map: {m: {data-persistence: {fsync: true}}}}`;
  assert.equal(lossesIn(await load('sync.yaml', fsync('interval'))).length, 1);
  assert.deepEqual(lossesIn(await load('sync.yaml', fsync('always'))), []);
});

test('only the network that is in force can lose functions', async () => {
  const text = (on: boolean) => `grid:
  network: {memcache-protocol: {enabled: true}, join: {multicast: {enabled: true}}}
  advanced-network:
    enabled: ${on}
    join: {aws: {enabled: true}}
    member-address-provider: {enabled: true, class-name: a.B}
    memcache-server-socket-endpoint-config: {public-address: a}
    client-server-socket-endpoint-config: {public-address: a}
    wan-server-socket-endpoint-config: {public-address: a}
`;
  const pathsOf = async (on: boolean) =>
    lossesIn(await load('network.yaml', text(on))).map((each) => each.replace(/: .*/, ''));
  assert.deepEqual(await pathsOf(false), ['network.memcache-protocol', 'network.join.multicast']);
  assert.deepEqual(
    await pathsOf(true),
    [
      ...['join.aws', 'member-address-provider', 'memcache-server-socket-endpoint-config'],
      ...['client-server-socket-endpoint-config', 'wan-server-socket-endpoint-config'],
    ].map((name) => `advanced-network.${name}`),
  );
});

test('100 losses are listed, followed by the number of the others', async () => {
  const maps = Array.from({ length: 102 }, (_, at) => `m${at}: {near-cache: {name: n}}`);
  const { warnings } = await load('many.yaml', `grid: {map: {${maps.join(', ')}}}`);
  assert.equal(warnings.length, 101);
  assert.equal(warnings.at(-1), '2 more lost functions are not shown');
});
