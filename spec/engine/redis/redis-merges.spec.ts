/**
 * Covers src/engine/redis/redis-merges.ts, src/engine/redis/merge-scripts.ts,
 * src/engine/redis/partition-clock.ts and src/engine/section-merger.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import {
  APPLIED,
  KNOWN,
  LISTED_VALUE_BYTES_MAX,
  MEMORY_FULL,
  OUTDATED,
  type Outcome,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import {
  EXPIRATION_TIME,
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, type Mutation, SET } from '../../../src/engine/mutation.ts';
import { numberOf, setVersion } from '../../../src/engine/redis/partition-clock.ts';
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import type { SectionResult } from '../../../src/engine/section-merger.ts';
import { Version } from '../../../src/engine/version.ts';
import { CUT, FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore } from '../../world/world-engines.ts';
import { changeOf } from '../changes.ts';
import { engineOf } from '../embedded/components-of.ts';
import { Asker } from '../results.ts';
import { joinedMember } from './joined-member.ts';
import { eventsOf, MergeRound, type Section, sectionOf } from './merge-sections.ts';

const SEEDS = Number(process.env.MERGE_SEEDS ?? 4);
const FIRST_SEED = Number(process.env.MERGE_SEED ?? 1);
const STEPS = 60;
const EXPIRY_STEP_MS = 100_000;

test('random sections are merged as StoredEngine.merge would, once, at any member', async () => {
  const outcomes = new Map<number, number>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const world = new World(seed);
    world.clock.setWall(1_700_000_000_000);
    const server = new FakeServer(world);
    const options = {
      onFault: (text: string) => {
        throw new Error(text);
      },
    };
    const engines = [0, 1].map(() => fakeStore(world, server.url, options).engine);
    const { engine: oracle } = engineOf({ partitionCount: 3, clock: world.clock });
    const round = new MergeRound({
      random: new Random(seed),
      engines,
      oracle,
      now: () => world.clock.wall(),
      expiryStepMs: EXPIRY_STEP_MS,
      pass: () => world.sleep(EXPIRY_STEP_MS / 2),
    });
    try {
      await world.during(
        (async () => {
          for (const engine of engines) await engine.open();
          await round.run(STEPS);
          for (const engine of engines) await engine.close();
        })(),
      );
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    for (const [outcome, count] of round.outcomes) {
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
    }
  }
  for (const outcome of [0, 3, 12, 13]) assert.ok(outcomes.has(outcome), `${outcome}`);
});

const WALL_MS = 1_700_000_000_000;
/** The maker of the versions of most changes here. */
const MAKER = 7;

/** A version of the servers' present time, with this counter. */
function versionOf(counter: number): Version {
  return new Version().set((WALL_MS % 2 ** 16) * 2 ** 16 + counter, Math.floor(WALL_MS / 2 ** 16));
}

function change(
  operation: Mutation['operation'],
  key: string,
  counter: number,
  fields: Partial<Parameters<typeof changeOf>[1]> = {},
): Mutation {
  const value = operation === SET ? `value ${counter}` : '';
  const maker = operation === CLEAR ? 0 : MAKER;
  return changeOf(operation, { key, version: versionOf(counter), value, maker, ...fields });
}

interface Merging {
  readonly world: World;
  readonly server: FakeServer;
  readonly engines: readonly RedisEngine[];
  readonly asker: Asker;
  /** Merges the section at the first member. Returns the result and the outcomes. */
  merge(section: Section, member?: number): Promise<SectionResult & { outcomes: number[] }>;
}

/** Runs the test with two members on a server, which has two partitions. */
async function merging(
  test: (merging: Merging) => Promise<void>,
  options: Partial<RedisEngineOptions> = {},
): Promise<void> {
  const world = new World();
  world.clock.setWall(WALL_MS);
  const server = new FakeServer(world);
  const engines = [0, 1].map(
    () => fakeStore(world, server.url, { partitionCount: 2, ...options }).engine,
  );
  const merge = async (section: Section, member = 0) => {
    const outcomes: number[] = [];
    const note = (_: unknown, outcome: Outcome | 0) => outcomes.push(outcome);
    return { ...(await engines[member]!.mergeSection(section, note)), outcomes };
  };
  const run = async (): Promise<void> => {
    for (const engine of engines) await engine.open();
    await test({ world, server, engines, asker: new Asker(engines[0]!), merge });
    for (const engine of engines) await engine.close();
  };
  await world.during(run());
}

