/**
 * Connections that set, overwrite, delete and clear as fast as they are answered, several requests ahead.
 * Each has a map of its own and knows which values its keys may have; a change without an answer may have
 * happened or not. Where the load is told to, each also writes to a map that loads of other members write to.
 */
import assert from 'node:assert/strict';
import { Random } from '../../../bench/harness.ts';
import { RawClient, requestBytes } from '../../integration/client.ts';

const KEYS = 40;
const VALUE_BYTES_MAX = 200;
/** Operations of a key that are remembered. */
const TOLD = 8;
/** Reads under way while contents are read. */
const READS = 500;

type Value = string | undefined;

interface Slot {
  /** Undefined for none. */
  sure: Value;
  /** What changes without an answer may have made of it. */
  readonly perhaps: Set<Value>;
}

export interface MapLoadParts {
  /** In the names of its maps. */
  readonly name: string;
  readonly seed: number;
  readonly clients?: number;
  /** Requests ahead of their answers, of each client. */
  readonly depth?: number;
  /** Whether maps are written to that other loads write to, too. */
  readonly isShared?: boolean;
}

/** What became of an operation, for people. */
interface Told {
  readonly text: string;
  /** When it was answered, of the wall clock; 0: it was not. */
  answeredMs: number;
}

interface Operation {
  readonly bytes: Buffer;
  readonly told: Told;
  /** The slots that it changes, and to what; none of a map that others write to. */
  readonly slots: readonly Slot[];
  readonly value: Value;
}

export class MapLoad {
  readonly #name: string;
  readonly #random: Random;
  readonly #depth: number;
  readonly #isShared: boolean;
  readonly #slots: readonly (readonly Slot[])[];
  /** By map and key, the last operations first to last. */
  readonly #told = new Map<string, Told[]>();
  #count = 0;
  answered = 0;
  /** When the last answer came. */
  lastMs = 0;

