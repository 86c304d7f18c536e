/**
 * Covers src/wan/server-sections.ts, src/wan/section-applier.ts, src/wan/received-path.ts and
 * src/wan/shared-wan.ts. Two members of a cluster on a fake server receive messages of other clusters.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import {
  HIGHER_HITS,
  LATEST_ACCESS,
  LATEST_UPDATE,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../src/engine/merge-policy.ts';
import { DELETE, type Mutation, SET } from '../../src/engine/mutation.ts';
import type { RedisEngine, RedisEngineOptions } from '../../src/engine/redis/redis-engine.ts';
import { Version } from '../../src/engine/version.ts';
import { handshakeMessage } from '../../src/wan/batch.ts';
import { BATCH, HEAD_BYTES, sealPlain } from '../../src/wan/message-format.ts';
import { SharedWan } from '../../src/wan/shared-wan.ts';
import { NO_WAN } from '../../src/wan/wan-config.ts';
// Loaded before: the fake time does not wait for files.
import '../../src/wan/server-sections.ts';
import '../../src/wan/wan-receiver.ts';
import { allWaiting, publisherOf, referencesTo } from '../engine/marked.ts';
import { Asker, span } from '../engine/results.ts';
import { copyOf } from '../engine/sinks.ts';
import { FakeServer } from '../world/fake-server.ts';
import { World } from '../world/world.ts';
import { fakeStore } from '../world/world-engines.ts';
import { generator, REQUEST_LIMITS, RecordedLog } from './members.ts';
import {
  batchOf,
  CHANGES,
  changeOf,
  headOf,
  numberedBatch,
  SENDER,
  TEXTS,
  WALL_MS,
  wrongBatch,
} from './messages.ts';

const ROUNDS = Number(process.env.WAN_CASES ?? 300);

interface Received {
  readonly status: number;
  /** The message of an error. */
  readonly text: string;
  readonly body: Buffer;
  /** The figures of the response to a batch: reason; then done, not taken and rejected. */
  readonly figures: readonly number[];
}

interface Receiving {
  readonly world: World;
  readonly server: FakeServer;
  readonly asker: Asker;
  readonly log: RecordedLog;
  /** Id of the cluster's data set. */
  readonly dataSetId: Buffer;
  state: { acceptsWrites: boolean };
  receive(message: Buffer, member?: number): Promise<Received>;
}

/** Runs the test with two members. */
async function receiving(
  test: (receiving: Receiving) => Promise<void>,
  options: Partial<RedisEngineOptions> = {},
  limits: Partial<typeof REQUEST_LIMITS> = {},
): Promise<void> {
  const world = new World();
  const { clock } = world;
  clock.setWall(WALL_MS);
  const server = new FakeServer(world);
  const record = new LocalRecord('1.0');
  const log = new RecordedLog();
  const state = { acceptsWrites: true, isCutOff: false, members: [] };
  const engines = [0, 1].map(() => fakeStore(world, server.url, options).engine);
  const config = { ...REQUEST_LIMITS, ...limits, clusterName: 'dev', ...NO_WAN };
  const members = engines.map(
    (engine) =>
      new SharedWan({
        config,
        clock,
        log,
        engine,
        record,
        segment: 'grid',
        cluster: state,
        changedPartitions: engine.membershipStore,
        addToConfig: () => assert.fail(),
        removeFromConfig: () => assert.fail(),
      }),
  );
  const receive = async (message: Buffer, member = 0): Promise<Received> => {
    const received = await members[member]!.receive(message);
    if (received.error !== undefined) {
      const { status, message: text } = received.error;
      return { status, text, body: Buffer.alloc(0), figures: [] };
    }
    return { status: 200, text: '', body: received.body, figures: figuresIn(received.body) };
  };
  await world.during(
    (async () => {
      for (const engine of engines) await engine.open();
      const sender = { dataSetId: SENDER, epoch: 1, now: () => {} };
      const greeted = await receive(handshakeMessage(sender, TEXTS));
      const dataSetId = Buffer.from(greeted.body.subarray(36, 52));
      await test({ world, server, asker: new Asker(engines[0]!), log, dataSetId, state, receive });
      for (const engine of engines) await engine.close();
    })(),
  );
}

function figuresIn(body: Buffer): number[] {
  if (body.length < HEAD_BYTES + 24) return [];
  const figures: number[] = [body[HEAD_BYTES]!];
  for (let at = HEAD_BYTES + 4; at < body.length; at += 20) {
    figures.push(body.readUInt32LE(at), body.readDoubleLE(at + 4), body.readDoubleLE(at + 12));
  }
  return figures;
}

function sealed(batch: Buffer, isOnReceipt = false): Buffer {
  return sealPlain(batch, { ...headOf(BATCH), isOnReceipt });
}

/** Returns the change without a lifetime: the fake time passes whenever a slice of work ends. */
function lasting(change: Mutation): Mutation {
  return Object.assign(copyOf(change), { expiryMs: 0, maxIdleSeconds: 0 });
}

