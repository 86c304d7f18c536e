/**
 * A random client of a server that is stopped: requests that were read, are waiting, or are still
 * in the kernel; a reader of any speed; a client that may continue to send.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { type ReadResponse, readResponses } from './response-reader.ts';
import { get, LIVE, post, socketTo } from './test-client.ts';
import { createTestServer } from './test-server.ts';

/** Lengths of values, in bytes; a response with the last one has to wait for the reader. */
const LENGTHS = [0, 100, 20_000, 250_000];
/** The kernel's receive buffer, as the server assumes it, unless it holds more, in bytes. */
const BUFFER_BYTES_MIN = 20_000;
/** Limit for the steps of a round. */
const STEPS_MAX = 50_000;

/**
 * Checks that all requests received before the stop are answered in order, and that the connection
 * ends.
 */
export function checkDrain(seed: number): void {
  const random = new Random(seed);
  const server = createTestServer({ bodyBytesMax: LENGTHS.at(-1)! });
  const { clock } = server;
  const writer = socketTo(server);
  for (const length of LENGTHS) {
    writer.receive(post(`maps/m/${length}`, 'v'.repeat(length)));
  }
  assert.equal(readResponses(writer.text).length, LENGTHS.length);
  const reader = new FakeCarrier((run) => clock.endOfTurn(run));
  const connection = server.connect(reader);
  reader.isStuck = random.below(4) > 0;
  const wanted: number[] = [];
  const send = (count: number): void => {
    const requests = Array.from({ length: count }, () => requestOf(random, wanted));
    reader.receive(requests.join(''));
  };
  const step = (): void => {
    for (let takes = random.below(4); takes > 0 && reader.untakenBytes > 0; takes--) reader.take();
    if (random.below(3) > 0) clock.endTurn();
    if (random.below(3) === 0) clock.advance(random.below(300));
  };
  for (let pieces = 1 + random.below(3); pieces > 0; pieces--) {
    send(1 + random.below(random.below(3) === 0 ? 400 : 30));
    for (let steps = random.below(4); steps > 0; steps--) step();
  }
  const early = wanted.length;
  server.server.receiveBufferBytesMax = Math.max(BUFFER_BYTES_MIN, reader.unreadBytes);
  connection.onStop();
  const goesOn = random.below(2) === 0;
  if (goesOn) send(1 + random.below(50));
  for (let turn = 0; turn < 2; turn++) clock.endTurn();
  server.server.isDraining = true;
  server.server.drainedMs = clock.now();
  connection.drain(false);
  for (let steps = 0; !reader.writableEnded || reader.untakenBytes > 0; steps++) {
    assert(steps < STEPS_MAX, 'the connection does not end');
    assert(!reader.isDestroyed, 'a response was cut off');
    if (goesOn && random.below(3) === 0) send(1 + random.below(20));
    step();
  }
  check(readResponses(reader.text), wanted, early);
}

function check(responses: readonly ReadResponse[], wanted: readonly number[], early: number): void {
  assert(responses.length >= early, `${responses.length} of ${early} requests are answered`);
  for (const [index, { status, body }] of responses.entries()) {
    assert.equal(status, 200);
    if (wanted[index] !== LIVE_LENGTH) assert.equal(body.length, wanted[index]);
  }
  const closing = responses.findIndex(({ fields }) => fields.get('connection') === 'close');
  assert(closing === -1 || closing === responses.length - 1, 'a response follows the last one');
}

const LIVE_LENGTH = -1;

/** Returns a random request, and records the length of the value that it reads. */
function requestOf(random: Random, wanted: number[]): string {
  const kind = random.below(60);
  const length = LENGTHS[kind === 0 ? 3 : kind < 4 ? 2 : kind < 20 ? 1 : 0]!;
  const isLive = kind > 40;
  wanted.push(isLive ? LIVE_LENGTH : length);
  return isLive ? LIVE : get(`maps/m/${length}`);
}
