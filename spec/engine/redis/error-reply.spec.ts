/** Results of operations to which a server replies with an error. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Span } from '../../../src/base/span.ts';
import {
  ABSENT,
  APPLIED,
  type Engine,
  MEMORY_FULL,
  type Outcome,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { Layout } from '../../../src/engine/redis/layout.ts';
import { FakeCluster } from '../../world/fake-cluster.ts';
import { FakeServer, replying, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import {
  DEADLINE_MS,
  get,
  offer,
  PARTITION_COUNT,
  remove,
  set,
  valuesDone,
  withStore,
} from '../../world/world-engines.ts';
import { Asker, span } from '../results.ts';

const PASSING = [
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'CLUSTERDOWN The cluster is down',
  'LOADING Redis is loading the dataset in memory',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "READONLY You can't write against a read only replica.",
  'NOSCRIPT No matching script. Please use EVAL.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
];
const LASTING: readonly [string, Outcome][] = [
  ["OOM command not allowed when used memory > 'maxmemory'.", MEMORY_FULL],
  ['NOREPLICAS Not enough good replicas to write.', UNREACHABLE],
  ['MISCONF Redis is configured to save RDB snapshots, but it is unable to persist.', UNREACHABLE],
  ["NOPERM this user has no permissions to run the 'hset' command", UNREACHABLE],
  ['NOAUTH Authentication required.', UNREACHABLE],
  ["ERR The user executing the script can't run this command or subcommand", UNREACHABLE],
];

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

const TRANSIENT = [...PASSING, 'MOVED 1 127.0.0.1:PORT', 'MOVED 1 :PORT', 'ASK 1 127.0.0.1:PORT'];

for (const error of TRANSIENT) {
  const [word = ''] = error.split(' ');
  const reply = () => `-${error.replace('PORT', `${server.port}`)}\r\n`;

  test(`changes refused with "${error}" for a while are each made once, in order`, async () => {
    server.script = replying('HSET', reply(), 5);
    await withStore(world, server.url, {}, async ({ engine, faults }) => {
      // All are in one partition and one turn: three are refused, two of them a second time.
      const outcomes = ['1', '2', '3'].map((value) => set(engine, 'key', value));
      assert.deepEqual(await Promise.all(outcomes), [APPLIED, APPLIED, APPLIED]);
      assert.deepEqual(valuesDone(server), ['1', '2', '3']);
      assert.deepEqual(faults, []);
    });
  });

  test(`reads refused with ${word} for a while have results (${error})`, async () => {
    server.script = replying('HGET', reply(), 2);
    await withStore(world, server.url, {}, async ({ engine }) => {
      assert.deepEqual(await Promise.all([get(engine, 'key'), get(engine, 'other')]), [
        ABSENT,
        ABSENT,
      ]);
    });
  });

  test(`a change refused with "${error}" until the deadline was certainly not made`, async () => {
    server.script = ([name]) => (name === 'HSET' || name === 'HDEL' ? reply() : undefined);
    await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
      assert.deepEqual(await Promise.all([set(engine, 'key', '1'), remove(engine, 'key')]), [
        UNREACHABLE,
        UNREACHABLE,
      ]);
      assert.deepEqual(valuesDone(server), []);
    });
  });
}

/** Runs a test on an engine; `refuse` sets the error for the next `count` calls of its scripts. */
function onRefused(
  run: (asker: Asker, refuse: (error: string, count: number) => void) => Promise<void>,
): () => Promise<void> {
  return () =>
    withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
      await run(new Asker(engine), (error, count) => {
        const reply = `-${error.replace('PORT', `${server.port}`)}\r\n`;
        server.script = replying('EVALSHA', reply, count);
      });
    });
}

test(
  'an offer refused for a while is made once, and one refused until the deadline is not made',
  onRefused(async (asker, refuse) => {
    for (const error of TRANSIENT) {
      refuse(error, 2);
      assert.equal((await asker.offer('q', 'item')).outcome, APPLIED, error);
      refuse(error, Number.POSITIVE_INFINITY);
      assert.equal((await asker.offer('q', 'late')).outcome, UNREACHABLE, error);
      refuse('', 0);
      assert.equal((await asker.queueSize('q')).count, 1, error);
      assert.equal((await asker.poll('q')).value, 'item', error);
    }
  }),
);

test(
  'an offer refused by an error that lasts is not made, and after another error it is UNKNOWN',
  onRefused(async (asker, refuse) => {
    for (const [error, outcome] of [...LASTING, ['ERR something else', UNKNOWN] as const]) {
      refuse(error, 1);
      assert.equal((await asker.offer('q', 'item')).outcome, outcome, error);
      assert.equal((await asker.queueSize('q')).count, 0, error);
    }
  }),
);

test(
  'a take that fails with any of the errors finds its item later',
  onRefused(async (asker, refuse) => {
    const lasting = LASTING.map(([error]) => error).filter((error) => !error.startsWith('OOM'));
    for (const error of [...TRANSIENT, ...lasting]) {
      refuse('', 0);
      assert.equal((await asker.offer('q', 'item')).outcome, APPLIED);
      refuse(error, Number.POSITIVE_INFINITY);
      assert.equal((await asker.take('q')).outcome, UNREACHABLE, error);
      refuse('', 0);
      let taken = await asker.poll('q');
      for (; taken.outcome === UNREACHABLE; await world.sleep(20)) taken = await asker.poll('q');
      assert.equal(taken.value, 'item', error);
    }
  }),
);

