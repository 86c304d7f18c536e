/**
 * Random rounds of several engines on one server: producers offer and consumers poll, with and
 * without waiting, and the items found are collected. A suite for real servers and fake ones. Only
 * with a fake one does the seed also determine the timing.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import { ABSENT, APPLIED, FOUND, QUEUE_FULL } from '../../../src/engine/engine.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { Asker, type Seen } from '../results.ts';
import type { FaultyServer, StartServer } from './faulty-server.ts';

const SEED = Number(process.env.ENGINE_SEED ?? 1);
const ENGINES = 3;
const PRODUCERS = 6;
const ITEMS_EACH = 200;
/** More than the time of two queue checks, in ms. */
const CHECKED_MS = 2500;
/** Keys that remain: marks of members that have waited, and the cluster's record. */
const REMAINING = /\/[wc]:/;

interface QueueRoundOptions {
  readonly engines: readonly RedisEngine[];
  readonly random: Random;
  readonly queueCount: number;
  readonly consumersEach: number;
  /** Whether takes are cancelled and items returned; items are then found in any order. */
  readonly isDisturbed: boolean;
  readonly sleep: FaultyServer['sleep'];
}

interface QueueRoundResult {
  /** All items that were offered. */
  readonly offered: readonly string[];
  /** The items that were found and not returned, by queue, in the order of the results. */
  readonly found: ReadonlyMap<string, readonly string[]>;
}

export function describeQueueRounds(name: string, start: StartServer): void {
  /** Runs a round on a new server, then checks that every item was found once. */
  const round =
    (
      isDisturbed: boolean,
      check: (result: QueueRoundResult, server: FaultyServer) => void | Promise<void>,
    ) =>
    async (): Promise<void> => {
      const server = await start(false);
      await server.run(async () => {
        const engines = await Promise.all(Array.from({ length: ENGINES }, () => server.open()));
        const result = await queueRound({
          ...{ engines, random: new Random(SEED), sleep: server.sleep, isDisturbed },
          ...(isDisturbed
            ? { queueCount: 4, consumersEach: 2 }
            : { queueCount: 6, consumersEach: 4 }),
        });
        assert.deepEqual([...result.found.values()].flat().sort(), [...result.offered].sort());
        await server.untilIdle(...engines);
        await check(result, server);
        await Promise.all(engines.map((engine) => engine.close()));
      });
      await server.end();
    };

  describe(`${name}, several engines (ENGINE_SEED=${SEED})`, () => {
    it(
      'deliver each item once, those of a producer in order',
      round(false, ({ found }) => {
        for (const items of found.values()) {
          const last = new Map<string, number>();
          for (const item of items) {
            const [producer, number] = item.split(':') as [string, string];
            assert.ok(Number(number) > (last.get(producer) ?? -1), items.join(' '));
            last.set(producer, Number(number));
          }
        }
      }),
    );

    it(
      'lose no item if takes are cancelled and items are returned',
      round(true, async (_, server) => {
        await server.sleep(CHECKED_MS);
        const keys = await server.keys();
        assert.deepEqual(
          keys.filter((key) => !REMAINING.test(key)),
          [],
        );
      }),
    );
  });
}

/** Names of queues of different capacity; offers to small ones wait for takes. */
function queueName(index: number): string {
  return index % 2 === 0 ? `small ${index}` : `large ${index}`;
}

async function queueRound(options: QueueRoundOptions): Promise<QueueRoundResult> {
  const { engines, queueCount, consumersEach, isDisturbed } = options;
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
  const producers = Array.from({ length: PRODUCERS }, (_, producer) =>
    produce(options, producer, offered),
  );
  await Promise.all(producers);
  isOffering = false;
  await Promise.all(consumers);
  return { offered, found };
}

async function produce(
  { engines, random, queueCount, sleep }: QueueRoundOptions,
  producer: number,
  offered: string[],
): Promise<void> {
  const asker = new Asker(engines[producer % engines.length]!);
  for (let number = 0; number < ITEMS_EACH; number++) {
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
  { random, isDisturbed, sleep }: QueueRoundOptions,
  engine: RedisEngine,
  queue: string,
  items: string[],
  isOver: () => boolean,
): Promise<void> {
  const asker = new Asker(engine);
  for (;;) {
    const wasOver = isOver();
    const isCancelled = isDisturbed && !wasOver && random.below(4) === 0;
    const { keeper, ticket } = asker.wait(queue, random.below(3) * 20);
    if (isCancelled) {
      await sleep(random.below(4));
      engine.cancel(ticket);
    }
    const seen: Seen | undefined = isCancelled ? keeper.seen : await keeper.answered;
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
