/**
 * Covers src/http. Runs the vectors of spec/vectors/http in one piece, split at some bytes, and
 * byte by byte; and over connections of the system, on each carrier, in one piece or in two.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CARRIERS, createTestServer, type TestServer } from './test-server.ts';
import { readVectors, VECTORS } from './vector.ts';
import { runBytes, runPieces, runVector, type SendPieces } from './vector-run.ts';

/** Number of places at which a request is split, evenly spaced; `make soak` splits at every byte. */
const SPLITS_MAX = 5;
/**
 * Number of turns after which all sent bytes have been received, since both ends are in this
 * process.
 */
const TURNS = 5;
/** Number of turns after which no more bytes are expected. */
const TURNS_MAX = 100_000;

for (const name of readdirSync(VECTORS).sort()) {
  describe(`vectors of ${name}`, async () => {
    const server = createTestServer();
    const served = CARRIERS.map((carrier) => {
      const listening = createTestServer({}, carrier.parts);
      return { carrier: carrier.name, listening };
    });
    const sending: SendPieces[] = [];
    for (const { listening } of served) {
      const { port } = await listening.server.listen('127.0.0.1', 0);
      after(() => listening.server.abort());
      sending.push(sendingOver(listening, port));
    }
    for (const [index, vector] of readVectors(new URL(name, VECTORS).pathname).entries()) {
      const { title, request } = vector;
      it(title, async () => {
        await runVector(vector, server, SPLITS_MAX, 7 * index);
        await runBytes(vector, server);
      });
      const middle = request.length >> 1;
      const pieces =
        index % 2 === 0 ? [request] : [request.subarray(0, middle), request.subarray(middle)];
      for (const [at, { carrier, listening }] of served.entries()) {
        it(`${title}, over ${carrier}`, () =>
          runPieces(vector, listening, sending[at]!, pieces, `in ${pieces.length} piece(s)`));
      }
    }
  });
}

/** Returns a function that sends each piece after the previous one has been read. */
function sendingOver(server: TestServer, port: number): SendPieces {
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) {
      await nextTurn();
      server.clock.settle();
    }
  };
  return async (pieces, endsInput, isAll) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    const seen = { text: '', hasEnded: false };
    watch(socket, seen);
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
  };
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
