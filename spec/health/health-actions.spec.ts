import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEALTH_ROUTES } from '../../src/health/health-routes.ts';
import { client } from '../http/test-client.ts';
import { createTestServer } from '../http/test-server.ts';

const server = createTestServer({}, { table: HEALTH_ROUTES });

function statusOf(method: string, path: string, of = server): number | undefined {
  const { socket, responses } = client(of);
  socket.receive(`${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return responses([method === 'HEAD'])[0]?.status;
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
  test(`The health port: ${method} ${path} is ${status}`, () => {
    assert.equal(statusOf(method, path), status);
  });
}

test('The health port: a member with an unreachable engine is live but not ready', async () => {
  const server = createTestServer();
  await server.engine.close();
  const statuses = ['live', 'ready'].map((path) => statusOf('GET', `/grid/health/${path}`, server));
  assert.deepEqual(statuses, [200, 503]);
});

test('The health port: health is refused while its group is off', () => {
  server.groups.set(true, new Map([['DATA', true]]));
  assert.equal(statusOf('GET', '/grid/health/live'), 403);
  assert.equal(statusOf('GET', '/grid/rest/maps/m/k'), 404);
});
