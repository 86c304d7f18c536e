/**
 * Measures the whole path of a request in this process: received bytes, parser, router, engine,
 * response. The socket accepts all bytes at once. The cost of the kernel and of Node's streams is
 * not included.
 */
import assert from 'node:assert/strict';
import { createTestServer, type ServiceParts } from '../spec/http/test-server.ts';
import { SystemClock } from '../src/base/clock.ts';
import { MapLifetimes } from '../src/data/map-lifetimes.ts';
import { Connection } from '../src/http/connection.ts';
import { ROUTES } from '../src/member/routes.ts';
import { AccessControl } from '../src/security/access-control.ts';
import { Authenticator } from '../src/security/authenticator.ts';
import type { Permission } from '../src/security/permissions.ts';
import { pathsOf } from '../src/surface/resource.ts';
import { HttpTraffic } from '../src/telemetry/http-traffic.ts';
import type { Bench, Harness, Scenario } from './harness.ts';
import { NullCarrier } from './servers/null-carrier.ts';

const KEYS = 10_000;
const VALUE = 'x'.repeat(100);

export const bench: Bench = {
  name: 'request-path',
  about:
    'GET and POST of 100 bytes from received bytes to written response, 1 and 32 per read; locks',
  async run(harness) {
    for (const depth of [1, 32]) {
      measure(harness, 'GET', depth, get);
      measure(harness, 'POST', depth, post);
    }
    measure(harness, 'health', 1, () => 'GET /grid/health/live HTTP/1.1\r\nHost: x\r\n\r\n');
    measureLocks(harness);
    for (const depth of [1, 32]) await compareLogins(harness, depth);
  },
};

const PASSWORD = 'a password of some length';
const FIELD = `Authorization: Basic ${Buffer.from(`ann:${PASSWORD}`).toString('base64')}\r\n`;

/**
 * GETs with credentials to members that require no login, that require one, and that also check
 * permissions.
 */
async function compareLogins(harness: Harness, depth: number): Promise<void> {
  const permission = { kind: 'map', name: 'ben*', principal: 'ann', isDenial: false } as const;
  const grant = { ...permission, actions: ['all'], appliesAt: () => true };
  const operations = harness.pick(2000, 500_000);
  const sides = [
    { name: 'no login', access: undefined },
    { name: 'login', access: accessOf(undefined) },
    { name: 'with a permission', access: accessOf([grant]) },
  ].map(({ name, access }) => {
    const run = requester(depth, secured, { login: access });
    return {
      name,
      round() {
        const start = performance.now();
        run(0, operations);
        return (operations / (performance.now() - start)) * 1000;
      },
    };
  });
  for (const { round } of sides) round();
  await harness.compare(`GET, ${depth} a read`, sides);
}

function accessOf(permissions: readonly Permission[] | undefined): AccessControl {
  const users = [{ name: 'ann', password: PASSWORD }];
  return new AccessControl({
    authenticator: new Authenticator(users, new SystemClock()),
    users: new Map([['ann', { name: 'ann', roles: [] }]]),
    permissions,
    prefersGrant: false,
    coversHealth: false,
  });
}

function secured(key: number): string {
  return get(key).replace('\r\n\r\n', `\r\n${FIELD}\r\n`);
}

function measure(
  harness: Harness,
  name: string,
  depth: number,
  request: (key: number) => string,
): void {
  harness.measure({
    name: `${name}, ${depth} a read`,
    operations: harness.pick(2000, 1_000_000),
    batch: 64,
    run: requester(depth, request),
  });
}

/** Takes and releases free locks of the CP subsystem. */
function measureLocks(harness: Harness): void {
  const socket = new NullCarrier();
  const { server, groups } = createTestServer();
  groups.set(true, new Map([['CP', true]]));
  server.observe = undefined;
  new Connection(server, socket);
  const form = (path: string, text: string) =>
    Buffer.from(
      `POST /grid/v1/cp/bench/${path} HTTP/1.1\r\nHost: 127.0.0.1:5701\r\n` +
        `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
  socket.receive(form('sessions', 'name=bench'));
  const { id } = JSON.parse(socket.lastText.slice(socket.lastText.indexOf('{')));
  const reads = Array.from({ length: 1000 }, (_, lock) =>
    ['', '/release'].map((end) => form(`locks/lock-${lock}${end}`, `session=${id}`)),
  ).flat();
  harness.measure({
    name: 'lock and release',
    operations: harness.pick(2000, 500_000),
    batch: 64,
    run(first, count) {
      for (let at = 2 * first; at < 2 * (first + count); at++)
        socket.receive(reads[at % reads.length] as Buffer);
      assert(socket.lastText.startsWith('HTTP/1.1 204'), 'the lock was released');
    },
  });
}

/** Sends requests to a new member, `depth` in each read. */
function requester(
  depth: number,
  request: (key: number) => string,
  services: ServiceParts = {},
): Scenario['run'] {
  const socket = new NullCarrier();
  // A member without configured maps; the test server has some.
  const lifetimes = new MapLifetimes(new Map(), new Map());
  const { engine, server } = createTestServer(
    {},
    { meter: new HttpTraffic(pathsOf(ROUTES)), services: { lifetimes, ...services } },
  );
  // Removes the check that the test server makes for the specs.
  server.observe = undefined;
  const filler = new NullCarrier();
  new Connection(createTestServer({}, { services: { lifetimes, engine } }).server, filler);
  for (let key = 0; key < KEYS; key++) filler.receive(Buffer.from(post(key)));
  new Connection(server, socket);
  const reads = Array.from({ length: KEYS / 32 }, (_, read) => {
    const keys = Array.from({ length: depth }, (_, index) => (read * 7919 + index * 31) % KEYS);
    return Buffer.from(keys.map(request).join(''));
  });
  return (first, count) => {
    for (let at = first; at < first + count; at += depth) {
      socket.receive(reads[at % reads.length] as Buffer);
    }
  };
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
