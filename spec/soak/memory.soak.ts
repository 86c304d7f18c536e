/**
 * Members whose memory is used up: SOAK_SIZE / 50 rounds. A member has a random max-memory. It is
 * filled repeatedly with values of random lengths, in maps that are cleared, queues, and maps of one
 * entry. It ends by SIGTERM or kill -9, must start with the same flags, and must have exactly the
 * acknowledged changes. A change that was under way at a kill has been applied completely or not at
 * all.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { PossibleEntries } from './possible-entries.ts';

const ROUNDS = Math.ceil(Number(process.env.SOAK_SIZE ?? 1000) / 50);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const ROUNDS_PER_MEMBER = 4;
const MIB = 1_048_576;
const CLIENTS = 8;
const SYNC_MODES = ['always', 'interval', 'never'];
/**
 * Maximum memory for which values of a length are used, and that length, in bytes: filling much
 * memory with short values takes long.
 */
const LENGTHS: readonly (readonly [number, number])[] = [
  [16 * MIB, 1000],
  [64 * MIB, 6000],
  [256 * MIB, 20_000],
  [256 * MIB, 60_000],
];
/**
 * Number of refusals before entries are freed, and number of times that they are freed in a round.
 */
const REFUSALS = 20;
const REFILLS = 3;

/** Two maps and a queue that only one client uses, with a model of their content. */
class Owner {
  refusals = 0;
  operations = 0;
  readonly #number: number;
  readonly #random: Random;
  readonly #keys: number;
  readonly #lengthMax: number;
  readonly #entries = new PossibleEntries();
  #queue: Buffer[] = [];
  #offered: Buffer | undefined;
  #isPolling = false;
  #names = 0;

  constructor(number: number, random: Random, keys: number, lengthMax: number) {
    this.#number = number;
    this.#random = random;
    this.#keys = keys;
    this.#lengthMax = lengthMax;
  }

  /** Works until the memory has been filled and freed a few times, or the member ends. */
  async work(port: number): Promise<void> {
    const client = new RawClient(port);
    try {
      for (let refill = 0; refill <= REFILLS; refill++) {
        const enough = this.refusals + REFUSALS;
        const most = this.operations + this.#keys * 3;
        while (this.refusals < enough && this.operations < most) await this.#operate(client);
        if (refill < REFILLS) await this.#free(client);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    } finally {
      client.destroy();
    }
  }

  /** Asserts that the content is possible. From then on, this content is confirmed. */
  async check(port: number): Promise<void> {
    await this.#entries.check(port);
    const client = new RawClient(port);
    const found: Buffer[] = [];
    for (;;) {
      const { status, body } = await client.request('DELETE', `queues/q${this.#number}/0`);
      if (status !== 200) break;
      found.push(body);
    }
    const expected = [...this.#queue];
    // The poll that was under way may have removed the first item.
    if (this.#isPolling && found[0]?.equals(expected[0]!) !== true) expected.shift();
    if (this.#offered !== undefined && found.length > expected.length) expected.push(this.#offered);
    assert.equal(found.length, expected.length, `items of queue ${this.#number}`);
    assert.ok(found.every((item, index) => item.equals(expected[index]!)));
    this.#queue = [];
    this.#offered = undefined;
    this.#isPolling = false;
    client.destroy();
  }

  async #operate(client: RawClient): Promise<void> {
    const choice = this.#random.below(1000);
    this.operations++;
    if (choice < 700) await this.#change(client, this.#randomPath(), this.#randomValue());
    else if (choice < 780) await this.#change(client, this.#randomPath(), undefined);
    else if (choice < 860) await this.#offer(client);
    else if (choice < 920) await this.#poll(client);
    else await this.#addName(client);
  }

  async #free(client: RawClient): Promise<void> {
    const choice = this.#random.below(3);
    if (choice === 0) {
      const map = `maps/m${this.#number}-${this.#random.below(2)}`;
      assert.equal((await this.#entries.clear(client, map)).status, 200);
    } else if (choice === 1) while (this.#queue.length > 0) await this.#poll(client);
    else
      for (let step = this.#keys >> 1; step > 0; step--)
        await this.#change(client, this.#randomPath());
  }

  async #change(client: RawClient, path: string, value?: Buffer): Promise<void> {
    const { status } = await this.#entries.change(client, path, value);
    this.#isApplied(status, value === undefined);
  }

  /** Adds a map of one entry, and removes another. */
  async #addName(client: RawClient): Promise<void> {
    const number = this.#names++;
    const path = (each: number): string => `maps/n${this.#number}-${each}/k`;
    await this.#change(client, path(number), Buffer.from(`${number}`));
    await this.#change(client, path(number - 20));
  }

  async #offer(client: RawClient): Promise<void> {
    const item = this.#randomValue();
    this.#offered = item;
    const { status } = await client.request('POST', `queues/q${this.#number}`, item);
    this.#offered = undefined;
    if (this.#isApplied(status, false)) this.#queue.push(item);
  }

  async #poll(client: RawClient): Promise<void> {
    this.#isPolling = true;
    const { status, body } = await client.request('DELETE', `queues/q${this.#number}/0`);
    this.#isPolling = false;
    const item = this.#queue.shift();
    assert.equal(status, item === undefined ? 204 : 200);
    assert.ok(item === undefined || body.equals(item));
  }

  /** Whether the change was applied. Only a change that needs memory may be refused. */
  #isApplied(status: number, isRemoval: boolean): boolean {
    if (status === 503 && !isRemoval) this.refusals++;
    else assert.equal(status, 200);
    return status === 200;
  }

  #randomPath(): string {
    const map = `m${this.#number}-${this.#random.below(2)}`;
    return `maps/${map}/k${this.#random.below(this.#keys)}`;
  }

  #randomValue(): Buffer {
    const length = this.#random.below(this.#lengthMax + 1);
    return Buffer.alloc(length, `${this.#number}.${this.operations} `);
  }
}

