/**
 * The HTTP engine and the REST interface on an engine that answers later, ordered and not: what is on
 * the wire is what the embedded engine has there.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { MemoryStorage } from '../persistence/memory-storage.ts';
import { storedMember } from '../stored-member.ts';
import { FakeSocket } from './fake-socket.ts';
import { lateServer, MODES } from './late-server.ts';
import { readResponses } from './response-reader.ts';
import { get, LIVE, post } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';
import { readVectors, VECTORS } from './vector.ts';
import { runVector } from './vector-run.ts';

/** Requests are split at so many places. */
const SPLITS_MAX = 4;
/** Of the 100,000 that SOAK_CASES asks for. */
const REQUESTS = Number(process.env.SOAK_CASES ?? 6000);
const CLIENTS = 16;
const SEED = Number(process.env.LATE_SEED ?? Date.now() % 1_000_000_000);

for (const [mode, isOrdered] of MODES) {
  describe(`on an engine that answers later, ${mode}`, () => {
    for (const name of readdirSync(VECTORS).sort()) {
      it(`the vectors of ${name} hold`, () => {
        for (const vector of readVectors(new URL(name, VECTORS).pathname)) {
          runVector(vector, lateServer({ isOrdered }), SPLITS_MAX);
        }
      });
    }

    it('32 pipelined GETs take at most two turns more than one', () => {
      const turnsOf = (count: number): number => {
        const server = lateServer({ isOrdered, turns: 'next' });
        const [socket] = connect(server, 1);
        assert(socket);
        socket.receive(get('maps/m/k').repeat(count));
        let turns = 0;
        for (; readResponses(socket.text).length < count; turns++) server.clock.endTurn();
        return turns;
      };
      assert(turnsOf(32) <= turnsOf(1) + 2, `${turnsOf(32)} turns, ${turnsOf(1)} for one`);
    });

    it('40 kB pipelined behind an operation under way do no harm', () => {
      const server = lateServer({ isOrdered });
      const [socket] = connect(server, 1);
      assert(socket);
      const count = Math.ceil(40_000 / LIVE.length);
      socket.receive(post('maps/m/k', 'v') + LIVE.repeat(count));
      server.clock.settle();
      assert.equal(readResponses(socket.text).length, count + 1);
    });

    it(`random requests have the answers of the embedded engine (seed ${SEED})`, () => {
      const random = new Random(SEED);
      const scripts = Array.from({ length: CLIENTS }, (_, client) => script(random, client));
      const plain = sync(createTestServer(), scripts, new Random(SEED));
      const late = lateServer({ isOrdered, seed: SEED });
      assertSame(sync(late, scripts, new Random(SEED)), plain, scripts);
      assert.equal(late.late.operationCount, 0);
      assert.equal(late.late.holdCount, 0);
      assert.equal(late.late.pinCount, 0);
      assert.equal(late.late.ticketCount, 0);
      assert.equal(late.server.slots.usedCount, 0);
      assert.equal(late.server.inFlight.usedBytes, 0);
    });

    it(`so they have while all of it is synced before it is answered (seed ${SEED})`, async () => {
      const random = new Random(SEED);
      const scripts = Array.from({ length: CLIENTS }, (_, client) =>
        script(random, client).slice(0, REQUESTS / CLIENTS / 40),
      );
      const plain = sync(createTestServer(), scripts, new Random(SEED));
      const always = [{ key: 'persistenceSync', text: 'always' }] as const;
      const member = storedMember(new MemoryStorage(new Random(SEED)), always, undefined, {
        isOrdered,
        seed: SEED,
      });
      await member.serve();
      const sockets = await begin(member.server, scripts, new Random(SEED), () => member.quiet());
      assertSame(sockets.map(textOf), plain, scripts);
      assert.equal(member.server.server.slots.usedCount, 0);
    });
  });
}

/** Requests of one client, on names of its own. */
function script(random: Random, client: number): string[] {
  return Array.from({ length: REQUESTS / CLIENTS }, () => requestOf(random, client));
}

