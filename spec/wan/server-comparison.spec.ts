/**
 * Covers src/wan/server-tree-maker.ts. Hash trees of maps on fake servers, compared with those of a
 * member that stores its own data, in both directions.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedSlices } from '../../src/base/slices.ts';
import { DELETE, SET } from '../../src/engine/mutation.ts';
import { serverTrees } from '../../src/wan/server-tree-maker.ts';
import { StoredSections } from '../../src/wan/stored-sections.ts';
import type { TreeSource } from '../../src/wan/tree-builder.ts';
import { treesOf } from '../../src/wan/tree-builder.ts';
import { type ComparisonParts, compareMap } from '../../src/wan/tree-comparison.ts';
import { TreeResponder } from '../../src/wan/tree-responder.ts';
import { WanReceiver } from '../../src/wan/wan-receiver.ts';
import { FakeClock } from '../fake-clock.ts';
import { FakeServers } from './fake-marks.ts';
import { MEMBER_PARTS, RecordedLog } from './members.ts';
import { SimulatedEngine } from './simulated-engine.ts';

const PARTITION_COUNT = 13;
const DEPTH = 6;
const MAP = Buffer.from('map');
const SENDER = { dataSetId: Buffer.alloc(16, 's'), epoch: 1, now: () => {} };

/** A cluster on fake servers and an engine in a member, with equal entries. */
function equalSides(count: number) {
  const clock = new FakeClock();
  const servers = new FakeServers(clock, PARTITION_COUNT);
  const changes = servers.member(clock);
  const engine = new SimulatedEngine(clock, PARTITION_COUNT, Number.POSITIVE_INFINITY);
  for (let key = 0; key < count; key++) {
    const value = key === 3 ? 'v'.repeat(70_000) : `value${key}`;
    changes.change(SET, 'map', `key${key}`, value);
    changes.change(SET, 'other', `key${key}`, 'x');
    engine.change(SET, 'map', `key${key}`, value);
  }
  return { clock, servers, changes, engine };
}

/** Compares the map of the first side with that of the second. */
async function compare(clock: FakeClock, source: TreeSource, target: TreeSource) {
  const engine = new SimulatedEngine(clock, PARTITION_COUNT, 0);
  const dataSetId = Buffer.alloc(16, 't');
  const slices = new SharedSlices();
  const parts = { ...MEMBER_PARTS, engine, dataSetId, onKnown: () => {}, clock };
  const receiver = new WanReceiver({
    ...parts,
    sections: new StoredSections(parts, slices),
    trees: new TreeResponder({
      source: target,
      clock,
      treeOf: () => ({ isOn: true, depth: DEPTH }),
    }),
    slices,
    log: new RecordedLog(),
  });
  const found = new Map<number, number>();
  const send: ComparisonParts['target']['send'] = async (message) => {
    const answer = await receiver.receive(message);
    if (answer.error === undefined) return { status: 200, body: answer.body };
    return { status: answer.error.status, body: Buffer.from(answer.error.message) };
  };
  const differences = await compareMap(
    {
      source,
      partitions: [...Array(PARTITION_COUNT).keys()],
      target: { send, dataSet: undefined },
      sender: SENDER,
      clusterName: 'dev',
      isCancelled: () => false,
      onPartition: (partition, { entriesToSync }) => void found.set(partition, entriesToSync),
    },
    MAP,
    DEPTH,
  );
  assert.equal(found.size, PARTITION_COUNT);
  const sum = [...found.values()].reduce((total, count) => total + count, 0);
  assert.equal(sum, differences.entriesToSync);
  return differences;
}

test('equal maps have equal trees, also if lists begin again', async () => {
  const { clock, servers, changes, engine } = equalSides(3000);
  let pages = 0;
  servers.beginsAgain = () => ++pages % 3 === 0;
  const ofServers = serverTrees({ entries: changes, clock });
  const same = await compare(clock, ofServers, treesOf(engine));
  assert.deepEqual([same.differentPartitions, same.entriesToSync], [0, 0]);
  const back = await compare(clock, treesOf(engine), ofServers);
  assert.deepEqual([back.differentPartitions, back.entriesToSync], [0, 0]);
});

test('differences are found in both directions', async () => {
  const { clock, changes, engine } = equalSides(500);
  const ofServers = serverTrees({ entries: changes, clock });
  changes.change(SET, 'map', 'key7', 'another');
  changes.change(SET, 'map', 'only here', 'x');
  changes.change(DELETE, 'map', 'key8');
  for (const [source, target] of [
    [ofServers, treesOf(engine)],
    [treesOf(engine), ofServers],
  ] as const) {
    const found = await compare(clock, source, target);
    assert.equal(found.differentLeaves, 3);
    assert.ok(found.differentPartitions <= 3 && found.entriesToSync >= 2);
  }
});

test('servers that return nothing end a comparison', async () => {
  const { clock, servers, changes, engine } = equalSides(20);
  servers.fate = () => ({ isDone: false, isKnown: false, delayMs: 0 });
  const ofServers = serverTrees({ entries: changes, clock });
  let isOver = false;
  const ended = compare(clock, treesOf(engine), ofServers).finally(() => {
    isOver = true;
  });
  ended.catch(() => {});
  while (!isOver) {
    clock.advance(250);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await assert.rejects(ended, /503, .*the servers do not return entries/);
});
