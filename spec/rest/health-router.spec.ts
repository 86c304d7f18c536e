import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HealthRouter } from '../../src/rest/health-router.ts';
import { Router } from '../../src/rest/router.ts';
import { SURFACES } from '../../src/rest/surface.ts';
import { FakeSocket } from '../http/fake-socket.ts';
import { readResponses } from '../http/response-reader.ts';
import { createTestServer } from '../http/test-server.ts';

const server = createTestServer(
  {},
  {
    router: new HealthRouter(new Router('grid', SURFACES.none)),
  },
);

function statusOf(method: string, path: string): number | undefined {
  const socket = new FakeSocket();
  server.connect(socket);
  socket.receive(`${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return readResponses(socket.text, [method === 'HEAD'])[0]?.status;
}

const CASES: readonly (readonly [string, string, number])[] = [
  ['GET', '/grid/health', 200],
  ['HEAD', '/grid/health/ready', 200],
  ['GET', '/gr%69d/health/live?x', 200],
  ['OPTIONS', '/grid/health', 204],
  ['POST', '/grid/health', 405],
  ['GET', '/grid/healthy', 400],
  ['GET', '/grid/health/', 400],
  ['GET', '/grid/rest/cluster', 404],
  ['GET', '/grid/rest/maps/m/k', 404],
  ['POST', '/grid/rest/queues/q', 404],
  ['DELETE', '/gr%69d/rest/maps/m', 404],
  ['GET', '/grid/rest/wan/sync/map', 404],
  ['OPTIONS', '/grid/rest/maps/m/k', 404],
  ['GET', '/', 404],
  ['PATCH', '/grid/rest/maps/m/k', 501],
];

for (const [method, path, status] of CASES) {
  test(`HealthRouter: ${method} ${path} is ${status}`, () => {
    assert.equal(statusOf(method, path), status);
  });
}

test('HealthRouter: a member with an unreachable engine is live but not ready', async () => {
  const { engine, connect } = createTestServer();
  await engine.close();
  const socket = new FakeSocket();
  connect(socket);
  for (const path of ['live', 'ready']) {
    socket.receive(`GET /grid/health/${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }
  const statuses = readResponses(socket.text, [false, false]).map(({ status }) => status);
  assert.deepEqual(statuses, [200, 503]);
});

test('HealthRouter: health is refused while its group is off', () => {
  server.groups.set(true, new Map([['DATA', true]]));
  assert.equal(statusOf('GET', '/grid/health/live'), 403);
  assert.equal(statusOf('GET', '/grid/rest/maps/m/k'), 404);
});
