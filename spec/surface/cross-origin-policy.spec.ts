/** Pages of other sites, and names of the member that it does not accept, in both dialects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { HEALTH_ROUTES } from '../../src/health/health-routes.ts';
import { ServedHosts } from '../../src/http/served-hosts.ts';
import { CrossOriginPolicy } from '../../src/surface/cross-origin-policy.ts';
import { readResponses } from '../http/response-reader.ts';
import { socketTo } from '../http/test-client.ts';
import { createTestServer, type TestServerParts } from '../http/test-server.ts';

const APP = 'https://app.example.org';
const ALL_GROUPS = new Map(
  (['DATA', 'HEALTH_CHECK', 'CLUSTER_READ', 'CLUSTER_WRITE'] as const).map((name) => [name, true]),
);

function member(parts: TestServerParts = {}) {
  const server = createTestServer({}, parts);
  server.groups.set(true, ALL_GROUPS);
  const open = () => socketTo(server);
  return {
    server,
    open,
    /**
     * Returns the response to a request: method and path, then its field lines, then its content.
     */
    ask(line: string, fields: readonly string[] = ['Host: localhost'], content = '') {
      const socket = open();
      const [request = '', version = '1.1'] = line.split(' HTTP/');
      const length = content === '' ? [] : [`Content-Length: ${content.length}`];
      const head = [`${request} HTTP/${version}`, ...fields, ...length];
      socket.receive(`${head.join('\r\n')}\r\n\r\n${content}`);
      server.clock.settle();
      const [response] = readResponses(socket.text, [request.startsWith('HEAD')]);
      socket.destroy();
      assert(response !== undefined, request);
      return response;
    },
  };
}

function listing(...origins: string[]): TestServerParts {
  return { services: { crossOrigin: new CrossOriginPolicy(origins, 600) } };
}

function onLoopback(allowed: readonly string[] = []): TestServerParts {
  const servedHosts = new ServedHosts([], allowed);
  servedHosts.bind('127.0.0.1');
  return { servedHosts };
}

