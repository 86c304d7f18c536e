/** Runs a vector on a server, in memory or over a socket, and compares its responses. */
import assert from 'node:assert/strict';
import { Span } from '../../src/base/span.ts';
import {
  FOUND,
  NO_HOLD,
  NOBODY,
  type OperationResult,
  type Outcome,
} from '../../src/engine/engine.ts';
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
  forgetData(server, vector);
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
function forgetData(server: TestServer, vector: Vector): void {
  for (const queue of queuesOf(vector)) empty(server, queue);
  const text = `${vector.before ?? ''}${vector.request}`;
  for (const [, name = ''] of text.matchAll(/maps\/([^/ ?]+)/g)) {
    server.served.clear(spanOf(name), NOBODY);
    server.clock.settle();
  }
}

/**
 * Returns the names of the queues in a vector, one character per byte: items polled from them are
 * removed, and offered items remain.
 */
function queuesOf({ before, request, after }: Vector): ReadonlySet<string> {
  const parts = [before, request, after].map((part) => part?.toString('latin1') ?? '');
  const text = parts.join('');
  const names = [...text.matchAll(/queues\/([^/ ?]+)/g)];
  return new Set(names.map(([, name = '']) => decoded(name)));
}

function decoded(name: string): string {
  return name.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

function spanOf(name: string): Span {
  const bytes = Buffer.from(name, 'latin1');
  return new Span().set(bytes, 0, bytes.length);
}

function empty({ served: engine, clock }: TestServer, queue: string): void {
  const name = spanOf(queue);
  let outcome: Outcome = FOUND;
  const onResult = (answer: OperationResult): void => {
    outcome = answer.outcome;
    if (answer.hold !== NO_HOLD) engine.acknowledge(answer.hold, true, NOBODY);
  };
  while (outcome === FOUND) {
    engine.take(name, 0, { onResult });
    clock.settle();
  }
}
