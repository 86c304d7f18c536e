/** Covers src/wan/wan-metrics.ts, src/wan/removed-publishers.ts. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SET } from '../../src/engine/mutation.ts';
import { RemovedPublishers } from '../../src/wan/removed-publishers.ts';
import { scraped } from '../telemetry/scraped.ts';
import { durableMember, type Member, OPTIONS, pairOf, setKeys } from './members.ts';
import { clusterOf } from './server-members.ts';

/** Returns the values of the publisher by metric, and those of `state` by state. */
function figuresOf(
  { replications }: { readonly replications: Pick<Member['replications'], 'figures'> },
  publisher = 'p',
): Record<string, number> {
  const series = Object.entries(scraped((to) => replications.figures(to)));
  const labels = `replication="r",publisher="${publisher}"`;
  const own = series.flatMap(([name, value]): [string, number][] => {
    const [, metric = '', further = ''] = /^gridnode_wan_(\w+)\{(.*)\}$/.exec(name) ?? [];
    if (!further.startsWith(labels)) return [];
    return [[metric === 'state' ? (/state="(\w+)"/.exec(name)?.[1] ?? '') : metric, value]];
  });
  return Object.fromEntries(own);
}

const QUIET = {
  queued_events: 0,
  queued_bytes: 0,
  lag_seconds: 0,
  REPLICATING: 1,
  PAUSED: 0,
  STOPPED: 0,
  sent_events_total: 0,
  dropped_events_total: 0,
  rejected_events_total: 0,
};

it('Queued, sent, dropped and rejected events, the lag and the state are reported', async () => {
  const { network, a, b } = pairOf({ queueCapacity: 10 });
  assert.deepEqual(figuresOf(a), QUIET);
  b.isDown = true;
  setKeys(a, 15);
  await network.pass(1500);
  const waiting = figuresOf(a);
  const { queued_bytes: bytes = 0, lag_seconds: lag = 0, ...rest } = waiting;
  assert.ok(bytes > 100 && bytes < 10_000, `${bytes}`);
  assert.ok(lag >= 1.5 && lag < 1.6, `${lag}`);
  const { queued_bytes: _, lag_seconds: __, ...quiet } = QUIET;
  assert.deepEqual(rest, { ...quiet, queued_events: 10, dropped_events_total: 5 });
  a.control.pause();
  assert.deepEqual(figuresOf(a), { ...waiting, REPLICATING: 0, PAUSED: 1 });
  a.control.resume();
  b.isDown = false;
  await network.pass(5000);
  const sent = { ...QUIET, sent_events_total: 10, dropped_events_total: 5 };
  assert.deepEqual(figuresOf(a), sent);
  network.answer = () => ({ status: 413, body: Buffer.alloc(0) });
  setKeys(a, 1, 100);
  await network.pass(1000);
  assert.deepEqual(figuresOf(a), { ...sent, rejected_events_total: 1 });
});

it('A member on servers reports its share, and no bytes', async () => {
  const { network, members } = clusterOf(1);
  durableMember(network, 'b');
  const { queued_bytes: _, ...quiet } = QUIET;
  members[0]!.engine.change(SET, 'map', 'key');
  await network.pass(3000);
  assert.deepEqual(figuresOf(members[0]!), { ...quiet, sent_events_total: 1 });
  members[0]!.control.pause();
  members[0]!.engine.change(SET, 'map', 'key');
  await network.pass(3000);
  const { lag_seconds: lag = 0, ...waiting } = figuresOf(members[0]!);
  assert.ok(lag >= 2 && lag <= 4, `${lag}`);
  const { lag_seconds: __, ...rest } = quiet;
  const paused = { REPLICATING: 0, PAUSED: 1, queued_events: 1, sent_events_total: 1 };
  assert.deepEqual(waiting, { ...rest, ...paused });
});

it('The series of a removed publisher end, and continue if it is added again', async () => {
  const { network, a } = pairOf({ queueCapacity: 10 });
  const second = { ...OPTIONS, publisherId: 'second' };
  a.replications.add('r', [second]);
  setKeys(a, 15);
  await network.pass(1000);
  const counted = { ...QUIET, sent_events_total: 10, dropped_events_total: 5 };
  assert.deepEqual(figuresOf(a), counted);
  assert.equal(figuresOf(a, 'second').sent_events_total, 15);
  a.replications.remove('r', 'p');
  assert.deepEqual(figuresOf(a), {});
  assert.equal(figuresOf(a, 'second').sent_events_total, 15);
  a.replications.add('r', [{ ...OPTIONS, queueCapacity: 10 }]);
  assert.deepEqual(figuresOf(a), counted);
  assert.equal(a.replications.publishers().at(-1)?.eventsSent, 0);
  setKeys(a, 3, 100);
  await network.pass(1000);
  assert.deepEqual(figuresOf(a), { ...counted, sent_events_total: 13 });
  // An empty id stands for the only publisher.
  a.replications.remove('r', 'second');
  a.replications.remove('r', '');
  a.replications.add('r', [OPTIONS]);
  assert.deepEqual(figuresOf(a), { ...counted, sent_events_total: 13 });
});

it('The last 1000 removed publishers are remembered', () => {
  const removed = new RemovedPublishers();
  const countsOf = (sent: number) => ({ sent, dropped: 0, rejected: 0 });
  for (let number = 0; number <= 1000; number++)
    removed.add('r', `${number}`, countsOf(number + 1));
  assert.deepEqual(removed.take('r', '0'), countsOf(0));
  assert.deepEqual(removed.take('r', '1'), countsOf(2));
  assert.deepEqual(removed.take('r', '1'), countsOf(0));
  assert.deepEqual(removed.take('r', '1000'), countsOf(1001));
});
