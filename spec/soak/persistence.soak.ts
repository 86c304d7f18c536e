/**
 * A member's data across crashes. Simulated: SOAK_SIZE / 4 seeded members in each mode, each of
 * which crashes up to four times at random calls to the storage. On a real disk: SOAK_KILLS rounds
 * in each mode of kill -9 at a random moment while CLIENTS connections set, delete, clear, offer
 * and poll. A checker records every response. After each restart, the content must be exactly what
 * the responses permit.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { programWords } from '../../bench/load/program.ts';
import { RawClient } from '../integration/client.ts';
import { crashRound } from '../persistence/crash-round.ts';
import { portOf } from './process-ports.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const KILLS = Number(process.env.SOAK_KILLS ?? Math.ceil(SIZE / 50));
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const MODES = (process.env.SOAK_MODES ?? 'always,interval,never').split(',') as Mode[];
const CLIENTS = 64;
const KEYS = 10;
const QUEUES = 4;
const VALUE_BYTES_MAX = 400;
const RUN_MS_MAX = 800;

type Mode = 'always' | 'interval' | 'never';

/** Value of a key, and the value that an operation without a response may have stored. */
interface Slot {
  /** Undefined if the key is absent. */
  confirmed: string | undefined;
  /** Result of an operation without a response. */
  possible: { readonly value: string | undefined } | undefined;
}

class Queue {
  /** Items whose offers are acknowledged, and that are not yet delivered. */
  readonly waiting = new Set<string>();
  /** Items whose offers have no response. */
  readonly possible = new Set<string>();
  readonly delivered = new Set<string>();
  pollsUnderWay = 0;
}

class Checker {
  readonly slots: Slot[][] = Array.from({ length: CLIENTS }, () =>
    Array.from({ length: KEYS }, () => ({ confirmed: undefined, possible: undefined })),
  );
  readonly queues = Array.from({ length: QUEUES }, () => new Queue());
  operations = 0;
  missingItems = 0;

  /** Reads everything and asserts that it is possible. From then on, the content is confirmed. */
  async check(port: number): Promise<void> {
    await Promise.all([
      ...this.slots.map((_, client) => this.#checkMap(port, client)),
      ...this.queues.map((_, queue) => this.#checkQueue(port, queue)),
    ]);
  }

  async #checkMap(port: number, client: number): Promise<void> {
    const connection = new RawClient(port);
    for (const [key, slot] of (this.slots[client] ?? []).entries()) {
      const response = await connection.request('GET', `maps/own-${client}/k${key}`);
      const value = response.status === 204 ? undefined : response.body.toString();
      const isRight = value === slot.confirmed || (slot.possible && value === slot.possible.value);
      const wanted = JSON.stringify(slot).slice(0, 300);
      assert.ok(isRight, `client ${client} key ${key}: ${value?.slice(0, 50)}, not ${wanted}`);
      slot.confirmed = value;
      slot.possible = undefined;
    }
    connection.destroy();
  }

  async #checkQueue(port: number, index: number): Promise<void> {
    const queue = this.queues[index] ?? new Queue();
    const connection = new RawClient(port);
    for (;;) {
      const response = await connection.request('DELETE', `queues/q${index}/0`);
      if (response.status === 204) break;
      const item = response.body.toString();
      assert.ok(!queue.delivered.has(item), `${item} was delivered twice`);
      const wasOffered = queue.waiting.delete(item) || queue.possible.delete(item);
      assert.ok(wasOffered, `${item} was never offered`);
      queue.delivered.add(item);
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
  async work(port: number, client: number, random: Random, round: number): Promise<void> {
    const connection = new RawClient(port);
    try {
      for (let count = 0; ; count++) {
        await this.#operate(connection, client, random, `${round}-${client}-${count}`);
        this.operations++;
      }
    } catch (error) {
      // Any other error is the end of the killed member; the operation under way is recorded.
      if (error instanceof assert.AssertionError) throw error;
    } finally {
      connection.destroy();
    }
  }

  async #operate(connection: RawClient, client: number, random: Random, id: string): Promise<void> {
    const choice = random.below(100);
    const slots = this.slots[client] ?? [];
    const value = `${id} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
    const key = random.below(KEYS);
    const index = random.below(QUEUES);
    const map = `maps/own-${client}`;
    const slot = slots.slice(key, key + 1);
    if (choice < 40) await change(connection, 'POST', `${map}/k${key}`, slot, value);
    else if (choice < 55) await change(connection, 'DELETE', `${map}/k${key}`, slot);
    else if (choice < 58) await change(connection, 'DELETE', map, slots);
    else if (choice < 80) await this.#offer(connection, index, value);
    else await this.#poll(connection, index, choice < 90 ? 0 : 1);
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
    if (response.status === 204) return;
    const item = response.body.toString();
    assert.ok(!queue.delivered.has(item), `${item} was delivered twice`);
    queue.waiting.delete(item);
    queue.possible.delete(item);
    queue.delivered.add(item);
  }
}

async function change(
  connection: RawClient,
  method: string,
  path: string,
  slots: readonly Slot[],
  value?: string,
): Promise<void> {
  for (const slot of slots) slot.possible = { value };
  const body = value === undefined ? undefined : Buffer.from(value);
  const response = await connection.request(method, path, body);
  assert.equal(response.status, 200);
  for (const slot of slots) {
    slot.confirmed = value;
    slot.possible = undefined;
  }
}

async function start(directory: string, mode: Mode): Promise<[ChildProcess, number]> {
  const flags = ['serve', '--port', '0', '--enable-group', 'DATA', '--data-dir', directory];
  const words = [...programWords('bin/gridnode'), ...flags];
  const env = { ...process.env, GRID_PERSISTENCE_SYNC: mode };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return [child, await portOf(child)];
}

for (const mode of MODES) {
  test(`Simulated members with sync ${mode} lose no data in crashes at random calls (seed ${SEED})`, async () => {
    let mutations = 0;
    for (let seed = SEED; seed < SEED + SIZE / 4; seed++) {
      // Every second member has changes that name their paths.
      const hasPaths = seed % 2 === 0;
      const report = await crashRound(seed, mode, hasPaths).catch((error: unknown) => {
        const paths = hasPaths ? ' and paths' : '';
        throw new Error(`seed ${seed} with sync ${mode}${paths} failed`, { cause: error });
      });
      mutations += report.mutations;
    }
    console.log(`${mode}: ${SIZE} crashes, ${mutations} mutations`);
  });

  test(`A member with sync ${mode} loses no data when it is killed ${KILLS} times (seed ${SEED})`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gridnode-kill-'));
    const random = new Random(SEED);
    const checker = new Checker();
    try {
      for (let round = 0; round <= KILLS; round++) {
        const [child, port] = await start(directory, mode);
        const exited = once(child, 'exit');
        await checker.check(port);
        const clients = Array.from({ length: CLIENTS }, (_, client) =>
          checker.work(port, client, new Random(random.next()), round),
        );
        await new Promise((resolve) => setTimeout(resolve, random.below(RUN_MS_MAX)));
        child.kill('SIGKILL');
        await Promise.all([...clients, exited]);
      }
      const { operations, missingItems } = checker;
      console.log(
        `${mode}: ${KILLS} kills, ${operations} responses, ${missingItems} items lost with polls`,
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}
