/** Runs a vector on a server, whose responses may follow in later turns. */
import assert from 'node:assert/strict';
import { Span } from '../../src/base/span.ts';
import {
  FOUND,
  NO_HOLD,
  NOBODY,
  type OperationResult,
  type Outcome,
} from '../../src/engine/engine.ts';
import type { FakeSocket } from './fake-socket.ts';
import { socketTo } from './test-client.ts';
import type { TestServer } from './test-server.ts';
import type { Vector } from './vector.ts';
import { checkResponses } from './vector-responses.ts';

/** Length of each end of a request that is sent byte by byte, and of the pieces between them. */
const ENDS_BYTES = 1000;
const MIDDLE_PIECE_BYTES = 61;

/**
 * Runs the vector in one piece, in two pieces split at up to `splitsMax` places, from `first` on,
 * and byte by byte. Afterwards the server has none of its data.
 */
export function runVector(vector: Vector, server: TestServer, splitsMax: number, first = 0): void {
  const { length } = vector.request;
  const queues = queuesOf(vector);
  const run = (pieces: readonly Buffer[], how: string) => {
    runOn(server, vector, pieces, how);
    for (const queue of queues) empty(server, queue);
  };
  run([vector.request], 'in one piece');
  const step = Math.ceil(length / splitsMax);
  for (let at = 1 + (first % step); at < length; at += step) {
    run([vector.request.subarray(0, at), vector.request.subarray(at)], `split at ${at}`);
  }
  run(smallPieces(vector.request), 'byte by byte');
  forgetData(server, vector);
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
export function forgetData(server: TestServer, vector: Vector): void {
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

function runOn(server: TestServer, vector: Vector, pieces: readonly Buffer[], how: string): void {
  if (vector.before) exchange(server, [vector.before]);
  const socket = exchange(server, pieces);
  if (vector.endsInput) socket.receiveEnd();
  server.clock.settle();
  checkResponses(socket.text, vector.responses, vector.request, how);
  if (vector.closes !== undefined) {
    assert.equal(socket.writableEnded, vector.closes, `${how}: whether the connection ends`);
  }
  if (vector.after) {
    const after = exchange(server, [vector.after]);
    checkResponses(after.text, vector.afterResponses, vector.after, `${how}, afterwards`);
    after.destroy();
  }
  socket.destroy();
}

function exchange(server: TestServer, pieces: readonly Buffer[]): FakeSocket {
  const socket = socketTo(server);
  for (const piece of pieces) socket.receive(piece);
  server.clock.settle();
  return socket;
}
