/**
 * Covers src/config/finding.ts. Messages about files of another kind: each names the cause,
 * not its consequences.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lineOf } from '../../src/config/finding.ts';
import { load, problemsOf } from './documents.ts';

const MANIFEST = `apiVersion: v1
kind: ConfigMap
metadata:
  name: member
data:
  hazelcast.yaml: |
    hazelcast:
      cluster-name: dev
`;
const VALUES = `image:
  tag: "5.7"
cluster:
  memberCount: 3
hazelcast:
  yaml:
    hazelcast:
      cluster-name: dev
`;

async function problemsIn(name: string, text: string): Promise<readonly string[]> {
  const problems = await problemsOf(load(name, text));
  return problems.map((each) => each.replace(/^.*?(\d+:\d+): /, '$1: '));
}

describe('loadConfig', () => {
  it('reports a Kubernetes manifest and Helm values as such', async () => {
    const inside = "the member's configuration is inside";
    for (const text of [
      MANIFEST,
      `${MANIFEST}---\n${MANIFEST}`,
      JSON.stringify({ apiVersion: 1, kind: 2 }, undefined, 0)
        .replace('{', '{\n')
        .replace(',', ',\n'),
    ]) {
      const [problem, ...more] = await problemsIn('manifest.yaml', text);
      assert.deepEqual(more, []);
      assert.ok(problem?.startsWith(`1:1: Cannot use a Kubernetes manifest: ${inside}`), problem);
    }
    for (const text of [VALUES, VALUES.slice(VALUES.indexOf('hazelcast:'))]) {
      const [problem, ...more] = await problemsIn('values.yaml', text);
      assert.deepEqual(more, []);
      assert.ok(problem?.startsWith(`1:1: Cannot use Helm values: ${inside}`), problem);
    }
  });

  it('reports 3.x names with those that replace them', async () => {
    const message =
      'Cannot use "group" at the root: a name of 3.x files; cluster-name replaces group';
    assert.deepEqual(await problemsIn('old.yaml', 'hazelcast:\n  group: {name: dev}\n'), [
      `2:3: ${message}`,
    ]);
    const xml = '<hazelcast><group><name>dev</name><password>p</password></group></hazelcast>';
    assert.deepEqual(await problemsIn('old.xml', xml), [`1:12: ${message}`]);
  });

  it('reports the missing variable together with the fault it causes', async () => {
    assert.deepEqual(await problemsIn('port.yaml', 'grid: {network: {port: "$\u007bmy.port}"}}'), [
      '1:24: Cannot use network.port "$\u007bmy.port}": not an integer from 0 to 65535; ' +
        'no environment variable my.port, MY.PORT or MY_PORT',
    ]);
    const { warnings } = await load('name.yaml', 'grid: {cluster-name: "$\u007ba.b}"}');
    assert.match(
      warnings.join(),
      /No environment variable a\.b, A\.B or A_B: "\$\{a\.b\}" stays in/,
    );
  });

  it('refuses a queue with a class that orders its items', async () => {
    const text = 'grid: {queue: {q: {priority-comparator-class-name: com.example.Order}}}';
    const { refused } = await load('queue.yaml', text);
    assert.match(
      refused.map(lineOf).join(),
      /queue\.q\.priority-comparator-class-name: .*polls would return other items/,
    );
    const empty = await load('queue.yaml', text.replace('com.example.Order', '""'));
    assert.deepEqual(empty.refused, []);
  });

  it('adds the interface of tcp-ip to the member list', async () => {
    const tcpIp = 'tcp-ip: {enabled: true, interface: 10.0.0.1, member: b, member-list: [c]}';
    const { config } = await load('join.yaml', `grid: {network: {join: {${tcpIp}}}}`);
    assert.deepEqual(config.tcpIpMembers, ['10.0.0.1', 'b', 'c']);
    const elements = '<interface>10.0.0.1</interface><member>b</member><member>c</member>';
    const xml = `<grid><network><join><tcp-ip enabled="true">${elements}</tcp-ip></join></network></grid>`;
    assert.deepEqual((await load('join.xml', xml)).config.tcpIpMembers, ['10.0.0.1', 'b', 'c']);
  });
});
