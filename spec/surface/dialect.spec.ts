/**
 * The calls to which the dialects, without `--compatibility` and with `--compatibility hazelcast`,
 * respond differently, and which compatibility.spec.ts does not have. A row is a request and its
 * responses; the rows of a test are sent to one member in order.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { DELETE, GET, HEAD, POST } from '../../src/http/methods.ts';
import { RequestHead } from '../../src/http/request-head.ts';
import { resolveTarget } from '../../src/http/target.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { ADD, READ, REMOVE } from '../../src/security/permissions.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import { failure, restMember } from './rest-member.ts';
import { resourcesIn, routerOf } from './table.ts';

type Name = keyof typeof DIALECTS;

/** A request, the response, and the response of the other dialect if it differs. */
type Row = readonly [request: string, ours: string, theirs?: string];

const MANAGEMENT = 'rest/management/cluster';

/** Returns the rows with the responses of a dialect. */
function of(name: Name, rows: readonly Row[]) {
  return rows.map(
    ([request, ours, theirs = ours]) => [request, name === 'none' ? ours : theirs] as const,
  );
}

test('without --compatibility a member reports its health', async () => {
  const { askWhole, follow } = restMember({ compatibility: 'none' });
  await follow([
    ['GET health', '200 {"nodeState":"ACTIVE","clusterState":"ACTIVE","clusterSafe":true,…'],
    ['GET health/node-state', '200 "ACTIVE"'],
    ['GET health/cluster-state', '200 "ACTIVE"'],
    ['GET health/cluster-safe', '200'],
    ['GET health/migration-queue-size', '200 0'],
    ['GET health/cluster-size', '200 1'],
    ['GET health/unknown-parameter', '400'],
    ['HEAD healthgarbage', '400'],
  ]);
  const { fields } = await askWhole('HEAD', 'health');
  assert.doesNotMatch([...fields.keys()].join(), /hazelcast/);
  assert.equal(fields.get('content-length'), '104');
});

for (const name of ['none', 'hazelcast'] as const) {
  describe(`A member with --compatibility ${name}`, () => {
    it('checks parameters and credentials of a POST to all CP groups and to the local CP member', async () => {
      const { follow } = restMember({ compatibility: name });
      const few = `400 ${failure('This endpoint expects at least 2 parameters')}`;
      const wrong = `403 ${failure('unauthenticated')}`;
      for (const [path, right] of [
        ['groups', '404'],
        ['members/local', '200'],
      ] as const) {
        await follow(
          of(name, [
            [`POST rest/cp-subsystem/${path} dummy`, '405 …', few],
            [`POST rest/cp-subsystem/${path} dummy&&&&`, '405 …', wrong],
            [`POST rest/cp-subsystem/${path} dev&`, '405 …', right],
          ]),
        );
      }
    });

    it('reports only health while it starts', async () => {
      const cluster = new StandaloneCluster('1.2.3', new LocalRecord('1.2'));
      const { follow } = restMember({ compatibility: name, services: { cluster } });
      const unready = '503 {"status":"fail"…';
      await follow([
        ['GET health/node-state', '200 "STARTING"'],
        ['GET health/ready', '503'],
        ['GET health/live', '200'],
        ['GET rest/cluster', unready],
        [`POST ${MANAGEMENT}/clusterShutdown dev&`, unready],
        ['POST rest/maps/m/k v', unready],
        ['GET rest/nowhere', '404'],
      ]);
      cluster.start('127.0.0.1:5701');
      await follow([['POST rest/maps/m/k v', '200']]);
    });

    it('accepts items in paths and polls with GET in the dialect that has them', async () => {
      const { follow } = restMember({ compatibility: name });
      const invalid = '500 {"status":"fail"…';
      await follow(
        of(name, [
          ['POST rest/queues/q/an%20item ignored', '405 …', '200'],
          ['POST rest/queues/q/size', '405 …', '200'],
          ['GET rest/queues/q/size', '200 0', '200 2'],
          ['GET rest/queues/q/Size', '405 …', '200 2'],
          ['GET rest/queues/q/0', '405 …', '200 an item'],
          ['DELETE rest/queues/q/0', '204', '200 size'],
          ['GET rest/queues/q/1x', '405 …', invalid],
          ['DELETE rest/queues/q/1x', '400 {"status":"fail"…', invalid],
          ['DELETE rest/queues/q/size', '405 …'],
          ['POST rest/queues/a/b/c', '404'],
          ['DELETE rest/maps/', '400', '200'],
          ['DELETE rest/maps/m/', '400'],
          ['DELETE rest/queues/', '400'],
        ]),
      );
    });

    it('reports the missing name to a POST in the dialect that has this message', async () => {
      const { askWhole, follow } = restMember({ compatibility: name });
      const noMap = `400 ${failure('Missing map name')}`;
      const noQueue = `400 ${failure('Missing queue name')}`;
      for (const method of ['POST', 'PUT']) {
        for (const path of ['', 'm', 'm/', 'm//', '/k', '/', 'm?k', '%6d/']) {
          await follow(of(name, [[`${method} rest/maps/${path} v`, '400', noMap]]));
        }
        for (const path of ['', '/', '/item']) {
          await follow(of(name, [[`${method} rest/queues/${path} v`, '400', noQueue]]));
        }
      }
      await follow([
        ['GET rest/maps/m', '400'],
        ['GET rest/maps/m/', '400'],
        ['GET rest/maps/', '400'],
        ['GET rest/queues/', '400'],
        ['POST rest/maps', '404'],
        ['POST rest/queues', '404'],
      ]);
      const { fields } = await askWhole('OPTIONS', 'rest/maps/m');
      assert.doesNotMatch(fields.get('allow') ?? '', /POST|PUT/);
      const off = restMember({ compatibility: name });
      off.groups.set(true, new Map([['CLUSTER_READ', true]]));
      assert.match(await off.ask('POST', 'rest/maps/m', 'v'), /^403 .*DATA/);
      assert.equal(await off.ask('HEAD', 'rest/maps/m/k'), '403');
    });
  });
}