for (const [error, outcome] of LASTING) {
  test(`a change refused with "${error}" fails at once and is not sent again`, async () => {
    server.script = replying('HSET', `-${error}\r\n`);
    await withStore(world, server.url, {}, async ({ engine, faults }) => {
      assert.equal(await set(engine, 'key', '1'), outcome);
      assert.equal(server.countOf('HSET'), 1);
      assert.deepEqual(faults, []);
    });
  });
}

for (const error of ['ERR unknown command', 'constructor x', 'MOVED', '']) {
  test(`"${error}" is reported as a fault; the change may have been made`, async () => {
    server.script = replying('HSET', `-${error}\r\n`);
    await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine, faults }) => {
      const isMoved = error === 'MOVED';
      assert.equal(await set(engine, 'key', '1'), isMoved ? UNREACHABLE : UNKNOWN);
      assert.deepEqual(faults, isMoved ? [] : [error]);
    });
  });
}

test('an error of one change does not affect the others', async () => {
  server.script = ([name, , field]) =>
    name === 'HSET' && field === 'bad' ? '-OOM no memory\r\n' : undefined;
  await withStore(world, server.url, {}, async ({ engine }) => {
    const outcomes = ['good', 'bad', 'other'].map((key) => set(engine, key, '1'));
    assert.deepEqual(await Promise.all(outcomes), [APPLIED, MEMORY_FULL, APPLIED]);
  });
});

test('scripts that the server has lost are loaded once, before their calls are sent again', async () => {
  const loads: string[] = [];
  let isLost = true;
  server.script = ([name = '', ...words]) => {
    if (name === 'SCRIPT') loads.push(words[1] ?? '');
    if (name === 'EVALSHA' && isLost) return '-NOSCRIPT No matching script.\r\n';
    return undefined;
  };
  await withStore(world, server.url, {}, async ({ engine }) => {
    loads.length = 0;
    const offers = Promise.all(
      Array.from({ length: 20 }, (_, index) => offer(engine, `queue ${index}`, 'item')),
    );
    while (loads.length === 0) await world.sleep(1);
    isLost = false;
    await offers;
    assert.equal(new Set(loads).size, loads.length);
    assert.equal(server.done.filter(([name]) => name === 'EVALSHA').length >= 20, true);
  });
});

test('a change that needs more replicas than there are is refused before it is sent', async () => {
  server.replicaCount = 1;
  let count = 2;
  await withStore(world, server.url, { mapReplicaCount: () => count }, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), UNREACHABLE);
    assert.deepEqual(valuesDone(server), []);
    count = 1;
    assert.equal(await set(engine, 'key', '2'), APPLIED);
    assert.deepEqual(valuesDone(server), ['2']);
  });
});

test('a change of the reserved map needs the replicas of the cluster, not those of a map', async () => {
  server.replicaCount = 1;
  const asked: string[] = [];
  const mapReplicaCount = (map: Span) => {
    asked.push(map.toBuffer().toString());
    return map.length === 0 ? 0 : 1;
  };
  const setTo = (engine: Engine, map: string) => new Asker(engine).set(map, 'key', 'v');
  for (const [clusterReplicaCount, outcome] of [
    [2, UNREACHABLE],
    [1, APPLIED],
    [undefined, APPLIED],
  ] as const) {
    await withStore(
      world,
      server.url,
      { mapReplicaCount, clusterReplicaCount },
      async ({ engine }) => {
        assert.equal((await setTo(engine, '')).outcome, outcome);
        assert.equal((await new Asker(engine).clear('')).outcome, outcome);
        assert.equal((await setTo(engine, 'm')).outcome, APPLIED);
      },
    );
  }
  assert.deepEqual(new Set(asked), new Set(['m']));
});

test('a change that too few replicas confirm may have been made', async () => {
  server.replicaCount = 1;
  server.script = replying('WAIT', ':0\r\n');
  await withStore(world, server.url, { mapReplicaCount: () => 1 }, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), UNKNOWN);
  });
  server.script = replying('WAIT', '-UNBLOCKED force unblock\r\n');
  await withStore(world, server.url, { mapReplicaCount: () => 1 }, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), UNKNOWN);
  });
});

test('a change waits for the reply of a former primary to one of its partition', async () => {
  const cluster = new FakeCluster(world, 2);
  const layout = new Layout('any', PARTITION_COUNT);
  const slot = layout.slotOf(layout.partitionOf(span('key')));
  const former = cluster.primaryOf(slot);
  const other = cluster.servers.find((each) => each !== former)!;
  await withStore(world, cluster.url, { mapReplicaCount: () => 0 }, async ({ engine }) => {
    former.script = replying('HSET', SILENCE);
    const first = set(engine, 'key', '1');
    await world.until(() => former.countOf('HSET') > 0);
    cluster.migrate(slot, other);
    cluster.assign(slot);
    // The read detects that the slot has moved while the first change is in progress.
    assert.equal(await get(engine, 'key'), ABSENT);
    const second = set(engine, 'key', '2');
    await world.sleep(50);
    assert.equal(other.countOf('HSET'), 0);
    former.replyLate(`-MOVED ${slot} 127.0.0.1:${other.port}\r\n`);
    assert.deepEqual(await Promise.all([first, second]), [APPLIED, APPLIED]);
    assert.deepEqual(valuesDone(other), ['1', '2']);
  });
});