function sets(...keys: readonly string[]): Mutation[] {
  return keys.map((key) => lasting(changeOf(SET, key, `value of ${key}`)));
}

test('a batch is applied once, whichever member gets it', async () => {
  await receiving(async ({ asker, dataSetId, receive }) => {
    const message = sealed(batchOf([...CHANGES.slice(0, 2).map(lasting), ...sets('c')], dataSetId));
    assert.deepEqual((await receive(message)).figures, [0, 3, 0, 0, 3, 0, 0]);
    assert.equal((await asker.get('map', 'a')).value, 'x'.repeat(40));
    await asker.set('map', 'a', 'own');
    await asker.delete('map', 'c');
    for (const member of [1, 0, 1]) {
      const { status, figures, body } = await receive(message, member);
      assert.deepEqual([status, figures], [200, [0, 3, 0, 0, 3, 0, 0]]);
      assert.deepEqual(body.subarray(36, 52), dataSetId);
    }
    assert.equal((await asker.get('map', 'a')).value, 'own');
    assert.equal((await asker.size('map')).count, 1);
  });
});

test('a batch for another data set, or of an older epoch, is not applied', async () => {
  await receiving(async ({ asker, dataSetId, receive }) => {
    const other = sealed(batchOf(CHANGES, Buffer.alloc(16, 'o'), { laneCount: 1 }));
    assert.deepEqual((await receive(other)).figures, [3, 0, 0, 0]);
    const batch = (epoch: number) => sealed(batchOf(sets('a'), dataSetId, { epoch, laneCount: 1 }));
    assert.equal((await receive(batch(9))).status, 200);
    const handshake = handshakeMessage({ dataSetId: SENDER, epoch: 5, now: () => {} }, TEXTS);
    const epochAt = (body: Buffer) => body.readDoubleLE(HEAD_BYTES);
    assert.equal(epochAt((await receive(handshake, 1)).body), 0);
    // The other member learns of the epoch from the data, and reports it from then on.
    const older = await receive(batch(5), 1);
    assert.equal(older.status, 409);
    assert.match(older.text, /has restarted since/);
    assert.equal(epochAt((await receive(handshake, 1)).body), 9);
    assert.equal((await asker.size('map')).count, 1);
  });
});

test('numbers that were passed at another member are refused', async () => {
  await receiving(async ({ asker, dataSetId, receive }) => {
    const batch = (number: number, value: string) =>
      numberedBatch([lasting(changeOf(SET, 'a', value))], dataSetId, 300, [number], {
        policy: PASS_THROUGH,
      });
    assert.equal((await receive(batch(8, 'eight'))).status, 200);
    assert.equal((await receive(batch(7, 'seven'))).status, 409);
    const late = await receive(batch(7, 'seven'), 1);
    assert.equal(late.status, 409);
    assert.match(late.text, /lane 300 begins with event 7, after a batch that began with event 8/);
    assert.equal((await receive(batch(9, 'nine'), 1)).status, 200);
    assert.equal((await asker.get('map', 'a')).value, 'nine');
  });
});

test('a batch with a policy that compares reads is refused with its name', async () => {
  await receiving(async ({ server, dataSetId, receive }) => {
    for (const [policy, name] of [
      [HIGHER_HITS, 'HigherHits'],
      [LATEST_ACCESS, 'LatestAccess'],
    ] as const) {
      for (const isOnReceipt of [false, true]) {
        const batch = batchOf(CHANGES, dataSetId, { policy });
        const { status, text } = await receive(sealed(batch, isOnReceipt));
        assert.equal(status, 409);
        assert.match(text, new RegExp(`merge policy ${name} compares reads.*engine.url`));
      }
    }
    assert.deepEqual(server.data.names, []);
  });
});

test('events that no client could have written are skipped and counted', async () => {
  await receiving(async ({ asker, log, dataSetId, receive }) => {
    const bad = changeOf(SET, '', 'v');
    const changes = [...sets('a'), bad, ...sets('b'), bad];
    const options = { laneCount: 1, policy: PASS_THROUGH } as const;
    const message = sealed(batchOf(changes, dataSetId, options));
    for (const member of [0, 1, 1]) {
      assert.deepEqual((await receive(message, member)).figures, [0, 4, 0, 2]);
    }
    assert.equal((await asker.size('map')).count, 2);
    assert.ok(log.lines.some((line) => line.includes('its key is empty')));
  });
});

test('a content type that servers cannot store is skipped', async () => {
  await receiving(
    async ({ asker, dataSetId, receive }) => {
      const changes = sets('a', 'b');
      const type = Buffer.alloc(65_536, 't');
      changes[0]!.contentType.set(type, 0, 65_535 - 'Content-Type:\r\n'.length);
      changes[1]!.contentType.set(type, 0, 65_536);
      const batch = batchOf(changes, dataSetId, { laneCount: 1 });
      assert.deepEqual((await receive(sealed(batch))).figures, [0, 2, 0, 1]);
      assert.equal((await asker.get('map', 'a')).contentType.length, 65_520);
    },
    {},
    { headerBytesMax: 1_048_576 },
  );
});

