/**
 * The calls of clients of the original member, in both dialects: without `--compatibility` and with
 * `--compatibility hazelcast`. A row is a request and its responses; the rows of a test are sent to
 * one member in order.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { TcpIpMembers } from '../../src/cluster/tcp-ip-members.ts';
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from '../../src/config/endpoint-group.ts';
import { DELETE, GET, HEAD, POST } from '../../src/http/methods.ts';
import { Request } from '../../src/http/request.ts';
import { resolveTarget } from '../../src/http/target.ts';
import { DIALECTS } from '../../src/rest/dialect.ts';
import { Router } from '../../src/rest/router.ts';
import { SURFACES } from '../../src/rest/surface.ts';
import { ADD, READ, REMOVE } from '../../src/security/permissions.ts';
import { FakeSocket } from '../http/fake-socket.ts';
import { readResponses } from '../http/response-reader.ts';
import { createTestServer, type ServiceParts } from '../http/test-server.ts';

type Name = keyof typeof DIALECTS;

/**
 * `GET path` or `POST path content`, the response, and the response of the other dialect if it
 * differs.
 */
type Row = readonly [request: string, ours: string, theirs?: string];

const MANAGEMENT = 'rest/management/cluster';

function member(
  name: Name,
  groups: readonly EndpointGroup[] = ENDPOINT_GROUP_NAMES,
  services: ServiceParts = {},
) {
  const dialect = DIALECTS[name];
  const server = createTestServer({}, { compatibility: name, services });
  server.groups.set(groups.length > 0, new Map(groups.map((group) => [group, true])));
  const open = (request: string) => {
    const [method = '', path = '', content = ''] = request.split(' ');
    const socket = new FakeSocket();
    server.connect(socket);
    const head = `${method} /${dialect.pathSegment}/${path} HTTP/1.1\r\nHost: h\r\n`;
    socket.receive(`${head}Content-Length: ${content.length}\r\n\r\n${content}`);
    const read = () => readResponses(socket.text, [method === 'HEAD'])[0];
    return { socket, read };
  };
  const askWhole = async (request: string) => {
    const { read } = open(request);
    await turn();
    return read();
  };
  const ask = async (request: string) => {
    const response = await askWhole(request);
    return `${response?.status} ${response?.body}`.trim();
  };
  return { ...server, open, ask, askWhole };
}

/** Resolves after the callbacks of settled promises. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Asserts that the response to each row begins with the row's text. */
async function follow(ask: (request: string) => Promise<string>, name: Name, rows: readonly Row[]) {
  for (const [request, ours, theirs = ours] of rows) {
    const answer = await ask(request);
    const wanted = name === 'none' ? ours : theirs;
    assert.equal(answer.slice(0, wanted.length), wanted, `${request}: ${answer}`);
  }
}

const success = '200 {"status":"success"';
const version = DIALECTS.none.memberVersion.split('.', 2).join('.');

