/** Runs a vector on a server, in memory or over a socket, and compares its responses. */
import assert from 'node:assert/strict';
import { type ReadResponse, readResponses } from './response-reader.ts';
import { socketTo } from './test-client.ts';
import type { TestServer } from './test-server.ts';
import type { ExpectedResponse, Vector } from './vector.ts';

/** Length of each end of a request that is sent byte by byte, and of the pieces between them. */
const ENDS_BYTES = 1000;
const MIDDLE_PIECE_BYTES = 61;

/** The bytes received by the client of one connection. */
export interface Seen {
  readonly text: string;
  /** Whether the server has ended its side, or the connection. */
  readonly hasEnded: boolean;
}

/**
 * Sends the pieces on a new connection, whose input then ends or not, and returns what its client
 * has received at the latest when `isAll` is true.
 */
export type SendPieces = (
  pieces: readonly Buffer[],
  endsInput: boolean,
  isAll: (seen: Seen) => boolean,
) => Promise<Seen>;

/**
 * Runs the vector in one piece, and in two pieces split at up to `splitsMax` places, from `first`
 * on. Afterwards the server has none of its data.
 */
export async function runVector(
  vector: Vector,
  server: TestServer,
  splitsMax: number,
  first = 0,
): Promise<void> {
  const { request } = vector;
  const send = sendingTo(server);
  await runPieces(vector, server, send, [request], 'in one piece');
  const step = Math.ceil(request.length / splitsMax);
  for (let at = 1 + (first % step); at < request.length; at += step) {
    const pieces = [request.subarray(0, at), request.subarray(at)];
    await runPieces(vector, server, send, pieces, `split at ${at}`);
  }
}

/** Runs the vector byte by byte. */
export async function runBytes(vector: Vector, server: TestServer): Promise<void> {
  const pieces = smallPieces(vector.request);
  await runPieces(vector, server, sendingTo(server), pieces, 'byte by byte');
}

/** Runs the vector, and removes its data. `how` describes the run. */
export async function runPieces(
  vector: Vector,
  server: TestServer,
  send: SendPieces,
  pieces: readonly Buffer[],
  how: string,
): Promise<void> {
  const { before, request, endsInput, responses, closes, after, afterResponses } = vector;
  if (before) await send([before], false, () => true);
  const isAll = ({ text, hasEnded }: Seen) =>
    count(text, request) >= responses.length && (hasEnded || closes !== true);
  const seen = await send(pieces, endsInput, isAll);
  checkResponses(seen.text, responses, request, how);
  if (closes !== undefined) {
    assert.equal(seen.hasEnded, closes, `${how}: whether the connection ends`);
  }
  if (after) {
    const isAnswered = ({ text }: Seen) => count(text, after) >= afterResponses.length;
    const { text } = await send([after], false, isAnswered);
    checkResponses(text, afterResponses, after, `${how}, afterwards`);
  }
  await forgetData(server, vector);
}

/** Returns a function that sends in memory. */
function sendingTo(server: TestServer): SendPieces {
  return async (pieces, endsInput) => {
    const socket = socketTo(server);
    for (const piece of pieces) socket.receive(piece);
    server.clock.settle();
    if (endsInput) socket.receiveEnd();
    server.clock.settle();
    const seen = { text: socket.text, hasEnded: socket.writableEnded };
    socket.destroy();
    return seen;
  };
}

/** Returns the final responses in the text. Some of the requests may be HEAD. */
function finalResponses(text: string, request: Buffer): ReadResponse[] {
  const methods = [...request.toString('latin1').matchAll(/([A-Z]+) \S+ HTTP\/1/g)];
  const isHead = methods.map(([, method]) => method === 'HEAD');
  return readResponses(text, isHead).filter(({ status }) => status !== 100);
}

/** Returns the number of final responses; 0 while the last is incomplete. */
function count(text: string, request: Buffer): number {
  try {
    return finalResponses(text, request).length;
  } catch {
    return 0;
  }
}

function checkResponses(
  text: string,
  expected: readonly ExpectedResponse[],
  request: Buffer,
  how: string,
): void {
  const responses = finalResponses(text, request);
  assert.deepEqual(
    responses.map(({ status }) => status),
    expected.map(({ status }) => status),
    how,
  );
  for (const [index, wanted] of expected.entries()) {
    const seen = responses[index]!;
    const where = `${how}, response ${index + 1}`;
    assert(seen.fields.has('date'), `${where}: Date`);
    for (const [name, value] of wanted.fields) {
      assert.equal(seen.fields.get(name), value, `${where}: ${name}`);
    }
    for (const field of wanted.absent) assert(!seen.fields.has(field), `${where}: has ${field}`);
    if (wanted.body !== undefined) assert.equal(seen.body, wanted.body, `${where}: content`);
  }
}

/**
 * Returns the bytes of a request one by one, except in the middle of a long one, which only repeats
 * a text.
 */
function smallPieces(request: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < request.length; ) {
    const left = request.length - ENDS_BYTES - at;
    const length = at < ENDS_BYTES || left <= 0 ? 1 : Math.min(left, MIDDLE_PIECE_BYTES);
    pieces.push(request.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

/** Empties the queues and clears the maps that a vector names. */
async function forgetData(server: TestServer, { before, request, after }: Vector): Promise<void> {
  const text = [before, request, after].map((part) => part?.toString('latin1') ?? '').join('');
  const send = sendingTo(server);
  const statusOf = async (path: string): Promise<string> => {
    const sent = `DELETE /grid/rest/${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    return (await send([Buffer.from(sent, 'latin1')], false, () => true)).text.slice(9, 12);
  };
  for (const [, queue] of text.matchAll(/queues\/([^/ ?]+)/g)) {
    while ((await statusOf(`queues/${queue}/0`)) === '200');
  }
  for (const [, map] of text.matchAll(/maps\/([^/ ?]+)/g)) await statusOf(`maps/${map}`);
}
