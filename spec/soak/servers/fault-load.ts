/**
 * The clients of a round: 64 connections to the members, a quarter each of writers and readers of a
 * map, and of producers and consumers of queues. Records requests and their outcomes for the check
 * of the history.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../bench/harness.ts';
import { FaultClient, type RequestResult } from './fault-client.ts';
import type { FaultMember } from './fault-member.ts';
import type { MapChange, MapRead, Offer, Outcome, Poll } from './history-check.ts';

const CONNECTIONS = 64;
const QUEUES = 12;
/**
 * Maximum time for a response, in ms: more than twice the time that a member waits for its servers.
 */
const RESPONSE_MS_MAX = 15_000;
/** Delay between requests to a member that cannot be reached, in ms. */
const PAUSE_MS = 100;
const POLL_SECONDS = 2;
const LAST_CLIENTS = 16;
const LAST_ATTEMPTS = 20;

/** A successful request, from which the gaps are computed. */
export interface Success {
  readonly isRead: boolean;
  readonly member: number;
  readonly key: string;
  readonly at: number;
}

export interface LoadSettings {
  readonly valueBytes: number;
  /** Maximum delay between a response and the next request of a connection, in ms. */
  readonly thinkMs: number;
  /** Whether there are queues; without them, all connections write. */
  readonly hasQueues: boolean;
}

interface LoadOptions extends LoadSettings {
  readonly members: readonly FaultMember[];
  readonly seed: number;
  /** Name of the round's map, and prefix of the names of its queues. */
  readonly name: string;
}

export class FaultLoad {
  readonly changes: MapChange[] = [];
  readonly reads: MapRead[] = [];
  readonly lastReads: MapRead[] = [];
  readonly offers: Offer[] = [];
  readonly polls: Poll[] = [];
  readonly successes: Success[] = [];
  /** Responses that no request should get. */
  readonly unexpected: string[] = [];
  readonly #options: LoadOptions;
  readonly #keys: string[] = [];
  readonly #clients: Promise<void>[] = [];
  #isEnding = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    const { seed, members, hasQueues } = options;
    const roles = [this.#write, this.#read, this.#offer, this.#poll];
    for (let index = 0; index < CONNECTIONS; index++) {
      const random = new Random(seed * CONNECTIONS + index);
      const member = (index >> 2) % members.length;
      const role = roles[hasQueues ? index % 4 : 0]!;
      this.#clients.push(this.#run(role.bind(this), index, random, member));
    }
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#clients);
  }

