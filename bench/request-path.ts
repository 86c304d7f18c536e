/**
 * The whole way of a request in this process: bytes in, parser, router, engine, response out, with a
 * socket that takes everything at once. What the kernel and Node's streams cost is not in it.
 */
import { createTestServer } from '../spec/http/test-server.ts';
import { MapLifetimes } from '../src/rest/map-lifetimes.ts';
import type { Bench, Harness } from './harness.ts';
import { NullSocket } from './servers/null-socket.ts';

const KEYS = 10_000;
const VALUE = 'x'.repeat(100);

export const bench: Bench = {
  name: 'request-path',
  about: 'GET and POST of 100 bytes from received bytes to written response, 1 and 32 a read',
  run(harness) {
    for (const depth of [1, 32]) {
      measure(harness, 'GET', depth, get);
      measure(harness, 'POST', depth, post);
    }
    measure(harness, 'health', 1, () => 'GET /grid/health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  },
};

function measure(
  harness: Harness,
  name: string,
  depth: number,
  request: (key: number) => string,
): void {
  const socket = new NullSocket();
  // As a member without configured maps, which the test server has.
  const lifetimes = new MapLifetimes(new Map(), new Map());
  const { connect } = createTestServer({}, { services: { lifetimes } });
  connect(socket.asFake);
  for (let key = 0; key < KEYS; key++) socket.receive(Buffer.from(post(key)));
  const reads = Array.from({ length: KEYS / 32 }, (_, read) => {
    const keys = Array.from({ length: depth }, (_, index) => (read * 7919 + index * 31) % KEYS);
    return Buffer.from(keys.map(request).join(''));
  });
  harness.measure({
    name: `${name}, ${depth} a read`,
    operations: harness.pick(2000, 1_000_000),
    batch: 64,
    run(first, count) {
      for (let at = first; at < first + count; at += depth) {
        socket.receive(reads[at % reads.length] as Buffer);
      }
    },
  });
}

function get(key: number): string {
  return `GET /grid/rest/maps/bench/k${key} HTTP/1.1\r\nHost: 127.0.0.1:5701\r\n\r\n`;
}

function post(key: number): string {
  return (
    `POST /grid/rest/maps/bench/k${key} HTTP/1.1\r\nHost: 127.0.0.1:5701\r\n` +
    `Content-Type: text/plain\r\nContent-Length: ${VALUE.length}\r\n\r\n${VALUE}`
  );
}
