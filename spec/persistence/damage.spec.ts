/**
 * Covers src/persistence. One seeded damage to a data directory in memory, of a member that has
 * stopped or was killed: a file is truncated, zeroed, changed in one bit, swapped, duplicated or
 * removed. A start must refuse the directory or recover the guaranteed changes. After a stop these
 * are all changes. After a kill they are those that were confirmed 100 ms before it or, after a
 * reboot, those that were synced. The soak runs many more.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { GridError } from '../../src/base/errors.ts';
import type { Mutation } from '../../src/engine/mutation.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { bytesOf, type Files, storageOf, withFlippedBit } from './damaged-directory.ts';
import { changeAtRandom } from './random-changes.ts';
import { contentOf, countThatLeaves } from './stored-model.ts';
import { openPersistent, until } from './subject.ts';

const ROUNDS = Number(process.env.SOAK_SIZE ?? 300) / 20;
const FIRST = Number(process.env.SOAK_SEED ?? 1);
const DAMAGES = ['cut', 'zeroed', 'flipped', 'swapped', 'duplicated', 'removed'] as const;
/** Time before a kill at which changes must have been confirmed to be guaranteed, in ms. */
const PROMISED_MS = 100;

test(`random damage leads to a refusal, or to a start with all guaranteed changes, from seed ${FIRST} on`, async () => {
  const counts = { refused: 0, started: 0 };
  for (let seed = FIRST; seed < FIRST + ROUNDS; seed++) counts[await damageRound(seed)]++;
  assert.ok(counts.refused > 0 && counts.started > 0, JSON.stringify(counts));
});

/** Resolves with the outcome: refused, or started with all guaranteed changes. */
async function damageRound(seed: number): Promise<'refused' | 'started'> {
  const random = new Random(seed * 2654435761);
  // The storage has a separate generator, because the number of its calls depends on the speed of
  // the machine.
  const storage = new MemoryStorage(new Random(seed), 'boot');
  const isStopped = random.below(2) === 0;
  const written = await writeAtRandom(storage, random, isStopped);
  const isSameRun = random.below(2) === 0;
  const promised = isStopped
    ? written.history.length
    : isSameRun
      ? written.confirmed
      : written.synced;
  const files = storage.files;
  const { what, damaged } = damageOf(files, random);
  const next = storageOf(damaged, seed, isSameRun ? 'boot' : 'other');
  const how = `seed ${seed}: ${what}, ${isStopped ? 'stopped' : 'killed'}, ${next.bootId}`;
  try {
    const { engine, persistence } = await openPersistent(next, { segmentBytes: 1024 });
    const count = countThatLeaves(written.history, contentOf(engine));
    assert.ok(count >= promised, `${how}: ${count} exist, ${promised} were guaranteed`);
    assert.equal(persistence.member.values.clusterState, 'FROZEN', how);
    return 'started';
  } catch (error) {
    if (error instanceof GridError && error.code.startsWith('DATA_')) return 'refused';
    throw error;
  }
}

/**
 * Makes changes. Resolves with all of them, and the numbers of those that are guaranteed after a
 * kill and of those that were synced.
 */
async function writeAtRandom(storage: MemoryStorage, random: Random, isStopped: boolean) {
  const history: Mutation[] = [];
  const snapshotBytesMin = random.below(2) === 0 ? 8192 : Number.POSITIVE_INFINITY;
  const options = { segmentBytes: 1024, snapshotBytesMin, history };
  const { ask, persistence, quiet, pass } = await openPersistent(storage, options);
  await until(persistence.member.save({ clusterState: 'FROZEN' }), quiet);
  let confirmed = 0;
  let synced = 0;
  for (let count = 1 + random.below(150); count > 0; count--) {
    changeAtRandom(ask, random);
    await quiet();
    if (random.below(5) === 0) {
      confirmed = history.length;
      await pass(PROMISED_MS);
    }
    if (random.below(20) > 0) continue;
    await until(persistence.log.sync(), quiet);
    await quiet();
    synced = history.length;
  }
  if (isStopped) await until(persistence.close(), quiet);
  else storage.afterKill();
  return { history, confirmed, synced };
}

function damageOf(files: Files, random: Random): { what: string; damaged: Files } {
  const names = [...files.keys()].filter((name) => name !== 'reserve').sort();
  const name = pick(names, random);
  const other = pick(names, random);
  const bytes = bytesOf(files, name);
  const at = random.below(bytes.length);
  const damage = pick(DAMAGES, random);
  const what = `${name} ${damage} at ${at}, ${other}`;
  if (damage === 'flipped') {
    return { what, damaged: withFlippedBit(files, name, at * 8 + random.below(8)) };
  }
  const damaged = new Map(files);
  if (damage === 'cut') damaged.set(name, bytes.subarray(0, at));
  else if (damage === 'zeroed') damaged.set(name, Buffer.from(bytes).fill(0, at));
  else if (damage === 'removed') damaged.delete(name);
  else damaged.set(other, bytes);
  if (damage === 'swapped') damaged.set(name, files.get(other) ?? bytes);
  return { what, damaged };
}

function pick<Value>(values: readonly Value[], random: Random): Value {
  return values[random.below(values.length)] as Value;
}
