/**
 * A member under random operations for SOAK_SECONDS, with SOAK_SIZE keys in all. Several clients,
 * each with a map and a queue of its own and a model of their content, compare every response with
 * the model. At the end everything is read once more, and the member must drain. SOAK_SEED repeats
 * a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { programWords } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 5);
const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const CLIENTS = 8;
const SMALL_BYTES_MAX = 2000;
/** Longer than one piece of a response. */
const LARGE_BYTES_MAX = 300_000;
const QUEUE_ITEMS_MAX = 1000;
const TYPE = 'application/octet-stream';

class Client {
  readonly #random: Random;
  readonly #client: RawClient;
  readonly #map: string;
  readonly #queue: string;
  readonly #keyCount: number;
  readonly #entries = new Map<number, Buffer>();
  readonly #items: Buffer[] = [];
  operations = 0;

  constructor(port: number, index: number) {
    this.#random = new Random(SEED + index);
    this.#client = new RawClient(port);
    this.#map = `maps/soak-${index}`;
    this.#queue = `queues/soak-${index}`;
    this.#keyCount = Math.ceil(SIZE / CLIENTS);
  }

  async run(until: number): Promise<void> {
    while (performance.now() < until) {
      await this.#step(this.#random.below(1000));
      this.operations += 1;
    }
    for (let key = 0; key < this.#keyCount; key++) await this.#get(key);
    while (this.#items.length > 0) await this.#poll();
    await this.#poll();
    this.#client.destroy();
  }

  async #step(choice: number): Promise<void> {
    const key = this.#random.below(this.#keyCount);
    if (choice < 350) return this.#set(key);
    if (choice < 650) return this.#get(key);
    if (choice < 750) return this.#delete(key);
    if (choice < 751) return this.#clear();
    if (choice < 875 && this.#items.length < QUEUE_ITEMS_MAX) return this.#offer();
    return this.#poll();
  }

  async #set(key: number): Promise<void> {
    const value = this.#value();
    assert.equal(
      (await this.#client.request('POST', `${this.#map}/${key}`, value, TYPE)).status,
      200,
    );
    this.#entries.set(key, value);
  }

  async #get(key: number): Promise<void> {
    const result = await this.#client.request('GET', `${this.#map}/${key}`);
    this.#expect(result, this.#entries.get(key), `key ${key} of ${this.#map}`);
  }

  async #delete(key: number): Promise<void> {
    assert.equal((await this.#client.request('DELETE', `${this.#map}/${key}`)).status, 200);
    this.#entries.delete(key);
  }

  async #clear(): Promise<void> {
    assert.equal((await this.#client.request('DELETE', this.#map)).status, 200);
    this.#entries.clear();
  }

  async #offer(): Promise<void> {
    const value = this.#value();
    assert.equal((await this.#client.request('POST', this.#queue, value, TYPE)).status, 200);
    this.#items.push(value);
  }

  async #poll(): Promise<void> {
    const result = await this.#client.request('DELETE', `${this.#queue}/0`);
    this.#expect(result, this.#items.shift(), this.#queue);
  }

  #expect(result: ReceivedResponse, expected: Buffer | undefined, subject: string): void {
    assert.equal(result.status, expected === undefined ? 204 : 200, `status of ${subject}`);
    if (expected === undefined) return;
    assert.ok(result.body.equals(expected), `${subject} has other bytes than were stored`);
    assert.equal(result.fields.get('content-type'), TYPE, `content type of ${subject}`);
  }

  #value(): Buffer {
    const isLarge = this.#random.below(200) === 0;
    const length = this.#random.below(isLarge ? LARGE_BYTES_MAX : SMALL_BYTES_MAX);
    return Buffer.alloc(length, this.#random.bytes(16));
  }
}

test(`A member behaves like its model for ${SECONDS} s (seed ${SEED})`, async (context) => {
  const flags = ['serve', '--port', '0', '--enable-group', 'DATA'];
  const server = new ServerProcess('gridnode', [...programWords('bin/gridnode'), ...flags]);
  try {
    await server.serving();
    const until = performance.now() + SECONDS * 1000;
    const clients = Array.from({ length: CLIENTS }, (_, index) => new Client(server.port, index));
    await Promise.all(clients.map((client) => client.run(until)));
    const operations = clients.reduce((sum, client) => sum + client.operations, 0);
    context.diagnostic(
      `${operations} operations, ${server.residentMib()?.toFixed(0)} MiB resident`,
    );
  } finally {
    await server.stop();
  }
  assert.equal(server.exitCode, 0);
});
