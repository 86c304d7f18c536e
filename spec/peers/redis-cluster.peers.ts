/**
 * The engine on a cluster of three primaries with replicas, and on a primary that Sentinels watch: the
 * contract's cases; a primary that is killed, or stopped, and replaced; slots that move while changes are
 * made.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { Span } from '../../src/base/span.ts';
import {
  APPLIED,
  CLOSED,
  FOREVER,
  FOUND,
  NO_HOLD,
  NOBODY,
  type Outcome,
  UNKNOWN,
} from '../../src/engine/engine.ts';
import { Layout } from '../../src/engine/redis/layout.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import { engineSuite } from '../engine/engine.case.ts';
import { holdSuite } from '../engine/holds.case.ts';
import { Asker } from '../engine/results.ts';
import {
  asked,
  type GroupServer,
  type ServerGroup,
  startCluster,
  startWatched,
  type WatchedPair,
} from './server-group.ts';
import { until } from './server-process.ts';
import { type StoreEngineOptions, storeEngine, subjectOf } from './store-engines.ts';

const DEADLINE_MS = 3000;
const WRITERS = 16;
const PROBES = 'probes';
/** Each with a partition. */
const MOVED_SLOTS = 6;
const LAYOUT = new Layout('any', 271);

function opened(url: string, options: Partial<StoreEngineOptions> = {}): Promise<RedisEngine> {
  return storeEngine({
    port: 0,
    deadlineMs: DEADLINE_MS,
    connect: (own, observer) => new StoreServers(parseEngineUrl(url), own, observer),
    mapReplicaCount: () => undefined,
    queueReplicaCount: () => undefined,
    ...options,
  });
}

const SPREAD_KEYS = 100_000;
/** By which a primary's share may differ from a third. */
const SPREAD_PART = 0.03;
/** The entries of the server's hashes whose keys end so. */
const ENTRIES = `
local count = 0
for _, key in ipairs(redis.call('KEYS', '*' .. ARGV[1])) do
  count = count + redis.call('HLEN', key)
end
return count`;

let clusterCount = 0;
const subject = async (url: string) =>
  subjectOf(await opened(url, { clusterName: `cluster ${clusterCount++}` }));

describe('on a cluster', () => {
  let group: ServerGroup;
  before(async () => {
    group = await startCluster();
  });
  after(() => group.end());

  engineSuite('an engine on a cluster', () => subject(group.url));
  holdSuite('an engine on a cluster', () => subject(group.url));

  test('100,000 keys are on three primaries, a third on each', async () => {
    await withEngine(group.url, async (engine) => {
      let next = 0;
      const asker = new Asker(engine);
      const work = async (): Promise<void> => {
        while (next < SPREAD_KEYS) {
          const { outcome } = await asker.set('spread', `person-${next++}`, 'v');
          assert.equal(outcome, APPLIED);
        }
      };
      await Promise.all(Array.from({ length: 256 }, work));
      const counts: number[] = [];
      for (const server of await primariesAmong(group.servers)) {
        counts.push(Number(await server.ask('EVAL', ENTRIES, '0', 'm:spread')));
      }
      assert.equal(counts.length, 3);
      assert.equal(counts[0]! + counts[1]! + counts[2]!, SPREAD_KEYS);
      for (const each of counts) {
        assert.ok(Math.abs((3 * each) / SPREAD_KEYS - 1) < SPREAD_PART, `${counts}`);
      }
    });
  });

  test('what is written while slots move is all there, once and in order', async () => {
    // Slots without the keys of other tests move well within the deadline.
    for (const server of await primariesAmong(group.servers)) await server.ask('FLUSHALL');
    await withEngine(group.url, async (engine) => {
      const move = await Move.planned(group.servers, MOVED_SLOTS);
      const writes = new Writes(engine, 'moved');
      const offers = move.partitions.map((partition) => new Offers(engine, queueIn(partition)));
      await sleep(200);
      await move.make();
      await writes.end();
      assert.ok(move.keyCount > MOVED_SLOTS, `${move.keyCount} keys`);
      assert.deepEqual(writes.outcomes(), [APPLIED]);
      await writes.check();
      for (const each of offers) await each.check();
    });
  });

  test('a primary that is killed is replaced, and what was answered is there', async () => {
    await withEngine(group.url, async (engine) => {
      const writes = new Writes(engine, 'killed');
      const primary = await primaryAmong(group.servers);
      await sleep(200);
      await primary.kill();
      await untilWritten(engine, writes, 0);
      await writes.check();
      await primary.start();
      await untilReplicated(group.servers, 3);
    });
  });

  test('a primary that is stopped is replaced, and back as a replica it does no harm', async () => {
    await withEngine(group.url, async (engine) => {
      const writes = new Writes(engine, 'stopped');
      const primary = await primaryAmong(group.servers);
      await sleep(200);
      primary.stopInPlace();
      await untilWritten(engine, writes, 0);
      primary.goOn();
      await untilReplicated(group.servers, 3);
      await writes.check();
    });
  });
});

