/** Random operations of an engine on a fake server, and of one on a real server. */
import assert from 'node:assert/strict';
import type { Random } from '../../bench/harness.ts';
import {
  FOREVER,
  FOUND,
  LIST_PLACE_BYTES,
  type NameKind,
  NO_HOLD,
} from '../../src/engine/engine.ts';
import type { Version } from '../../src/engine/version.ts';
import { Asker, type Seen, type Waiting } from '../engine/results.ts';
import { subjectCapacity } from '../engine/subject.ts';
import type { FakeServer } from '../world/fake-server.ts';
import { subjectOf } from '../world/world-engines.ts';
import { storeEngine, untilIdle } from './store-engines.ts';

const MAPS = 2;
const KEYS = 6;
const QUEUES = ['small 1', 'small 2', 'large 1', 'large 2'];
const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };
const IDLE = { timeToLiveMs: 0, maxIdleSeconds: 3600 };
/** Limit for the operations of a turn. */
const TURN_MAX = 12;
/** Of this many holds, or takes that wait, any may end. */
const ENDED_MAX = 1000;
const WAIT_MS = 3_600_000;
/** A place after all elements. */
const LAST_PLACE = Buffer.alloc(LIST_PLACE_BYTES, 255);

/** An engine, with what the test knows of its results. */
interface Side {
  readonly asker: Asker;
  readonly versions: Map<string, Version>;
  holds: number[];
  waiting: Waiting[];
  quiet(): Promise<void>;
}

/** Undefined for a call that has no result at once. */
type Call = (side: Side) => Promise<Seen | undefined>;

/** Returns the number of operations. */
export async function operationRound(
  fake: FakeServer,
  port: number,
  random: Random,
  count: number,
): Promise<number> {
  const { world } = fake;
  const subject = await subjectOf(world, fake.url);
  const real = await storeEngine({
    port,
    clusterName: 'operations',
    deadlineMs: 60_000,
    queueCapacity: subjectCapacity,
  });
  const sides = [
    // The numbers of items are times, which must increase.
    sideOf(new Asker(subject.engine), () => world.pass(1)),
    sideOf(new Asker(real), () => untilIdle(real)),
  ];
  let done = 0;
  try {
    while (done < count) {
      const calls = callsOf(random);
      const results = await Promise.all(sides.map((side) => resultsOf(side, calls)));
      // A difference in long texts would take Node minutes to print.
      const texts = results.map((result) => result.map((each) => JSON.stringify(each)));
      const at = texts[0]!.findIndex((text, index) => text !== texts[1]![index]);
      if (at >= 0) assert.fail(`after ${done}: ${texts[0]![at]} and ${texts[1]![at]}`);
      done += calls.length;
    }
  } finally {
    await subject.engine.close();
    await real.close();
  }
  return done;
}

function sideOf(asker: Asker, quiet: () => Promise<void>): Side {
  return { asker, versions: new Map(), holds: [], waiting: [], quiet };
}

/** Makes the calls in one turn, and resolves with what both engines must return. */
async function resultsOf(side: Side, calls: readonly Call[]): Promise<unknown[]> {
  const results = await Promise.all(calls.map((call) => call(side)));
  await side.quiet();
  const answered = side.waiting.map(({ keeper }) => keeper.seen);
  side.waiting = side.waiting.filter((_, at) => answered[at] === undefined);
  const seen = [...results, ...answered];
  for (const { hold } of seen.filter((each) => each !== undefined)) {
    if (hold !== NO_HOLD) side.holds.push(hold);
  }
  return seen.map((each) => each && comparable(each));
}

/** Versions, and the numbers of holds, differ. */
function comparable({ outcome, value, contentType, count, reason, hold, version }: Seen): unknown {
  return {
    outcome,
    value,
    contentType,
    count,
    reason,
    isHeld: hold !== NO_HOLD,
    isNew: version.isNone,
  };
}

/**
 * Returns calls of one turn, whose results do not depend on the time of replies: reads, which
 * changes may overtake; changes of maps; offers and takes; or one return of an item or cancel.
 */
