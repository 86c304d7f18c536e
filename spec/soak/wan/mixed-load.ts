/**
 * Clients of several clusters that replicate to one another. Each cluster has keys that only its own
 * clients change: a change without a success is repeated, at any member, so their final state is known.
 * With `isShared`, all clusters also change the same keys, and set keys that expire.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../bench/harness.ts';
import { FaultClient } from '../servers/fault-client.ts';

const HOST = '127.0.0.1';
/** Keys of a worker, and workers of a cluster. */
const KEYS = 10;
const WORKERS = 8;
const RESPONSE_MS_MAX = 15_000;
const THINK_MS = 20;
/** Delay before a change is repeated, in ms. */
const RETRY_MS = 50;

interface LoadParts {
  readonly random: Random;
  /** The ports of each cluster's members. */
  readonly clusters: readonly (readonly number[])[];
  /** Numbers of the clusters whose clients write. */
  readonly writers: readonly number[];
  readonly isShared: boolean;
  /** Whether a key is set only while it is absent. */
  readonly isOnce: boolean;
}

/** Maps that all clusters change; the entries of the second one expire. */
const SHARED = ['both-a', 'both-short'];

export class MixedLoad {
  readonly #parts: LoadParts;
  /** By path, the value of a key that only one cluster changes; undefined if it is absent. */
  readonly #own = new Map<string, string | undefined>();
  readonly #sharedPaths = new Set<string>();
  readonly #work: Promise<void>[] = [];
  #isEnding = false;
  #count = 0;
  acknowledged = 0;
  repeated = 0;

  constructor(parts: LoadParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#isEnding = false;
    for (const cluster of this.#parts.writers) {
      for (let worker = 0; worker < WORKERS; worker++) this.#work.push(this.#run(cluster, worker));
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#work.splice(0));
  }

  /** Asserts that each cluster has the keys that it must have. `reached`: clusters of a writer. */
  async compare(reached: (writer: number) => readonly number[]): Promise<void> {
    const { clusters } = this.#parts;
    const all = await Promise.all(clusters.map((ports) => this.#valuesOf(ports)));
    const wrong: string[] = [];
    for (const [path, value] of this.#own) {
      for (const cluster of reached(Number(path.slice('maps/own-'.length).split('/')[0]))) {
        const found = all[cluster]!.get(path);
        if (found !== value) wrong.push(`${path} at ${cluster}: ${found}, not ${value}`);
      }
    }
    for (const path of this.#sharedPaths) {
      const values = all.map((each) => each.get(path));
      if (new Set(values).size > 1) wrong.push(`${path}: ${values}`);
    }
    assert.deepEqual(wrong.slice(0, 8), [], `${wrong.length} of ${this.#own.size} keys differ`);
  }

  async #valuesOf(ports: readonly number[]): Promise<Map<string, string | undefined>> {
    const client = new FaultClient(HOST, ports[0]!, RESPONSE_MS_MAX);
    const values = new Map<string, string | undefined>();
    for (const path of [...this.#own.keys(), ...this.#sharedPaths]) {
      const response = await client.request('GET', path);
      assert.ok(typeof response === 'object', `${response}`);
      assert.ok(response.status === 200 || response.status === 204, `${response.status}`);
      values.set(path, response.status === 200 ? response.body.toString() : undefined);
    }
    client.end();
    return values;
  }

  async #run(cluster: number, worker: number): Promise<void> {
    const { random, clusters, isShared } = this.#parts;
    const clients = clusters[cluster]!.map((port) => new FaultClient(HOST, port, RESPONSE_MS_MAX));
    while (!this.#isEnding) {
      if (isShared && random.below(2) === 0) await this.#changeShared(clients);
      else await this.#changeOwn(clients, `own-${cluster}`, worker);
      await sleep(random.below(2 * THINK_MS));
    }
    for (const client of clients) client.end();
  }

  async #changeOwn(clients: readonly FaultClient[], prefix: string, worker: number): Promise<void> {
    const { random, isOnce } = this.#parts;
    const map = `maps/${prefix}/w${worker}`;
    const path = `${map}-k${random.below(KEYS)}`;
    const isDelete = random.below(3) === 0 || (isOnce && this.#own.get(path) !== undefined);
    const value = isDelete ? undefined : `${++this.#count}`;
    for (;;) {
      if (await this.#isDone(clients, isDelete ? 'DELETE' : 'POST', path, value)) break;
      this.repeated++;
      await sleep(RETRY_MS);
    }
    this.#own.set(path, value);
  }

  async #changeShared(clients: readonly FaultClient[]): Promise<void> {
    const { random } = this.#parts;
    const map = `maps/${SHARED[random.below(2)]}`;
    const path = `${map}/k${random.below(KEYS)}`;
    this.#sharedPaths.add(path);
    const kind = random.below(40);
    if (kind === 0) await this.#isDone(clients, 'DELETE', map);
    else if (kind < 12) await this.#isDone(clients, 'DELETE', path);
    else await this.#isDone(clients, 'POST', path, `${++this.#count}`);
  }

  async #isDone(
    clients: readonly FaultClient[],
    method: string,
    path: string,
    value?: string,
  ): Promise<boolean> {
    const client = clients[this.#parts.random.below(clients.length)]!;
    const body = value === undefined ? undefined : Buffer.from(value);
    const response = await client.request(method, path, body);
    if (typeof response === 'string' || response.status === 503) return false;
    assert.equal(response.status, 200, response.body.toString());
    this.acknowledged++;
    return true;
  }
}