/** Returns the keys of a kind, by its letter, and the fields of all that are hashes. */
function fieldsIn({ data }: FakeServer, letter: string): [string, string][] {
  const names = data.names.filter((name) => name.includes(`/${letter}:`));
  return names.flatMap((name) => [...(data.get(name, 'hash') ?? [])]);
}

function listLength({ data }: FakeServer, letter: string): number {
  const names = data.names.filter((name) => name.includes(`/${letter}:`));
  return names.reduce((sum, name) => sum + (data.get(name, 'list')?.length ?? 0), 0);
}

test('numberOf and setVersion: the version of the next number is later', () => {
  const random = new Random(1);
  const version = new Version();
  const next = new Version();
  for (let round = 0; round < 20_000; round++) {
    const counter = round < 2 ** 16 ? round : random.below(2 ** 16);
    const ms = WALL_MS + random.below(100_000);
    version.set((ms % 2 ** 16) * 2 ** 16 + counter, Math.floor(ms / 2 ** 16));
    const number = numberOf(version);
    setVersion(next, number + 1);
    assert.ok(next.isAfter(version));
    assert.equal(numberOf(next), number + 1);
    setVersion(next, number);
    assert.ok(!next.isAfter(version));
  }
});

test('a batch that is repeated at another member after newer changes changes nothing', async () => {
  await merging(async ({ asker, merge }) => {
    const first = sectionOf(
      eventsOf([change(SET, 'a', 9), change(DELETE, 'b', 9)], 1, PASS_THROUGH),
    );
    assert.deepEqual((await merge(first)).outcomes, [APPLIED, APPLIED]);
    await asker.set('m', 'a', 'own');
    await asker.set('m', 'b', 'own');
    for (const member of [1, 0]) {
      const { outcome, outcomes } = await merge(first, member);
      assert.deepEqual([outcome, ...outcomes], [APPLIED, 0, 0]);
    }
    const second = sectionOf(eventsOf([change(SET, 'a', 20)], 3, PASS_THROUGH));
    assert.equal((await merge(second, 1)).outcome, APPLIED);
    const late = await merge(first);
    assert.deepEqual([late.outcome, late.passedNumber], [UNREACHABLE, 3]);
    assert.equal((await asker.get('m', 'a')).value, 'value 20');
    assert.equal((await asker.get('m', 'b')).value, 'own');
  });
});

test('an epoch begins at number 1 again, and an earlier one is refused with the later', async () => {
  await merging(async ({ merge }) => {
    const sent = (epoch: number, counter: number, number: number) =>
      sectionOf(eventsOf([change(SET, 'a', counter)], number), { epoch });
    assert.deepEqual((await merge(sent(5, 1, 100))).outcomes, [APPLIED]);
    assert.deepEqual((await merge(sent(6, 2, 1))).outcomes, [APPLIED]);
    const { outcome, laterEpoch, outcomes } = await merge(sent(5, 3, 101), 1);
    assert.deepEqual([outcome, laterEpoch, outcomes], [UNREACHABLE, 6, []]);
    // Another lane, publisher or source has numbers of its own, and so has a synchronisation.
    for (const fields of [
      { lane: 1 },
      { publisher: Buffer.alloc(32, 'q') },
      { source: Buffer.alloc(16, 'q') },
      { syncBegan: versionOf(50) },
    ]) {
      const section = sectionOf(eventsOf([change(SET, 'a', 2)], 1), { epoch: 1, ...fields });
      assert.deepEqual((await merge(section)).outcomes, [KNOWN]);
    }
  });
});

