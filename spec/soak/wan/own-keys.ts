/**
 * A client of one member that writes keys of its own, and readers at all members. A reader must
 * never find a key absent that it has found before, unless the writer has removed it since.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../bench/harness.ts';
import { RawClient, requestBytes } from '../../integration/client.ts';

/** Number of keys that are written and read at a time. */
const KEYS = 30;
const DEPTH = 6;
const VALUE_BYTES_MAX = 300;
/** Delay between two batches of a writer or a reader, in ms. */
const PAUSE_MS = 10;

/** Changes of a key by the writer, numbered from 1 in the order of sending. */
interface KeyHistory {
  count: number;
  lastRemoval: number;
}

export class OwnKeys {
  readonly map: string;
  acknowledged = 0;
  readonly #random: Random;
  readonly #isOnce: boolean;
  readonly #histories: KeyHistory[] = [];
  /** Number of the last change that a reader has found, by member and key. */
  readonly #found = new Map<string, number>();
  /** First of the keys in use. */
  #first = 0;

  /** `isOnce`: whether each key is written at most once. */
  constructor(map: string, random: Random, isOnce: boolean) {
    this.map = map;
    this.#random = random;
    this.#isOnce = isOnce;
  }

  /** Writes until `isOver` returns true or the member ends. */
  async write(port: number, isOver: () => boolean): Promise<void> {
    const client = new RawClient(port);
    try {
      while (!isOver()) {
        client.send(Buffer.concat(Array.from({ length: DEPTH }, () => this.#change())));
        for (let count = 0; count < DEPTH; count++) {
          const response = await client.response();
          if (response === undefined) return;
          assert.equal(response.status, 200, response.body.toString());
          this.acknowledged++;
        }
        // Without the pause, a mesh would be busy with its backlog for the whole run.
        await sleep(PAUSE_MS);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    } finally {
      client.destroy();
    }
  }

  /** Reads each key in use once. `member` is the name of the member at that port. */
  async read(client: RawClient, member: string): Promise<void> {
    const keys = this.#keys();
    // The removals are compared after the values have been read.
    const values = await this.#values(client, keys);
    for (const [index, key] of keys.entries()) {
      const memberKey = `${member} ${key}`;
      const before = this.#found.get(memberKey) ?? 0;
      const value = values[index];
      const { lastRemoval } = this.#historyOf(key);
      const text = `${this.map}/k${key} is absent at ${member}, where change ${before} was found`;
      if (value === undefined) assert.ok(before === 0 || lastRemoval > before, text);
      else this.#found.set(memberKey, Math.max(before, Number(value.split(' ')[0])));
    }
  }

  /** Returns the values of all keys ever written. */
  async all(port: number): Promise<readonly (string | undefined)[]> {
    const client = new RawClient(port);
    const keys = [...this.#histories.keys()];
    const values: (string | undefined)[] = [];
    for (let from = 0; from < keys.length; from += 400) {
      values.push(...(await this.#values(client, keys.slice(from, from + 400))));
    }
    client.destroy();
    return values;
  }

  #keys(): number[] {
    return Array.from({ length: KEYS }, (_, index) => this.#first + index);
  }

  async #values(client: RawClient, keys: readonly number[]): Promise<(string | undefined)[]> {
    const requests = keys.map((key) => requestBytes('GET', `maps/${this.map}/k${key}`));
    client.send(Buffer.concat(requests));
    const values: (string | undefined)[] = [];
    for (const _ of keys) {
      const response = await client.response();
      // The member has ended or is starting.
      if (response === undefined || response.status === 503) throw new Error('not served');
      assert.ok(response.status === 200 || response.status === 204, `${response.status}`);
      values.push(response.status === 204 ? undefined : response.body.toString());
    }
    return values;
  }

  #change(): Buffer {
    const random = this.#random;
    const choice = random.below(200);
    if (choice === 0) {
      for (const history of this.#histories) remove(history);
      return requestBytes('DELETE', `maps/${this.map}`);
    }
    // The window advances, so that each key is written at most once.
    if (this.#isOnce && random.below(4) === 0) this.#first++;
    const key = this.#first + random.below(KEYS);
    const history = this.#historyOf(key);
    const path = `maps/${this.map}/k${key}`;
    if (choice < 70 || (this.#isOnce && history.count > 0)) {
      remove(history);
      return requestBytes('DELETE', path);
    }
    history.count++;
    const value = `${history.count} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
    return requestBytes('POST', path, Buffer.from(value));
  }

  #historyOf(key: number): KeyHistory {
    while (this.#histories.length <= key) this.#histories.push({ count: 0, lastRemoval: 0 });
    return this.#histories[key]!;
  }
}

function remove(history: KeyHistory): void {
  history.count++;
  history.lastRemoval = history.count;
}
