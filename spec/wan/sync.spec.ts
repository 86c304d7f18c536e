/**
 * Covers src/wan/batch-sender.ts, src/wan/map-sync.ts and src/wan/sync-lanes.ts. Synchronisations:
 * the entries sent in each state of a publisher, their order, and the end of tasks.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MEMORY_FULL } from '../../src/engine/engine.ts';
import { PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import { BATCH } from '../../src/wan/message-format.ts';
import type { PublisherState, WanPublisherOptions } from '../../src/wan/wan-config.ts';
import type { TaskStatus } from '../../src/wan/wan-status.ts';
import { durableMember, type Member, type Network, pairOf, setKeys } from './members.ts';

/** Returns a source `a` that publishes to `b`, under PassThrough. */
function pair(options: Partial<WanPublisherOptions> = {}) {
  const members = pairOf(options);
  members.a.policy = PASS_THROUGH;
  return members;
}

/** Returns the entries of all maps as `map/key = value`. */
function entriesOf({ engine }: Member): string[] {
  return engine.contents().map((text) => text.split(' at ')[0] ?? '');
}

function begin({ replications }: Member, map?: string): string {
  return replications.synchronise('r', 'p', map === undefined ? undefined : Buffer.from(map));
}

function statusOf({ replications }: Member, uuid: string): TaskStatus {
  const status = replications.progressOf(uuid);
  assert(status !== undefined);
  return status;
}

/** Synchronises and waits for the end. The progress never decreases, and is 100 only at the end. */
async function synchronise(member: Member, map?: string, patienceMs = 5000): Promise<TaskStatus> {
  const uuid = begin(member, map);
  let last = statusOf(member, uuid);
  assert.deepEqual([last.stage, last.progress], ['STARTED', 0]);
  for (let passed = 0; passed < patienceMs; passed += 5) {
    await member.network.pass(5);
    const status = statusOf(member, uuid);
    assert.ok(status.progress >= last.progress);
    assert.equal(status.progress === 100, status.stage === 'FINISHED');
    last = status;
    if (status.stage === 'FINISHED' || status.stage === 'FAILED') break;
  }
  return last;
}

