/** A publisher: its queue, its states, its endpoints, and its handling of every kind of failure. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FieldWriter } from '../../src/base/fields.ts';
import { APPLIED, MEMORY_FULL } from '../../src/engine/engine.ts';
import { LATEST_UPDATE, PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, FROM_SOURCE, SET } from '../../src/engine/mutation.ts';
import { Version } from '../../src/engine/version.ts';
import { handshakeMessage, readHandshakeResponse } from '../../src/wan/batch.ts';
import {
  BATCH,
  EPOCHS_A_MS,
  HANDSHAKE_RESPONSE,
  HEAD_BYTES,
  sealedChecksum,
  sealPlain,
} from '../../src/wan/message-format.ts';
import { span } from '../engine/results.ts';
import {
  durableMember,
  endpoint,
  type Member,
  Network,
  OPTIONS,
  pairOf,
  setKeys,
} from './members.ts';
import { batchOf, changeOf, headOf, TEXTS } from './messages.ts';

/** Returns a handshake as `a` sends it, of any epoch. */
function forgedHandshake(a: Member, epoch: number): Buffer {
  return handshakeMessage({ dataSetId: a.dataSetId, epoch, now: () => {} }, TEXTS);
}

/** Returns a batch as `a` sends it to `b`, of any epoch and any numbers, with eight lanes. */
function forgedBatch({ dataSetId }: Member, b: Member, epoch: number, firstNumber: number): Buffer {
  const options = { dataSetId, epoch, firstNumber, laneCount: 8 };
  const batch = batchOf([changeOf(SET, 'forged', 'v')], b.dataSetId, options);
  return sealPlain(batch, headOf(BATCH, dataSetId));
}

/** Merges a change of another data set, which must be applied. */
function merge({ engine }: Member, key: string, path: string, version: Version, value = ''): void {
  const change = changeOf(SET, key, value);
  change.origin = FROM_SOURCE;
  change.path.copyFrom(span(path));
  change.version.copyFrom(version);
  engine.merge(change, LATEST_UPDATE, {
    onResult: ({ outcome }) => assert.equal(outcome, APPLIED),
  });
}