  /** Polls the remaining items of all queues, and reads all keys. */
  async readAll(): Promise<void> {
    const work: ((clients: readonly FaultClient[]) => Promise<unknown>)[] = [];
    if (this.#options.hasQueues) {
      for (let index = 0; index < QUEUES; index++) {
        work.push((clients) => this.#emptyQueue(clients, index));
      }
    }
    for (const [index, key] of this.#keys.entries()) {
      work.push((clients) => this.#readLast(clients, index, key));
    }
    work.reverse();
    const workers = Array.from({ length: LAST_CLIENTS }, async () => {
      const clients = this.#options.members.map((_, member) => this.#clientOf(member));
      for (let next = work.pop(); next !== undefined; next = work.pop()) await next(clients);
      for (const client of clients) client.end();
    });
    await Promise.all(workers);
  }

  async #run(
    role: (client: FaultClient, index: number, random: Random, member: number) => RoleStep,
    index: number,
    random: Random,
    member: number,
  ): Promise<void> {
    const client = this.#clientOf(member);
    const step = role(client, index, random, member);
    while (!this.#isEnding) {
      const wasSent = await step();
      await sleep(wasSent ? random.below(2 * this.#options.thinkMs + 1) / 2 : PAUSE_MS);
    }
    client.end();
  }

  #clientOf(member: number): FaultClient {
    const { place, port } = this.#options.members[member]!;
    return new FaultClient(place.host, port, RESPONSE_MS_MAX);
  }

  /** Sets new keys, and sets or removes keys that it has set before. */
  #write(client: FaultClient, index: number, random: Random, member: number): RoleStep {
    const own: string[] = [];
    let number = 0;
    return async () => {
      const isNew = own.length === 0 || random.below(3) > 0;
      const key = isNew
        ? `${index}-${number}`
        : own[own.length - 1 - random.below(Math.min(50, own.length))]!;
      const isRemoved = !isNew && random.below(4) === 0;
      const value = isRemoved ? undefined : `${index}-${number}`;
      number++;
      const path = `maps/${this.#options.name}/${key}`;
      const body = value === undefined ? undefined : this.#padded(value);
      const start = performance.now();
      const result = await client.request(body === undefined ? 'DELETE' : 'POST', path, body);
      if (result === 'unsent') return false;
      const end = performance.now();
      const outcome = this.#outcomeOf(result, path);
      this.changes.push({ key, value, start, end, outcome });
      if (isNew) {
        own.push(key);
        this.#keys.push(key);
      }
      if (outcome === 'done') this.successes.push({ isRead: false, member, key, at: end });
      return true;
    };
  }

  #read(client: FaultClient, _: number, random: Random, member: number): RoleStep {
    return async () => {
      const { length } = this.#keys;
      if (length === 0) return false;
      const recent = Math.min(length, random.below(2) === 0 ? 100 : length);
      const key = this.#keys[length - 1 - random.below(recent)]!;
      return (await this.#readOne(client, key, member, this.reads)) !== 'unsent';
    };
  }

  async #readOne(
    client: FaultClient,
    key: string,
    member: number,
    reads: MapRead[],
  ): Promise<'read' | 'refused' | 'unsent' | 'unanswered'> {
    const path = `maps/${this.#options.name}/${key}`;
    const start = performance.now();
    const result = await client.request('GET', path);
    if (typeof result === 'string') return result;
    const end = performance.now();
    if (this.#outcomeOf(result, path) !== 'done') return 'refused';
    const value = result.status === 200 ? this.#unpadded(result.body) : undefined;
    reads.push({ key, value, start, end });
    if (!this.#isEnding) this.successes.push({ isRead: true, member, key, at: end });
    return 'read';
  }

  #offer(client: FaultClient, index: number, random: Random): RoleStep {
    let number = 0;
    return async () => {
      const queue = this.#queueOf(random.below(2) === 0 ? index % QUEUES : random.below(QUEUES));
      const producer = `${index}`;
      const item = `${index}-${number++}`;
      const start = performance.now();
      const result = await client.request('POST', `queues/${queue}`, this.#padded(item));
      if (result === 'unsent') return false;
      const outcome = this.#outcomeOf(result, `queues/${queue}`);
      this.offers.push({ queue, producer, item, start, end: performance.now(), outcome });
      return true;
    };
  }

  #poll(client: FaultClient, index: number, random: Random): RoleStep {
    return async () => {
      const seconds = random.below(POLL_SECONDS + 1);
      const queue = this.#queueOf((index >> 2) % QUEUES);
      return (await this.#pollOnce(client, queue, seconds)) !== 'unsent';
    };
  }

  async #pollOnce(
    client: FaultClient,
    queue: string,
    seconds: number,
  ): Promise<Poll['outcome'] | 'unsent'> {
    const path = `queues/${queue}/${seconds}`;
    const start = performance.now();
    const result = await client.request('DELETE', path);
    if (result === 'unsent') return result;
    const end = performance.now();
    let outcome: Poll['outcome'];
    let item: string | undefined;
    if (result === 'unanswered') outcome = result;
    else if (result.status === 200) {
      outcome = 'found';
      item = this.#unpadded(result.body);
    } else if (result.status === 204) outcome = 'empty';
    else outcome = this.#outcomeOf(result, path) === 'not-applied' ? 'not-applied' : 'unknown';
    this.polls.push({ queue, item, start, end, outcome });
    return outcome;
  }

  /** Polls until a queue has been empty for POLL_SECONDS. */
  async #emptyQueue(clients: readonly FaultClient[], index: number): Promise<void> {
    const client = clients[index % clients.length]!;
    const queue = this.#queueOf(index);
    while ((await this.#pollOnce(client, queue, POLL_SECONDS)) !== 'empty');
  }

  async #readLast(clients: readonly FaultClient[], index: number, key: string): Promise<void> {
    const member = index % clients.length;
    for (let attempt = 0; attempt < LAST_ATTEMPTS; attempt++) {
      const result = await this.#readOne(clients[member]!, key, member, this.lastReads);
      if (result === 'read') return;
      await sleep(PAUSE_MS);
    }
  }

  #queueOf(index: number): string {
    return `${this.#options.name}-${index}`;
  }

  #padded(text: string): Buffer {
    return Buffer.alloc(Math.max(this.#options.valueBytes, text.length + 1), '.').fill(
      `${text} `,
      0,
      text.length + 1,
    );
  }

  #unpadded(body: Buffer): string {
    return body.toString('latin1', 0, body.indexOf(' '));
  }

  #outcomeOf(result: Exclude<RequestResult, 'unsent'>, path: string): Outcome {
    if (result === 'unanswered') return 'unknown';
    const { status, fields, body } = result;
    if (status === 200 || status === 204) return 'done';
    const outcome = fields.get('grid-outcome');
    if (status === 503 && outcome === 'unknown') return outcome;
    if (status !== 503) this.unexpected.push(`${path}: ${status} ${body.toString()}`);
    return 'not-applied';
  }
}

/** One request of a role. Returns false if no request could be sent. */
type RoleStep = () => Promise<boolean>;
