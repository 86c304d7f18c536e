/**
 * Covers src/http/socket-reader.ts and src/http/socket-writer.ts. Runs the vectors over real
 * sockets, in one piece and in two. With real sockets a server reads and writes through the
 * sockets' handles (src/http/socket-reader.ts, socket-writer.ts), which in-memory sockets do not
 * have.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createTestServer, type TestServer } from './test-server.ts';
import { readVectors, VECTORS, type Vector } from './vector.ts';
import { checkResponses, finalResponses } from './vector-responses.ts';
import { forgetData } from './vector-run.ts';

/**
 * Number of turns after which all sent bytes have been received, since both ends are in this
 * process.
 */
const TURNS = 5;
/** Number of turns after which no more bytes are expected. */
const TURNS_MAX = 100_000;

interface Listening {
  readonly server: TestServer;
  readonly port: number;
}

/** The bytes received by the client of one connection. */
interface Seen {
  readonly text: string;
  /** Whether the server has ended its side, or the connection. */
  readonly hasEnded: boolean;
}

for (const name of readdirSync(VECTORS).sort()) {
  describe(`vectors of ${name} over sockets`, async () => {
    const server = createTestServer();
    const { port } = await server.server.listen('127.0.0.1', 0);
    after(() => server.server.abort());
    for (const vector of readVectors(new URL(name, VECTORS).pathname)) {
      const { request } = vector;
      const middle = request.length >> 1;
      const halves = [request.subarray(0, middle), request.subarray(middle)];
      it(vector.title, async () => {
        await runOn({ server, port }, vector, [request], 'in one piece');
        await runOn({ server, port }, vector, halves, 'in two pieces');
      });
    }
  });
}

/** Runs the vector, and removes its data. */
async function runOn(
  to: Listening,
  vector: Vector,
  pieces: readonly Buffer[],
  how: string,
): Promise<void> {
  const { before, request, endsInput, responses, closes, after, afterResponses } = vector;
  if (before) await exchange(to, [before], false, () => true);
  const isAll = ({ text, hasEnded }: Seen) =>
    count(text, request) >= responses.length && (hasEnded || closes !== true);
  const seen = await exchange(to, pieces, endsInput, isAll);
  checkResponses(seen.text, responses, request, how);
  if (closes !== undefined) {
    assert.equal(seen.hasEnded, closes, `${how}: whether the connection ends`);
  }
  if (after) {
    const isAnswered = ({ text }: Seen) => count(text, after) >= afterResponses.length;
    const { text } = await exchange(to, [after], false, isAnswered);
    checkResponses(text, afterResponses, after, `${how}, afterwards`);
  }
  forgetData(to.server, vector);
}

/** Returns the number of final responses; 0 while the last is incomplete. */
function count(text: string, request: Buffer): number {
  try {
    return finalResponses(text, request).length;
  } catch {
    return 0;
  }
}

/** Sends the pieces on a new connection, each after the previous one has been read. */
async function exchange(
  { server, port }: Listening,
  pieces: readonly Buffer[],
  endsInput: boolean,
  isAll: (seen: Seen) => boolean,
): Promise<Seen> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  await once(socket, 'connect');
  const seen = { text: '', hasEnded: false };
  watch(socket, seen);
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) {
      await nextTurn();
      server.clock.settle();
    }
  };
  for (const piece of pieces) {
    socket.write(piece);
    await turns();
  }
  if (endsInput) socket.end();
  for (let turn = 0; turn < TURNS_MAX && !isAll(seen); turn += TURNS) await turns();
  // Bytes received after that are unexpected.
  await turns();
  socket.destroy();
  return seen;
}

function watch(socket: Socket, seen: { text: string; hasEnded: boolean }): void {
  const onEnd = (): void => {
    seen.hasEnded = true;
  };
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    seen.text += text;
  });
  socket.on('end', onEnd);
  socket.on('error', onEnd);
}