test('entries of a synchronisation that are not taken are counted, also if they come again', async () => {
  await receiving(async ({ dataSetId, receive }) => {
    const options = { policy: PUT_IF_ABSENT, syncBegan: new Version().set(0, 1) } as const;
    const queued = numberedBatch(sets('a', 'b'), dataSetId, 0, [1, 2]);
    assert.deepEqual((await receive(queued)).figures, [0, 2, 0, 0]);
    const later = sets('a', 'b', 'c');
    for (const each of later) each.version.stepForward();
    const entries = numberedBatch(later, dataSetId, 0, [1, 2, 3], options);
    for (const member of [0, 1, 0]) {
      assert.deepEqual((await receive(entries, member)).figures, [0, 3, 2, 0]);
    }
  });
});

test('a cluster or servers that accept no changes are a reason in the response', async () => {
  await receiving(
    async ({ server, asker, dataSetId, state, receive }) => {
      const batch = (isOnReceipt = false) =>
        sealed(batchOf(sets('a', 'b'), dataSetId, { laneCount: 1 }), isOnReceipt);
      state.acceptsWrites = false;
      assert.deepEqual((await receive(batch())).figures, [5, 0, 0, 0]);
      state.acceptsWrites = true;
      server.isOutOfMemory = true;
      // It is acknowledged when it is applied, also if that was requested on receipt.
      assert.deepEqual((await receive(batch(true))).figures, [1, 0, 0, 0]);
      server.isOutOfMemory = false;
      server.refusal = 'MISCONF cannot save';
      assert.deepEqual((await receive(batch(true))).figures, [6, 0, 0, 0]);
      server.refusal = undefined;
      assert.deepEqual((await receive(batch(true))).figures, [0, 2, 0, 0]);
      assert.equal((await asker.size('map')).count, 2);
    },
    { deadlineMs: 100 },
  );
});

test('a change that has passed this data set is ignored', async () => {
  await receiving(async ({ server, dataSetId, receive }) => {
    const change = copyOf(CHANGES[0]!);
    const path = Buffer.concat([Buffer.alloc(16, 'm'), dataSetId]);
    change.path.set(path, 0, path.length);
    const batch = batchOf([change], dataSetId, { laneCount: 1 });
    assert.deepEqual((await receive(sealed(batch))).figures, [0, 1, 0, 0]);
    assert.equal(server.countOf('EVALSHA'), 0);
  });
});

test('a change whose version this cluster has generated is its own again', async () => {
  await receiving(async ({ server, dataSetId, receive }) => {
    const [own, other] = sets('own', 'other');
    own!.maker = dataSetId.readInt32LE(0);
    const batch = batchOf([own!, other!], dataSetId, { laneCount: 1 });
    assert.deepEqual((await receive(sealed(batch))).figures, [0, 2, 0, 0]);
    const formats = server.data.names
      .filter((name) => name.endsWith('m:map'))
      .flatMap((name) => [...server.data.get(name, 'hash')!])
      .map(([key, value]) => `${key} ${value.charCodeAt(0) >> 4}`);
    assert.deepEqual(formats.sort(), ['other 2', 'own 1']);
  });
});

test('a map with a reference keeps the path of a change, with the sender', async () => {
  await receiving(async ({ dataSetId, asker, receive }) => {
    const engine = asker.engine as RedisEngine;
    const publisher = publisherOf('p');
    engine.setReferences(referencesTo([publisher]));
    const [first, second] = sets('first', 'second');
    first!.path.clear();
    second!.path.copyFrom(span('other data set 1'));
    const batch = batchOf([first!, second!], dataSetId, { laneCount: 1 });
    assert.deepEqual((await receive(sealed(batch))).figures, [0, 2, 0, 0]);
    const waiting = await allWaiting(engine, publisher);
    const paths = waiting.map(({ entry }) => entry!.path.toBuffer().toString('latin1'));
    const sender = SENDER.toString('latin1');
    assert.deepEqual(paths.sort(), [sender, `other data set 1${sender}`].sort());
  });
});

test('random content with a valid checksum is refused as a whole, or applied', async () => {
  await receiving(async ({ server, dataSetId, receive }) => {
    const random = generator(1);
    const changes = [changeOf(SET, 'a', 'x'.repeat(40)), changeOf(DELETE, 'b', '')];
    const batch = batchOf(changes, dataSetId, { policy: LATEST_UPDATE });
    for (let round = 0; round < ROUNDS; round++) {
      const before = server.countOf('EVALSHA');
      const { status } = await receive(wrongBatch(batch, random), round % 2);
      assert.ok([200, 400, 403, 409].includes(status), `round ${round}: ${status}`);
      if (status === 400 || status === 403) assert.equal(server.countOf('EVALSHA'), before);
    }
  });
});
