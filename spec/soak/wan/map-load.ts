/**
 * Connections that set, overwrite, delete and clear as fast as they receive responses, with several
 * requests in flight. Each connection has a map of its own and records the values that each key may
 * have; a change without a response may have been applied or not. With `isShared`, each connection
 * also writes to a map that the loads of other members write to.
 */
import assert from 'node:assert/strict';
import { Random } from '../../../bench/harness.ts';
import { RawClient, requestBytes } from '../../integration/client.ts';

const KEYS = 40;
const VALUE_BYTES_MAX = 200;
/** Number of operations of a key that are retained for messages. */
const HISTORY_LENGTH = 8;
/** Number of reads in flight while contents are read. */
const READS = 500;

type Value = string | undefined;

interface Slot {
  /** Undefined if the key is absent. */
  confirmed: Value;
  /** Values that changes without a response may have stored. */
  readonly possible: Set<Value>;
}

export interface MapLoadParts {
  /** Part of the names of the load's maps. */
  readonly name: string;
  readonly seed: number;
  readonly clients?: number;
  /** Number of requests in flight of each client. */
  readonly depth?: number;
  /** Whether the load also writes to maps that other loads write to. */
  readonly isShared?: boolean;
}

/** Description of an operation, for messages. */
interface LoggedOperation {
  readonly text: string;
  /** Wall-clock time of the response, in ms; 0 without a response. */
  responseMs: number;
}

interface Operation {
  readonly bytes: Buffer;
  readonly logged: LoggedOperation;
  /** Slots that the operation changes to `value`; empty for a shared map. */
  readonly slots: readonly Slot[];
  readonly value: Value;
}

export class MapLoad {
  readonly #name: string;
  readonly #random: Random;
  readonly #depth: number;
  readonly #isShared: boolean;
  readonly #slots: readonly (readonly Slot[])[];
  /** Last operations by map and key, oldest first. */
  readonly #history = new Map<string, LoggedOperation[]>();
  #count = 0;
  acknowledged = 0;
  /** Time of the last response, in ms. */
  lastMs = 0;

  constructor({ name, seed, clients = 64, depth = 8, isShared = false }: MapLoadParts) {
    this.#name = name;
    this.#random = new Random(seed);
    this.#depth = depth;
    this.#isShared = isShared;
    this.#slots = Array.from({ length: clients }, () =>
      Array.from({ length: KEYS }, () => ({ confirmed: undefined, possible: new Set<Value>() })),
    );
  }

  /** Maps that only this load writes to, and the shared maps. */
  get maps(): readonly string[] {
    const numbers = [...this.#slots.keys()];
    const shared = this.#isShared ? numbers.map((number) => `both-${number}`) : [];
    return [...numbers.map((number) => `own-${this.#name}-${number}`), ...shared];
  }

  /** Runs until `isOver` returns true or the member ends. */
  async run(port: number, isOver: () => boolean): Promise<void> {
    await Promise.all(this.#slots.map((_, client) => this.#work(port, client, isOver)));
  }

  /**
   * Asserts that the contents of the maps that only this load writes to, as read by `contentsOf`,
   * agree with the responses. From then on, these contents are confirmed.
   */
  check(contents: readonly (readonly Value[])[]): void {
    for (const [client, slots] of this.#slots.entries()) {
      for (const [key, slot] of slots.entries()) {
        const value = contents[client]?.[key];
        const { confirmed, possible } = slot;
        const expected = () =>
          [confirmed, ...possible].map((each) => each?.slice(0, 40)).join(' or ');
        assert.ok(
          value === confirmed || possible.has(value),
          `own-${this.#name}-${client}/k${key} is ${value?.slice(0, 40)}, not ${expected()}`,
        );
        slot.confirmed = value;
        possible.clear();
      }
    }
  }

  async #work(port: number, client: number, isOver: () => boolean): Promise<void> {
    const connection = new RawClient(port);
    try {
      while (!isOver()) {
        const operations = Array.from({ length: this.#depth }, () => this.#operation(client));
        for (const { slots, value } of operations) {
          for (const { possible } of slots) possible.add(value);
        }
        connection.send(Buffer.concat(operations.map(({ bytes }) => bytes)));
        for (const [index, operation] of operations.entries()) {
          const response = await connection.response();
          // The member has ended.
          if (response === undefined) return;
          assert.equal(response.status, 200, response.body.toString());
          this.acknowledged++;
          operation.logged.responseMs = Date.now();
          this.lastMs = performance.now();
          confirm(operation, operations.slice(index + 1));
        }
      }
    } catch (error) {
      // Any other error is a connection that ended within a response.
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
      const logged = this.#log(paths, `clear ${number}`);
      return { bytes: requestBytes('DELETE', map), logged, slots: all, value: undefined };
    }
    if (choice < 200) {
      const logged = this.#log([path], `delete ${number}`);
      return { bytes: requestBytes('DELETE', path), logged, slots, value: undefined };
    }
    const value = `${this.#name} ${number} ${'v'.repeat(random.below(VALUE_BYTES_MAX))}`;
    const logged = this.#log([path], `set ${number}`);
    return { bytes: requestBytes('POST', path, Buffer.from(value)), logged, slots, value };
  }

  /** Returns the last operations of a key with the times of their responses, as text. */
  historyOf(path: string): string {
    const history = this.#history.get(`maps/${path}`) ?? [];
    const texts = history.map(({ text, responseMs }) =>
      responseMs > 0 ? `${text} at ${responseMs}` : `${text} without a response`,
    );
    return `${this.#name}: ${texts.join(', ')}`;
  }

  #log(paths: readonly string[], text: string): LoggedOperation {
    const logged = { text, responseMs: 0 };
    for (const path of paths) {
      const all = this.#history.get(path) ?? [];
      if (all.length === 0) this.#history.set(path, all);
      all.push(logged);
      if (all.length > HISTORY_LENGTH) all.shift();
    }
    return logged;
  }
}

/** Confirms the value of an operation that has a response; those in `later` have none yet. */
function confirm({ slots, value }: Operation, later: readonly Operation[]): void {
  for (const slot of slots) {
    slot.confirmed = value;
    slot.possible.clear();
    for (const other of later) if (other.slots.includes(slot)) slot.possible.add(other.value);
  }
}

/** Returns the values of all keys of these maps at a member. */
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
      assert.ok(
        response?.status === 200 || response?.status === 204,
        `GET ${path} returned ${response?.status}`,
      );
      values.push(response.status === 204 ? undefined : response.body.toString());
    }
  }
  client.destroy();
  return maps.map((_, index) => values.slice(index * KEYS, (index + 1) * KEYS));
}

/**
 * Asserts that two members have the same contents of these maps, to which `loads` wrote. Returns
 * the contents.
 */
export async function sameContents(
  [one, other]: readonly [number, number],
  maps: readonly string[],
  loads: readonly MapLoad[],
): Promise<Value[][]> {
  const first = await contentsOf(one, maps);
  const second = await contentsOf(other, maps);
  const different = maps.flatMap((map, index) =>
    (first[index] ?? []).flatMap((value, key) => {
      const otherValue = second[index]?.[key];
      if (value === otherValue) return [];
      const histories = loads.map((load) => load.historyOf(`${map}/k${key}`)).join('; ');
      return [`${map}/k${key}: ${quoted(value)} and ${quoted(otherValue)} (${histories})`];
    }),
  );
  const message = `${different.length} differ: ${different.slice(0, 5).join('\n')}`;
  assert.equal(different.length, 0, message);
  return first;
}

function quoted(value: Value): string {
  return value === undefined ? 'absent' : `"${value.slice(0, 30)}"`;
}