describe('a queue of WanReplications', () => {
  it('drops events beyond its capacity, and retains the first ones', async () => {
    const { network, a, b } = pairOf({ queueCapacity: 1000, batchSize: 100 });
    b.isDown = true;
    assert.equal(setKeys(a, 2000), 2000);
    await network.pass(500);
    assert.equal(a.status.eventsDropped, 1000);
    assert.equal(a.status.queueSize, 1000);
    assert.ok(a.status.lagMillis >= 500);
    b.isDown = false;
    await network.pass(3000);
    assert.deepEqual(a.status.lastError, null);
    assert.equal(a.status.eventsSent, 1000);
    assert.equal(a.status.queueSize + a.status.queueBytes + a.status.lagMillis, 0);
    const first = Array.from({ length: 1000 }, (_, index) => `map/key${index}`).sort();
    assert.deepEqual(b.places, first);
  });

  it('refuses clients with THROW_EXCEPTION, but never merged changes', () => {
    const { a } = pairOf({ queueCapacity: 1000, queueFullBehavior: 'THROW_EXCEPTION' });
    assert.equal(setKeys(a, 1001), 1000);
    assert.equal(a.engine.contents().length, 1000);
    merge(a, 'merged', 'x'.repeat(16), new Version().set(1, 1));
    assert.equal(a.status.eventsDropped, 1);
    a.control.stop();
    assert.equal(setKeys(a, 1, 2000), 1);
    assert.equal(a.status.eventsDropped, 1);
  });

  it('refuses with THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE only while it is REPLICATING', () => {
    const queueFullBehavior = 'THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE';
    const { a } = pairOf({ queueCapacity: 10, queueFullBehavior });
    assert.equal(setKeys(a, 11), 10);
    a.control.pause();
    assert.equal(setKeys(a, 11, 100), 11);
    assert.equal(a.status.eventsDropped, 11);
  });

  it('is bounded in bytes, and accepts one event of any length', () => {
    const { a } = pairOf({ queueBytesMax: 1000 });
    a.control.pause();
    a.engine.change(SET, 'map', 'long', 'x'.repeat(5000));
    assert.equal(setKeys(a, 1), 1);
    assert.equal(a.status.queueSize, 1);
    assert.equal(a.status.eventsDropped, 1);
    a.control.clear();
    setKeys(a, 100);
    assert.ok(a.status.queueBytes <= 1000 && a.status.queueBytes > 800);
  });

  it('has an equal share of all bytes, which no other full queue uses', async () => {
    const network = new Network();
    const publishers = ['b', 'c'].map((id) => ({
      ...OPTIONS,
      publisherId: id,
      targetEndpoints: [endpoint(id)],
      queueFullBehavior: 'DISCARD_AFTER_MUTATION' as const,
    }));
    const a = durableMember(network, 'a', publishers, { queueBytesMax: 20_000 });
    const live = durableMember(network, 'b');
    const dead = durableMember(network, 'c');
    dead.isDown = true;
    for (let round = 0; round < 30; round++) {
      setKeys(a, 10, round * 10);
      await network.pass(500);
    }
    const [toLive, toDead] = a.replications.publishers();
    assert.deepEqual([toLive?.queueSize, toLive?.eventsDropped], [0, 0]);
    assert.ok(toDead!.eventsDropped > 0);
    assert.ok(toDead!.queueBytes > 9000 && toDead!.queueBytes <= 10_000, `${toDead?.queueBytes}`);
    assert.equal(live.engine.contents().length, 300);
    // The remaining publisher may use all the bytes.
    a.replications.remove('r', 'b');
    setKeys(a, 1000, 300);
    const [only] = a.replications.publishers();
    assert.ok(only!.queueBytes > 19_000 && only!.queueBytes <= 20_000, `${only?.queueBytes}`);
  });

  it('sends as fast beside seven with dead targets as without them', async (t) => {
    // The receiver's slices end by real time: how many turns a batch takes depended on the machine.
    t.mock.method(performance, 'now', () => 0);
    const times: number[] = [];
    for (const dead of [0, 7]) {
      const network = new Network();
      const ids = ['b', ...Array.from({ length: dead }, (_, index) => `dead${index}`)];
      const publishers = ids.map((id) => ({
        ...{ ...OPTIONS, publisherId: id, targetEndpoints: [endpoint(id)], batchSize: 50 },
      }));
      const a = durableMember(network, 'a', publishers, { queueBytesMax: 200_000 });
      const b = durableMember(network, 'b');
      let waitedMs = 0;
      for (let round = 0; round < 15; round++) {
        setKeys(a, 100, round * 100);
        for (; a.status.queueSize > 0; waitedMs++) await network.pass(1, 1);
      }
      times.push(waitedMs);
      assert.equal(b.places.length, 1500);
      assert.deepEqual([a.status.eventsSent, a.status.eventsDropped], [1500, 0]);
      const others = a.replications.publishers().slice(1);
      assert.ok(others.every(({ eventsSent, eventsDropped }) => eventsSent < eventsDropped));
    }
    const [single = 0, amongDead = 0] = times;
    // A step of one millisecond lets the loop turn only a few times.
    assert.ok(amongDead <= single * 1.1, `${amongDead} ms instead of ${single}`);
  });

  it('has separate numbers if a queue of the same name was removed before', async () => {
    const { network, a, b } = pairOf();
    for (let round = 0; round < 3; round++) {
      setKeys(a, 20, round * 20);
      await network.pass(1000);
      assert.equal(b.places.length, 20 * (round + 1));
      a.replications.remove('r', 'p');
      a.replications.add('r', [OPTIONS]);
    }
    assert.deepEqual(
      a.log.lines.filter((line) => line.startsWith('warn')),
      [],
    );
  });

  it('retains only the latest event of a key with snapshot-enabled', async () => {
    const { network, a, b } = pairOf({ snapshotEnabled: true, queueCapacity: 3 });
    a.control.pause();
    for (let round = 0; round < 10_000; round++) {
      a.engine.change(SET, 'map', `key${round % 3}`, `value${round}`);
    }
    a.engine.change(DELETE, 'map', 'key0');
    assert.equal(a.status.queueSize, 3);
    assert.equal(a.status.eventsDropped, 0);
    assert.ok(a.status.queueBytes < 500);
    a.control.resume();
    await network.pass(500);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    assert.equal(a.status.eventsSent, 3);
  });

  it('accepts a later event of a waiting key with snapshot-enabled even if it is full', () => {
    const queueFullBehavior = 'THROW_EXCEPTION';
    const { a } = pairOf({ snapshotEnabled: true, queueBytesMax: 1000, queueFullBehavior });
    a.control.pause();
    const count = setKeys(a, 100);
    assert.ok(count < 20);
    const { queueSize, queueBytes } = a.status;
    assert.equal(setKeys(a, count), count);
    assert.deepEqual([a.status.queueSize, a.status.queueBytes], [queueSize, queueBytes]);
    assert.equal(a.engine.change(SET, 'map', 'key0', 'x'.repeat(1000)), false);
  });

  it('counts a clear as one event, and keeps its order with the sets of every partition', async () => {
    const { network, a, b } = pairOf();
    setKeys(a, 50);
    a.engine.change(CLEAR, 'map', '');
    setKeys(a, 20, 40);
    assert.equal(a.status.queueSize, 71);
    await network.pass(1000);
    assert.equal(a.status.eventsSent, 71);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    assert.equal(b.places.length, 20);
  });

  it('queues only the maps with a reference', () => {
    const { a } = pairOf();
    a.control.pause();
    a.engine.change(SET, 'own', 'key', 'value');
    assert.equal(a.status.queueSize, 0);
  });
});

