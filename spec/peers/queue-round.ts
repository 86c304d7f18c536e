/**
 * A random round of several engines on one server: producers offer and consumers poll, with and
 * without waiting, and the items found are collected. Numbers are seeded; the timing of the engines
 * is not.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../bench/harness.ts';
import { ABSENT, APPLIED, FOUND, QUEUE_FULL } from '../../src/engine/engine.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { Asker, type Seen } from '../engine/results.ts';

export interface QueueRoundOptions {
  readonly engines: readonly RedisEngine[];
  readonly random: Random;
  readonly queueCount: number;
  readonly producerCount: number;
  readonly itemsEach: number;
  readonly consumersEach: number;
  /** Whether takes are cancelled and items returned; items are then found in any order. */
  readonly isDisturbed: boolean;
}

export interface QueueRoundResult {
  /** All items that were offered. */
  readonly offered: readonly string[];
  /** The items that were found and not returned, by queue, in the order of the results. */
  readonly found: ReadonlyMap<string, readonly string[]>;
}

/** Names of queues of different capacity; offers to small ones wait for takes. */
function queueName(index: number): string {
  return index % 2 === 0 ? `small ${index}` : `large ${index}`;
}

export async function queueRound(options: QueueRoundOptions): Promise<QueueRoundResult> {
  const { engines, queueCount, producerCount, consumersEach, isDisturbed } = options;
  const offered: string[] = [];
  const found = new Map<string, string[]>();
  let isOffering = true;
  const consumers: Promise<void>[] = [];
  for (let index = 0; index < queueCount; index++) {
    const queue = queueName(index);
    const items: string[] = [];
    found.set(queue, items);
    const isOver = () => !isOffering;
    // Results of different engines are not ordered.
    const pollers = isDisturbed ? engines : [engines[index % engines.length]!];
    for (const engine of pollers) {
      for (let count = 0; count < consumersEach; count++) {
        consumers.push(consume(options, engine, queue, items, isOver));
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
  { engines, random, queueCount, itemsEach }: QueueRoundOptions,
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
      if (outcome !== QUEUE_FULL) throw new Error(`an offer has the outcome ${outcome}`);
      await sleep(1);
    }
    offered.push(item);
  }
}

/** Polls until all items have been offered and the queue is empty. */
async function consume(
  { random, isDisturbed }: QueueRoundOptions,
  engine: RedisEngine,
  queue: string,
  items: string[],
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
    if (seen.outcome !== FOUND) throw new Error(`a take has the outcome ${seen.outcome}`);
    const isDelivered = !isDisturbed || wasOver || random.below(3) > 0;
    if (isDelivered) items.push(seen.value);
    const ended = await asker.acknowledge(seen.hold, isDelivered);
    if (ended.outcome !== APPLIED)
      throw new Error(`an acknowledgement has the outcome ${ended.outcome}`);
  }
}

/** Takes an item; resolves with undefined if the take is cancelled before it has a result. */
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