describe('with Sentinels', () => {
  let pair: WatchedPair;
  before(async () => {
    pair = await startWatched();
  });
  after(() => pair.end());

  engineSuite('an engine with Sentinels', () => subject(pair.url));
  holdSuite('an engine with Sentinels', () => subject(pair.url));

  test('a name that no Sentinel knows is refused', async () => {
    const url = pair.url.replace('sentinel=grid', 'sentinel=other');
    await assert.rejects(opened(url), /"other".*monitors no primary of that name/);
  });

  test('Sentinels without a name for what they watch are refused', async () => {
    await assert.rejects(
      opened(pair.url.replace(/\?.*/, '')),
      /is a Sentinel; add \?sentinel=NAME/,
    );
  });

  test('a primary that is killed is replaced, also with one Sentinel less', async () => {
    await withEngine(pair.url, async (engine) => {
      const writes = new Writes(engine, 'killed');
      const primary = await primaryAmong(pair.servers);
      await sleep(200);
      await pair.sentinels[0]!.kill();
      await primary.kill();
      await untilWritten(engine, writes, 0);
      await writes.check();
      await primary.start();
      await untilReplicated(pair.servers, 1);
      await pair.sentinels[0]!.start();
    });
  });

  test('a primary that is demoted is noticed without having failed', async () => {
    await withEngine(pair.url, async (engine) => {
      const writes = new Writes(engine, 'demoted');
      await until(async () => writes.count(APPLIED) > 0);
      await untilFailover(pair);
      await untilWritten(engine, writes, 0);
      await writes.check();
    });
  });
});

async function withEngine(
  url: string,
  work: (engine: RedisEngine) => Promise<void>,
): Promise<void> {
  const engine = await opened(url, {
    clusterName: `cluster ${clusterCount++}`,
    // Probes find out who is primary, also where it has no replica for the moment.
    mapReplicaCount: (map) => (map.toBuffer().toString() === PROBES ? 0 : undefined),
  });
  try {
    await work(engine);
  } finally {
    await engine.close();
  }
}

/**
 * Sets that go on until they are ended, or the engine is closed: each writer has one under way, to a key of
 * its own each.
 */
class Writes {
  readonly #engine: RedisEngine;
  readonly #map: Span;
  readonly #answers = new Map<string, Outcome>();
  readonly #writers: readonly Promise<void>[];
  #isEnding = false;

  constructor(engine: RedisEngine, map: string) {
    this.#engine = engine;
    this.#map = spanOf(map);
    this.#writers = Array.from({ length: WRITERS }, (_, index) => this.#write(index));
  }