test('marks last for a day', async () => {
  await merging(async ({ world, merge }) => {
    const section = sectionOf(eventsOf([change(SET, 'a', 1)], 1));
    assert.deepEqual((await merge(section)).outcomes, [APPLIED]);
    world.clock.setWall(world.clock.wall() + 86_399_000);
    assert.deepEqual((await merge(section)).outcomes, [0]);
    world.clock.setWall(world.clock.wall() + 86_399_000);
    assert.deepEqual((await merge(section)).outcomes, [0]);
    world.clock.setWall(world.clock.wall() + 86_401_000);
    assert.deepEqual((await merge(section)).outcomes, [KNOWN]);
  });
});

test('a call has up to 64 events and 1 MiB, and one longer event', async () => {
  await merging(
    async ({ server, merge }) => {
      const calls = () => server.countOf('EVALSHA');
      const many = (count: number, value: string, number: number) =>
        sectionOf(
          eventsOf(
            Array.from({ length: count }, (_, at) => change(SET, `k${at}`, number + at, { value })),
            number,
          ),
        );
      for (const [count, bytes, expected] of [
        [64, 10, 1],
        [65, 10, 2],
        [2, 524_285, 1],
        [2, 524_290, 2],
        [1, 3_000_000, 1],
      ] as const) {
        const before = calls();
        const number = 1000 * (before + 1);
        const { outcomes } = await merge(many(count, 'v'.repeat(bytes), number));
        assert.equal(outcomes.filter((outcome) => outcome === APPLIED).length, count);
        assert.equal(calls() - before, expected, `${count} events of ${bytes} bytes`);
      }
    },
    { partitionCount: 1 },
  );
});

test('changes with equal versions are decided by compareChanges, at any member', async () => {
  await merging(async ({ server, asker, merge }) => {
    const values = ['b', 'c', 'a', 'c'];
    const outcomes: number[] = [];
    for (const [index, value] of values.entries()) {
      const section = sectionOf(eventsOf([change(SET, 'a', 5, { value })], 1), { lane: index });
      outcomes.push((await merge(section, index % 2)).outcomes[0]!);
    }
    assert.deepEqual(outcomes, [APPLIED, APPLIED, OUTDATED, KNOWN]);
    // The end of the max idle time moves with each read, and is not compared.
    const idle = { maxIdleSeconds: 100, value: 'd' };
    const sets = [0, 1, 2].map((lane) =>
      sectionOf(eventsOf([change(SET, 'i', 5, idle)], 9), { lane }),
    );
    assert.deepEqual((await merge(sets[0]!)).outcomes, [APPLIED]);
    const calls = server.countOf('EVALSHA');
    assert.deepEqual((await merge(sets[1]!)).outcomes, [KNOWN]);
    assert.equal(server.countOf('EVALSHA') - calls, 1);
    assert.equal((await asker.get('m', 'a')).value, 'c');
    // The entry changes between the comparison and the second call: it is compared again.
    let left = 3;
    server.script = (words) => {
      const isSecond = words[0] === 'EVALSHA' && words.includes('1') && words.at(-2) === 'z';
      if (!isSecond || left-- !== 2) return undefined;
      const [name = ''] = server.data.names.filter((each) => each.endsWith('m:m'));
      const hash = server.data.get(name, 'hash') ?? new Map<string, string>();
      const held = hash.get('a');
      if (held !== undefined) hash.set('a', `${held.slice(0, -1)}y`);
      return undefined;
    };
    const last = sectionOf(eventsOf([change(SET, 'a', 5, { value: 'z' })], 1), { lane: 9 });
    assert.deepEqual((await merge(last)).outcomes, [APPLIED]);
    assert.equal((await asker.get('m', 'a')).value, 'z');
  });
});

