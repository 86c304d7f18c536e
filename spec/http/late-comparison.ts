/**
 * Random requests of many clients, each on names of its own, so that there is one right answer to each:
 * that of the embedded engine. A late engine has to have them, byte for byte.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { MemoryStorage } from '../persistence/memory-storage.ts';
import { storedMember } from '../stored-member.ts';
import { FakeSocket } from './fake-socket.ts';
import { lateServer } from './late-server.ts';
import { readResponses } from './response-reader.ts';
import { get, LIVE, post } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

const CLIENTS = 16;

/** So many at once: behind a poll that waits a client may send only 64 KiB. */
const ROUND = 4000;

/** Compares the answers to so many requests, and sees that nothing is left of them. */
export function compareAnswers(seed: number, requests: number, isOrdered: boolean): void {
  for (const [each, count] of rounds(seed, requests)) compareRound(each, count, isOrdered);
}

function* rounds(seed: number, requests: number): Generator<readonly [number, number]> {
  for (let left = requests; left > 0; left -= ROUND) yield [seed++, Math.min(left, ROUND)];
}

function compareRound(seed: number, requests: number, isOrdered: boolean): void {
  const scripts = scriptsOf(seed, requests);
  const plain = sync(createTestServer(), scripts, new Random(seed));
  const late = lateServer({ isOrdered, seed });
  assertSame(sync(late, scripts, new Random(seed)), plain, scripts);
  assert.equal(late.late.operationCount, 0);
  assert.equal(late.late.holdCount, 0);
  assert.equal(late.late.pinCount, 0);
  assert.equal(late.late.ticketCount, 0);
  assert.equal(late.server.slots.usedCount, 0);
  assert.equal(late.server.inFlight.usedBytes, 0);
}

/** The same where all is synced, with `persistence.sync: always`, before it is answered. */
export async function compareSyncedAnswers(
  seed: number,
  requests: number,
  isOrdered: boolean,
): Promise<void> {
  for (const [each, count] of rounds(seed, requests)) {
    await compareSyncedRound(each, count, isOrdered);
  }
}

async function compareSyncedRound(
  seed: number,
  requests: number,
  isOrdered: boolean,
): Promise<void> {
  const scripts = scriptsOf(seed, requests);
  const plain = sync(createTestServer(), scripts, new Random(seed));
  const always = [{ key: 'persistenceSync', text: 'always' }] as const;
  // On a disk of that size segments are short.
  const storage = new MemoryStorage(new Random(seed), undefined, 2 ** 26);
  const member = storedMember(storage, always, undefined, { isOrdered, seed });
  await member.serve();
  const sockets = await begin(member.server, scripts, new Random(seed), () => member.quiet());
  assertSame(sockets.map(textOf), plain, scripts);
  assert.equal(member.server.server.slots.usedCount, 0);
}

function scriptsOf(seed: number, requests: number): string[][] {
  const random = new Random(seed);
  const length = Math.ceil(requests / CLIENTS);
  return Array.from({ length: CLIENTS }, (_, client) => script(random, client, length));
}

/** Requests of one client, on names of its own. */
function script(random: Random, client: number, length: number): string[] {
  return Array.from({ length }, () => requestOf(random, client));
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
  const answered = countAnswers(server);
  const turns = new Random(7);
  for (const { client, piece } of pieces(scripts, random)) {
    sockets[client]?.receive(piece);
    if (turns.below(4) === 0) server.clock.endTurn();
    if (turns.below(200) === 0) server.clock.advance(400);
  }
  const { length } = scripts.flat();
  for (let round = 0; round < length; round++) {
    server.clock.settle();
    if (answered() >= length) break;
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
  const answered = countAnswers(server);
  for (const { client, piece } of pieces(scripts, random)) {
    sockets[client]?.receive(piece);
    if (random.below(20) === 0) await quiet();
  }
  const { length } = scripts.flat();
  for (let round = 0; round < length && answered() < length; round++) {
    await quiet();
    server.clock.advance(400);
  }
  await quiet();
  return sockets;
}

/** How many final responses the server has made from now on. */
function countAnswers({ server }: TestServer): () => number {
  let count = 0;
  server.observe = () => {
    count++;
  };
  return () => count;
}

function connect(server: TestServer, count: number): FakeSocket[] {
  return Array.from({ length: count }, () => {
    const socket = new FakeSocket((run) => server.clock.endOfTurn(run));
    server.connect(socket);
    return socket;
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
