/**
 * Compares the responses of a server with a late engine to those of a server with the embedded
 * engine.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { MemoryStorage } from '../persistence/memory-storage.ts';
import { storedMember } from '../stored-member.ts';
import type { FakeSocket } from './fake-socket.ts';
import { lateServer } from './late-server.ts';
import { assertSame, dateless, scriptsOf } from './random-requests.ts';
import { socketTo } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

/** Number of requests sent at once: after a waiting poll a client may send only 64 KiB. */
const ROUND = 4000;

/** Compares the responses to this many requests, and checks that no resource remains in use. */
export function compareResponses(seed: number, requests: number, isOrdered: boolean): void {
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

/**
 * Compares the responses with `persistence.sync: always`, which syncs each change before its
 * response.
 */
export async function compareSyncedResponses(
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
  // On a disk of this size, segments are short.
  const storage = new MemoryStorage(new Random(seed), undefined, 2 ** 26);
  const member = storedMember(storage, always, undefined, { isOrdered, seed });
  await member.serve();
  const sockets = await begin(member.server, scripts, new Random(seed), () => member.quiet());
  assertSame(
    sockets.map(({ text }) => dateless(text)),
    plain,
    scripts,
  );
  assert.equal(member.server.server.slots.usedCount, 0);
}

/** Yields all requests, in pieces that the seed determines. */
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

/** Sends the requests. Returns the texts that the clients have received. */
function sync(
  server: TestServer,
  scripts: readonly (readonly string[])[],
  random: Random,
): string[] {
  const sockets = connect(server, scripts.length);
  const answered = countResponses(server);
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
  const texts = sockets.map(({ text }) => dateless(text));
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
  const answered = countResponses(server);
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

/** Counts the final responses of the server from now on. */
function countResponses({ server }: TestServer): () => number {
  let count = 0;
  server.observe = () => {
    count++;
  };
  return () => count;
}

function connect(server: TestServer, count: number): FakeSocket[] {
  return Array.from({ length: count }, () => socketTo(server));
}