describe('the states of a publisher', () => {
  it('queue and send, only queue, or drop', async () => {
    const { network, a, b } = pairOf({ initialPublisherState: 'PAUSED' });
    setKeys(a, 1);
    await network.pass(1000);
    assert.equal(a.status.state, 'PAUSED');
    assert.equal(a.status.queueSize, 1);
    assert.equal(network.sent.length, 0);
    a.control.stop();
    a.control.stop();
    setKeys(a, 1, 1);
    assert.equal(a.status.state, 'STOPPED');
    assert.equal(a.status.queueSize, 1);
    a.control.resume();
    setKeys(a, 1, 2);
    await network.pass(1000);
    assert.deepEqual(b.places, ['map/key0', 'map/key2']);
    assert.equal(a.status.eventsDropped, 0);
  });

  it('let clear drop all waiting events, and continue with new numbers', async () => {
    const { network, a, b } = pairOf();
    setKeys(a, 5);
    await network.pass(300);
    network.fate = () => ({ arrivals: [], answerMs: undefined });
    setKeys(a, 5, 100);
    await network.pass(300);
    a.control.clear();
    assert.equal(a.status.queueSize + a.status.queueBytes, 0);
    network.calm();
    setKeys(a, 5, 200);
    await network.pass(4000);
    assert.deepEqual(
      b.places,
      [0, 1, 2, 200, 201, 202, 203, 204, 3, 4].map((n) => `map/key${n}`),
    );
  });
});