test('merged entries are read, listed and counted up, with a lifetime and a content type', async () => {
  await merging(async ({ server, asker, merge }) => {
    const type = { contentType: 'a/type' };
    const life = { expiryMs: WALL_MS + 100_000 };
    const long = 'v'.repeat(LISTED_VALUE_BYTES_MAX + 1);
    const changes = [
      change(SET, 'plain', 1, type),
      change(SET, 'common', 2, { ...life, contentType: 'text/plain', value: '41' }),
      change(SET, 'idle', 3, { ...life, maxIdleSeconds: 9, value: '' }),
      change(SET, 'long', 4, { ...type, value: long }),
      change(SET, 'own', 5, { maker: 0 }),
    ];
    await merge(sectionOf(eventsOf(changes)));
    const plain = await asker.get('m', 'plain');
    assert.deepEqual([plain.value, plain.contentType], ['value 1', 'a/type']);
    assert.ok(plain.version.is(versionOf(1)));
    assert.equal((await asker.get('m', 'long')).value, long);
    assert.deepEqual(
      fieldsIn(server, 'm')
        .map(([key, value]) => `${key} ${value.charCodeAt(0) >> 4}`)
        .sort(),
      ['common 2', 'idle 2', 'long 2', 'own 1', 'plain 2'],
    );
    const listed = await asker.allEntries('m');
    assert.deepEqual(listed.map(({ key, value, length }) => [key, value, length]).sort(), [
      ['common', '41', 2],
      ['idle', '', 0],
      ['long', '', long.length],
      ['own', 'value 5', 7],
      ['plain', 'value 1', 7],
    ]);
    assert.equal((await asker.add('m', 'common', 1n)).value, '42');
    const counted = await asker.get('m', 'common');
    assert.deepEqual([counted.value, counted.contentType], ['42', 'text/plain']);
    assert.equal((await asker.size('m')).count, 5);
  });
});

test('a full server takes deletes, and those before a set', async () => {
  await merging(
    async ({ server, asker, merge }) => {
      const sets = ['a', 'b', 'c'].map((key, at) => change(SET, key, at));
      await merge(sectionOf(eventsOf(sets)));
      server.isOutOfMemory = true;
      const more = [change(DELETE, 'a', 10), change(DELETE, 'b', 11), change(SET, 'd', 12)];
      const section = sectionOf(eventsOf([...more, change(DELETE, 'c', 13)], 10));
      const { outcome, outcomes } = await merge(section);
      assert.deepEqual([outcome, outcomes], [MEMORY_FULL, [APPLIED, APPLIED]]);
      assert.equal((await asker.size('m')).count, 1);
      const clear = sectionOf(eventsOf([change(CLEAR, '', 14)], 1), { lane: 1 });
      assert.equal((await merge(clear)).outcome, APPLIED);
      assert.equal((await asker.size('m')).count, 0);
      server.isOutOfMemory = false;
      const again = await merge(section);
      assert.deepEqual([again.outcome, again.outcomes], [APPLIED, [0, 0, OUTDATED, OUTDATED]]);
    },
    { partitionCount: 1 },
  );
});

test('an entry of an unknown format ends the partition before it', async () => {
  await merging(
    async ({ server, asker, merge }) => {
      await asker.set('m', 'b', 'x');
      const [name = ''] = server.data.names.filter((each) => each.endsWith('m:m'));
      for (const foreign of ['', 'short', '\x30version8value', '\x00version8value']) {
        server.data.get(name, 'hash')!.set('b', foreign);
        const section = sectionOf(eventsOf(['a', 'b', 'c'].map((key) => change(SET, key, 5))), {
          lane: foreign.length,
        });
        const { outcome, outcomes } = await merge(section);
        assert.equal(outcome, UNREACHABLE);
        assert.equal(outcomes.length, 1);
      }
      assert.equal((await asker.get('m', 'c')).value, '');
    },
    { partitionCount: 1 },
  );
});

test('a call whose reply is lost is repeated, and nothing is merged twice', async () => {
  await merging(
    async ({ server, asker, merge }) => {
      let left = 2;
      server.script = (words) => {
        if (words[0] !== 'EVALSHA' || left-- !== 2) return undefined;
        server.script = () => undefined;
        server.run(...words);
        return CUT;
      };
      const section = sectionOf(
        eventsOf([change(SET, 'a', 1), change(SET, 'a', 2)], 1, PASS_THROUGH),
      );
      const { outcome, outcomes } = await merge(section);
      assert.deepEqual([outcome, outcomes], [APPLIED, [0, 0]]);
      assert.equal((await asker.get('m', 'a')).value, 'value 2');
    },
    { partitionCount: 1 },
  );
});