describe('pages of listed origins', () => {
  const fields = ['Host: grid.example.org', `Origin: ${APP}`, 'Sec-Fetch-Site: cross-site'];

  it('may do everything that any client may, and read every response', () => {
    const { ask } = member(listing('http://a', APP));
    const shutdown = 'POST /grid/rest/management/cluster/clusterShutdown';
    const statuses = [
      ask('POST /grid/rest/maps/m/k', fields, 'value'),
      ask('GET /grid/rest/maps/m/k', fields),
      ask('DELETE /grid/rest/maps/m/k', fields),
      ask('GET /grid/rest/maps/m/k', fields),
      ask('GET /nowhere', fields),
      ask('GET /grid/rest/wan/publishers', fields),
      ask(shutdown, fields, 'dev'),
      ask('GET /grid/health', fields),
    ].map(({ status, fields: got }) => {
      assert.equal(got.get('access-control-allow-origin'), APP);
      assert.equal(got.get('access-control-expose-headers'), '*');
      assert.equal(got.get('vary'), 'Origin');
      assert(!got.has('access-control-allow-credentials'));
      return status;
    });
    assert.deepEqual(statuses, [200, 200, 200, 204, 404, 403, 400, 200]);
  });

  it('learn from a preflight what they may send, and for how long', () => {
    const { ask } = member(listing(APP));
    const asking = ['Access-Control-Request-Method: PUT', 'Access-Control-Request-Headers: a,b'];
    const { status, fields: got } = ask('OPTIONS /grid/rest/maps/m/k', [...fields, ...asking]);
    assert.equal(status, 204);
    const named = (name: string) => got.get(`access-control-${name}`);
    assert.equal(named('allow-origin'), APP);
    assert.equal(named('allow-methods'), 'GET, HEAD, POST, PUT, DELETE, OPTIONS');
    assert.equal(named('allow-headers'), 'a,b');
    assert.equal(named('max-age'), '600');
    assert.equal(got.get('allow'), named('allow-methods'));
    const { fields: without } = ask('OPTIONS /grid/rest/maps/m/k', fields);
    assert(!without.has('access-control-allow-headers'));
  });

  it('are only those of the list, in any spelling', () => {
    const { ask } = member(listing('HTTPS://App.Example.Org:443', 'http://b:80', 'http://c:8080'));
    const status = (origin: string) =>
      ask('GET /grid/health/live', ['Host: localhost', `Origin: ${origin}`]).status;
    for (const origin of [APP, 'http://b', 'http://c:8080', 'http://localhost']) {
      assert.equal(status(origin), 200, origin);
    }
    for (const origin of [
      'http://app.example.org',
      'null',
      `${APP}.evil`,
      'http://c',
      'http://b.a',
    ]) {
      assert.equal(status(origin), 403, origin);
    }
  });

  it('are marked by Origin: without it, another site is refused', () => {
    const { ask } = member(listing(APP, '*'));
    const { status } = ask('GET /grid/health/live', ['Host: a', 'Sec-Fetch-Site: cross-site']);
    assert.equal(status, 403);
  });

  it('include every origin with *, also null', () => {
    const { ask } = member(listing('*'));
    for (const origin of ['null', APP]) {
      const { status, fields: got } = ask('GET /grid/rest/maps/m/k', [
        'Host: a',
        `Origin: ${origin}`,
      ]);
      assert.equal(status, 204);
      assert.equal(got.get('access-control-allow-origin'), '*');
    }
  });

  it('get Vary in every response, so that caches know that the response depends on the origin', () => {
    const { ask } = member(listing(APP));
    for (const line of ['POST /grid/rest/maps/m/k', 'GET /grid/rest/maps/m/k', 'GET /x', 'G /']) {
      assert.equal(ask(line).fields.get('vary'), 'Origin', line);
      assert(!ask(line).fields.has('access-control-allow-origin'));
    }
    const { ask: other } = member();
    assert(!other('GET /grid/rest/maps/m/k').fields.has('vary'));
  });

  it('are recognised up to 2,048 bytes, and never if Origin is repeated', () => {
    const longest = `https://${'a'.repeat(2040)}`;
    const { ask } = member(listing(longest, `${longest}a`, APP));
    const status = (...origins: string[]) =>
      ask('GET /grid/health/live', ['Host: a', ...origins.map((each) => `Origin: ${each}`)]).status;
    assert.equal(status(longest), 200);
    assert.equal(status(`${longest}a`), 403);
    assert.equal(status(APP, APP), 403);
  });

  it('are not those of a Host longer than 2,048 bytes', () => {
    const { ask } = member();
    const status = (host: string) =>
      ask('GET /grid/health/live', [`Host: ${host}`, `Origin: http://${host}`]).status;
    assert.equal(status('a'.repeat(2041)), 200);
    assert.equal(status('a'.repeat(2049)), 403);
  });

  it('get the fields in delayed responses, for origins of any length', () => {
    const long = `https://${'a'.repeat(2000)}.example`;
    const { open, server, ask } = member(listing(long));
    const poll = open();
    const head = ['DELETE /grid/rest/queues/q/9 HTTP/1.1', 'Host: a', `Origin: ${long}`];
    poll.receive(`${head.join('\r\n')}\r\nUpgrade-Insecure-Requests: 1\r\n\r\n`);
    assert.equal(ask('POST /grid/rest/queues/q', undefined, '<script>').status, 200);
    server.clock.settle();
    const [response] = readResponses(poll.text);
    assert.equal(response?.body, '<script>');
    assert.equal(response?.fields.get('access-control-allow-origin'), long);
    assert.equal(response?.fields.get('content-security-policy'), 'sandbox');
    assert.equal(response?.fields.get('x-content-type-options'), 'nosniff');
    const { fields: got } = ask('GET /grid/health', ['Host: a', 'Upgrade-Insecure-Requests: 1']);
    assert(!got.has('content-security-policy'));
  });
});

