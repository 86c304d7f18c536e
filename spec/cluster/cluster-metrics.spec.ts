import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERSION } from '../../src/base/program-version.ts';
import { type MemberStore, standaloneCluster } from '../../src/cluster/cluster-part.ts';
import { scraped } from '../telemetry/scraped.ts';

/** Returns a single member; changes of its state are stored once `save` was called. */
function member() {
  const engine = { isReachable: true };
  const store = { isSafe: true };
  let save = () => {};
  const saved = new Promise<void>((resolve) => {
    save = resolve;
  });
  const kept: MemberStore = {
    get isSafe() {
      return store.isSafe;
    },
    restored: (own) => own,
    save: () => saved,
  };
  const options = {
    clusterName: 'prod "1"',
    instanceName: () => 'gridnode-5701',
    engine,
    memberVersion: '5.3.0',
    isLite: false,
    addressOf: () => '10.0.0.1:5701',
    onStop() {},
  };
  const part = standaloneCluster(options, kept);
  /** Returns ready, safe, the number of members, and the states that are reported as current. */
  const facts = () => {
    const series = scraped((to) => part.figures?.(to));
    const states = Object.entries(series).filter(
      ([name, value]) => name.startsWith('gridnode_cluster_state{') && value === 1,
    );
    const names = states.map(([name]) => /state="(\w+)"/.exec(name)?.[1]);
    const { gridnode_ready: ready, gridnode_cluster_safe: safe } = series;
    return [ready, safe, series.gridnode_cluster_members, ...names];
  };
  return { part, engine, store, save, facts };
}

test('The member is reported with its version and names, and with each state of the cluster', () => {
  const { part } = member();
  const series = scraped((to) => part.figures?.(to));
  const labels =
    `version="${VERSION}",node="${process.version}",` +
    'cluster="prod \\"1\\"",instance="gridnode-5701"';
  assert.equal(series[`gridnode_info{${labels}}`], 1);
  const states = Object.entries(series).filter(([name]) => name.startsWith('gridnode_cluster_st'));
  assert.deepEqual(Object.fromEntries(states), {
    'gridnode_cluster_state{state="ACTIVE"}': 1,
    'gridnode_cluster_state{state="NO_MIGRATION"}': 0,
    'gridnode_cluster_state{state="FROZEN"}': 0,
    'gridnode_cluster_state{state="PASSIVE"}': 0,
    'gridnode_cluster_state{state="IN_TRANSITION"}': 0,
  });
});

test('Ready, safe, members and state follow the member from its start to its drain', async () => {
  const { part, engine, store, save, facts } = member();
  assert.deepEqual(facts(), [0, 1, 0, 'ACTIVE']);
  await part.restore?.();
  await part.enter?.();
  assert.deepEqual(facts(), [1, 1, 1, 'ACTIVE']);
  engine.isReachable = false;
  store.isSafe = false;
  assert.deepEqual(facts(), [0, 0, 1, 'ACTIVE']);
  engine.isReachable = true;
  store.isSafe = true;
  const changing = part.cluster.changeState('PASSIVE');
  assert.deepEqual(facts(), [1, 1, 1, 'IN_TRANSITION']);
  save();
  await changing;
  assert.deepEqual(facts(), [1, 1, 1, 'PASSIVE']);
  await part.drain?.();
  assert.deepEqual(facts(), [0, 1, 1, 'PASSIVE']);
});
