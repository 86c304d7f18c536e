/**
 * A client of one member that writes keys of its own, and readers of all members: a reader must never find a
 * key absent that it has found before, unless its writer has removed it since.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../bench/harness.ts';
import { RawClient, requestBytes } from '../../integration/client.ts';

/** Keys that are written and read at a time. */
const KEYS = 30;
const DEPTH = 6;
const VALUE_BYTES_MAX = 300;
/** Between the pieces of a writer's and a reader's work. */
const PAUSE_MS = 10;

/** What the writer has done with a key; its changes are counted from 1, as they are sent. */
interface Story {
  count: number;
  lastRemoval: number;
}

export class OwnKeys {
  readonly map: string;
  answered = 0;
  readonly #random: Random;
  readonly #isOnce: boolean;
  readonly #stories: Story[] = [];
  /** By member and key, the last change that a reader has found. */
  readonly #found = new Map<string, number>();
  /** The first of the keys in use. */
  #first = 0;

  /** `isOnce`: each key is written once. */
  constructor(map: string, random: Random, isOnce: boolean) {
    this.map = map;
    this.#random = random;
    this.#isOnce = isOnce;
  }

  /** Writes until `isOver`, or the member is gone. */
  async write(port: number, isOver: () => boolean): Promise<void> {
    const client = new RawClient(port);
    try {
      while (!isOver()) {
        client.send(Buffer.concat(Array.from({ length: DEPTH }, () => this.#change())));
        for (let count = 0; count < DEPTH; count++) {
          const response = await client.response();
          if (response === undefined) return;
          assert.equal(response.status, 200, response.body.toString());
          this.answered++;
        }
        // Otherwise a mesh spends the run on what it has to send.
        await sleep(PAUSE_MS);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    } finally {
      client.destroy();
    }
  }

  /** Reads the keys in use once; `member` is the name of the one at that port. */
  async read(client: RawClient, member: string): Promise<void> {
    const keys = this.#keys();
    // Removals up to now; the values are found later.
    const values = await this.#values(client, keys);
    for (const [index, key] of keys.entries()) {
      const place = `${member} ${key}`;
      const before = this.#found.get(place) ?? 0;
      const value = values[index];
      const { lastRemoval } = this.#storyOf(key);
      const text = `${this.map}/k${key} is gone at ${member}, found with change ${before}`;
      if (value === undefined) assert.ok(before === 0 || lastRemoval > before, text);
      else this.#found.set(place, Math.max(before, Number(value.split(' ')[0])));
    }
  }

  /** The values of all keys ever written. */
  async all(port: number): Promise<readonly (string | undefined)[]> {
    const client = new RawClient(port);
    const keys = [...this.#stories.keys()];
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
      // It is gone, or starts.
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
      for (const story of this.#stories) remove(story);
      return requestBytes('DELETE', `maps/${this.map}`);
    }
    // The window moves on, so that each key is written at most once.
    if (this.#isOnce && random.below(4) === 0) this.#first++;
    const key = this.#first + random.below(KEYS);
    const story = this.#storyOf(key);
    const path = `maps/${this.map}/k${key}`;
    if (choice < 70 || (this.#isOnce && story.count > 0)) {
      remove(story);
      return requestBytes('DELETE', path);
    }
    story.count++;
    const value = `${story.count} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
    return requestBytes('POST', path, Buffer.from(value));
  }

  #storyOf(key: number): Story {
    while (this.#stories.length <= key) this.#stories.push({ count: 0, lastRemoval: 0 });
    return this.#stories[key]!;
  }
}

function remove(story: Story): void {
  story.count++;
  story.lastRemoval = story.count;
}
