/** A client of a test server, with an in-memory socket, and the requests that specs send. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpLimits } from '../../src/http/limits.ts';
import type { Verdict } from '../../src/security/credentials.ts';
import type { FakeClock } from '../fake-clock.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { readResponses } from './response-reader.ts';
import { createTestServer, type TestServer } from './test-server.ts';

export const LIVE = 'GET /grid/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n';

export function poll(queue: string, seconds = 30): string {
  return `DELETE /grid/rest/queues/${queue}/${seconds} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

export function get(path: string): string {
  return `GET /grid/rest/${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

export function post(path: string, body: string): string {
  return postHead(path, body.length) + body;
}

/** Returns the head of a POST. */
export function postHead(path: string, length: number, fieldLines = ''): string {
  const fields = `${fieldLines}Content-Length: ${length}\r\n`;
  return `POST /grid/rest/${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`;
}

/** Returns a connected socket whose later work belongs to the turns of the server's clock. */
export function socketTo(server: Pick<TestServer, 'clock' | 'connect'>): FakeCarrier {
  const socket = new FakeCarrier((run) => server.clock.endOfTurn(run));
  server.connect(socket);
  return socket;
}

export function client(server = createTestServer(), socket = new FakeCarrier()) {
  const connection = server.connect(socket);
  return {
    ...server,
    socket,
    connection,
    statuses: () => readResponses(socket.text).map(({ status }) => status),
    responses: (isHead?: readonly boolean[]) => readResponses(socket.text, isHead),
    another: () => client(server),
  };
}

export type Client = ReturnType<typeof client>;

/** Asserts that the condition becomes true after this time, and not before. */
export function assertAfter(ms: number, clock: FakeClock, isTrue: () => boolean): void {
  clock.advance(ms - 1);
  assert(!isTrue(), `before ${ms} ms`);
  clock.advance(1);
  assert(isTrue(), `after ${ms} ms`);
}

/** Starts to drain the server with these connections, without the time to read their sockets. */
export function drainNow(...clients: readonly Client[]): void {
  for (const { server, clock, connection } of clients) {
    server.isDraining = true;
    server.drainedMs = Math.min(server.drainedMs, clock.now());
    connection.drain(false);
  }
}

/**
 * Returns a server whose administrative calls wait for the check of their credentials until
 * `letIn`, and such a call.
 */
export function guardedServer(limits: Partial<HttpLimits> = {}) {
  const waiting: ((verdict: Verdict) => void)[] = [];
  const check = () => new Promise<Verdict>((resolve) => waiting.push(resolve));
  const server = createTestServer(limits, { services: { credentials: { check } } });
  const letIn = async (): Promise<void> => {
    for (const resolve of waiting.splice(0)) resolve({ isRight: true, retryAfterMs: 0 });
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  };
  return { server, letIn, call: post('management/cluster/state', 'dev&') };
}
