/**
 * Covers src/member/load.ts. Excerpts from the original's examples and documentation, all of which
 * load. Also the warnings for unknown names in a section without meaning.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { load } from './documents.ts';

/** Subject of the excerpt, and its text below the root. */
type Piece = readonly [about: string, text: string];

const XML_PIECES: readonly Piece[] = [
  [
    'a map store by its class',
    '<map name="m"><map-store enabled="true"><class-name>a.Store</class-name></map-store></map>',
  ],
  [
    'a map store by its factory',
    '<map name="m"><map-store><factory-class-name>a.F</factory-class-name></map-store></map>',
  ],
  [
    'a queue store with properties',
    `<queue name="q"><queue-store enabled="true"><class-name>a.Store</class-name><properties>
      <property name="binary">false</property><property name="bulk-load">500</property></properties>
    </queue-store></queue>`,
  ],
  [
    'a ring buffer store',
    '<ringbuffer name="r"><ringbuffer-store><class-name>a.S</class-name></ringbuffer-store></ringbuffer>',
  ],
  [
    'indexes without a name',
    `<map name="m"><indexes><index type="HASH"><attributes><attribute>age</attribute></attributes></index>
      <index><attributes><attribute>name</attribute></attributes></index></indexes></map>`,
  ],
  [
    'indexes of a query cache, with a tree',
    `<map name="m"><query-caches><query-cache name="c"><indexes><index><btree-index>
      <page-size value="16" unit="KILOBYTES"/></btree-index></index></indexes>
      <predicate type="sql">a > 1</predicate></query-cache></query-caches></map>`,
  ],
  [
    'discovery with the settings of each cloud',
    `<network><join><aws enabled="false"><connection-timeout-seconds>5</connection-timeout-seconds>
      <access-key>k</access-key><region>us-west-1</region><tag-key>t</tag-key></aws>
      <gcp enabled="false"><zones>us-east1-b</zones></gcp>
      <azure enabled="false"><tenant-id>T</tenant-id><scale-set>S</scale-set></azure>
      <kubernetes enabled="false"><namespace>n</namespace><service-name>s</service-name></kubernetes>
      <eureka enabled="false"><self-registration>true</self-registration></eureka>
      <auto-detection enabled="false"/></join></network>`,
  ],
  [
    'namespaces of classes',
    `<user-code-namespaces enabled="false"><namespace name="ns"><jar id="j"><url>file:///a.jar</url></jar>
      <class id="c"><url>file:///A.class</url></class></namespace></user-code-namespaces>`,
  ],
  ['a list without a name', '<list><max-size>5</max-size></list>'],
  ['a topic without a name or content', '<topic/>'],
  [
    'detection of split brains',
    `<split-brain-protection name="s" enabled="true"><minimum-cluster-size>3</minimum-cluster-size>
      <recently-active-split-brain-protection heartbeat-tolerance-millis="60000"/></split-brain-protection>`,
  ],
  [
    'a key store for disabled encryption',
    `<persistence enabled="false"><encryption-at-rest enabled="false"><secure-store><keystore>
      <path>k</path><password>p</password></keystore></secure-store></encryption-at-rest></persistence>`,
  ],
  [
    'classes of version 5.0',
    `<serialization><compact-serialization enabled="true"><registered-classes>
      <class type-name="a" serializer="b">c</class></registered-classes></compact-serialization></serialization>`,
  ],
  [
    'external data of version 5.2',
    '<external-data-store name="e"><shared>true</shared></external-data-store>',
  ],
];

const YAML_PIECES: readonly Piece[] = [
  ['a map store by its class', 'map: {m: {map-store: {enabled: true, class-name: a.Store}}}'],
  ['a queue store by its factory', 'queue: {q: {queue-store: {factory-class-name: a.F}}}'],
  [
    'discovery with the settings of a cloud',
    'network: {join: {aws: {enabled: false, access-key: k, host-header: h, hz-port: 5701-5703}}}',
  ],
  [
    'namespaces of classes',
    'user-code-namespaces: {enabled: false, name-spaces: {ns: [{id: j, resource-type: JAR, url: u}]}}',
  ],
  [
    'namespaces beside the switch',
    'user-code-namespaces: {enabled: false, ns: [{id: c, resource-type: CLASS, url: u}]}',
  ],
  [
    'executors',
    'durable-executor-service: {d: {pool-size: 26, durability: 1, capacity: 100}}\n' +
      '  scheduled-executor-service: {s: {capacity-policy: PER_NODE, merge-policy: {batch-size: 1}}}',
  ],
  ['an index without a name', 'map: {m: {indexes: [{type: HASH, attributes: [age]}]}}'],
  [
    'permissions of other kinds',
    'security: {client-permissions: {sql: [{name: x, principal: p, actions: [create]}],\n' +
      '    job: [{principal: p, actions: [submit]}], management: [{principal: p}], set: [{name: s}],\n' +
      '    cpmap: [{name: c}], vector-collection: [{name: v}], newer-kind: [{name: n}]}}',
  ],
  ['external data of version 5.2', 'external-data-store: {e: {class-name: a.B, shared: true}}'],
];

for (const [about, text] of XML_PIECES) {
  test(`A file in XML loads with ${about}`, async () => {
    const { warnings } = await load('piece.xml', `<hazelcast>${text}</hazelcast>`);
    assert.doesNotMatch(warnings.join('\n'), /unknown/);
  });
}

for (const [about, text] of YAML_PIECES) {
  test(`A file in YAML loads with ${about}`, async () => {
    const { warnings } = await load('piece.yaml', `hazelcast:\n  ${text}\n`);
    assert.doesNotMatch(warnings.join('\n'), /unknown/);
  });
}

/** Form of the file, its text, and the warning; document-schema.spec.ts misspells every name. */
const unknownNames: readonly (readonly ['yaml' | 'xml', string, string])[] = [
  [
    'yaml',
    'grid: {network: {join: {aws: {enabeld: false}}}}',
    '1:31: Ignored: "enabeld" in network.join.aws: unknown; did you mean "enabled"?',
  ],
  [
    'yaml',
    'grid: {tpc: {}, partition-group: {something: {else: 1}}}',
    '1:35: Ignored: "something" in partition-group: unknown (known: enabled, group-type, member-group)',
  ],
  [
    'xml',
    '<grid><list nmae="l"><max-size>5</max-size></list></grid>',
    '1:13: Ignored: "attribute nmae" in "list": unknown; did you mean "attribute name"?',
  ],
];

describe('An unknown name in a section without meaning', () => {
  for (const [form, text, warning] of unknownNames) {
    it(`is a warning with the nearest one: ${text}`, async () => {
      const { warnings } = await load(`unknown.${form}`, text);
      const matching = warnings.filter((each) => each.includes(`unknown.${form}:${warning}`));
      assert.equal(matching.length, 1, warnings.join('\n'));
    });
  }

  it('is listed up to 100 times, followed by the number of the others', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `unknown-${index}: 1`);
    const { warnings } = await load('many.yaml', `grid: {jet: {${names.join(', ')}}}\n`);
    assert.equal(warnings.filter((each) => each.includes('Ignored: "unknown-')).length, 100);
    assert.ok(warnings.includes('50 more unknown names are not shown'));
  });
});