  constructor({ name, seed, clients = 64, depth = 8, isShared = false }: MapLoadParts) {
    this.#name = name;
    this.#random = new Random(seed);
    this.#depth = depth;
    this.#isShared = isShared;
    this.#slots = Array.from({ length: clients }, () =>
      Array.from({ length: KEYS }, () => ({ sure: undefined, perhaps: new Set<Value>() })),
    );
  }

  /** The maps that only this load writes to, and those that others do, too. */
  get maps(): readonly string[] {
    const numbers = [...this.#slots.keys()];
    const shared = this.#isShared ? numbers.map((number) => `both-${number}`) : [];
    return [...numbers.map((number) => `own-${this.#name}-${number}`), ...shared];
  }

  /** Runs until `isOver`, or the member is gone. */
  async run(port: number, isOver: () => boolean): Promise<void> {
    await Promise.all(this.#slots.map((_, client) => this.#work(port, client, isOver)));
  }

  /**
   * Compares the contents of its own maps, as `contentsOf` read them, with the answers; from then on they
   * are sure.
   */
  check(contents: readonly (readonly Value[])[]): void {
    for (const [client, slots] of this.#slots.entries()) {
      for (const [key, slot] of slots.entries()) {
        const value = contents[client]?.[key];
        const { sure, perhaps } = slot;
        const wanted = () => [sure, ...perhaps].map((each) => each?.slice(0, 40)).join(' or ');
        assert.ok(
          value === sure || perhaps.has(value),
          `own-${this.#name}-${client}/k${key} is ${value?.slice(0, 40)}, not ${wanted()}`,
        );
        slot.sure = value;
        perhaps.clear();
      }
    }
  }

  async #work(port: number, client: number, isOver: () => boolean): Promise<void> {
    const connection = new RawClient(port);
    try {
      while (!isOver()) {
        const operations = Array.from({ length: this.#depth }, () => this.#operation(client));
        for (const { slots, value } of operations) {
          for (const { perhaps } of slots) perhaps.add(value);
        }
        connection.send(Buffer.concat(operations.map(({ bytes }) => bytes)));
        for (const [index, operation] of operations.entries()) {
          const response = await connection.response();
          // The member is gone.
          if (response === undefined) return;
          assert.equal(response.status, 200, response.body.toString());
          this.answered++;
          operation.told.answeredMs = Date.now();
          this.lastMs = performance.now();
          settle(operation, operations.slice(index + 1));
        }
      }
    } catch (error) {
      // Otherwise the connection ended within an answer.
      if (error instanceof assert.AssertionError) throw error;
    } finally {
      connection.destroy();
    }
  }

  #operation(client: number): Operation {
    const random = this.#random;
    const choice = random.below(1000);
    const isOwn = !this.#isShared || random.below(2) === 0;
    const map = isOwn ? `maps/own-${this.#name}-${client}` : `maps/both-${client}`;
    const key = random.below(KEYS);
    const path = `${map}/k${key}`;
    const all = isOwn ? (this.#slots[client] ?? []) : [];
    const slots = all.slice(key, key + 1);
    const number = this.#count++;
    if (choice < 5) {
      const paths = Array.from({ length: KEYS }, (_, each) => `${map}/k${each}`);
      const told = this.#tell(paths, `clear ${number}`);
      return { bytes: requestBytes('DELETE', map), told, slots: all, value: undefined };
    }
    if (choice < 200) {
      const told = this.#tell([path], `delete ${number}`);
      return { bytes: requestBytes('DELETE', path), told, slots, value: undefined };
    }
    const value = `${this.#name} ${number} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
    const told = this.#tell([path], `set ${number}`);
    return { bytes: requestBytes('POST', path, Buffer.from(value)), told, slots, value };
  }

  /** The last operations of a key, with when they were answered. */
  storyOf(path: string): string {
    const told = this.#told.get(`maps/${path}`) ?? [];
    const texts = told.map(({ text, answeredMs }) => `${text} at ${answeredMs || 'no time'}`);
    return `${this.#name}: ${texts.join(', ')}`;
  }

  #tell(paths: readonly string[], text: string): Told {
    const told = { text, answeredMs: 0 };
    for (const path of paths) {
      const all = this.#told.get(path) ?? [];
      if (all.length === 0) this.#told.set(path, all);
      all.push(told);
      if (all.length > TOLD) all.shift();
    }
    return told;
  }
}

/** The operation was answered; those in `later` not yet. */
function settle({ slots, value }: Operation, later: readonly Operation[]): void {
  for (const slot of slots) {
    slot.sure = value;
    slot.perhaps.clear();
    for (const other of later) if (other.slots.includes(slot)) slot.perhaps.add(other.value);
  }
}

/** The values of all keys of these maps at a member. */
export async function contentsOf(port: number, maps: readonly string[]): Promise<Value[][]> {
  const client = new RawClient(port);
  const paths = maps.flatMap((map) =>
    Array.from({ length: KEYS }, (_, key) => `maps/${map}/k${key}`),
  );
  const values: Value[] = [];
  for (let from = 0; from < paths.length; from += READS) {
    const some = paths.slice(from, from + READS);
    client.send(Buffer.concat(some.map((path) => requestBytes('GET', path))));
    for (const path of some) {
      const response = await client.response();
      assert.ok(response?.status === 200 || response?.status === 204, `${path} is read`);
      values.push(response.status === 204 ? undefined : response.body.toString());
    }
  }
  client.destroy();
  return maps.map((_, index) => values.slice(index * KEYS, (index + 1) * KEYS));
}

/** The contents that two members have of these maps, which must be the same; `loads` wrote to them. */
export async function sameContents(
  [one, other]: readonly [number, number],
  maps: readonly string[],
  loads: readonly MapLoad[],
): Promise<Value[][]> {
  const [first, second] = [await contentsOf(one, maps), await contentsOf(other, maps)];
  const different = maps.flatMap((map, index) =>
    (first[index] ?? []).flatMap((value, key) => {
      const there = second[index]?.[key];
      if (value === there) return [];
      const stories = loads.map((load) => load.storyOf(`${map}/k${key}`)).join('; ');
      return [`${map}/k${key}: ${said(value)} and ${said(there)} (${stories})`];
    }),
  );
  const told = `${different.length} differ: ${different.slice(0, 5).join('\n')}`;
  assert.equal(different.length, 0, told);
  return first;
}

function said(value: Value): string {
  return value === undefined ? 'none' : `"${value.slice(0, 30)}"`;
}
