/** The vectors of spec/vectors/http, each in one piece, split at every byte, and byte by byte. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { type Answer, FOUND, type Outcome } from '../../src/engine/engine.ts';
import { FakeSocket } from './fake-socket.ts';
import { createTestServer, type TestServer } from './test-server.ts';
import { readVectors, VECTORS, type Vector } from './vector.ts';
import { checkResponses } from './vector-responses.ts';

/** Long requests are split at so many places, spread evenly, and not byte by byte. */
const SPLITS_MAX = 300;

for (const name of readdirSync(VECTORS).sort()) {
  describe(`vectors of ${name}`, () => {
    for (const vector of readVectors(new URL(name, VECTORS).pathname)) {
      it(vector.title, () => runSplit(vector));
    }
  });
}

function runSplit(vector: Vector): void {
  const { length } = vector.request;
  const shared = createTestServer();
  const queues = queuesOf(vector);
  const run = (vector: Vector, pieces: readonly Buffer[], how: string) => {
    runOn(shared, vector, pieces, how);
    for (const queue of queues) empty(shared, queue);
  };
  run(vector, [vector.request], 'in one piece');
  const step = Math.ceil(length / SPLITS_MAX);
  for (let at = 1; at < length; at += step) {
    const pieces = [vector.request.subarray(0, at), vector.request.subarray(at)];
    run(vector, pieces, `split at ${at}`);
  }
  const bytes = Array.from({ length }, (_, at) => vector.request.subarray(at, at + 1));
  run(vector, bytes, 'byte by byte');
}

/** Names of the queues that a vector asks for: what is taken from them is gone, what is offered stays. */
function queuesOf({ before, request, after }: Vector): ReadonlySet<string> {
  const text = `${before ?? ''}${request}${after ?? ''}`;
  const names = [...text.matchAll(/queues\/([^/ ?]+)/g)];
  return new Set(names.map(([, name = '']) => decodeURIComponent(name)));
}

function empty({ engine }: TestServer, queue: string): void {
  const bytes = Buffer.from(queue);
  const name = new Span().set(bytes, 0, bytes.length);
  let outcome: Outcome = FOUND;
  const onAnswer = (answer: Answer): void => {
    outcome = answer.outcome;
  };
  while (outcome === FOUND) engine.take(name, 0, { onAnswer });
}

function runOn(server: TestServer, vector: Vector, pieces: readonly Buffer[], how: string): void {
  if (vector.before) exchange(server, [vector.before]);
  const socket = exchange(server, pieces);
  if (vector.endsInput) socket.receiveEnd();
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
  const socket = new FakeSocket();
  server.connect(socket);
  for (const piece of pieces) socket.receive(piece);
  server.clock.settle();
  return socket;
}