describe('a batch', () => {
  it('is not sent before the responses to its changes may be sent', async () => {
    const { network, a, b } = pairOf();
    a.engine.durableCount = 3;
    setKeys(a, 6);
    await network.pass(1000);
    assert.ok(b.places.length <= 3);
    assert.equal(a.status.queueSize, 6 - b.places.length);
    a.sync();
    await network.pass(100);
    assert.equal(b.places.length, 6);
  });

  it('is not sent before the changes of the turn are written, even if each turn has changes', async () => {
    const { network, a, b } = pairOf();
    a.delaysAll = true;
    setKeys(a, 20);
    await network.pass(1000);
    assert.equal(network.sent.length, 0);
    for (let turn = 0; turn < 10; turn++) {
      a.delaysAll = false;
      a.replications.release();
      a.delaysAll = true;
      await network.pass(50);
    }
    assert.equal(b.places.length, 20);
  });

  it('is sent at batch-size at once, otherwise after batch-max-delay-millis', async () => {
    const { network, a, b } = pairOf({ batchSize: 10, batchMaxDelayMs: 1000 });
    setKeys(a, 10);
    await network.pass(50);
    assert.equal(b.places.length, 10);
    setKeys(a, 9, 100);
    await network.pass(900);
    assert.equal(b.places.length, 10);
    await network.pass(200);
    assert.equal(b.places.length, 19);
  });

  it('has at most 4 MiB; a longer event has a separate batch', async () => {
    const { network, a, b } = pairOf({ batchSize: 1000 });
    for (let index = 0; index < 5; index++) {
      a.engine.change(SET, 'map', `key${index}`, 'x'.repeat(1_500_000));
    }
    a.engine.change(SET, 'map', 'long', 'x'.repeat(6_000_000));
    await network.pass(1000);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    const lengths = network.sent.map(({ message }) => message.length);
    assert.equal(lengths.filter((length) => length > 4_300_000).length, 1);
  });

  it('is deflated if this is configured', async () => {
    const { network, a, b } = pairOf({ compression: 'deflate' });
    a.engine.change(SET, 'map', 'key', 'x'.repeat(100_000));
    // A thread deflates the batch asynchronously.
    while (b.places.length === 0) {
      await network.pass(1);
      await nextTurn();
    }
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    assert.ok(network.sent.every(({ message }) => message.length < 2000));
  });

  it('is halved after 413, until one event remains, which is skipped and logged', async () => {
    const { network, a, b } = pairOf({ batchSize: 64 });
    network.answer = (message) =>
      message.length > 1000 ? { status: 413, body: Buffer.alloc(0) } : undefined;
    for (let index = 0; index < 40; index++) {
      a.engine.change(SET, 'map', `key${index}`, 'x'.repeat(index === 7 ? 2000 : 50));
    }
    await network.pass(2000);
    assert.equal(b.places.length, 39);
    assert.equal(a.status.eventsRejected, 1);
    assert.equal(a.status.eventsSent, 39);
    const lines = a.log.lines.filter((line) => line.startsWith('error'));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /an event of 2\d+ bytes is too long for b:5701/);
  });

  it('is sent again after response-timeout-millis, and not applied twice', async () => {
    const { network, a, b } = pairOf();
    network.fate = () => ({ arrivals: [1, 700], answerMs: undefined });
    setKeys(a, 5);
    await network.pass(2500);
    network.calm();
    await network.pass(4000);
    assert.equal(a.status.eventsSent, 5);
    assert.equal(b.engine.mergedCount, 5);
    assert.equal(a.status.lastError, null);
  });

  it('is built in memory that is reused after its response, and not before', async () => {
    const { network, a, b } = pairOf({ batchSize: 1 });
    const send = async (key: string) => {
      a.engine.change(SET, 'map', key, 'value');
      await network.pass(200);
      return network.sent.findLast(({ message }) => message[20] === BATCH)!.memory;
    };
    const first = await send('answered');
    network.fate = () => ({ arrivals: [1], answerMs: undefined });
    assert.equal(await send('not answered'), first);
    network.calm();
    await network.pass(3000);
    const { memory } = network.sent.at(-1)!;
    assert.notEqual(memory, first);
    assert.equal(await send('later'), memory);
    assert.equal(b.places.length, 3);
  });

  it('is sent again to a target that failed before it responded; a clear then drops all of it', async () => {
    const { network, a, b } = pairOf({ batchSize: 500 });
    a.policy = PASS_THROUGH;
    network.fate = () => ({ arrivals: [1], answerMs: network.sent.length < 2 ? 1 : undefined });
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 40; index++) {
        a.engine.change(SET, 'map', `key${index}`, `value${round}`);
      }
    }
    await network.pass(200);
    assert.equal(b.engine.contents().length, 40);
    b.restart();
    network.calm();
    a.engine.change(CLEAR, 'map', '', '');
    await network.pass(6000);
    assert.equal(a.status.queueSize, 0);
    assert.deepEqual(b.engine.contents(), []);
  });

  it('continues at the end of its applied part', async () => {
    const { network, a, b } = pairOf();
    setKeys(a, 3);
    await network.pass(200);
    b.engine.refusal = MEMORY_FULL;
    setKeys(a, 3, 10);
    await network.pass(500);
    assert.match(a.status.lastError ?? '', /memory is used up/);
    assert.equal(a.status.queueSize, 3);
    b.engine.refusal = undefined;
    await network.pass(5000);
    assert.equal(b.places.length, 6);
    assert.equal(a.status.lastError, null);
  });

  it('is no longer applied once the cluster is PASSIVE, and continued afterwards', async () => {
    const { network, a, b } = pairOf();
    const merge = b.engine.merge.bind(b.engine);
    b.engine.merge = (...change) => {
      merge(...change);
      b.isPassive = b.engine.mergedCount === 2;
    };
    setKeys(a, 5);
    await network.pass(300);
    assert.equal(b.engine.mergedCount, 2);
    assert.match(a.status.lastError ?? '', /its cluster is PASSIVE/);
    b.isPassive = false;
    await network.pass(3000);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    assert.deepEqual([b.engine.mergedCount, a.status.eventsSent], [5, 5]);
  });

  it('is acknowledged on receipt if this is configured', async () => {
    const { network, a, b } = pairOf({ acknowledgeType: 'ACK_ON_RECEIPT' });
    b.engine.durableCount = 0;
    setKeys(a, 5);
    await network.pass(300);
    assert.equal(a.status.eventsSent, 5);
    assert.equal(b.places.length, 5);
  });

  it('waits for its changes to be durable if it is acknowledged on completion', async () => {
    const { network, a, b } = pairOf();
    b.engine.durableCount = 0;
    setKeys(a, 5);
    await network.pass(300);
    assert.equal(a.status.eventsSent, 0);
    b.sync();
    await network.pass(300);
    assert.equal(a.status.eventsSent, 5);
  });
});

