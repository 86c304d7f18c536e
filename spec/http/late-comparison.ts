/**
 * Compares the responses of a server with a late engine to those of a server with the embedded
 * engine.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { storedMember } from '../stored-member.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { lateServer } from './late-server.ts';
import { assertSame, dateless, scriptsOf } from './random-requests.ts';
import { socketTo } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

/** Number of requests sent at once: after a waiting poll a client may send only 64 KiB. */
const ROUND = 4000;

/**
 * Compares the responses to this many requests, and checks that no resource remains in use.
 * `syncs`: whether the late server has `persistence.sync: always`, which syncs each change before
 * its response.
 */
export async function compareResponses(
  seed: number,
  requests: number,
  isOrdered: boolean,
  syncs = false,
): Promise<void> {
  for (let left = requests, each = seed; left > 0; left -= ROUND, each++) {
    const scripts = scriptsOf(each, Math.min(left, ROUND));
    const wanted = await exchange(createTestServer(), scripts, each);
    const compare = syncs ? compareSynced : compareLate;
    assertSame(await compare(scripts, each, isOrdered), wanted, scripts);
  }
}

async function compareLate(scripts: Scripts, seed: number, isOrdered: boolean): Promise<string[]> {
  const { late, ...server } = lateServer({ isOrdered, seed });
  const texts = await exchange(server, scripts, seed);
  const { operationCount, holdCount, pinCount, ticketCount } = late;
  const { requests, inFlight } = server.server;
  assert.deepEqual(
    [operationCount, holdCount, pinCount, ticketCount, requests.usedCount, inFlight.usedBytes],
    [0, 0, 0, 0, 0, 0],
  );
  return texts;
}

async function compareSynced(
  scripts: Scripts,
  seed: number,
  isOrdered: boolean,
): Promise<string[]> {
  const always = [{ key: 'persistenceSync', text: 'always' }] as const;
  // On a disk of this size, segments are short.
  const storage = new MemoryStorage(new Random(seed), undefined, 2 ** 26);
  const { server, serve, quiet } = storedMember(storage, always, { isOrdered, seed });
  await serve();
  const texts = await exchange(server, scripts, seed, quiet);
  assert.equal(server.server.requests.usedCount, 0);
  return texts;
}

type Scripts = readonly (readonly string[])[];

/** Yields all requests, in pieces that the seed determines. */
function* pieces(scripts: Scripts, random: Random) {
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

/**
 * Sends the requests. Returns the texts that the clients have received. `quiet` completes what is
 * in progress, also on the disk.
 */
async function exchange(
  server: TestServer,
  scripts: Scripts,
  seed: number,
  quiet?: () => Promise<void>,
): Promise<string[]> {
  const { clock } = server;
  const sockets = scripts.map(() => socketTo(server));
  let answered = 0;
  server.server.observe = () => {
    answered++;
  };
  const turns = new Random(7);
  for (const { client, piece } of pieces(scripts, new Random(seed))) {
    sockets[client]?.receive(piece);
    if (turns.below(4) === 0) clock.endTurn();
    if (turns.below(200) === 0) clock.advance(400);
    if (quiet !== undefined && turns.below(20) === 0) await quiet();
  }
  const settle = async () => (quiet === undefined ? clock.settle() : await quiet());
  const { length } = scripts.flat();
  for (let round = 0; round < length; round++) {
    await settle();
    if (answered >= length) break;
    clock.advance(400);
  }
  await settle();
  const texts = sockets.map(({ text }) => dateless(text));
  for (const socket of sockets) socket.destroy();
  await settle();
  return texts;
}
