/**
 * A member's data across crashes. In memory: SOAK_SIZE / 4 seeded lives in each mode, each of which
 * crashes up to four times at random calls. On a real disk: SOAK_KILLS rounds in each mode of kill -9 at
 * a random moment while CLIENTS connections set, delete, clear, offer and poll. A checker knows every
 * answer. After each restart it finds everything that must be there, and nothing that must not.
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
import { portOf } from './port-of.ts';

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

/** The value of a key, and the value that an operation without an answer may have given it. */
interface Slot {
  /** Undefined for none. */
  sure: string | undefined;
  /** The result of an operation without an answer. */
  perhaps: { readonly value: string | undefined } | undefined;
}

class Queue {
  /** Items offered, with an answer, and not yet delivered. */
  readonly waiting = new Set<string>();
  /** Items offered without an answer. */
  readonly perhaps = new Set<string>();
  readonly delivered = new Set<string>();
  pollsUnderWay = 0;
}

class Checker {
  readonly slots: Slot[][] = Array.from({ length: CLIENTS }, () =>
    Array.from({ length: KEYS }, () => ({ sure: undefined, perhaps: undefined })),
  );
  readonly queues = Array.from({ length: QUEUES }, () => new Queue());
  operations = 0;
  missingItems = 0;

  /** Reads everything, and takes the found content as sure from now on. */
  async check(port: number): Promise<void> {
    await Promise.all([
      ...this.slots.map((_, client) => this.#checkMap(port, client)),
      ...this.queues.map((_, queue) => this.#checkQueue(port, queue)),
    ]);
  }

  async #checkMap(port: number, client: number): Promise<void> {
    const connection = new RawClient(port);
    for (const [key, slot] of (this.slots[client] ?? []).entries()) {
      const answer = await connection.request('GET', `maps/own-${client}/k${key}`);
      const value = answer.status === 204 ? undefined : answer.body.toString();
      const isRight = value === slot.sure || (slot.perhaps && value === slot.perhaps.value);
      const wanted = JSON.stringify(slot).slice(0, 300);
      assert.ok(isRight, `client ${client} key ${key}: ${value?.slice(0, 50)}, not ${wanted}`);
      slot.sure = value;
      slot.perhaps = undefined;
    }
    connection.destroy();
  }

  async #checkQueue(port: number, index: number): Promise<void> {
    const queue = this.queues[index] ?? new Queue();
    const connection = new RawClient(port);
    for (;;) {
      const answer = await connection.request('DELETE', `queues/q${index}/0`);
      if (answer.status === 204) break;
      const item = answer.body.toString();
      assert.ok(!queue.delivered.has(item), `${item} was delivered twice`);
      const isKnown = queue.waiting.delete(item) || queue.perhaps.delete(item);
      assert.ok(isKnown, `${item} was never offered`);
      queue.delivered.add(item);
    }
    const missing = [...queue.waiting];
    assert.ok(
      missing.length <= queue.pollsUnderWay,
      `${missing.length} items lost, ${queue.pollsUnderWay} polls were under way`,
    );
    this.missingItems += missing.length;
    // Whether a poll had taken them or not, they must not come back.
    for (const item of [...missing, ...queue.perhaps]) queue.delivered.add(item);
    queue.waiting.clear();
    queue.perhaps.clear();
    queue.pollsUnderWay = 0;
    connection.destroy();
  }

  /** One connection at work until the member is gone. */
  async work(port: number, client: number, random: Random, round: number): Promise<void> {
    const connection = new RawClient(port);
    try {
      for (let count = 0; ; count++) {
        await this.#operate(connection, client, random, `${round}-${client}-${count}`);
        this.operations++;
      }
    } catch (error) {
      // Otherwise the member was killed: the operation under way is noted as such.
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
    queue.perhaps.add(item);
    await connection.request('POST', `queues/q${index}`, Buffer.from(item));
    // A poll may have delivered it before its own answer came.
    if (queue.perhaps.delete(item)) queue.waiting.add(item);
  }

  async #poll(connection: RawClient, index: number, seconds: number): Promise<void> {
    const queue = this.queues[index] ?? new Queue();
    queue.pollsUnderWay++;
    const answer = await connection.request('DELETE', `queues/q${index}/${seconds}`);
    queue.pollsUnderWay--;
    if (answer.status === 204) return;
    const item = answer.body.toString();
    assert.ok(!queue.delivered.has(item), `${item} was delivered twice`);
    queue.waiting.delete(item);
    queue.perhaps.delete(item);
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
  for (const slot of slots) slot.perhaps = { value };
  const body = value === undefined ? undefined : Buffer.from(value);
  const answer = await connection.request(method, path, body);
  assert.equal(answer.status, 200);
  for (const slot of slots) {
    slot.sure = value;
    slot.perhaps = undefined;
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
  test(`lives with sync ${mode}, cut off at random calls (seed ${SEED})`, async () => {
    let mutations = 0;
    for (let seed = SEED; seed < SEED + SIZE / 4; seed++) {
      // Every second life has changes that name their paths.
      const hasPaths = seed % 2 === 0;
      const report = await crashRound(seed, mode, hasPaths).catch((error: unknown) => {
        const paths = hasPaths ? ' and paths' : '';
        throw new Error(`Life ${seed} with sync ${mode}${paths} went wrong`, { cause: error });
      });
      mutations += report.mutations;
    }
    console.log(`${mode}: ${SIZE} crashes, ${mutations} mutations`);
  });

  test(`a member with sync ${mode}, killed ${KILLS} times (seed ${SEED})`, async () => {
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
      console.log(`${mode}: ${KILLS} kills, ${operations} answers, ${missingItems} items of polls`);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}
