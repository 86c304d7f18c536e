/** A client of a test server, with an in-memory socket, and the requests that specs send. */
import { FakeSocket } from './fake-socket.ts';
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
export function socketTo(server: Pick<TestServer, 'clock' | 'connect'>): FakeSocket {
  const socket = new FakeSocket((run) => server.clock.endOfTurn(run));
  server.connect(socket);
  return socket;
}

export function client(server = createTestServer(), socket = new FakeSocket()) {
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
