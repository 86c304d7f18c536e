/** Covers src/monitoring: the responses of its paths, before a whole server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { counter, type Figures } from '../../src/base/figures.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { Monitoring } from '../../src/monitoring/monitoring.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import { pathsOf } from '../../src/surface/resource.ts';
import { HttpTraffic } from '../../src/telemetry/http-traffic.ts';
import { FakeClock } from '../fake-clock.ts';
import { type ReadResponse, readResponses } from '../http/response-reader.ts';
import { socketTo } from '../http/test-client.ts';
import { createTestServer } from '../http/test-server.ts';
import { readMetrics } from '../telemetry/read-metrics.ts';

const DONE = counter('grid_done_total', 'Number of calls');

function monitored(stored?: { memoryBytes: number; memoryBytesMax: number }) {
  const clock = new FakeClock();
  const traffic = new HttpTraffic(pathsOf(ROUTES));
  const cluster = new StandaloneCluster('1.2.3', new LocalRecord('1.2'));
  cluster.start('127.0.0.1:5701');
  const parts = [{ figures: (to: Figures) => to.add(DONE, 7) }, {}];
  const publishers: { queueSize: number }[] = [];
  const monitoring = new Monitoring({
    clock,
    traffic,
    cluster,
    stored,
    files: { limit: 100, count: 10 },
    parts: () => [monitoring, ...parts],
    dialect: DIALECTS.none,
    clusterName: 'dev',
    instanceName: () => 'one',
    connectionCount: () => 2,
    inFlightBytes: () => 30,
    persistence: () => undefined,
    publishers: () => publishers,
    cp: () => ({ groups: 3, sessions: 4 }),
  });
  let documents = 0;
  const document = async () => {
    documents++;
    return '{"openapi":"3.1.0"}';
  };
  const server = createTestServer(
    {},
    { clock, meter: traffic, services: { monitoring, document, cluster } },
  );
  const ask = (path: string, fields = '', method = 'GET') => {
    const socket = socketTo(server);
    socket.receive(`${method} /grid/${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`);
    const [response] = readResponses(socket.text, [method === 'HEAD']);
    if (response === undefined) assert.fail('a response');
    return { ...response, type: response.fields.get('content-type') };
  };
  return { ask, clock, server, monitoring, publishers, documentCount: () => documents };
}

describe('metrics', () => {
  it('has the metrics of all parts, in the format that Accept selects', async () => {
    const { ask, monitoring } = monitored();
    const text = ask('metrics');
    assert.equal(text.type, 'text/plain; version=0.0.4; charset=utf-8');
    const samples = readMetrics(text.body);
    assert.equal(samples.get('grid_done_total'), 7);
    assert(samples.has('process_open_fds'));
    const open = ask('metrics', 'Accept: application/openmetrics-text\r\n');
    assert.equal(open.type, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    assert(open.body.endsWith('grid_done_total 7\n# EOF\n'));
    for (const accept of ['*/*;q=0', '\u00ff,;q==', `${'text/html;q=0.1,'.repeat(400)}a/b`])
      assert.equal(ask('metrics', `Accept: ${accept}\r\n`).type, text.type);
    await monitoring.close();
  });

  it('ignores a query, and has only GET, HEAD and OPTIONS', async () => {
    const { ask, monitoring } = monitored();
    assert.equal(ask('metrics?x=%zz').status, 200);
    const head = ask('metrics', '', 'HEAD');
    assert.deepEqual([head.status, head.body], [200, '']);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, fields } = ask('metrics', '', method);
      assert.deepEqual([status, fields.get('allow')], [405, 'GET, HEAD, OPTIONS']);
    }
    assert.equal(ask('metrics/').status, 404);
    await monitoring.close();
  });
});

describe('openapi.json', () => {
  it('is made once', async () => {
    const { server, monitoring, documentCount } = monitored();
    assert.equal(documentCount(), 0);
    for (let count = 0; count < 3; count++) {
      const socket = socketTo(server);
      socket.receive('GET /grid/openapi.json?x HTTP/1.1\r\nHost: localhost\r\n\r\n');
      while (socket.text === '') await nextTurn();
      const [{ body, fields }] = readResponses(socket.text) as [ReadResponse];
      const type = fields.get('content-type');
      assert.deepEqual([body, type], ['{"openapi":"3.1.0"}', 'application/json']);
    }
    assert.equal(documentCount(), 1);
    await monitoring.close();
  });
});

describe('v1/status', () => {
  it('has the member, its cluster, its load, and null for parts that it lacks', async () => {
    const { ask, clock, monitoring, publishers } = monitored({
      memoryBytes: 5,
      memoryBytesMax: 50,
    });
    ask('metrics');
    clock.advance(1000);
    publishers.push({ queueSize: 2 }, { queueSize: 3 });
    const status = JSON.parse(ask('v1/status').body);
    const { member, cluster, health, http, memory, history, ...parts } = status;
    assert.deepEqual(parts, {
      persistence: null,
      wan: { publishers: 2, queuedEvents: 5 },
      cp: { groups: 3, sessions: 4 },
    });
    const [own] = cluster.members;
    assert.deepEqual(member, {
      name: 'one',
      uuid: own.uuid,
      address: '127.0.0.1:5701',
      version: member.version,
      startTime: 1_700_000_000_000,
    });
    assert.deepEqual([cluster.name, cluster.state, cluster.members.length], ['dev', 'ACTIVE', 1]);
    assert.deepEqual(health, JSON.parse(ask('health').body));
    assert.deepEqual(http, { connections: 2, inFlightBytes: 30 });
    assert.deepEqual([memory.usedBytes, memory.limitBytes], [5, 50]);
    assert(memory.residentBytes > 0);
    assert.deepEqual([history.requests.at(-1), history.memoryBytes.at(-1)], [1, 5]);
    await monitoring.close();
  });

  it('has null for memory and WAN of a member whose data is on servers', async () => {
    const { ask, monitoring } = monitored();
    const { memory, wan } = JSON.parse(ask('v1/status').body);
    assert.deepEqual([memory.usedBytes, memory.limitBytes, wan], [null, null, null]);
    await monitoring.close();
  });

  it('refuses a query by naming it', async () => {
    const { ask, monitoring } = monitored();
    for (const query of ['?', '?x=1', '?%22']) {
      const { status, body } = ask(`v1/status${query}`);
      assert.equal(status, 400);
      assert(JSON.parse(body).message.endsWith(`the request has "${query}"`), body);
    }
    await monitoring.close();
  });
});