test('if a call fails, the later events of its partition are not sent', async () => {
  await merging(
    async ({ server, asker, merge }) => {
      let calls = 0;
      server.script = (words) => {
        if (words[0] === 'EVALSHA' && ++calls === 2) return '-MISCONF no\r\n';
        return undefined;
      };
      const changes = Array.from({ length: 150 }, (_, at) => change(SET, `k${at}`, at));
      const section = sectionOf(eventsOf(changes));
      const { outcome, outcomes } = await merge(section);
      assert.deepEqual([outcome, outcomes.length, calls], [UNREACHABLE, 64, 2]);
      const again = await merge(section, 1);
      assert.equal(again.outcomes.filter((each) => each === 0).length, 64);
      assert.equal((await asker.size('m')).count, 150);
    },
    { partitionCount: 1 },
  );
});

test('without a lease, and when it is closed, an engine merges nothing', async () => {
  await merging(async ({ server, engines, merge }) => {
    engines[1]!.attach({ hasLease: false });
    const section = sectionOf(eventsOf([change(SET, 'a', 1), change(CLEAR, '', 2)]));
    assert.ok([UNREACHABLE, UNKNOWN].includes((await merge(section, 1)).outcome as 6));
    await engines[1]!.close();
    assert.equal((await merge(section, 1)).outcome, UNREACHABLE);
    assert.equal(server.data.names.length, 0);
  });
});

test('the entries that a synchronisation did not take are counted once', async () => {
  await merging(async ({ merge }) => {
    const own = ['a', 'b', 'c', 'd'].map((key) => change(SET, key, 30));
    await merge(sectionOf(eventsOf(own)));
    const sync = { syncBegan: versionOf(20), lane: 3 };
    const entries = (count: number) =>
      ['a', 'b', 'c', 'd', 'e'].slice(0, count).map((key) => change(SET, key, 10));
    const first = await merge(sectionOf(eventsOf(entries(2), 1, PUT_IF_ABSENT), sync));
    assert.deepEqual([first.outcome, first.notTakenCount], [APPLIED, 2]);
    // The same section again, at another member, and with further entries.
    const again = await merge(sectionOf(eventsOf(entries(5), 1, PUT_IF_ABSENT), sync), 1);
    assert.deepEqual(
      [again.notTakenCount, again.outcomes.filter((each) => each === 0).length],
      [4, 2],
    );
    const next = await merge(sectionOf(eventsOf(entries(1), 9, PUT_IF_ABSENT), sync));
    assert.equal(next.notTakenCount, 1);
  });
});

