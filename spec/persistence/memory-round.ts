/**
 * One seeded life of a member with little memory. Maps, queues and names are created and removed,
 * with values of one range of lengths at a time, and the memory is filled repeatedly, across clean
 * stops and crashes of the process. Each start must succeed with the same memory and find exactly
 * the previous content.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { MEMORY_FULL } from '../../src/engine/engine.ts';
import type { AtOnce } from '../engine/embedded/at-once.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { contentOf } from './stored-model.ts';
import { openPersistent, type PersistentSubject, until } from './subject.ts';

const STARTS = 3;
const PARTITIONS = [1, 13, 271];
const VALUE_BYTES = [20, 500, 5000, 20_000, 60_000];
const MAPS = 3;
const QUEUES = 20;
/** Number of operations per turn, after which the written bytes are checked. */
const TURN = 50;
/** Number of names that exist at a time. */
const NAMES = 200;
/** Share of the memory at which the log is replaced by a snapshot, which overlaps with writes. */
const SNAPSHOT_SHARE = 1 / 2;
const SEGMENT_BYTES = 262_144;
/** Maximum number of bytes written between two starts, as a multiple of the memory. */
const WRITTEN_MAX = 2;

export interface MemoryReport {
  operations: number;
  refusals: number;
  snapshots: number;
  /** The largest share of the memory in use after a start. */
  most: number;
}

/** `operationsMax`: the maximum number of operations between two starts. */
export async function memoryRound(
  seed: number,
  bytesMax: number,
  operationsMax: number,
): Promise<MemoryReport> {
  const life = new Life(seed, bytesMax, operationsMax);
  await life.run();
  return life.report;
}

class Life {
  readonly report: MemoryReport = { operations: 0, refusals: 0, snapshots: 0, most: 0 };
  readonly #random: Random;
  readonly #bytesMax: number;
  readonly #operationsMax: number;
  readonly #partitionCount: number;
  #storage: MemoryStorage;
  #names = 0;

  constructor(seed: number, bytesMax: number, operationsMax: number) {
    this.#random = new Random(seed * 2654435761);
    this.#bytesMax = bytesMax;
    this.#operationsMax = operationsMax;
    this.#partitionCount = PARTITIONS[this.#random.below(PARTITIONS.length)] ?? 1;
    this.#storage = new MemoryStorage(this.#random, 'boot');
  }

  async run(): Promise<void> {
    let content: readonly string[] = [];
    for (let start = 0; start < STARTS; start++) {
      const subject = await this.#open();
      const { engine, persistence, quiet, events } = subject;
      assert.deepEqual(contentOf(engine), content, `start ${start}`);
      this.report.most = Math.max(this.report.most, engine.memoryBytes / this.#bytesMax);
      await this.#work(subject);
      if (this.#random.below(2) === 0) await quiet();
      content = contentOf(engine);
      this.report.snapshots += events.filter((each) => each === 'snapshot').length;
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
    const valueBytesMax = VALUE_BYTES[random.below(VALUE_BYTES.length)] ?? 1;
    const value = (): Buffer => random.bytes(random.below(valueBytesMax + 1));
    const keys = Math.ceil((this.#bytesMax / valueBytesMax) * (1 + random.below(3)));
    // Also bounds the operations, because a refused one writes nothing.
    const operations = Math.min(keys * 4, this.#operationsMax);
    for (let rest = operations; rest > 0 && persistence.log.writtenBytes < end; rest -= TURN) {
      for (let step = 0; step < TURN; step++) this.#operate(ask, keys, value);
      clock.endTurn();
      if (random.below(4) > 0 && this.#storage.pump()) await turn();
      clock.advance(random.below(4));
    }
  }

  #operate(ask: AtOnce, keys: number, value: () => Buffer): void {
    const random = this.#random;
    const choice = random.below(1000);
    const map = `map ${random.below(MAPS)}`;
    const key = `key ${random.below(keys)}`;
    const queue = `queue ${random.below(QUEUES)}`;
    this.report.operations++;
    let outcome = 0;
    if (choice < 650) outcome = ask.set(map, key, value(), 'text/plain').outcome;
    else if (choice < 750) ask.delete(map, key);
    else if (choice === 750 && random.below(20) === 0) ask.clear(map);
    else if (choice < 850) outcome = ask.offer(queue, value()).outcome;
    else if (choice < 920) ask.poll(queue);
    else if (choice === 920) for (let each = 0; each < 500; each++) ask.poll(queue);
    else this.#name(ask);
    if (outcome === MEMORY_FULL) this.report.refusals++;
  }

  /** Adds a map, and deletes one of the NAMES before it. */
  #name(ask: AtOnce): void {
    const number = this.#names++;
    ask.set(`name ${number}`, 'key', Buffer.from(`${number}`));
    if (number % 7 > 0) ask.delete(`name ${number - NAMES + this.#random.below(NAMES)}`, 'key');
    else ask.clear(`name ${number - NAMES}`);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