for (const name of ['none', 'hazelcast'] as const) {
  describe(`A member with --compatibility ${name}`, () => {
    it('reports and changes the state of the cluster', async () => {
      const { ask } = member(name);
      await follow(ask, name, [
        [`POST ${MANAGEMENT}/state dev&`, `${success},"state":"active"}`],
        [`POST ${MANAGEMENT}/changeState dev&&frozen`, `${success},"state":"frozen"}`],
        [`POST ${MANAGEMENT}/state dev&`, `${success},"state":"frozen"}`],
        ['GET health/cluster-state', '200 "FROZEN"'],
        [
          `POST ${MANAGEMENT}/changeState dev&&FROZEN`,
          '409 {"status":"fail","state":"frozen"}',
          '200 {"status":"fail","state":"frozen"}',
        ],
        [`POST ${MANAGEMENT}/changeState dev&&x`, '400 {"status"', '500 {"status":"fail","mess'],
        [`POST ${MANAGEMENT}/changeState dev&&passive`, `${success},"state":"passive"}`],
        [`POST ${MANAGEMENT}/state dev&`, `${success},"state":"passive"}`],
        ['GET health/node-state', '200 "PASSIVE"'],
      ]);
    });

    it('refuses a change of state during another one', async () => {
      const { ask } = member(name);
      const responses = await Promise.all([
        ask(`POST ${MANAGEMENT}/changeState dev&&frozen`),
        ask(`POST ${MANAGEMENT}/changeState dev&&passive`),
      ]);
      assert.match(responses[1], name === 'none' ? /^409 .*under way/ : /^500 .*under way/);
    });

    it('reports and changes the version of the cluster', async () => {
      const { ask } = member(name);
      await follow(ask, name, [
        [
          `GET ${MANAGEMENT}/version`,
          `${success},"version":"${version}"}`,
          `${success},"version":"5.7"}`,
        ],
        [`POST ${MANAGEMENT}/version dev&&${version}`, success, '500 {"status":"fail","message"'],
        [`POST ${MANAGEMENT}/version dev&&5.7`, '409 {"status":"fail","message"', success],
        [`POST ${MANAGEMENT}/version dev&&x`, '400 {"status"', '500 {"status":"fail","message"'],
        [`HEAD ${MANAGEMENT}/version`, '200'],
      ]);
    });

    it('responds to calls that need persistence', async () => {
      const { ask } = member(name);
      for (const start of ['forceStart', 'partialStart']) {
        await follow(ask, name, [
          [
            `POST ${MANAGEMENT}/${start} dev&`,
            '409 {"status":"fail","message"',
            '200 {"status":"fail"}',
          ],
        ]);
      }
      for (const backup of ['backup', 'backupInterrupt', 'hotBackup', 'hotBackupInterrupt']) {
        await follow(ask, name, [
          [`POST ${MANAGEMENT}/${backup} dev&`, '409 {"status":"fail","message"', `${success}}`],
        ]);
      }
    });

    it('reports success before it stops', async () => {
      for (const what of ['clusterShutdown', 'memberShutdown']) {
        const { ask, stops } = member(name);
        assert.equal(await ask(`POST ${MANAGEMENT}/${what} dev&`), `${success}}`);
        assert.equal(stops.length, 1);
      }
    });

    it('reports its health', async () => {
      const { ask, askWhole } = member(name);
      await follow(ask, name, [
        ['GET health', '200 {"nodeState":"ACTIVE","clusterState":"ACTIVE","clusterSafe":true,'],
        ['GET health/node-state', '200 "ACTIVE"'],
        ['GET health/cluster-state', '200 "ACTIVE"'],
        ['GET health/cluster-safe', '200'],
        ['GET health/migration-queue-size', '200 0'],
        ['GET health/cluster-size', '200 1'],
        ['GET health/ready', '200'],
        ['GET health/unknown-parameter', '400'],
        ['GET healthgarbage', '400'],
        ['HEAD healthgarbage', '400'],
      ]);
      const response = await askWhole('HEAD health');
      const fields = [...(response?.fields ?? [])].filter(([field]) =>
        field.startsWith('hazelcast-'),
      );
      const theirs = [
        ['hazelcast-nodestate', 'ACTIVE'],
        ['hazelcast-clusterstate', 'ACTIVE'],
        ['hazelcast-migrationqueuesize', '0'],
        ['hazelcast-clustersize', '1'],
      ];
      assert.deepEqual(fields, name === 'none' ? [] : theirs);
      assert.equal(response?.fields.get('content-length'), '104');
    });

    it('reports its members, with addresses in the format of the dialect, and its name', async () => {
      const { ask } = member(name);
      const address = name === 'none' ? '127.0.0.1:5701' : '[127.0.0.1]:5701';
      const { memberVersion } = DIALECTS[name];
      const cluster = JSON.parse((await ask('GET rest/cluster')).slice(4));
      assert.equal(cluster.members[0].address, address);
      assert.equal(cluster.members[0].memberVersion, memberVersion);
      const nodes = JSON.parse((await ask(`POST ${MANAGEMENT}/nodes dev&`)).slice(4)).response;
      const { uuid } = cluster.members[0];
      const lines = [`[Member ${address} - ${uuid} this]`, memberVersion, process.version];
      assert.deepEqual(nodes.split('\n'), lines);
      await follow(ask, name, [
        ['HEAD rest/cluster', '200'],
        ['GET rest/instance', '200 {"name":"vectors"}'],
        ['HEAD rest/instance', '200'],
      ]);
    });

    it('stores a license and sets a log level', async () => {
      const { ask } = member(name);
      const levels = 'OFF, SEVERE, WARNING, INFO, CONFIG, FINE, FINER, FINEST';
      const unknown = `{"status":"fail","message":"Invalid level 'X', known levels are: ${levels}"}`;
      await follow(ask, name, [
        ['POST rest/license dev&&key', success],
        ['GET rest/log-level', '200 {"logLevel":null}'],
        ['POST rest/log-level dev&&FINE', `${success},"message":"log level is changed"}`],
        ['GET rest/log-level', '200 {"logLevel":"FINE"}'],
        ['POST rest/log-level dev&&X', `400 ${unknown}`, `500 ${unknown}`],
        ['POST rest/log-level/reset dev&', `${success},"message":"log level is reset"}`],
        ['GET rest/log-level', '200 {"logLevel":null}'],
      ]);
    });

    it('checks parameters, then credentials, of every administrative call', async () => {
      const { ask } = member(name);
      for (const path of ADMINISTRATIVE) {
        const few = await ask(`POST rest/${path} dummy`);
        assert.match(
          few,
          /^400 \{"status":"fail","message":"This endpoint expects at least \d/,
          path,
        );
        const wrong = await ask(`POST rest/${path} dummy&&&&`);
        assert.equal(wrong, '403 {"status":"fail","message":"unauthenticated"}', path);
      }
    });

    it('also checks them for POST to all CP groups and to the local CP member if these are served', async () => {
      const { ask } = member(name);
      const few = '400 {"status":"fail","message":"This endpoint expects at least 2 parameters"}';
      const wrong = '403 {"status":"fail","message":"unauthenticated"}';
      for (const [path, right] of [
        ['groups', '404'],
        ['members/local', '501'],
      ] as const) {
        await follow(ask, name, [
          [`POST rest/cp-subsystem/${path} dummy`, '405', few],
          [`POST rest/cp-subsystem/${path} dummy&&&&`, '405', wrong],
          [`POST rest/cp-subsystem/${path} dev&`, '405', right],
        ]);
      }
    });

    it('reports and changes the list of members', async () => {
      const { ask } = member(name, ENDPOINT_GROUP_NAMES, {
        reconfiguration: {
          tcpIpMembers: new TcpIpMembers(new LocalRecord('1.2'), ['a:1', 'b:2', 'c:3', 'd:4']),
          reload: () => assert.fail(),
          add: () => assert.fail(),
        },
      });
      const path = 'rest/config/tcp-ip/member-list';
      const list =
        'message":"The member list of TCP-IP join config is updated at run time. ","member-list":';
      await follow(ask, name, [
        [`GET ${path}`, `${success},"member-list":["a:1","b:2","c:3","d:4"]}`],
        [`POST ${path} dev&&e:1,+f:2;g:3`, `${success},"${list}["e:1","f:2","g:3"]}`],
        [`GET ${path}`, `${success},"member-list":["e:1","f:2","g:3"]}`],
      ]);
    });

    it('reports only health while it starts', async () => {
      const cluster = new StandaloneCluster('1.2.3', new LocalRecord('1.2'));
      const { ask } = member(name, ENDPOINT_GROUP_NAMES, { cluster });
      await follow(ask, name, [
        ['GET health/node-state', '200 "STARTING"'],
        ['GET health/ready', '503'],
        ['GET health/live', '200'],
        ['GET rest/cluster', '503 {"status":"fail"'],
        [`POST ${MANAGEMENT}/clusterShutdown dev&`, '503 {"status":"fail"'],
        ['POST rest/maps/m/k v', '503 {"status":"fail"'],
        ['GET rest/nowhere', '404'],
      ]);
      cluster.start('127.0.0.1:5701');
      await follow(ask, name, [['POST rest/maps/m/k v', '200']]);
    });

    it('responds with 403 if REST or a group is off', async () => {
      const off = member(name, []);
      for (const path of ['rest/cluster', 'health', 'rest/log-level', 'rest/instance', 'nowhere']) {
        assert.match(await off.ask(`GET ${path}`), /^403 .*REST is disabled/);
      }
      const writing = member(name, ['CLUSTER_WRITE']);
      assert.match(await writing.ask('GET rest/log-level'), /^403 .*CLUSTER_READ/);
      assert.match(await writing.ask('GET rest/instance'), /^403 .*CLUSTER_READ/);
      const reading = member(name, ['CLUSTER_READ']);
      assert.match(await reading.ask('POST rest/log-level dev&&FINE'), /^403 .*CLUSTER_WRITE/);
      assert.match(await reading.ask('HEAD rest/maps/m/k'), /^403/);
    });

    it('responds with 400 to input that is not HTTP, and closes', () => {
      for (const line of ['version\r\n', 'get k\r\n', 'HZC\0\0\0\r\n']) {
        const { connect } = member(name);
        const socket = new FakeSocket();
        connect(socket);
        socket.receive(line);
        assert.match(socket.text, /^HTTP\/1.1 400 /);
        assert(socket.writableEnded);
      }
    });

    it('accepts items in paths and polls with GET in the dialect that has them', async () => {
      const { ask } = member(name);
      await follow(ask, name, [
        ['POST rest/queues/q/an%20item ignored', '405', '200'],
        ['POST rest/queues/q/size', '405', '200'],
        ['GET rest/queues/q/size', '200 0', '200 2'],
        ['GET rest/queues/q/Size', '405', '200 2'],
        ['GET rest/queues/q/0', '405', '200 an item'],
        ['DELETE rest/queues/q/0', '204', '200 size'],
        ['GET rest/queues/q/1x', '405', '500 {"status":"fail"'],
        ['DELETE rest/queues/q/1x', '400 {"status":"fail"', '500 {"status":"fail"'],
        ['DELETE rest/queues/q/size', '405'],
        ['POST rest/queues/a/b/c', '404'],
        ['DELETE rest/maps/', '400', '200'],
        ['DELETE rest/maps/m/', '400'],
        ['DELETE rest/queues/', '400'],
      ]);
    });

    it('reports the missing name to a POST in the dialect that has this message', async () => {
      const { ask, askWhole } = member(name);
      const noMap = '400 {"status":"fail","message":"Missing map name"}';
      const noQueue = '400 {"status":"fail","message":"Missing queue name"}';
      for (const method of ['POST', 'PUT']) {
        for (const path of ['', 'm', 'm/', 'm//', '/k', '/', 'm?k', '%6d/']) {
          const answer = await ask(`${method} rest/maps/${path} v`);
          assert.equal(answer, name === 'none' ? '400' : noMap, `${method} ${path}`);
        }
        for (const path of ['', '/', '/item']) {
          const answer = await ask(`${method} rest/queues/${path} v`);
          assert.equal(answer, name === 'none' ? '400' : noQueue, `${method} ${path}`);
        }
      }
      await follow(ask, name, [
        ['GET rest/maps/m', '400'],
        ['GET rest/maps/m/', '400'],
        ['GET rest/maps/', '400'],
        ['GET rest/queues/', '400'],
        ['POST rest/maps/ v', '400', noMap],
        ['POST rest/maps', '404'],
        ['POST rest/queues', '404'],
      ]);
      for (const path of ['m', 'm/']) {
        assert.equal((await askWhole(`GET rest/maps/${path}`))?.body, '', path);
      }
      const response = await askWhole('OPTIONS rest/maps/m');
      assert.doesNotMatch(response?.fields.get('allow') ?? '', /POST|PUT/);
      const off = member(name, ['CLUSTER_READ']);
      assert.match(await off.ask('POST rest/maps/m v'), /^403 .*DATA/);
    });

    it('refuses changes of data in PASSIVE, and still serves reads', async () => {
      const { ask, open } = member(name);
      const refused = name === 'none' ? '503' : '500';
      await ask('POST rest/maps/m/k v');
      await ask('POST rest/queues/q v');
      const waiting = open('DELETE rest/queues/none/60');
      await ask(`POST ${MANAGEMENT}/changeState dev&&passive`);
      assert.equal(String(waiting.read()?.status), refused);
      await follow(ask, name, [
        ['POST rest/maps/m/k w', '503 {"status":"fail"', '500 {"status":"fail"'],
        ['DELETE rest/maps/m/k', '503', '500'],
        ['DELETE rest/maps/m', '503', '500'],
        ['DELETE rest/maps/', '400', '500'],
        ['POST rest/queues/q', '503', '500'],
        ['POST rest/queues/q/item', '405', '500'],
        ['DELETE rest/queues/q/0', '503', '500'],
        ['GET rest/queues/q/0', '405', '500'],
        ['GET rest/maps/m/k', '200 v'],
        ['GET rest/queues/q/size', '200 1'],
      ]);
    });
  });
}

const ADMINISTRATIVE = [
  ...['state', 'changeState', 'version', 'clusterShutdown', 'memberShutdown', 'nodes'].map(below),
  ...['forceStart', 'partialStart', 'hotBackup', 'hotBackupInterrupt'].map(below),
  ...['sync/map', 'sync/allmaps', 'clearWanQueues', 'addWanConfig'].map((path) => `wan/${path}`),
  ...['pausePublisher', 'stopPublisher', 'resumePublisher', 'removeWanConfig'].map(
    (path) => `wan/${path}`,
  ),
  'wan/consistencyCheck/map',
  ...['reset', 'members', 'groups/default/remove', 'members/x/remove'].map(
    (path) => `cp-subsystem/${path}`,
  ),
];

function below(path: string): string {
  return `management/cluster/${path}`;
}

test('HEAD below maps and queues is 200 and empty, and polls nothing, with the flag', async () => {
  const { ask, askWhole } = member('hazelcast');
  await ask('POST rest/queues/q item');
  await ask('POST rest/maps/m/k v');
  for (const state of ['passive', 'active']) {
    await ask(`POST ${MANAGEMENT}/changeState dev&&${state}`);
    for (const path of [
      '',
      '/',
      'm',
      'm/',
      'm//',
      'm/k',
      'm/none',
      '/k',
      'q/0',
      'q/60',
      'q/x/y/z',
    ]) {
      for (const structure of ['maps', 'queues']) {
        const response = await askWhole(`HEAD rest/${structure}/${path}`);
        assert.equal(response?.status, 200, `HEAD ${structure}/${path}`);
        assert.equal(response?.fields.get('content-length'), '0');
        assert(!response?.fields.has('content-type'));
      }
    }
    assert.equal(await ask('HEAD rest/maps'), '404');
    assert.equal(await ask('GET rest/queues/q/size'), '200 1');
  }
});

test('GET polls wait like DELETE polls, with the flag', async () => {
  const { ask, open, clock } = member('hazelcast');
  const [first, second, third] = [5, 5, 5].map((seconds) => open(`GET rest/queues/q/${seconds}`));
  assert.equal(first?.read(), undefined);
  await ask('POST rest/queues/q/one');
  clock.settle();
  assert.deepEqual([first?.read()?.body, second?.read()], ['one', undefined]);
  assert.equal(first?.read()?.fields.get('content-type'), 'text/plain');
  clock.advance(5000);
  assert.deepEqual([second?.read()?.status, third?.read()?.status], [204, 204]);
});

test('a GET that polls needs the permission to remove, and one that reads the permission to read', () => {
  const router = new Router('hazelcast', SURFACES.hazelcast);
  const needOf = (method: number, path: string) => {
    const request = new Request();
    request.method = method;
    request.target.set(Buffer.from(path), 0, path.length);
    assert(resolveTarget(request, new Span()) === 0);
    const parts = { nameStart: 0, nameEnd: 0, keyStart: 0, keyEnd: 0 };
    return router.match(request, parts)?.endpoints[method]?.need;
  };
  assert.equal(needOf(GET, '/hazelcast/rest/queues/q/0'), REMOVE);
  assert.equal(needOf(DELETE, '/hazelcast/rest/queues/q/0'), REMOVE);
  assert.equal(needOf(POST, '/hazelcast/rest/queues/q/0'), ADD);
  assert.equal(needOf(GET, '/hazelcast/rest/queues/q/SIZE'), READ);
  assert.equal(needOf(HEAD, '/hazelcast/rest/queues/q/0'), 0);
  assert.equal(needOf(DELETE, '/hazelcast/rest/maps/'), REMOVE);
});

test('an address has its host in one pair of brackets, with the flag', () => {
  const { formatAddress } = DIALECTS.hazelcast;
  assert.equal(formatAddress('10.3.10.4:5701'), '[10.3.10.4]:5701');
  assert.equal(formatAddress('host.example:5701'), '[host.example]:5701');
  assert.equal(formatAddress('[fe80::1]:5701'), '[fe80::1]:5701');
  assert.equal(DIALECTS.none.formatAddress('10.3.10.4:5701'), '10.3.10.4:5701');
});

test('both dialects have the same paths in the same groups', () => {
  const paths = (name: Name) =>
    SURFACES[name].routes.map(({ path, group, writeGroup }) => ({ path, group, writeGroup }));
  assert.deepEqual(paths('hazelcast'), paths('none'));
});