test('a clear removes what is not later, in steps, and continues after a failure', async () => {
  await merging(async ({ server, asker, merge }) => {
    const changes = Array.from({ length: 3000 }, (_, at) => change(SET, `k${at}`, 1 + (at % 2)));
    await merge(sectionOf(eventsOf(changes)));
    const clear = sectionOf(eventsOf([change(CLEAR, '', 1), change(SET, 'k0', 1)], 1), { lane: 1 });
    let calls = 0;
    server.script = (words) => {
      if (words[0] === 'EVALSHA' && ++calls >= 4) return '-MISCONF no\r\n';
      return undefined;
    };
    const failed = await merge(clear);
    assert.deepEqual([failed.outcome, failed.outcomes], [UNREACHABLE, []]);
    server.script = () => undefined;
    assert.ok((await asker.size('m')).count > 1500);
    // The cursors of another run are not valid.
    server.runId = 'f'.repeat(40);
    const again = await merge(clear, 1);
    assert.deepEqual([again.outcome, again.outcomes], [APPLIED, [APPLIED, OUTDATED]]);
    assert.equal((await asker.size('m')).count, 1500);
    for (const member of [0, 1]) {
      const copy = sectionOf(eventsOf([change(CLEAR, '', 1)], 1), { lane: 2 });
      assert.deepEqual((await merge(copy, member)).outcomes, [KNOWN]);
    }
    const earlier = sectionOf(eventsOf([change(CLEAR, '', 0)], 1), { lane: 3 });
    assert.deepEqual((await merge(earlier)).outcomes, [OUTDATED]);
    // The member that has merged a clear does not ask the servers about its copies, nor earlier ones.
    const before = server.countOf('EVALSHA');
    const copies = [1, 0].map((counter, at) =>
      merge(sectionOf(eventsOf([change(CLEAR, '', counter)], 1), { lane: 4 + at }), 1),
    );
    const [copy, older] = await Promise.all(copies);
    assert.deepEqual([copy!.outcomes, older!.outcomes], [[KNOWN], [OUTDATED]]);
    assert.equal(server.countOf('EVALSHA'), before);
    // Copies of a clear that is being merged wait for it; if it fails, so do they.
    server.script = () => '-MISCONF no\r\n';
    const failing = () => sectionOf(eventsOf([change(CLEAR, '', 5)], 1), { lane: 6 });
    for (const { outcome } of await Promise.all([merge(failing()), merge(failing())])) {
      assert.equal(outcome, UNREACHABLE);
    }
    server.script = () => undefined;
    const last = await Promise.all([merge(failing()), merge(failing())]);
    assert.deepEqual(last.flatMap(({ outcomes }) => outcomes).sort(), [APPLIED, KNOWN].sort());
    assert.equal((await asker.size('m')).count, 0);
  });
});

test('a clear in steps ends although no tombstone may be kept', async () => {
  await merging(
    async ({ asker, merge }) => {
      const changes = Array.from({ length: 3000 }, (_, at) => change(SET, `k${at}`, 1 + (at % 2)));
      await merge(sectionOf(eventsOf(changes)));
      const clear = sectionOf(eventsOf([change(CLEAR, '', 1)], 1), { lane: 1 });
      assert.equal((await merge(clear)).outcome, APPLIED);
      assert.equal((await asker.size('m')).count, 1500);
    },
    { partitionCount: 1, tombstonesMax: 0 },
  );
});

test('tombstones are dropped after their retention, by a removal or a trim', async () => {
  const dropped: number[] = [];
  await merging(
    async ({ world, server, engines, merge }) => {
      const removal = (counter: number, lane: number) =>
        sectionOf(eventsOf([change(DELETE, `k${lane}`, counter)], 1), { lane });
      for (let lane = 0; lane < 10; lane++) await merge(removal(1, lane));
      assert.equal(fieldsIn(server, 'd').length, 10);
      await world.sleep(59_000);
      await merge(removal(1, 20));
      assert.equal(fieldsIn(server, 'd').length, 11);
      await world.sleep(1000);
      await merge(removal(1, 21));
      // Each removal does a few steps.
      assert.equal(fieldsIn(server, 'd').length, 8);
      const late = sectionOf(eventsOf([change(SET, 'k0', 1)], 1), { lane: 50 });
      assert.deepEqual((await merge(late)).outcomes, [APPLIED]);
      const settings = { uuid: 'a', leaseMs: 10_000 };
      const member = await joinedMember(engines[0]!, world.clock, settings);
      await world.until(() => fieldsIn(server, 'd').length === 2);
      await member.cluster.leave();
      assert.equal(listLength(server, 'o'), 2);
      assert.deepEqual(dropped, []);
    },
    {
      partitionCount: 1,
      tombstoneRetentionMs: 60_000,
      onTombstonesDropped: (count) => dropped.push(count),
    },
  );
});

