/** The cluster of a single member, and of several members that share an engine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedCluster, standaloneCluster } from '../../src/cluster/cluster-part.ts';
import type { MemberLife } from '../../src/cluster/membership.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { FakeClock } from '../fake-clock.ts';
import { scraped } from '../telemetry/scraped.ts';
import { FakeMembershipStore } from '../world/fake-membership-store.ts';
import { commonConfig } from './cluster-world.ts';

type Engine = Parameters<typeof sharedCluster>[0]['engine'];

const ADDRESS = '10.0.0.1:5701';

/** Returns a cluster of one member, or of members that share the engine. */
async function clusterOf(isLite: boolean, engineOn?: (clock: FakeClock) => Engine) {
  const clock = new FakeClock();
  const lines: { level: string; msg: string }[] = [];
  const stops: string[] = [];
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line)) });
  const onStop = (because: string) => stops.push(because);
  const names = { clusterName: 'dev', instanceName: () => 'one' };
  const identity = { ...names, memberVersion: '1.2.3', isLite, addressOf: () => ADDRESS, onStop };
  let prepare = async () => {};
  const part =
    engineOn === undefined
      ? standaloneCluster({ ...identity, engine: { isReachable: true } }, undefined)
      : await sharedCluster({
          ...{ ...identity, engine: engineOn(clock), leaseMs: 10_000, clock, log },
          commonConfig: commonConfig(),
          prepare: () => prepare(),
        });
  const onJoined = (work: () => Promise<void>) => {
    prepare = work;
  };
  return { clock, lines, stops, part, onJoined };
}

test('A single member starts at once, and stopAll stops it', async () => {
  const { part, stops } = await clusterOf(true);
  const { cluster } = part;
  await part.restore?.();
  await part.enter?.();
  assert.deepEqual(
    cluster.members.map(({ address, liteMember }) => [address, liteMember]),
    [[ADDRESS, true]],
  );
  assert.ok(!part.record.isShared && !cluster.isCutOff && cluster.acceptsWrites);
  await cluster.stopAll('POST /x');
  assert.deepEqual(stops, ['POST /x']);
  await part.close?.();
});

test('A member on a shared engine joins, logs that, ends polls in PASSIVE, and leaves', async () => {
  let life: MemberLife | undefined;
  let isUnreachable = true;
  const member = await clusterOf(false, (clock) => {
    const store = new FakeMembershipStore(() => clock.wall());
    const { join, heartbeat } = store;
    const orFail = <Step>(make: () => Step): Step | Promise<never> =>
      isUnreachable ? Promise.reject(new Error('ECONNREFUSED')) : make();
    store.join = (request) => orFail(() => join.call(store, request));
    store.heartbeat = (request) => orFail(() => heartbeat.call(store, request));
    return {
      membershipStore: store,
      isDataSafe: true,
      isReachable: true,
      changesAnswered: async () => {},
      endChangesOfOthers: async () => {},
      attach: (attached) => {
        life = attached;
      },
    };
  });
  const { clock, lines, part, onJoined } = member;
  const { cluster, record, waiting } = part;
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 100) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(100);
    }
  };
  let preparedAt = 0;
  onJoined(async () => {
    preparedAt = life?.joinNumber ?? 0;
  });
  const starting = part.enter?.();
  await pass(500);
  isUnreachable = false;
  await Promise.all([starting, pass(1000)]);
  assert.deepEqual([preparedAt, life?.hasLease, cluster.isReady], [1, true, true]);
  assert.ok(record.isShared && part.restore === undefined);
  const series = scraped((to) => part.figures?.(to));
  assert.deepEqual([series.gridnode_ready, series.gridnode_cluster_members], [1, 1]);
  let ended = 0;
  waiting.add({ endWait: () => ended++ });
  await Promise.all([cluster.changeState('PASSIVE'), pass(3000)]);
  assert.equal(ended, 1);
  isUnreachable = true;
  await pass(2000);
  isUnreachable = false;
  await pass(2000);
  await Promise.all([part.close?.(), pass(500)]);
  assert.equal(life?.hasLease, false);
  assert.deepEqual(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    [
      'warn not in the cluster yet: ECONNREFUSED; trying again',
      'info joined the cluster',
      "error the cluster's store does not answer: ECONNREFUSED",
      "info the cluster's store answers again",
    ],
  );
});
