/**
 * Rounds of queues over HTTP with a late engine: clients that offer, poll with and without
 * a timeout, disconnect, end their side, are drained or meet PASSIVE, at any moment. Each item is
 * delivered at most once, none is lost, and nothing is held or in use at the end.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { FOUND, NOBODY, type OperationResult } from '../../src/engine/engine.ts';
import { span } from '../engine/results.ts';
import type { FakeCarrier } from './fake-carrier.ts';
import { type LateServer, lateServer } from './late-server.ts';
import { readResponses } from './response-reader.ts';
import { get, poll, post, socketTo } from './test-client.ts';

const STEPS = 60;
const CLIENTS = 5;
const QUEUES = ['a', 'b', 'one-item'];
const MINUTE_MS = 60_000;

/** Runs this many rounds, one per seed. Rejects with the seed of the first failure. */
export async function runQueueRounds(
  first: number,
  count: number,
  isOrdered: boolean,
): Promise<void> {
  for (let seed = first; seed < first + count; seed++) {
    const round = new Round(seed, isOrdered);
    try {
      await round.run();
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
}

interface Client {
  readonly socket: FakeCarrier;
  /** The requests sent: the offered item of each, or undefined. */
  readonly sent: (string | undefined)[];
  hasEnded: boolean;
}

class Round {
  readonly #random: Random;
  readonly #server: LateServer;
  readonly #clients: Client[] = [];
  #number = 0;
  #isPassive = false;

  constructor(seed: number, isOrdered: boolean) {
    this.#random = new Random(seed);
    this.#server = lateServer({ isOrdered, seed });
  }

  async run(): Promise<void> {
    const { clock, server, late, failures } = this.#server;
    for (let step = 0; step < STEPS; step++) await this.#step();
    const drained = this.#random.below(4) === 0 ? server.drain() : undefined;
    for (let round = 0; round < 10; round++) {
      clock.settle();
      clock.advance(MINUTE_MS);
    }
    clock.settle();
    for (const { socket } of this.#clients) socket.destroy();
    clock.settle();
    await drained;
    assert.deepEqual(failures, []);
    assert.equal(server.requests.usedCount, 0, 'slots in use');
    assert.equal(server.inFlight.usedBytes, 0, 'bytes in flight');
    assert.equal(server.deadlines.count, 0, 'deadlines');
    assert.equal(server.connectionCount, 0, 'connections');
    assert.equal(late.operationCount, 0, 'operations under way');
    assert.equal(late.holdCount, 0, 'open holds');
    assert.equal(late.ticketCount, 0, 'open tickets');
    this.#checkItems();
  }

  async #step(): Promise<void> {
    const { clock, cluster } = this.#server;
    const random = this.#random;
    switch (random.below(16)) {
      case 0:
        return clock.advance(random.below(3000));
      case 1:
        return clock.settle();
      case 2:
      case 3:
      case 4:
        return clock.endTurn();
      case 5:
        return this.#leave(random.below(2) === 0);
      case 6:
        if (random.below(10) > 0 || this.#isPassive) return;
        this.#isPassive = true;
        await cluster.changeState('PASSIVE');
        return;
      default:
        return this.#send();
    }
  }

  #leave(isHalf: boolean): void {
    const client = this.#clients[this.#random.below(CLIENTS)];
    if (client === undefined || client.hasEnded) return;
    client.hasEnded = true;
    if (isHalf) client.socket.receiveEnd();
    else client.socket.destroy();
  }

  /** Sends a few requests in one piece, or in two. */
  #send(): void {
    const random = this.#random;
    const index = random.below(CLIENTS);
    const { socket, sent } = this.#client(index);
    let text = '';
    for (let count = 1 + random.below(4); count > 0; count--) {
      const queue = QUEUES[random.below(QUEUES.length)] as string;
      const kind = random.below(8);
      const item = kind < 4 ? `i${this.#number++}` : undefined;
      sent.push(item);
      if (item !== undefined) text += post(`queues/${queue}`, item);
      else if (kind < 7) text += poll(queue, random.below(2) * (1 + random.below(3)));
      else text += get(`queues/${queue}/size`);
    }
    const cut = random.below(text.length);
    socket.receive(text.slice(0, cut));
    if (random.below(2) === 0) this.#server.clock.endTurn();
    socket.receive(text.slice(cut));
  }

  /**
   * Returns a client that has not ended. Replaces an ended one, which remains later in the list.
   */
  #client(index: number): Client {
    const clients = this.#clients;
    const present = clients[index];
    if (present !== undefined && !present.hasEnded) return present;
    const client = { socket: socketTo(this.#server), sent: [], hasEnded: false };
    if (present !== undefined) clients.push(present);
    if (index < clients.length) clients[index] = client;
    else clients.push(client);
    return client;
  }

  #checkItems(): void {
    const surely = new Set<string>();
    const perhaps = new Set<string>();
    const seen: string[] = [];
    for (const { socket, sent } of this.#clients) {
      const responses = readResponses(socket.text);
      assert(responses.length <= sent.length, 'more responses than requests');
      for (const [index, item] of sent.entries()) {
        const response = responses[index];
        if (item === undefined) {
          if (/^i\d+$/.test(response?.body ?? '')) seen.push(response?.body as string);
        } else if (response === undefined) perhaps.add(item);
        else if (response.status === 200) surely.add(item);
      }
    }
    for (const queue of QUEUES) seen.push(...this.#left(queue));
    assert.equal(new Set(seen).size, seen.length, 'an item was delivered twice');
    for (const item of seen) assert(surely.has(item) || perhaps.has(item), `${item} was refused`);
    for (const item of surely) assert(seen.includes(item), `${item} is lost`);
  }

  /** Returns the items left in the queue. */
  #left(queue: string): string[] {
    const { engine } = this.#server;
    const items: string[] = [];
    let isFound = true;
    const onResult = (answer: OperationResult): void => {
      isFound = answer.outcome === FOUND;
      if (!isFound) return;
      items.push(answer.value.toBuffer().toString());
      engine.acknowledge(answer.hold, true, NOBODY);
    };
    while (isFound) engine.take(span(queue), 0, { onResult });
    return items;
  }
}
