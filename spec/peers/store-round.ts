/**
 * A random round of several engines on one server: producers offer, consumers poll on all of them, with and
 * without waiting; what is found is kept. Numbers are seeded; which engine is faster is not.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../bench/harness.ts';
import { ABSENT, APPLIED, FOUND, QUEUE_FULL } from '../../src/engine/engine.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { Asker, type Seen } from '../engine/results.ts';

export interface StoreRoundOptions {
  readonly engines: readonly RedisEngine[];
  readonly random: Random;
  readonly queueCount: number;
  readonly producerCount: number;
  readonly itemsEach: number;
  readonly consumersEach: number;
  /** Whether takes are cancelled, and items given back; then no order is kept. */
  readonly isDisturbed: boolean;
}

export interface StoreRoundResult {
  /** What was offered. */
  readonly offered: readonly string[];
  /** What was found, and kept, by queue, in the order of the answers. */
  readonly found: ReadonlyMap<string, readonly string[]>;
}

/** Names with limits, so that offers have to wait for takes. */
function queueName(index: number): string {
  return index % 2 === 0 ? `small ${index}` : `large ${index}`;
}

export async function storeRound(options: StoreRoundOptions): Promise<StoreRoundResult> {
  const { engines, queueCount, producerCount, consumersEach, isDisturbed } = options;
  const offered: string[] = [];
  const found = new Map<string, string[]>();
  let isOffering = true;
  const consumers: Promise<void>[] = [];
  for (let index = 0; index < queueCount; index++) {
    const queue = queueName(index);
    const kept: string[] = [];
    found.set(queue, kept);
    const isOver = () => !isOffering;
    // Answers to different engines have no order between them.
    const own = isDisturbed ? engines : [engines[index % engines.length]!];
    for (const engine of own) {
      for (let count = 0; count < consumersEach; count++) {
        consumers.push(consume(options, engine, queue, kept, isOver));
      }
    }
  }
  const producers = Array.from({ length: producerCount }, (_, producer) =>
    produce(options, producer, offered),
  );
  await Promise.all(producers);
  isOffering = false;
  await Promise.all(consumers);
  return { offered, found };
}

async function produce(
  { engines, random, queueCount, itemsEach }: StoreRoundOptions,
  producer: number,
  offered: string[],
): Promise<void> {
  const asker = new Asker(engines[producer % engines.length]!);
  for (let number = 0; number < itemsEach; number++) {
    const queue = queueName(random.below(queueCount));
    const item = `${producer}:${number}`;
    for (;;) {
      const { outcome } = await asker.offer(queue, item);
      if (outcome === APPLIED) break;
      if (outcome !== QUEUE_FULL) throw new Error(`an offer is answered ${outcome}`);
      await sleep(1);
    }
    offered.push(item);
  }
}

/** Polls until all is offered and the queue is empty. */
async function consume(
  { random, isDisturbed }: StoreRoundOptions,
  engine: RedisEngine,
  queue: string,
  kept: string[],
  isOver: () => boolean,
): Promise<void> {
  const asker = new Asker(engine);
  for (;;) {
    const wasOver = isOver();
    const isCancelled = isDisturbed && !wasOver && random.below(4) === 0;
    const seen = await poll(asker, queue, random.below(3) * 20, isCancelled ? random.below(4) : -1);
    if (seen === undefined) continue;
    if (seen.outcome === ABSENT) {
      if (wasOver && (await asker.queueSize(queue)).count === 0) return;
      continue;
    }
    if (seen.outcome !== FOUND) throw new Error(`a take is answered ${seen.outcome}`);
    const isKept = !isDisturbed || wasOver || random.below(3) > 0;
    if (isKept) kept.push(seen.value);
    const ended = await asker.acknowledge(seen.hold, isKept);
    if (ended.outcome !== APPLIED) throw new Error(`a hold ends with ${ended.outcome}`);
  }
}

/** The answer to a take; undefined where it was cancelled, after so many ms, without one. */
async function poll(
  asker: Asker,
  queue: string,
  timeoutMs: number,
  cancelAfterMs: number,
): Promise<Seen | undefined> {
  const { keeper, ticket } = asker.wait(queue, timeoutMs);
  if (cancelAfterMs < 0) return keeper.answered;
  if (cancelAfterMs > 0) await sleep(cancelAfterMs);
  asker.engine.cancel(ticket);
  return keeper.seen;
}
