/**
 * A member's data across crashes, on a real disk: SOAK_KILLS rounds in each mode of kill -9 at a
 * random moment while 64 connections set, delete, clear, offer and poll. Checkers record every
 * response. After each restart, the content must be exactly what the responses permit.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { contentsOf, MapLoad } from './wan/map-load.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const KILLS = Number(process.env.SOAK_KILLS ?? Math.ceil(SIZE / 50));
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const MODES = (process.env.SOAK_MODES ?? 'always,interval,never').split(',') as Mode[];
const MAP_CLIENTS = 40;
const QUEUE_CLIENTS = 24;
const QUEUES = 4;
const VALUE_BYTES_MAX = 400;
const RUN_MS_MAX = 800;

type Mode = 'always' | 'interval' | 'never';

class Queue {
  /** Items whose offers are acknowledged, and that are not yet delivered. */
  readonly waiting = new Set<string>();
  /** Items whose offers have no response. */
  readonly possible = new Set<string>();
  readonly delivered = new Set<string>();
  pollsUnderWay = 0;

  deliver(item: string): void {
    assert.ok(!this.delivered.has(item), `${item} was delivered twice`);
    const wasOffered = this.waiting.delete(item) || this.possible.delete(item);
    assert.ok(wasOffered, `${item} was never offered`);
    this.delivered.add(item);
  }
}

class QueueChecker {
  readonly queues = Array.from({ length: QUEUES }, () => new Queue());
  operations = 0;
  missingItems = 0;

  /** Polls everything and asserts that it is possible. */
  async check(port: number): Promise<void> {
    await Promise.all(this.queues.map((_, queue) => this.#checkQueue(port, queue)));
  }

  async #checkQueue(port: number, index: number): Promise<void> {
    const queue = this.queues[index] ?? new Queue();
    const connection = new RawClient(port);
    for (;;) {
      const response = await connection.request('DELETE', `queues/q${index}/0`);
      if (response.status === 204) break;
      queue.deliver(response.body.toString());
    }
    const missing = [...queue.waiting];
    assert.ok(
      missing.length <= queue.pollsUnderWay,
      `${missing.length} items lost, ${queue.pollsUnderWay} polls were under way`,
    );
    this.missingItems += missing.length;
    // A poll may have removed these items or not; they must not appear again.
    for (const item of [...missing, ...queue.possible]) queue.delivered.add(item);
    queue.waiting.clear();
    queue.possible.clear();
    queue.pollsUnderWay = 0;
    connection.destroy();
  }

  /** Runs operations on one connection until the member ends. */
  async work(port: number, random: Random, id: string): Promise<void> {
    const connection = new RawClient(port);
    try {
      for (; ; this.operations++) {
        const choice = random.below(40);
        const index = random.below(QUEUES);
        const item = `${id}-${this.operations} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
        if (choice < 22) await this.#offer(connection, index, item);
        else await this.#poll(connection, index, choice < 31 ? 0 : 1);
      }
    } catch (error) {
      // Any other error is the end of the killed member; the operation under way is recorded.
      if (error instanceof assert.AssertionError) throw error;
    } finally {
      connection.destroy();
    }
  }

  async #offer(connection: RawClient, index: number, item: string): Promise<void> {
    const queue = this.queues[index] ?? new Queue();
    queue.possible.add(item);
    await connection.request('POST', `queues/q${index}`, Buffer.from(item));
    // A poll may have delivered the item before the response to the offer.
    if (queue.possible.delete(item)) queue.waiting.add(item);
  }

  async #poll(connection: RawClient, index: number, seconds: number): Promise<void> {
    const queue = this.queues[index] ?? new Queue();
    queue.pollsUnderWay++;
    const response = await connection.request('DELETE', `queues/q${index}/${seconds}`);
    queue.pollsUnderWay--;
    if (response.status === 200) queue.deliver(response.body.toString());
  }
}

for (const mode of MODES) {
  test(`A member with sync ${mode} loses no data when it is killed ${KILLS} times (seed ${SEED})`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gridnode-kill-'));
    const random = new Random(SEED);
    const load = new MapLoad({ name: mode, seed: SEED, clients: MAP_CLIENTS, depth: 1 });
    const checker = new QueueChecker();
    const environment = { GRID_PERSISTENCE_SYNC: mode };
    const flags = ['--enable-group', 'DATA', '--data-dir', directory];
    try {
      for (let round = 0; round <= KILLS; round++) {
        const { child, exited, port } = await serveWith({ environment }, ...flags);
        load.check(await contentsOf(port, load.maps));
        await checker.check(port);
        const clients = Array.from({ length: QUEUE_CLIENTS }, (_, client) =>
          checker.work(port, new Random(random.next()), `${round}-${client}`),
        );
        const writing = load.run(port, () => false);
        await sleep(random.below(RUN_MS_MAX));
        child.kill('SIGKILL');
        await Promise.all([...clients, writing, exited]);
      }
      const { operations, missingItems } = checker;
      console.log(
        `${mode}: ${KILLS} kills, ${load.acknowledged + operations} responses, ${missingItems} items lost with polls`,
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}
