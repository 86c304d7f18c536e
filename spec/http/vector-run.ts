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
import { FakeSocket } from './fake-socket.ts';
import type { TestServer } from './test-server.ts';
import type { Vector } from './vector.ts';
import { checkResponses } from './vector-responses.ts';

/**
 * Runs the vector in one piece, in two pieces split at up to `splitsMax` places, and byte by byte.
 */
export function runVector(vector: Vector, server: TestServer, splitsMax: number): void {
  const { length } = vector.request;
  const queues = queuesOf(vector);
  const run = (vector: Vector, pieces: readonly Buffer[], how: string) => {
    runOn(server, vector, pieces, how);
    for (const queue of queues) empty(server, queue);
  };
  run(vector, [vector.request], 'in one piece');
  const step = Math.ceil(length / splitsMax);
  for (let at = 1; at < length; at += step) {
    const pieces = [vector.request.subarray(0, at), vector.request.subarray(at)];
    run(vector, pieces, `split at ${at}`);
  }
  const bytes = Array.from({ length }, (_, at) => vector.request.subarray(at, at + 1));
  run(vector, bytes, 'byte by byte');
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

function empty({ served: engine, clock }: TestServer, queue: string): void {
  const bytes = Buffer.from(queue, 'latin1');
  const name = new Span().set(bytes, 0, bytes.length);
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
  const socket = new FakeSocket((run) => server.clock.endOfTurn(run));
  server.connect(socket);
  for (const piece of pieces) socket.receive(piece);
  server.clock.settle();
  return socket;
}

/** Clears the maps that a vector names, for the next vector on the same server. */
export function forgetMaps({ served, clock }: TestServer, { before, request }: Vector): void {
  const text = `${before ?? ''}${request}`;
  for (const [, name = ''] of text.matchAll(/maps\/([^/ ?]+)/g)) {
    const bytes = Buffer.from(name);
    served.clear(new Span().set(bytes, 0, bytes.length), NOBODY);
    clock.settle();
  }
}
