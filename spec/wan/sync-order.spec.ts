/**
 * Covers src/wan/batch-sender.ts and src/wan/waiting-keys.ts. Under PassThrough the target accepts
 * all changes, so its changes are those sent, in order. While one member writes, pauses, stops,
 * clears and synchronises at random, over a network that loses, delays and duplicates messages, the
 * target never gets an older value after a newer one. At the end it has every entry of the source.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, type Mutation, SET } from '../../src/engine/mutation.ts';
import { durableMember, generator, Member, Network, OPTIONS } from './members.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 8);
const FIRST = Number(process.env.WAN_SEED ?? 1);

it(`a target of synchronisations never gets an older value after a newer one, seeds from ${FIRST} on`, async () => {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) await simulate(seed);
});

async function simulate(seed: number): Promise<void> {
  const random = generator(seed * 13 + 5);
  const below = (count: number) => Math.floor(random() * count);
  const network = new Network();
  network.random = random;
  const options = {
    ...OPTIONS,
    batchSize: 1 + below(6),
    batchMaxDelayMs: 1 + below(50),
    queueCapacity: 1 + below(below(2) === 0 ? 3 : 100),
    snapshotEnabled: below(3) === 0,
    maxConcurrentInvocations: below(2) * 2,
  };
  const a = new Member(network, 'a', [options]);
  const b = durableMember(network, 'b');
  a.policy = PASS_THROUGH;
  const isPersistent = below(2) === 0;
  if (!isPersistent) a.engine.durableCount = Number.POSITIVE_INFINITY;
  let isCalm = false;
  network.fate = () => {
    if (isCalm) return { arrivals: [1], answerMs: 1 };
    const kind = below(10);
    const arrivals = kind < 2 ? [] : kind === 2 ? [below(3000), below(3000)] : [below(100)];
    return { arrivals, answerMs: below(8) === 0 ? undefined : below(50) };
  };
  const keys = 3 + below(20);
  let count = 0;
  let uuid = '';
  /** The entries of the source when the synchronisation began. */
  let had: readonly string[] = [];
  const isUnderWay = () => ['STARTED', 'IN_PROGRESS'].includes(stageOf());
  const stageOf = () => a.replications.progressOf(uuid)?.stage ?? '';
  for (let step = 0; step < 400; step++) {
    const kind = below(100);
    const key = `key${below(keys)}`;
    if (kind < 60) a.engine.change(SET, 'map', key, String(++count).padStart(5, '0'));
    else if (kind < 70) a.engine.change(DELETE, 'map', key);
    else if (kind < 71) a.engine.change(CLEAR, 'map', '');
    else if (kind < 74) a.control.pause();
    else if (kind < 75) a.control.stop();
    else if (kind < 79) a.control.resume();
    else if (kind < 80) a.control.clear();
    else if (kind < 86 && isPersistent) a.sync();
    else if (kind < 92 && !isUnderWay()) {
      had = a.engine.contents();
      uuid = a.replications.synchronise('r', 'p', undefined);
    }
    await network.pass(below(3) === 0 ? below(200) : 0);
    if (stageOf() !== 'FINISHED') continue;
    const has = new Set(a.engine.contents());
    const got = latestOf(b.engine.log, seed);
    for (const entry of had.filter((each) => has.has(each))) {
      const [, key = '', value = ''] = /^map\/(\S+) = (\d+)/.exec(entry) ?? [];
      assert.ok((got.get(key) ?? '') >= value, `seed ${seed}: ${entry} was not sent`);
    }
    had = [];
  }
  isCalm = true;
  a.engine.durableCount = Number.POSITIVE_INFINITY;
  a.replications.release();
  a.control.resume();
  await network.pass(8000, 20);
  assert.ok(!isUnderWay(), `seed ${seed}: ${stageOf()}`);
  const { stage, message } = await a.ended(a.replications.synchronise('r', 'p', undefined));
  assert.equal(stage, 'FINISHED', `seed ${seed}: ${message}`);
  assert.equal(a.status.queueSize, 0, `seed ${seed}`);
  latestOf(b.engine.log, seed);
  const valuesOf = (member: typeof a) =>
    member.engine.contents().map((text) => text.split(' at ')[0]);
  const there = new Set(valuesOf(b));
  for (const entry of valuesOf(a)) assert.ok(there.has(entry), `seed ${seed}: ${entry} is missing`);
}

/**
 * Returns the latest value set for each key, and asserts that none is older than the previous one.
 */
function latestOf(log: readonly Mutation[], seed: number): ReadonlyMap<string, string> {
  const latest = new Map<string, string>();
  for (const { operation, key, value } of log) {
    if (operation !== SET) continue;
    const name = key.toBuffer().toString();
    const text = value.toBuffer().toString();
    const before = latest.get(name) ?? '';
    assert.ok(text >= before, `seed ${seed}: ${name} is ${text} after ${before}`);
    latest.set(name, text);
  }
  return latest;
}