test('a partition has its share of tombstones at most, and its order does not grow', async () => {
  const dropped: number[] = [];
  await merging(
    async ({ server, merge }) => {
      const removals = (keys: readonly string[], counter: number, lane: number) =>
        sectionOf(eventsOf(keys.map((key, at) => change(DELETE, key, counter + at))), { lane });
      const keys = Array.from({ length: 10 }, (_, at) => `k${at}`);
      await merge(removals(keys, 100, 0));
      assert.deepEqual([fieldsIn(server, 'd').length, dropped], [10, []]);
      await merge(removals(['more', 'again'], 120, 1));
      assert.deepEqual([fieldsIn(server, 'd').length, dropped], [10, [2]]);
      // One key is deleted again and again; the others keep their tombstones.
      for (let round = 0; round < 500; round++)
        await merge(removals(['k9'], 200 + round, 2 + round));
      assert.equal(fieldsIn(server, 'd').length, 10);
      assert.ok(listLength(server, 'o') <= 2 * 10 + 64 + 10, `${listLength(server, 'o')}`);
      const older = sectionOf(eventsOf([change(SET, 'k5', 50)], 1), { lane: 999 });
      assert.deepEqual((await merge(older)).outcomes, [OUTDATED]);
    },
    {
      partitionCount: 1,
      tombstonesMax: 10,
      onTombstonesDropped: (count) => dropped.push(count),
    },
  );
});

test('an expired entry leaves a tombstone just below its version', async () => {
  await merging(
    async ({ world, server, asker, merge }) => {
      const entry = change(SET, 'a', 50, { expiryMs: WALL_MS + 1000 });
      await merge(sectionOf(eventsOf([entry])));
      await world.sleep(1000);
      assert.equal((await asker.get('m', 'a')).value, '');
      const set = (counter: number, lane: number) =>
        sectionOf(eventsOf([change(SET, 'a', counter)]), { lane });
      assert.deepEqual((await merge(set(49, 1))).outcomes, [OUTDATED]);
      assert.equal(fieldsIn(server, 'm').length, 0);
      assert.deepEqual((await merge(set(50, 2))).outcomes, [APPLIED]);
      assert.equal((await asker.get('m', 'a')).value, 'value 50');
    },
    { partitionCount: 1 },
  );
});

test('the greatest expiry time and the last version are merged', async () => {
  await merging(async ({ asker, merge }) => {
    const last = change(SET, 'a', 1, { expiryMs: Number.MAX_SAFE_INTEGER });
    const policies: MergePolicy[] = [LATEST_UPDATE, EXPIRATION_TIME];
    for (const [lane, policy] of policies.entries()) {
      const { outcomes } = await merge(sectionOf(eventsOf([last], 1, policy), { lane }));
      assert.deepEqual(outcomes, [lane === 0 ? APPLIED : KNOWN]);
    }
    assert.ok((await asker.get('m', 'a')).timeToLiveMs > 10 ** 13);
    const end = change(SET, 'b', 1, { version: new Version().set(-1, 5) });
    await merge(sectionOf(eventsOf([end], 9)));
    const earlier = change(SET, 'b', 1, { version: new Version().set(0, 5), maker: 9 });
    await merge(sectionOf(eventsOf([earlier], 20, PASS_THROUGH)));
    // The cluster has assigned the version after that of the entry.
    assert.ok((await asker.get('m', 'b')).version.is(new Version().set(0, 6)));
  });
});

test('the clock of a partition, and now, pass each version that was merged', async () => {
  await merging(async ({ world, server, engines, merge }) => {
    const version = new Version();
    engines[0]!.now(version);
    assert.ok(version.is(new Version().set((WALL_MS % 2 ** 16) * 2 ** 16, versionOf(0).high)));
    const ahead = versionOf(9);
    setVersion(ahead, numberOf(ahead) + 5_000_000);
    await merge(sectionOf(eventsOf([change(SET, 'a', 0, { version: ahead })])));
    engines[0]!.now(version);
    assert.ok(version.isAfter(ahead));
    const clocks = server.data.names.filter((name) => name.includes('/t:'));
    assert.deepEqual(
      clocks.map((name) => server.data.get(name, 'string')![0]),
      [`${numberOf(ahead)}`],
    );
    setVersion(ahead, numberOf(ahead) + 1000);
    engines[0]!.observe(ahead);
    engines[0]!.now(version);
    assert.ok(version.isAfter(ahead));
    await world.sleep(6000);
    engines[0]!.now(version);
    assert.equal(numberOf(version), (WALL_MS + 6000) * 1000);
  });
});