  /** The keys that were answered so. */
  count(outcome: Outcome): number {
    return [...this.#answers.values()].filter((each) => each === outcome).length;
  }

  outcomes(): Outcome[] {
    return [...new Set(this.#answers.values())].sort();
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#writers);
  }

  /** What was answered APPLIED is there; what was not surely done may be. */
  async check(): Promise<void> {
    await this.end();
    const missing: string[] = [];
    const strange: string[] = [];
    for (const [key, outcome] of this.#answers) {
      const found = await new Promise<Outcome>((resolve) => {
        this.#engine.get(this.#map, spanOf(key), {
          onResult: (answer) => resolve(answer.outcome),
        });
      });
      if (outcome === APPLIED && found !== FOUND) missing.push(key);
      if (outcome !== APPLIED && outcome !== UNKNOWN && found === FOUND) strange.push(key);
    }
    assert.deepEqual({ missing, strange }, { missing: [], strange: [] });
    assert.ok(this.count(APPLIED) > 0);
  }

  async #write(index: number): Promise<void> {
    for (let number = 0; !this.#isEnding; number++) {
      const key = `${index}-${number}`;
      const value = spanOf(key);
      const outcome = await new Promise<Outcome>((resolve) => {
        this.#engine.set(this.#map, spanOf(key), value, NOTHING, FOREVER, undefined, {
          onResult: (answer) => {
            this.#isEnding ||= answer.reason === CLOSED;
            resolve(answer.outcome);
          },
        });
      });
      this.#answers.set(key, outcome);
      await sleep(2);
    }
  }
}

const NOTHING = new Span();

function spanOf(text: string): Span {
  const bytes = Buffer.from(text);
  return new Span().set(bytes, 0, bytes.length);
}

/** A key of every partition can be set again. */
async function untilWritten(engine: RedisEngine, writes: Writes, from: number): Promise<void> {
  let round = from;
  await until(async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, index) => {
        return new Promise<Outcome>((resolve) => {
          engine.set(
            spanOf(PROBES),
            spanOf(`${round}-${index}`),
            spanOf('value'),
            NOTHING,
            FOREVER,
            undefined,
            { onResult: (answer) => resolve(answer.outcome) },
          );
        });
      }),
    );
    round++;
    return outcomes.every((outcome) => outcome === APPLIED);
  });
  await sleep(100);
  await writes.end();
}

async function primaryAmong(servers: readonly GroupServer[]): Promise<GroupServer> {
  const [first] = await primariesAmong(servers);
  if (first === undefined) throw new Error('no primary');
  return first;
}

async function primariesAmong(servers: readonly GroupServer[]): Promise<GroupServer[]> {
  const primaries: GroupServer[] = [];
  for (const server of servers) {
    const role = await server.ask('ROLE');
    if (Array.isArray(role) && role[0] === 'master') primaries.push(server);
  }
  return primaries;
}

/** There are so many primaries, each with a replica. */
async function untilReplicated(servers: readonly GroupServer[], count: number): Promise<void> {
  await until(async () => {
    const roles = await Promise.all(servers.map(({ port }) => asked(port, 'ROLE')));
    const primaries = roles.filter((role) => Array.isArray(role) && role[0] === 'master');
    return (
      primaries.length === count &&
      primaries.every((role) => Array.isArray(role) && Array.isArray(role[2]) && role[2].length > 0)
    );
  });
}

/** A failover that an administrator asks for. */
async function untilFailover({ servers, sentinels }: WatchedPair): Promise<void> {
  const before = await primaryAmong(servers);
  await until(async () => {
    await asked(sentinels[1]!.port, 'SENTINEL', 'FAILOVER', 'grid');
    return true;
  });
  await until(async () => (await primaryAmong(servers)) !== before);
}

/** A move of slots with all their keys from one primary to another, step by step as redis-cli does it. */
class Move {
  /** Those whose slots move. */
  readonly partitions: readonly number[];
  /** Keys that were moved. */
  keyCount = 0;
  readonly #from: Node;
  readonly #to: Node;