test('a PASSIVE member refuses changes and polls of any form, with the flag', async () => {
  const { sent, follow } = restMember({ compatibility: 'hazelcast' });
  const waiting = sent('DELETE', 'rest/queues/none/60');
  await follow([
    ['POST rest/queues/q v', '200'],
    [`POST ${MANAGEMENT}/changeState dev&&passive`, '200 …'],
    ['DELETE rest/maps/', '500 …'],
    ['POST rest/queues/q/item', '500 …'],
    ['GET rest/queues/q/0', '500 …'],
    ['GET rest/queues/q/size', '200 1'],
  ]);
  assert.equal(waiting.read()?.status, 500);
});

test('HEAD below maps and queues is 200 and empty, and polls nothing, with the flag', async () => {
  const { ask, askWhole, follow } = restMember({ compatibility: 'hazelcast' });
  await ask('POST', 'rest/queues/q', 'item');
  await ask('POST', 'rest/maps/m/k', 'v');
  const paths = ['', '/', 'm', 'm/', 'm//', 'm/k', 'm/none', '/k', 'q/0', 'q/60', 'q/x/y/z'];
  for (const state of ['passive', 'active']) {
    await ask('POST', `${MANAGEMENT}/changeState`, `dev&&${state}`);
    for (const path of paths) {
      for (const structure of ['maps', 'queues']) {
        const response = await askWhole('HEAD', `rest/${structure}/${path}`);
        assert.equal(response?.status, 200, `HEAD ${structure}/${path}`);
        assert.equal(response?.fields.get('content-length'), '0');
        assert(!response?.fields.has('content-type'));
      }
    }
    await follow([
      ['HEAD rest/maps', '404'],
      ['GET rest/queues/q/size', '200 1'],
    ]);
  }
});

test('GET polls wait like DELETE polls, with the flag', async () => {
  const { ask, sent, clock } = restMember({ compatibility: 'hazelcast' });
  const [first, second, third] = [5, 5, 5].map((seconds) =>
    sent('GET', `rest/queues/q/${seconds}`),
  );
  assert.equal(first?.read(), undefined);
  await ask('POST', 'rest/queues/q/one');
  clock.settle();
  assert.deepEqual([first?.read()?.body, second?.read()], ['one', undefined]);
  assert.equal(first?.read()?.fields.get('content-type'), 'text/plain');
  clock.advance(5000);
  assert.deepEqual([second?.read()?.status, third?.read()?.status], [204, 204]);
});

test('a GET that polls needs the permission to remove, and one that reads the permission to read', () => {
  const router = routerOf('hazelcast', 'hazelcast');
  const needOf = (method: number, path: string) => {
    const head = new RequestHead();
    head.method = method;
    head.target.set(Buffer.from(path), 0, path.length);
    assert(resolveTarget(head, new Span()) === 0);
    const parts = { nameStart: 0, nameEnd: 0, keyStart: 0, keyEnd: 0 };
    return router.match(head, parts)?.endpoints[method]?.permission.need;
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
  const groupsOf = (name: Name) => {
    const { known, unknown } = resourcesIn(ROUTES, name);
    const resources = known.filter(({ path }) => !path.endsWith('/'));
    const all = [...resources, ...unknown.map(({ resource }) => resource)];
    return all.map(({ path, groups, groupBits }) => ({ path, groups, groupBits }));
  };
  assert.deepEqual(groupsOf('hazelcast'), groupsOf('none'));
});