function requestOf(random: Random, client: number): string {
  const map = `maps/m${client}`;
  const key = `${map}/${'k'.repeat(1 + random.below(3))}${random.below(6)}`;
  const queue = `queues/q${client}-${random.below(2)}`;
  const body = (): string => 'v'.repeat(random.below(30) === 0 ? 70_000 : random.below(200));
  switch (random.below(12)) {
    case 0:
    case 1:
      return post(key, body().slice(0, 900));
    case 2:
      return get(key).replace('GET', 'HEAD');
    case 3:
      return get(key).replace('GET', 'DELETE');
    case 4:
      return random.below(4) === 0 ? get(map).replace('GET', 'DELETE') : get(key);
    case 5:
      return post(queue, `${random.below(1000)}`);
    case 6:
      return get(`${queue}/${random.below(8) === 0 ? 1 : 0}`).replace('GET', 'DELETE');
    case 7:
      return get(`${queue}/size`);
    case 8:
      return random.below(5) === 0 ? get('maps/%zz/x') : LIVE;
    case 9:
      return get(key).replace(/k(?=\d)/, '%6B');
    default:
      return get(key);
  }
}

/** Sends all, in pieces that the random numbers choose; the same numbers, the same pieces. */
function* pieces(scripts: readonly (readonly string[])[], random: Random) {
  const left = scripts.map((requests, client) => ({ client, text: requests.join('') }));
  while (left.length > 0) {
    const index = random.below(left.length);
    const each = left[index]!;
    const length = random.below(3) === 0 ? 1 + random.below(4000) : 1 + random.below(300);
    yield { client: each.client, piece: each.text.slice(0, length) };
    each.text = each.text.slice(length);
    if (each.text === '') left.splice(index, 1);
  }
}

/** The texts that the clients have got in the end. */
function sync(
  server: TestServer,
  scripts: readonly (readonly string[])[],
  random: Random,
): string[] {
  const sockets = connect(server, scripts.length);
  const turns = new Random(7);
  for (const { client, piece } of pieces(scripts, random)) {
    sockets[client]?.receive(piece);
    if (turns.below(4) === 0) server.clock.endTurn();
    if (turns.below(200) === 0) server.clock.advance(400);
  }
  for (let round = 0; round < scripts.flat().length; round++) {
    server.clock.settle();
    if (isAnswered(sockets, scripts)) break;
    server.clock.advance(400);
  }
  server.clock.settle();
  const texts = sockets.map(textOf);
  for (const socket of sockets) socket.destroy();
  server.clock.settle();
  return texts;
}

async function begin(
  server: TestServer,
  scripts: readonly (readonly string[])[],
  random: Random,
  quiet: () => Promise<void>,
): Promise<FakeSocket[]> {
  const sockets = connect(server, scripts.length);
  for (const { client, piece } of pieces(scripts, random)) {
    sockets[client]?.receive(piece);
    if (random.below(20) === 0) await quiet();
  }
  for (let round = 0; round < scripts.flat().length && !isAnswered(sockets, scripts); round++) {
    await quiet();
    server.clock.advance(400);
  }
  await quiet();
  return sockets;
}

function connect(server: TestServer, count: number): FakeSocket[] {
  return Array.from({ length: count }, () => {
    const socket = new FakeSocket((run) => server.clock.endOfTurn(run));
    server.connect(socket);
    return socket;
  });
}

function isAnswered(
  sockets: readonly FakeSocket[],
  scripts: readonly (readonly string[])[],
): boolean {
  return sockets.every((socket, client) => {
    const heads = socket.text.match(/HTTP\/1\.1 [2-5]\d\d /g) ?? [];
    return heads.length >= (scripts[client]?.length ?? 0);
  });
}

/** Date alone may differ. */
function textOf(socket: FakeSocket): string {
  return socket.text.replace(/\r\nDate: [^\r]+/g, '');
}

function assertSame(
  texts: readonly string[],
  wanted: readonly string[],
  scripts: readonly (readonly string[])[],
): void {
  for (const [client, text] of texts.entries()) {
    if (text === wanted[client]) continue;
    const isHead = (scripts[client] ?? []).map((request) => request.startsWith('HEAD'));
    const seen = readResponses(text, isHead);
    const other = readResponses(wanted[client] ?? '', isHead);
    const at = other.findIndex((each, index) => !isSame(each, seen[index]));
    const request = scripts[client]?.[at]?.slice(0, 100);
    assert.deepEqual(seen[at], other[at], `client ${client}, request ${at}: ${request}`);
    assert.equal(seen.length, other.length, `client ${client}`);
  }
}

function isSame(one: object, other: object | undefined): boolean {
  return other !== undefined && JSON.stringify(told(one)) === JSON.stringify(told(other));
}

function told(response: object): unknown {
  return Object.entries(response).map(([name, value]) => [
    name,
    value instanceof Map ? [...value] : value,
  ]);
}