describe('WanReplications.synchronise', () => {
  for (const state of ['REPLICATING', 'PAUSED', 'STOPPED'] as const) {
    it(`sends every entry while the publisher is ${state}`, async () => {
      const { network, a, b } = pair({ initialPublisherState: 'STOPPED', batchSize: 50 });
      setKeys(a, 1000);
      setState(a, state);
      assert.equal(a.status.queueSize, 0);
      b.engine.change(SET, 'map', 'own', 'only here');
      const { stage, progress, message } = await synchronise(a);
      assert.deepEqual([stage, progress, message], ['FINISHED', 100, undefined]);
      assert.deepEqual(entriesOf(b), [...entriesOf(a), 'map/own = only here'].sort());
      assert.equal(a.status.state, state);
      assert.deepEqual([a.status.queueSize, a.status.eventsSent], [0, 0]);
      a.control.resume();
      setKeys(a, 20, 990);
      await network.pass(500);
      assert.deepEqual(entriesOf(b), [...entriesOf(a), 'map/own = only here'].sort());
      setState(a, state);
      const batches = network.sent.filter(({ message: [...bytes] }) => bytes[20] === BATCH);
      assert.ok(batches.length <= 1000 / 50 + 7 + 7, `${batches.length} batches`);
    });
  }

  it('sends only one map, its filtered entries, with their lifetimes', async () => {
    const { a, b } = pair({ initialPublisherState: 'STOPPED' });
    a.accepts = ({ bytes, start }) => bytes[start] !== 'x'.charCodeAt(0);
    a.engine.change(SET, 'map', 'key', 'value', 60_000);
    a.engine.change(SET, 'map', 'xkey', 'value');
    a.engine.change(SET, 'other', 'key', 'value');
    a.engine.change(SET, 'own', 'key', 'value');
    assert.equal((await synchronise(a, 'map')).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), ['map/key = value']);
    assert.ok(b.engine.contents()[0]?.endsWith(String(1_700_000_060_000)));
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), ['map/key = value', 'other/key = value']);
  });

  it('copies little more than its limits if entries are long', async () => {
    const { network, a, b } = pair({ initialPublisherState: 'STOPPED', batchSize: 500 });
    for (let index = 0; index < 100; index++) {
      a.engine.change(SET, 'map', `key${index}`, 'x'.repeat(index % 3 === 0 ? 400_000 : 10));
    }
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), entriesOf(a));
    assert.ok(network.sent.every(({ message }) => message.length < 4_300_000));
  });

  it('skips waiting events that are older than the entry sent for their key', async () => {
    const { network, a, b } = pair({ queueCapacity: 1 });
    a.engine.change(SET, 'map', 'key', '1');
    await network.pass(200);
    assert.deepEqual(entriesOf(b), ['map/key = 1']);
    a.control.pause();
    a.engine.change(DELETE, 'map', 'key');
    a.engine.change(SET, 'map', 'key', '2');
    assert.deepEqual([a.status.queueSize, a.status.eventsDropped], [1, 1]);
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), ['map/key = 2']);
    assert.equal(a.status.queueSize, 0);
    a.control.resume();
    await watch(network, 500, () => assert.deepEqual(entriesOf(b), ['map/key = 2']));
  });

  it('also skips them with snapshot-enabled, and many of one key', async () => {
    for (const snapshotEnabled of [true, false]) {
      const { network, a, b } = pair({ queueCapacity: 500, snapshotEnabled });
      a.control.pause();
      for (let round = 0; round < 20; round++) {
        for (let key = 0; key < 50; key++) a.engine.change(SET, 'map', `key${key}`, `${round}`);
      }
      a.engine.change(SET, 'map', 'other', 'waits');
      a.engine.change(DELETE, 'map', 'other');
      assert.equal((await synchronise(a)).stage, 'FINISHED');
      const expected = Array.from({ length: 50 }, (_, key) => `map/key${key} = 19`).sort();
      assert.deepEqual(entriesOf(b), expected);
      assert.equal(a.status.queueSize, snapshotEnabled ? 1 : 0);
      a.control.resume();
      await watch(network, 500, () => assert.deepEqual(entriesOf(b), expected));
    }
  });

  it('keeps waiting events that are newer, or of other keys, in order', async () => {
    const { network, a, b } = pair();
    a.control.pause();
    a.engine.change(SET, 'map', 'gone', '1');
    a.engine.change(DELETE, 'map', 'gone');
    a.engine.change(SET, 'map', 'key', '1');
    let isChanged = false;
    network.fate = () => ({ arrivals: [100], answerMs: 100 });
    network.answer = ([...bytes]) => {
      // Changes the key while the entry is in flight.
      if (bytes[20] === BATCH && !isChanged) a.engine.change(SET, 'map', 'key', '2');
      if (bytes[20] === BATCH) isChanged = true;
      return undefined;
    };
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), ['map/key = 1']);
    assert.equal(a.status.queueSize, 3);
    a.control.resume();
    await network.pass(3000);
    assert.deepEqual(entriesOf(b), ['map/key = 2']);
  });

  it('retains an entry that was set after a waiting clear', async () => {
    const { network, a, b } = pair();
    a.engine.change(SET, 'map', 'old', '1');
    await network.pass(200);
    a.control.pause();
    a.engine.change(CLEAR, 'map', '');
    a.engine.change(SET, 'map', 'key', '2');
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), ['map/key = 2', 'map/old = 1']);
    a.control.resume();
    await watch(network, 500, () => assert.ok(entriesOf(b).includes('map/key = 2')));
    assert.deepEqual(entriesOf(b), ['map/key = 2']);
  });

  it('first sends events that may have arrived, but no other events of the queue', async () => {
    const { network, a, b } = pair();
    network.fate = () => ({ arrivals: [1], answerMs: network.sent.length > 1 ? undefined : 1 });
    a.engine.change(SET, 'map', 'key', '1');
    await network.pass(1500);
    assert.deepEqual(entriesOf(b), ['map/key = 1']);
    a.control.stop();
    a.engine.change(SET, 'map', 'key', '2');
    a.control.pause();
    a.engine.change(SET, 'map', 'other', '1');
    a.engine.change(DELETE, 'map', 'other');
    network.calm();
    await network.pass(3000);
    assert.equal(a.status.queueSize, 3);
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), ['map/key = 2']);
    assert.deepEqual([a.status.queueSize, a.status.eventsSent], [2, 1]);
  });

  it('proceeds while the queue always has events to send', async () => {
    const { network, a } = pair({ batchSize: 10 });
    assert.ok(a.engine.change(SET, 'small', 'key', 'value'));
    await network.pass(100);
    setKeys(a, 5000);
    const uuid = begin(a, 'small');
    while (statusOf(a, uuid).progress < 100) await network.pass(1);
    assert.equal(statusOf(a, uuid).stage, 'FINISHED');
    assert.ok(a.status.queueSize > 2000, `${a.status.queueSize}`);
  });

  it('fails if nothing is acknowledged for the response timeout; the next one sends all entries', async () => {
    const { network, a, b } = pair({ initialPublisherState: 'PAUSED' });
    setKeys(a, 200);
    b.isDown = true;
    const away = await synchronise(a);
    assert.equal(away.stage, 'FAILED');
    assert.match(away.message ?? '', /within 1000 ms: b:5701 .*connection refused/);
    assert.match(a.log.lines.at(-1) ?? '', /^warn .*sync .* failed: .*connection refused/);
    b.isDown = false;
    const uuid = begin(a);
    while (statusOf(a, uuid).progress < 20) await network.pass(1, 1);
    b.isDown = true;
    await network.pass(1500);
    const { stage, message, progress } = statusOf(a, uuid);
    assert.deepEqual([stage, progress < 100], ['FAILED', true]);
    assert.match(message ?? '', /^nothing was acknowledged for 1000 ms: /);
    b.isDown = false;
    await network.pass(3000);
    assert.ok(entriesOf(b).length < 200);
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), entriesOf(a));
  });

  it('does not fail while something is acknowledged, however long it lasts', async () => {
    const { network, a, b } = pair({ initialPublisherState: 'PAUSED', batchSize: 10 });
    setKeys(a, 500);
    network.fate = () => ({ arrivals: [200], answerMs: 200 });
    const from = network.clock.now();
    assert.equal((await synchronise(a, undefined, 60_000)).stage, 'FINISHED');
    assert.ok(network.clock.now() - from > 2000);
    assert.deepEqual(entriesOf(b), entriesOf(a));
  });

  it('fails if the target accepts nothing, and reports the reason', async () => {
    const { a, b } = pairOf({ initialPublisherState: 'STOPPED' });
    setKeys(a, 10);
    b.engine.refusal = MEMORY_FULL;
    const { stage, message } = await synchronise(a);
    assert.equal(stage, 'FAILED');
    assert.match(message ?? '', /memory is used up/);
  });

  it('accepts a target that was emptied before it, but fails if this happens during it', async () => {
    const { network, a, b } = pair();
    setKeys(a, 3);
    await network.pass(200);
    const again = durableMember(network, 'b', [], { dataSet: 'x' });
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(again), entriesOf(a));
    a.control.pause();
    setKeys(a, 500);
    const uuid = begin(a);
    while (statusOf(a, uuid).progress < 20) await network.pass(1, 1);
    network.members.set('b', b);
    await network.pass(1500);
    const { stage, message } = statusOf(a, uuid);
    assert.equal(stage, 'FAILED');
    assert.match(message ?? '', /data set of the target has changed/);
    assert.equal((await synchronise(a)).stage, 'FINISHED');
    assert.deepEqual(entriesOf(b), entriesOf(a));
  });

  it('retains entries that may have arrived after a failure, so that nothing older is sent later', async () => {
    const { network, a, b } = pair({ queueCapacity: 1 });
    a.control.pause();
    a.engine.change(SET, 'map', 'key', '1');
    a.engine.change(SET, 'map', 'key', '2');
    network.fate = () => ({ arrivals: [1], answerMs: network.sent.length > 1 ? undefined : 1 });
    const { stage } = await synchronise(a);
    assert.equal(stage, 'FAILED');
    assert.deepEqual(entriesOf(b), ['map/key = 2']);
    network.calm();
    await network.pass(3000);
    a.control.resume();
    await watch(network, 5000, () => assert.deepEqual(entriesOf(b), ['map/key = 2']));
    assert.equal(a.status.queueSize, 0);
    setKeys(a, 1);
    await network.pass(500);
    assert.equal(entriesOf(b).length, 2);
  });

  it('skips an entry that is too long for the target', async () => {
    const { network, a, b } = pair({ initialPublisherState: 'STOPPED', batchSize: 64 });
    network.answer = (message) =>
      message.length > 1000 ? { status: 413, body: Buffer.alloc(0) } : undefined;
    for (let index = 0; index < 40; index++) {
      a.engine.change(SET, 'map', `key${index}`, 'x'.repeat(index === 7 ? 2000 : 50));
    }
    assert.equal((await synchronise(a, undefined, 20_000)).stage, 'FINISHED');
    assert.equal(entriesOf(b).length, 39);
    assert.equal(a.status.eventsRejected, 1);
  });

  it('sends no entry whose change may be lost', async () => {
    const { network, a, b } = pair({ initialPublisherState: 'STOPPED' });
    a.engine.durableCount = 3;
    setKeys(a, 6);
    const uuid = begin(a);
    await network.pass(500);
    assert.ok(entriesOf(b).length <= 3);
    assert.notEqual(statusOf(a, uuid).stage, 'FINISHED');
    a.sync();
    await network.pass(500);
    assert.equal(statusOf(a, uuid).stage, 'FINISHED');
    assert.equal(entriesOf(b).length, 6);
  });

  it('is refused during another one, for maps without a reference, and for unknown names', async () => {
    const { network, a } = pair();
    const uuid = begin(a);
    assert.throws(() => begin(a), { code: 'WAN_TASK_UNDER_WAY', message: new RegExp(uuid) });
    assert.throws(() => a.replications.check('r', 'p', Buffer.from('map')), {
      code: 'WAN_CHECK_OFF',
      message: /consistency-check-strategy/,
    });
    for (const map of ['own', '']) {
      assert.throws(() => begin(a, map), { code: 'WAN_MAP_UNKNOWN', status: 400 });
    }
    assert.throws(() => a.replications.synchronise('no', '', undefined), { code: 'WAN_UNKNOWN' });
    await network.pass(500);
    assert.equal(statusOf(a, uuid).stage, 'FINISHED');
    assert.equal(a.replications.progressOf('x'), undefined);
  });

  it('retains the last 100 tasks until the end of the member', async () => {
    const { network, a } = pair();
    const uuids: string[] = [];
    for (let count = 0; count < 101; count++) {
      uuids.push(begin(a));
      await network.pass(100);
    }
    assert.equal(a.replications.progressOf(uuids[0] ?? ''), undefined);
    assert.equal(statusOf(a, uuids[1] ?? '').stage, 'FINISHED');
    const last = begin(a);
    a.restart();
    assert.equal(a.replications.progressOf(last), undefined);
  });
});

function setState({ control }: Member, state: PublisherState): void {
  if (state === 'REPLICATING') control.resume();
  else if (state === 'PAUSED') control.pause();
  else control.stop();
}

/** Calls `probe` every 5 ms. */
async function watch(network: Network, ms: number, probe: () => void): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5) {
    await network.pass(5);
    probe();
  }
}
