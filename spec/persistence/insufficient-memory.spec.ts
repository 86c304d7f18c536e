/** Data that fitted into memory must fit again at the next start. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { GridError } from '../../src/base/errors.ts';
import { MEMORY_FULL } from '../../src/engine/engine.ts';
import { readManifest, writeManifest } from '../../src/persistence/manifest.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { memoryRound } from './memory-round.ts';
import { contentOf } from './stored-model.ts';
import { openPersistent, until } from './subject.ts';

const MIB = 1_048_576;
const SEED = Number(process.env.SEED ?? 1);
const LIVES = 2;
const OPERATIONS = 3000;
/** Length of a value, in bytes, and number of names that together do not fit into 1 MiB. */
const VALUE_BYTES = 8000;
const NAMES = 3000;

function open(storage: MemoryStorage, memoryBytesMax: number) {
  const clock = new FakeClock();
  const sizes = { partitionCount: 13, segmentBytes: 65_536, snapshotBytesMin: 2 * MIB };
  return openPersistent(storage, { clock, memoryBytesMax, ...sizes });
}

/** Returns a storage with about this many bytes of data, and their content. */
async function filled(memoryBytesMax: number, bytes: number) {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const { engine, ask, persistence, quiet } = await open(storage, memoryBytesMax);
  const value = Buffer.alloc(VALUE_BYTES);
  for (let key = 0; key < bytes / VALUE_BYTES; key++) ask.set('m', `${key}`, value);
  await quiet();
  const content = contentOf(engine);
  await until(persistence.close(), quiet);
  return { storage, content };
}

describe('a member with little memory', () => {
  it(`starts again with all data that it accepted (${LIVES} lives from seed ${SEED})`, async () => {
    let refusals = 0;
    for (let seed = SEED; seed < SEED + LIVES; seed++) {
      const report = await memoryRound(seed, MIB, OPERATIONS).catch((error: unknown) => {
        throw new Error(`Life ${seed} failed`, { cause: error });
      });
      assert.ok(report.most <= 1, `${report.most} of the memory after a start`);
      refusals += report.refusals;
    }
    assert.ok(refusals > 1000, `${refusals} refusals`);
  });

  it('starts again after more names were created and removed than fit into its memory', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const { ask, quiet } = await open(storage, MIB);
    for (let number = 0; number < NAMES; number++) {
      const name = `name ${number}`.padEnd(600);
      assert.notEqual(ask.set(name, 'key', Buffer.alloc(8)).outcome, MEMORY_FULL);
      if (number % 2 === 0) ask.delete(name, 'key');
      else ask.clear(name);
    }
    ask.set('m', 'key', Buffer.from('value'));
    await quiet();
    const { engine, recovered } = await open(storage.afterKill(), MIB);
    assert.equal(contentOf(engine).length, 1);
    assert.ok(recovered.records > NAMES);
  });

  it('is refused only if max-memory is less than before, with a sufficient value', async () => {
    const { storage, content } = await filled(4 * MIB, 3 * MIB);
    const tooLittle = open(storage.afterKill(), 2 * MIB);
    const message =
      'Cannot recover: the data in "/memory" needs more memory than max-memory, ' +
      `${2 * MIB} bytes; max-memory ${4 * MIB} is sufficient`;
    await assert.rejects(tooLittle, new GridError('DATA_NEEDS_MEMORY', valuesOf(2 * MIB, 4 * MIB)));
    await assert.rejects(tooLittle, { message });
    const { engine } = await open(storage.afterKill(), 4 * MIB);
    assert.deepEqual(contentOf(engine), content);
  });

  it('starts with less if its data fits, and then names the new value', async () => {
    const { storage, content } = await filled(8 * MIB, 2 * MIB);
    const { engine, persistence, quiet } = await open(storage, 4 * MIB);
    assert.deepEqual(contentOf(engine), content);
    await until(persistence.close(), quiet);
    const { memoryBytesMax } = await until(readManifest(storage), async () => storage.pump());
    assert.equal(memoryBytesMax, 4 * MIB);
  });

  it('also gets a sufficient value if no file contains the old one', async () => {
    const { storage } = await filled(4 * MIB, 3 * MIB);
    const pump = async () => storage.pump();
    const { memoryBytesMax, ...rest } = await until(readManifest(storage), pump);
    assert.equal(memoryBytesMax, 4 * MIB);
    await until(writeManifest(storage, rest), pump);
    let refusal = '';
    await open(storage.afterKill(), MIB).catch((error: Error) => {
      refusal = error.message;
    });
    const sufficient = Number(/max-memory (\d+) is sufficient/.exec(refusal)?.[1]);
    assert.ok(sufficient > 3 * MIB && sufficient < 16 * MIB, refusal);
    await open(storage.afterKill(), sufficient);
  });
});

function valuesOf(bytes: number, sufficient: number) {
  return { directory: '/memory', bytes, sufficient };
}