  private constructor(from: Node, to: Node, partitions: readonly number[]) {
    this.#from = from;
    this.#to = to;
    this.partitions = partitions;
  }

  static async planned(servers: readonly GroupServer[], count: number): Promise<Move> {
    const source = await primaryAmong(servers);
    const rows = await asked(source.port, 'CLUSTER', 'SLOTS');
    assert.ok(Array.isArray(rows));
    const nodes: Node[] = rows.map(([first, last, [, port, id]]) => ({ first, last, port, id }));
    const from = nodes.find(({ port }) => port === source.port);
    const to = nodes.find(({ port }) => port !== source.port);
    assert.ok(from !== undefined && to !== undefined);
    const partitions = Array.from({ length: LAYOUT.partitionCount }, (_, index) => index).filter(
      (partition) => {
        const slot = LAYOUT.slotOf(partition);
        return slot >= from.first && slot <= from.last;
      },
    );
    return new Move(from, to, partitions.slice(0, count));
  }

  async make(): Promise<void> {
    for (const partition of this.partitions) await this.#moveSlot(`${LAYOUT.slotOf(partition)}`);
  }

  async #moveSlot(slot: string): Promise<void> {
    const [from, to] = [this.#from, this.#to];
    await asked(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await asked(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    for (;;) {
      // Some keys are here and some there: TRYAGAIN for what needs both.
      const keys = await asked(from.port, 'CLUSTER', 'GETKEYSINSLOT', slot, '1');
      if (!Array.isArray(keys) || keys.length === 0) break;
      const target = ['127.0.0.1', `${to.port}`, '', '0', '5000'];
      await asked(from.port, 'MIGRATE', ...target, 'KEYS', ...keys);
      this.keyCount += keys.length;
      await sleep(30);
    }
    await asked(to.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    await asked(from.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  }
}

interface Node {
  readonly first: number;
  readonly last: number;
  readonly port: number;
  readonly id: string;
}

/** The name of a queue in the partition. */
function queueIn(partition: number): string {
  for (let number = 0; ; number++) {
    const name = `queue ${number}`;
    if (LAYOUT.partitionOf(spanOf(name)) === partition) return name;
  }
}

/** Offers that go on until they are checked, or the engine is closed, three under way at a time. */
class Offers {
  readonly #engine: RedisEngine;
  readonly #queue: Span;
  readonly #outcomes: Outcome[] = [];
  readonly #done: Promise<void>;
  #isEnding = false;

  constructor(engine: RedisEngine, queue: string) {
    this.#engine = engine;
    this.#queue = spanOf(queue);
    this.#done = this.#offer();
  }

  /** Each was made once, and they are polled in order. */
  async check(): Promise<void> {
    this.#isEnding = true;
    await this.#done;
    assert.deepEqual([...new Set(this.#outcomes)], [APPLIED]);
    const items: number[] = [];
    for (;;) {
      const item = await this.#poll();
      if (item === undefined) break;
      items.push(item);
    }
    assert.deepEqual(items, [...this.#outcomes.keys()]);
  }

  async #offer(): Promise<void> {
    for (let number = 0; !this.#isEnding; ) {
      const round = Array.from({ length: 3 }, () => this.#offerOne(number++));
      this.#outcomes.push(...(await Promise.all(round)));
      await sleep(2);
    }
  }

  #offerOne(number: number): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#engine.offer(this.#queue, spanOf(`${number}`), NOTHING, {
        onResult: ({ outcome, reason }) => {
          this.#isEnding ||= reason === CLOSED;
          resolve(outcome);
        },
      });
    });
  }

  #poll(): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#engine.take(this.#queue, 0, {
        onResult: ({ outcome, value, hold }) => {
          const item = outcome === FOUND ? Number(value.toBuffer()) : undefined;
          if (hold !== NO_HOLD) this.#engine.acknowledge(hold, true, NOBODY);
          resolve(item);
        },
      });
    });
  }
}
