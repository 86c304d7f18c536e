/** Covers src/persistence/recovery.ts. Data that fitted into memory must fit again at the next start. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { GridError } from '../../src/base/errors.ts';
import { MEMORY_FULL } from '../../src/engine/engine.ts';
import { readManifest, writeManifest } from '../../src/persistence/manifest.ts';
import type { AtOnce } from '../engine/embedded/at-once.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { contentOf } from './stored-model.ts';
import { openPersistent, type PersistentSubject, until } from './subject.ts';

const MIB = 1_048_576;
const FIRST = Number(process.env.SOAK_SEED ?? 1);
const LIVES = Number(process.env.SOAK_SIZE ?? 200) / 50;
/** The maximum number of operations between two starts. */
const OPERATIONS = Number(process.env.SOAK_OPERATIONS ?? 3000);
/** Length of a value, in bytes, and number of names that together do not fit into 1 MiB. */
const VALUE_BYTES = 8000;
const NAMES = 3000;
const STARTS = 3;
const PARTITIONS = [1, 13, 271];
const VALUE_LIMITS = [20, 500, 5000, 20_000, 60_000];
const MAPS = 3;
const QUEUES = 20;
/** Number of operations per turn, after which the written bytes are checked. */
const TURN = 50;
/** Number of names that exist at a time. */
const LIVING_NAMES = 200;
/** Share of the memory at which the log is replaced by a snapshot, which overlaps with writes. */
const SNAPSHOT_SHARE = 1 / 2;
const SEGMENT_BYTES = 262_144;
/** Maximum number of bytes written between two starts, as a multiple of the memory. */
const WRITTEN_MAX = 2;

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
  it(`starts again with all data that it accepted (${LIVES} lives from seed ${FIRST})`, async () => {
    let refusals = 0;
    for (let count = 0; count < LIVES; count++) {
      // Two lives with each size.
      const life = new Life(FIRST + count, (1 + ((count >> 1) % 8)) * MIB);
      await life.run().catch((error: unknown) => {
        throw new Error(`Life ${FIRST + count} failed`, { cause: error });
      });
      refusals += life.refusals;
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
    const values = { directory: '/memory', bytes: 2 * MIB, sufficient: 4 * MIB };
    await assert.rejects(tooLittle, new GridError('DATA_NEEDS_MEMORY', values));
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

/**
 * A life with little memory. Maps, queues and names are created and removed, with values of one range
 * of lengths at a time, and the memory is filled repeatedly, across clean stops and crashes of the
 * process. Each start must succeed with the same memory and find exactly the previous content.
 */
class Life {
  refusals = 0;
  readonly #random: Random;
  readonly #bytesMax: number;
  readonly #partitionCount: number;
  #storage: MemoryStorage;
  #names = 0;

  constructor(seed: number, bytesMax: number) {
    this.#random = new Random(seed * 2654435761);
    this.#bytesMax = bytesMax;
    this.#partitionCount = PARTITIONS[this.#random.below(PARTITIONS.length)] ?? 1;
    this.#storage = new MemoryStorage(this.#random, 'boot');
  }

  async run(): Promise<void> {
    let content: readonly string[] = [];
    for (let start = 0; start < STARTS; start++) {
      const subject = await this.#open();
      const { engine, persistence, quiet } = subject;
      assert.deepEqual(contentOf(engine), content, `start ${start}`);
      assert.ok(engine.memoryBytes <= this.#bytesMax, `${engine.memoryBytes} bytes at a start`);
      await this.#work(subject);
      if (this.#random.below(2) === 0) await quiet();
      content = contentOf(engine);
      if (this.#random.below(2) === 0) {
        await until(persistence.close(), quiet);
        engine.close();
      } else {
        subject.clock.endTurn();
        this.#storage = this.#storage.afterKill();
      }
    }
    const { engine } = await this.#open();
    assert.deepEqual(contentOf(engine), content);
  }

  #open(): Promise<PersistentSubject> {
    return openPersistent(this.#storage, {
      clock: new FakeClock(),
      partitionCount: this.#partitionCount,
      memoryBytesMax: this.#bytesMax,
      segmentBytes: SEGMENT_BYTES,
      snapshotBytesMin: this.#bytesMax * SNAPSHOT_SHARE,
    });
  }

  async #work({ ask, clock, persistence }: PersistentSubject): Promise<void> {
    const random = this.#random;
    const end = persistence.log.writtenBytes + this.#bytesMax * WRITTEN_MAX;
    const valueBytesMax = VALUE_LIMITS[random.below(VALUE_LIMITS.length)] ?? 1;
    const value = (): Buffer => random.bytes(random.below(valueBytesMax + 1));
    const keys = Math.ceil((this.#bytesMax / valueBytesMax) * (1 + random.below(3)));
    // Also bounds the operations, because a refused one writes nothing.
    const operations = Math.min(keys * 4, OPERATIONS);
    for (let rest = operations; rest > 0 && persistence.log.writtenBytes < end; rest -= TURN) {
      for (let step = 0; step < TURN; step++) this.#operate(ask, keys, value);
      clock.endTurn();
      if (random.below(4) > 0 && this.#storage.pump()) await nextTurn();
      clock.advance(random.below(4));
    }
  }

  #operate(ask: AtOnce, keys: number, value: () => Buffer): void {
    const random = this.#random;
    const choice = random.below(1000);
    const map = `map ${random.below(MAPS)}`;
    const key = `key ${random.below(keys)}`;
    const queue = `queue ${random.below(QUEUES)}`;
    let outcome = 0;
    if (choice < 650) outcome = ask.set(map, key, value(), 'text/plain').outcome;
    else if (choice < 750) ask.delete(map, key);
    else if (choice === 750 && random.below(20) === 0) ask.clear(map);
    else if (choice < 850) outcome = ask.offer(queue, value()).outcome;
    else if (choice < 920) ask.poll(queue);
    else if (choice === 920) for (let each = 0; each < 500; each++) ask.poll(queue);
    else this.#name(ask);
    if (outcome === MEMORY_FULL) this.refusals++;
  }

  /** Adds a map, and deletes one of the LIVING_NAMES before it. */
  #name(ask: AtOnce): void {
    const number = this.#names++;
    ask.set(`name ${number}`, 'key', Buffer.from(`${number}`));
    if (number % 7 > 0)
      ask.delete(`name ${number - LIVING_NAMES + this.#random.below(LIVING_NAMES)}`, 'key');
    else ask.clear(`name ${number - LIVING_NAMES}`);
  }
}