function callsOf(random: Random): Call[] {
  if (random.below(6) === 0) return [endOf(random)];
  const make = [readOf, changeOf, queueCallOf][random.below(3)]!;
  return Array.from({ length: 1 + random.below(TURN_MAX) }, () => make(random));
}

function readOf(random: Random): Call {
  const { map, key } = entryOf(random);
  const queue = QUEUES[random.below(QUEUES.length)]!;
  const kind = random.below(10);
  if (kind === 0) return ({ asker }) => asker.size(map);
  if (kind === 1) return ({ asker }) => asker.peek(queue);
  if (kind === 2) return ({ asker }) => asker.queueSize(queue);
  const count = 1 + random.below(20);
  if (kind === 3) return ({ asker }) => entriesOf(asker, map, count);
  const names = random.below(2) === 0 ? 'map' : 'queue';
  if (kind === 4) return ({ asker }) => namesOf(asker, names, count);
  return async ({ asker, versions }) => {
    const seen = await asker.get(map, key);
    if (seen.outcome === FOUND) versions.set(map + key, seen.version);
    else versions.delete(map + key);
    return seen;
  };
}

/** Resolves with the result of the last call, and all entries as its value. */
async function entriesOf(asker: Asker, map: string, count: number): Promise<Seen> {
  const entries = await asker.allEntries(map, { count });
  const texts = entries.map(({ key, value, contentType }) => [key, value, contentType].join());
  const end = await asker.entries(map, { place: LAST_PLACE });
  return { ...end.seen!, value: [...new Set(texts)].sort().join('\n') };
}

async function namesOf(asker: Asker, kind: NameKind, count: number): Promise<Seen> {
  const names = await asker.allNames(kind, { count });
  const texts = names.map(({ name, size }) => `${name} ${size}`);
  const end = await asker.names(kind, { place: LAST_PLACE });
  return { ...end.seen!, value: texts.sort().join('\n') };
}

function changeOf(random: Random): Call {
  const { map, key } = entryOf(random);
  const kind = random.below(20);
  if (kind === 0) return ({ asker }) => asker.clear(map);
  if (kind === 1) {
    const by = BigInt(random.below(9));
    return ({ asker }) => asker.add(map, `${key} count`, by, LONG);
  }
  const isConditional = random.below(3) === 0;
  const condition = ({ versions }: Side) => (isConditional ? versions.get(map + key) : undefined);
  if (kind < 5) return (side) => side.asker.delete(map, key, condition(side));
  const value = textOf(random);
  const type = ['', 'text/plain', 'other/type'][random.below(3)]!;
  const lifetime = [FOREVER, LONG, IDLE][random.below(3)]!;
  return (side) => side.asker.set(map, key, value, type, lifetime, condition(side));
}

function queueCallOf(random: Random): Call {
  const queue = QUEUES[random.below(QUEUES.length)]!;
  const value = textOf(random);
  const kind = random.below(8);
  if (kind < 4) return ({ asker }) => asker.offer(queue, value, 'text/plain');
  if (kind > 5) return ({ asker }) => asker.take(queue);
  return async ({ asker, waiting }) => {
    waiting.push(asker.wait(queue, WAIT_MS));
    return undefined;
  };
}

/** Ends a hold, or a take that waits. */
function endOf(random: Random): Call {
  const at = random.below(ENDED_MAX);
  if (random.below(4) > 0) {
    const isDelivered = random.below(2) === 0;
    return async ({ asker, holds }) => {
      const [hold] = holds.splice(at % Math.max(1, holds.length), 1);
      return hold === undefined ? undefined : await asker.acknowledge(hold, isDelivered);
    };
  }
  return async ({ asker, waiting }) => {
    const [waited] = waiting.splice(at % Math.max(1, waiting.length), 1);
    if (waited !== undefined) asker.engine.cancel(waited.ticket);
    return undefined;
  };
}

function entryOf(random: Random): { readonly map: string; readonly key: string } {
  return { map: `map ${random.below(MAPS)}`, key: `key ${random.below(KEYS)}` };
}

function textOf(random: Random): string {
  const length = random.below(10) === 0 ? 10_000 : random.below(40);
  return random.bytes(length).toString('latin1');
}