describe('pages of other sites', () => {
  const blob = ['Host: localhost:5701', 'Origin: http://evil.example:8000'];

  it('cannot stop a member, set a level or reach a login', () => {
    const { ask, server } = member();
    for (const call of ['management/cluster/clusterShutdown', 'log-level', 'config/update']) {
      assert.equal(ask(`POST /grid/rest/${call}`, blob, 'dev&a=b&off').status, 403);
    }
    assert.deepEqual([server.stops, server.audited], [[], []]);
  });

  it('poll no item of a queue, although compatibility has polls by GET', () => {
    const { ask } = member({ compatibility: 'hazelcast' });
    const queue = '/hazelcast/rest/queues/q';
    assert.equal(ask(`POST ${queue}`, undefined, 'item').status, 200);
    const site = ['Host: localhost', 'Sec-Fetch-Site: cross-site'];
    const link = [...site, 'Sec-Fetch-Mode: navigate', 'Upgrade-Insecure-Requests: 1'];
    assert.equal(ask(`GET ${queue}/0`, [...site, 'Sec-Fetch-Mode: no-cors']).status, 403);
    assert.equal(ask(`GET ${queue}/0`, link).status, 403);
    assert.equal(ask(`POST ${queue}/more`, blob).status, 403);
    assert.equal(ask(`GET ${queue}/size`, link).body, '1');
    assert.equal(ask('GET /hazelcast/health', link).status, 200);
    assert.equal(ask(`GET ${queue}/0`).body, 'item');
  });

  it('are refused after the check that a starting member serves only health', () => {
    const cluster = new StandaloneCluster('1.2', new LocalRecord('1.2'));
    const { ask } = member({ services: { cluster } });
    assert.equal(ask('GET /grid/rest/cluster', blob).status, 503);
    assert.equal(ask('GET /grid/health', blob).status, 403);
    assert.equal(ask('GET /grid/health').status, 200);
  });

  it('get no health, not even on the health port, except through a link', () => {
    const { ask } = member({ table: HEALTH_ROUTES });
    assert.equal(ask('GET /grid/health', blob).status, 403);
    const link = ['Host: a', 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'];
    assert.equal(ask('GET /grid/health', link).status, 200);
  });
});

describe('foreign names of a member on loopback', () => {
  it('get only health, and learn which setting adds them', () => {
    const { ask, server } = member(onLoopback());
    const evil = ['Host: evil.example:5701'];
    const refused = ask('POST /grid/rest/maps/m/k', evil, 'v');
    assert.equal(refused.status, 403);
    assert.equal(
      JSON.parse(refused.body).message,
      'Cannot serve Host "evil.example:5701": not a name of this machine; if a proxy forwards the ' +
        'name that its clients use, list it in network.rest-api.allowed-hosts or --allowed-hosts',
    );
    const shutdown = 'POST /grid/rest/management/cluster/clusterShutdown';
    assert.equal(ask(shutdown, evil, 'dev&').status, 403);
    assert.deepEqual(server.stops, []);
    assert.equal(ask('GET /grid/rest/maps/m/k').status, 204);
    for (const path of ['', '/live', '/ready']) {
      assert.equal(ask(`GET /grid/health${path}`, evil).status, 200);
    }
    const own = [...evil, 'Origin: http://evil.example:5701'];
    assert.equal(ask('GET /grid/rest/cluster', own).status, 403);
  });

  it('are those of Host, of an absolute target, and of HTTP/1.0, which may have none', () => {
    const { ask } = member(onLoopback());
    const status = (line: string, ...fields: string[]) => ask(line, fields).status;
    const path = '/grid/rest/maps/m/k';
    assert.equal(status(`GET http://evil${path}`, 'Host: localhost'), 403);
    assert.equal(status(`GET http://127.0.0.1:5701${path}`, 'Host: evil'), 204);
    assert.equal(status(`GET ${path} HTTP/1.0`), 204);
    assert.equal(status(`GET ${path} HTTP/1.0`, 'Host: evil'), 403);
    assert.equal(status(`GET http://evil${path} HTTP/1.0`), 403);
    assert.equal(status(`GET ${path}`, 'Host:'), 403);
  });

  it('are found wherever the head is split', () => {
    const { open, server } = member(onLoopback(['*.good.example']));
    const text =
      'GET /grid/rest/maps/m/k HTTP/1.1\r\nHost: a.good.example\r\nOrigin: http://a.good.example\r\n' +
      'X: y\r\n\r\nGET /grid/rest/maps/m/k HTTP/1.1\r\nOrigin: http://evil\r\nHost: evil\r\n\r\n';
    for (let at = 1; at < text.length; at++) {
      const socket = open();
      socket.receive(text.slice(0, at));
      socket.receive(text.slice(at));
      server.clock.settle();
      const statuses = readResponses(socket.text).map(({ status }) => status);
      assert.deepEqual(statuses, [204, 403], `split at ${at}`);
      assert.match(socket.text, /Cannot serve Host \\"evil\\"/);
      socket.destroy();
    }
  });

  it('are refused on a connection that was served, which then continues to be served', () => {
    const { open, server } = member(onLoopback());
    const socket = open();
    const get = (host: string) => `GET /grid/rest/maps/m/k HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    socket.receive(
      ['localhost', 'localhost', 'localhost', 'localhoss', 'localhost'].map(get).join(''),
    );
    server.clock.settle();
    const statuses = readResponses(socket.text).map(({ status }) => status);
    assert.deepEqual(statuses, [204, 204, 204, 403, 204]);
  });
});