/** Ends the member while its clients work, or after that. */
async function end(child: ChildProcess, working: Promise<unknown>, random: Random): Promise<void> {
  const exited = once(child, 'exit');
  if (random.below(3) === 0)
    await Promise.race([working, sleep(random.below(5000), undefined, { ref: false })]);
  else await working;
  child.kill(random.below(2) === 0 ? 'SIGTERM' : 'SIGKILL');
  await Promise.all([working, exited]);
}

async function runMember(seed: number): Promise<string> {
  const random = new Random(seed * 2654435761);
  const directory = mkdtempSync(join(tmpdir(), 'gridnode-memory-'));
  const bytesMax = (8 + random.below(249)) * MIB;
  const lengths = LENGTHS.filter(([most]) => bytesMax <= most);
  const lengthMax = lengths[random.below(lengths.length)]?.[1] ?? 1;
  const keys = Math.ceil(((bytesMax / lengthMax) * (2 + random.below(3))) / CLIENTS);
  const sync = SYNC_MODES[random.below(SYNC_MODES.length)] ?? '';
  const environment = { GRID_PERSISTENCE_SYNC: sync };
  const places = ['--enable-group', 'DATA', '--data-dir', directory];
  const flags = ['--max-memory', `${bytesMax}`, ...places];
  const owners = Array.from(
    { length: CLIENTS },
    (_, number) => new Owner(number, new Random(random.next()), keys, lengthMax),
  );
  try {
    for (let round = 0; round <= ROUNDS_PER_MEMBER; round++) {
      const { child, port } = await serveWith({ environment }, ...flags);
      try {
        await Promise.all(owners.map((owner) => owner.check(port)));
        if (round < ROUNDS_PER_MEMBER) {
          await end(child, Promise.all(owners.map((owner) => owner.work(port))), random);
        }
      } finally {
        child.kill('SIGKILL');
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  const sum = (of: (owner: Owner) => number): number =>
    owners.reduce((all, each) => all + of(each), 0);
  const summary = `${sum((each) => each.operations)} operations, ${sum((each) => each.refusals)} refused`;
  return `${bytesMax / MIB} MiB, values up to ${lengthMax} bytes, ${sync}: ${summary}`;
}

test(`Members with little memory keep their data across ${ROUNDS} restarts (seed ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + Math.ceil(ROUNDS / ROUNDS_PER_MEMBER); seed++) {
    const summary = await runMember(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed} failed`, { cause: error });
    });
    console.log(`${seed}: ${summary}`);
  }
});