describe('the endpoints of a publisher', () => {
  it('are retried after 100 ms, doubling, up to discovery-period-seconds', async () => {
    const { network, a, b } = pairOf();
    b.isDown = true;
    setKeys(a, 1);
    await network.pass(10_000);
    // With the jitter: 75, 150, 300, 600, 1200, then 1500 ms each.
    assert.ok(network.sent.length >= 9 && network.sent.length <= 12, `${network.sent.length}`);
    assert.equal(a.log.lines.length, 1);
    b.isDown = false;
    await network.pass(2000);
    assert.match(a.log.lines[1] ?? '', /^info WAN publisher: b:5701 takes events/);
  });

  for (const status of [401, 403]) {
    it(`are retried after 10 s if they respond with ${status}`, async () => {
      const { network, a } = pairOf();
      network.answer = () => ({ status, body: Buffer.from('no\r\n\x1b[2J') });
      setKeys(a, 1);
      await network.pass(9900);
      assert.equal(network.sent.length, 1);
      assert.match(a.status.lastError ?? '', new RegExp(`responded with ${status}, no \\[2J$`));
      await network.pass(1100);
      assert.equal(network.sent.length, 2);
    });
  }

  it('share the events; if one fails, the other gets all events', async () => {
    const { network, a, b } = pairOf({ targetEndpoints: [endpoint('b'), endpoint('c')] });
    network.members.set('c', b);
    setKeys(a, 50);
    await network.pass(500);
    assert.equal(b.places.length, 50);
    assert.deepEqual([...new Set(network.sent.map(({ to }) => to))], ['b', 'c']);
    network.members.delete('b');
    setKeys(a, 50, 50);
    await network.pass(1500);
    assert.equal(b.places.length, 100);
    assert.equal(a.status.eventsDropped, 0);
  });

  it('with another data set are not used until no other one is left', async () => {
    const { network, a, b } = pairOf({ targetEndpoints: [endpoint('b'), endpoint('c')] });
    const c = durableMember(network, 'c');
    setKeys(a, 20);
    await network.pass(1000);
    assert.equal(b.places.length, 20);
    assert.equal(c.places.length, 0);
    assert.match(a.log.lines.join('\n'), /error WAN publisher: c:5701 has another data set/);
    b.isDown = true;
    setKeys(a, 20, 20);
    await network.pass(5000);
    assert.equal(c.places.length, 0);
    durableMember(network, 'b', [], { dataSet: 'x' });
    await network.pass(8000);
    assert.equal(a.status.queueSize, 0);
    assert.match(
      a.log.lines.join('\n'),
      /warn WAN publisher: .* has a new data set.*a sync is needed/,
    );
  });

  it('do not delay the events of others while they are unavailable', async () => {
    const targetEndpoints = [endpoint('b'), endpoint('c')];
    const { network, a, b } = pairOf({ targetEndpoints, discoveryPeriodSeconds: 3600 });
    durableMember(network, 'c');
    network.fate = () => ({ arrivals: [1], answerMs: 3 * OPTIONS.batchMaxDelayMs });
    for (let count = 0; count < 5; count++) {
      // The response arrives when the events have waited long enough, and only another attempt is
      // due.
      setKeys(a, OPTIONS.batchSize, 10 * count);
      await network.pass(1000);
      assert.equal(a.status.queueSize, 0);
      setKeys(a, 1, 10 * count + 9);
      await network.pass(1000);
      assert.equal(a.status.queueSize, 0);
    }
    assert.equal(b.places.length, 5 * (OPTIONS.batchSize + 1));
  });

  it('that switch between two data sets get no number for two events', async () => {
    const { network, a, b } = pairOf();
    const other = durableMember(network, 'other');
    const lost = () => ({ arrivals: [1], answerMs: undefined });
    const change = (value: string) => a.engine.change(SET, 'map', 'key', value);
    change('1');
    const version = new Version();
    a.engine.now(version);
    merge(a, 'key', other.dataSetId.toString(), version.stepForward(), '2');
    change('3');
    await network.settle();
    // The batch is applied, but its response is lost.
    network.fate = () => (network.sent.length > 1 ? lost() : { arrivals: [1], answerMs: 1 });
    await network.pass(300);
    assert.match(b.engine.contents().join(), /3/);
    network.members.set('b', other);
    network.calm();
    network.answer = (message) =>
      message[20] === BATCH ? { status: 503, body: Buffer.alloc(0) } : undefined;
    await network.pass(5000);
    change('4');
    await network.pass(5000);
    network.answer = () => undefined;
    network.members.set('b', b);
    await network.pass(5000);
    assert.equal(a.status.queueSize, 0);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
  });

  it('that share an address but not a data set are tried with a delay', async () => {
    const { network, a, b } = pairOf();
    const other = durableMember(network, 'other');
    let count = 0;
    network.members.set('b', {
      isDown: false,
      receive: (message) => [b, other][count++ % 2]!.receive(message),
    });
    setKeys(a, 1);
    await network.pass(10_000);
    assert.match(a.status.lastError ?? '', /its data set has changed/);
    assert.ok(network.sent.length < 30, `${network.sent.length} messages`);
    assert.ok(a.log.lines.length < 20, `${a.log.lines.length} lines`);
  });

  it("with the publisher's own data set cause an error that mentions restore --new-member", async () => {
    const { network, a } = pairOf();
    const b = durableMember(network, 'b', [], { dataSet: 'a' });
    setKeys(a, 1);
    await network.pass(3000);
    assert.match(a.status.lastError ?? '', /restore --new-member/);
    assert.equal(b.places.length, 0);
  });

  it("of another cluster respond with 403 and without this one's name, which is in the log", async () => {
    const { network, a, b } = pairOf({ clusterName: 'other' });
    setKeys(a, 1);
    await network.pass(5000);
    const { lastError } = a.status;
    const reason = /403, .* is for cluster "other", and this member's cluster has another name/;
    assert.match(lastError ?? '', reason);
    assert.doesNotMatch(lastError ?? '', /dev/);
    const lines = b.log.lines.filter((line) => line.includes('is for cluster "other"'));
    assert.equal(lines.length, 1);
  });

  it('refuse an epoch more than a day ahead, which would exclude its data set', async () => {
    const { network, a, b } = pairOf();
    const last = Number.MAX_SAFE_INTEGER;
    const day = 86_400_000;
    const epochAt = (ms: number) => (network.clock.wall() + ms) * EPOCHS_A_MS;
    for (const [epoch, status] of [
      [last, 400],
      [epochAt(day + 1), 400],
      [epochAt(day), 200],
    ] as const) {
      assert.equal((await b.receive(forgedBatch(a, b, epoch, 1))).status, status);
      assert.equal((await b.receive(forgedHandshake(a, epoch))).status, status);
    }
    // The source continues after the recorded epoch.
    setKeys(a, 1);
    await network.pass(5000);
    assert.equal(a.status.queueSize, 0);
    assert.ok(b.places.includes('map/key0'), b.places.join());
  });

  it('apply later events, whatever numbers another client has sent', async () => {
    for (const acknowledgeType of ['ACK_ON_OPERATION_COMPLETE', 'ACK_ON_RECEIPT'] as const) {
      const { network, a, b } = pairOf({ batchSize: 100, acknowledgeType });
      setKeys(a, 20);
      await network.pass(500);
      for (const [round, number] of [2 ** 53 - 3, 100_000, 30].entries()) {
        // The handshake reveals the epoch to any client.
        const hello = forgedHandshake(a, 1);
        const { body } = await b.receive(hello);
        const { epoch } = await readHandshakeResponse(body, hello);
        assert.ok(epoch % EPOCHS_A_MS >= EPOCHS_A_MS / 2, 'it has no random part');
        assert.equal((await b.receive(forgedBatch(a, b, epoch, number))).status, 200);
        setKeys(a, 20, 20 + round * 20);
        await network.pass(3000);
        assert.equal(a.status.queueSize, 0);
        const count = b.places.filter((place) => place.startsWith('map/key')).length;
        assert.equal(count, 40 + round * 20, `${number}`);
      }
      const wanted =
        /it responded with 409, .* lane \d+ begins with event \d+, after a batch that began with event 9007199254740989/;
      assert.match(a.log.lines.join('\n'), wanted);
      assert.equal(a.status.lastError, null);
    }
  });

  it('that have recorded a start of this data set more than a day ahead are not used', async () => {
    const { network, a, b } = pairOf();
    const ahead = (network.clock.wall() + 90_000_000) * EPOCHS_A_MS;
    network.answer = (message) => {
      const bytes = Buffer.alloc(HEAD_BYTES + 8);
      new FieldWriter(bytes, HEAD_BYTES).count(ahead);
      const head = { kind: HANDSHAKE_RESPONSE, isOnReceipt: false, clock: new Version() } as const;
      const respondsTo = sealedChecksum(message);
      return { status: 200, body: sealPlain(bytes, { ...head, dataSet: b.dataSetId, respondsTo }) };
    };
    setKeys(a, 1);
    await network.pass(500);
    assert.match(
      a.status.lastError ?? '',
      /has recorded a start of this data set that is 90000 s ahead/,
    );
    network.answer = () => undefined;
    await network.pass(5000);
    assert.equal(a.status.queueSize, 0);
  });

  it('that have recorded a later start of this data set cause a later epoch', async () => {
    const { network, a, b } = pairOf();
    setKeys(a, 3);
    await network.pass(500);
    network.clock.setWall(network.clock.wall() - 60_000);
    a.sync();
    a.restart();
    setKeys(a, 3, 10);
    await network.pass(3000);
    assert.equal(b.places.length, 6);
    assert.match(
      a.log.lines.join('\n'),
      /warn WAN publisher: the target has recorded a later start/,
    );
  });
});

describe('a republished change', () => {
  it('is not forwarded if its path has 16 data sets, nor to a data set in its path', async () => {
    const { network, a, b } = pairOf();
    setKeys(a, 1);
    await network.pass(300);
    const version = new Version().set(1, 1);
    merge(a, 'far', 'x'.repeat(16 * 16), version);
    merge(a, 'near', 'x'.repeat(15 * 16), version);
    merge(a, 'back', `${'b'.repeat(16)}${'x'.repeat(16)}`, version);
    assert.equal(a.status.queueSize, 1);
    await network.pass(500);
    assert.deepEqual(b.places, ['map/key0', 'map/near']);
  });
});
