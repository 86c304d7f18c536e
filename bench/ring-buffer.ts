/**
 * Queues through the engine's contract: offers and polls of 100-byte items one by one, on a queue
 * that remains short and on one that grows long. Then a bare ring buffer is filled to 50,000,000
 * places (full size) and emptied, to find the longest single step.
 */
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { CellStore } from '../src/engine/embedded/cell-store.ts';
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts';
import { IdColumns } from '../src/engine/embedded/id-columns.ts';
import { RingBuffers } from '../src/engine/embedded/ring-buffer.ts';
import { APPLIED, FOUND, type OperationResult, type Receiver } from '../src/engine/engine.ts';
import type { Bench, Harness } from './harness.ts';

const PARTITIONS = 271;
const ITEM_BYTES = 100;

export const bench: Bench = {
  name: 'ring-buffer',
  about: 'queues of the embedded engine: 100-byte items one by one, and a ring of 50,000,000',
  run(harness: Harness): void {
    const operations = harness.pick(2000, 1_000_000);
    const queue = new Queue();
    queue.offer();
    harness.measure({
      name: 'offer and poll, short queue',
      operations,
      run: (_, count) => {
        for (let index = 0; index < count; index++) {
          queue.offer();
          queue.poll();
        }
      },
    });
    queue.poll();
    harness.measure({
      name: 'offer and poll, empty queue',
      operations,
      run: (_, count) => {
        for (let index = 0; index < count; index++) {
          queue.offer();
          queue.poll();
        }
      },
    });
    harness.measure({
      name: 'offer, growing queue',
      operations,
      batch: 1,
      before: () => queue.empty(),
      run: (_, count) => {
        for (let index = 0; index < count; index++) queue.offer();
      },
    });
    harness.measure({
      name: 'poll, shrinking queue',
      operations,
      batch: 1,
      before: () => queue.fill(operations),
      run: (_, count) => {
        for (let index = 0; index < count; index++) queue.poll();
      },
    });
    measureRing(harness, harness.pick(20_000, 50_000_000));
  },
};

/** One queue, with the arguments of calls on it. */
class Queue implements Receiver {
  readonly #engine = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock: new SystemClock(),
    queueCapacity: () => Number.POSITIVE_INFINITY,
  });
  readonly #name = new Span().set(Buffer.from('queue'), 0, 5);
  readonly #type = new Span().set(Buffer.from('text/plain'), 0, 10);
  readonly #item = new Span().set(Buffer.alloc(ITEM_BYTES, 'item '), 0, ITEM_BYTES);
  #outcome = 0;
  #length = 0;

  onResult(answer: OperationResult): void {
    this.#outcome = answer.outcome;
  }

  offer(): void {
    this.#engine.offer(this.#name, this.#item, this.#type, this);
    if (this.#outcome !== APPLIED) throw new Error(`Cannot offer: outcome ${this.#outcome}`);
    this.#length++;
  }

  poll(): void {
    this.#engine.take(this.#name, 0, this);
    if (this.#outcome !== FOUND) throw new Error(`Cannot poll: outcome ${this.#outcome}`);
    this.#length--;
  }

  empty(): void {
    while (this.#length > 0) this.poll();
  }

  fill(length: number): void {
    while (this.#length < length) this.offer();
  }
}

function measureRing(harness: Harness, length: number): void {
  const store = new CellStore({ partitionCount: 1, clock: new SystemClock() });
  const rings = new RingBuffers(store, new IdColumns(store.pool));
  const { log } = store.openPartition(0);
  harness.measure({
    name: 'ring alone, append',
    operations: length,
    batch: 64,
    rounds: 1,
    warm: false,
    run: (_, count) => {
      for (let index = 0; index < count; index++) {
        rings.makeRoom(1, log);
        rings.append(1, 1);
      }
    },
  });
  harness.measure({
    name: 'ring alone, drop',
    operations: length,
    batch: 64,
    rounds: 1,
    warm: false,
    run: (_, count) => {
      for (let index = 0; index < count; index++) rings.dropFirst(1, log);
    },
  });
}
