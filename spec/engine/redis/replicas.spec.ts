import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Span } from '../../../src/base/span.ts';
import { clusterReplicaCount, ReplicaCounts } from '../../../src/engine/redis/replicas.ts';
import { load } from '../../config/documents.ts';

async function configOf(yaml: string) {
  return (await load('replicas.yaml', `grid: {${yaml}}`)).config;
}

function map(name: string): Span {
  const bytes = Buffer.from(name);
  return new Span().set(bytes, 0, bytes.length);
}

test('A map or queue has the backup count of its configuration, or the default', async () => {
  const config = await configOf(
    'map: {default: {backup-count: 2}, prices-*: {backup-count: 0}, plain: {}}, ' +
      'queue: {jobs: {backup-count: 3}}',
  );
  const counts = new ReplicaCounts(config);
  for (let round = 0; round < 2; round++) {
    assert.equal(counts.ofMap(map('prices-eur')), 0);
    assert.equal(counts.ofMap(map('other')), 2);
    // The map is configured without a count, so it does not inherit the default's.
    assert.equal(counts.ofMap(map('plain')), undefined);
  }
  assert.equal(counts.ofQueue(Buffer.from('jobs')), 3);
  assert.equal(counts.ofQueue(Buffer.from('other')), undefined);
  assert.equal(counts.max, 3);
});

test('No backup count applies to the reserved map', async () => {
  for (const name of ['default', '"*"']) {
    const counts = new ReplicaCounts(await configOf(`map: {${name}: {backup-count: 3}}`));
    assert.equal(counts.ofMap(map('m')), 3);
    assert.equal(counts.ofMap(map('')), undefined);
  }
});

test('Maps and queues without a backup count have the default', async () => {
  const counts = new ReplicaCounts(await configOf('map: {plain: {}}'));
  assert.equal(counts.ofMap(map('plain')), undefined);
  assert.equal(counts.ofMap(map('m')), undefined);
  assert.equal(counts.ofQueue(Buffer.from('q')), undefined);
  assert.equal(counts.max, undefined);
});

test('An added configuration takes effect at once', async () => {
  const counts = new ReplicaCounts(await configOf('map: {a: {backup-count: 1}}'));
  assert.equal(counts.ofMap(map('b')), undefined);
  counts.replace(await configOf('map: {a: {backup-count: 1}, b: {backup-count: 4}}'));
  assert.equal(counts.ofMap(map('b')), 4);
  assert.equal(counts.max, 4);
});

test('The cluster has the greater backup count of the default map and queue', async () => {
  assert.equal(clusterReplicaCount(await configOf('map: {m: {backup-count: 4}}')), undefined);
  assert.equal(clusterReplicaCount(await configOf('map: {default: {backup-count: 0}}')), 0);
  const both = 'map: {default: {backup-count: 1}}, queue: {default: {backup-count: 2}}';
  assert.equal(clusterReplicaCount(await configOf(both)), 2);
});
