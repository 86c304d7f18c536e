/**
 * Covers src/member/routes.ts. Every path of the surface with every method: the group that permits
 * it, and the checks.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { ADMINISTRATION_ROUTES } from '../../src/administration/administration-routes.ts';
import { COMPATIBILITIES } from '../../src/config/compatibility.ts';
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from '../../src/config/endpoint-group.ts';
import { CP_ROUTES } from '../../src/cp/cp-routes.ts';
import { DATA_ROUTES } from '../../src/data/data-routes.ts';
import { HEALTH_ROUTES } from '../../src/health/health-routes.ts';
import { DELETE, GET, HEAD, OPTIONS, POST, PUT } from '../../src/http/methods.ts';
import { rowOf } from '../../src/http/traffic-meter.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { MONITORING_ROUTES } from '../../src/monitoring/monitoring-routes.ts';
import { PERSISTENCE_ROUTES } from '../../src/persistence/persistence-routes.ts';
import type { Actions } from '../../src/surface/action.ts';
import { groupBit } from '../../src/surface/endpoint-groups.ts';
import { pathsOf } from '../../src/surface/resource.ts';
import { ANYONE, type Route, route } from '../../src/surface/route.ts';
import { V1_ROUTES } from '../../src/v1/v1-routes.ts';
import { WAN_ROUTES } from '../../src/wan/wan-routes.ts';
import type { ReadResponse } from '../http/response-reader.ts';
import { restMember } from './rest-member.ts';
import { PATHS as ROUTE_PATHS, ROWS, resourcesIn } from './table.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'] as const;

type Method = (typeof METHODS)[number];
type Member = ReturnType<typeof restMember>;

/** Paths that are not resources. */
const UNKNOWN = [
  'rest/maps/',
  'rest/maps/{map}/',
  'rest/queues/',
  'rest/queues/{queue}/{seconds}/{more}',
];

const ROW = {
  method: 'GET',
  path: 'rest/x',
  group: 'DATA',
  permission: ANYONE,
  summary: '',
  statuses: [200],
} as const;

/** Paths of all routes, with values for `{parts}`; polls do not wait. */
const PATHS = [...ROUTE_PATHS, ...UNKNOWN].map((path) =>
  path.replace('{seconds}', '0').replace(/\{\w+\}/g, 'x'),
);

/**
 * Returns the groups that permit a request, according to the rules of the interface instead of the
 * table of routes: those of the first matching prefix, in this order.
 */
function groupsOf(method: Method, path: string): readonly EndpointGroup[] {
  const rules: readonly (readonly [RegExp, ...EndpointGroup[]])[] = [
    [/^rest\/(maps|queues)\//, 'DATA'],
    [/^v1\/maps(\/|$)/, 'DATA'],
    [/^health/, 'HEALTH_CHECK'],
    [/^rest\/wan/, 'WAN'],
    [/^rest\/management\/cluster\/(force|partial)Start/, 'PERSISTENCE'],
    [/^rest\/management\/cluster\/(backup|hotBackup)/, 'PERSISTENCE'],
    [/^rest\/(cluster|instance|management\/cluster\/(state|nodes))/, 'CLUSTER_READ'],
    [/^rest\/log-level\/reset/, 'CLUSTER_WRITE'],
    [
      /^rest\/(license|log-level|management\/cluster\/version|config\/tcp-ip\/member-list)/,
      ...groupsByMethod(method),
    ],
    [
      /^rest\/(management\/cluster\/(changeState|\w+Shutdown)|config\/(reload|update))/,
      'CLUSTER_WRITE',
    ],
    [/^rest\/cp-subsystem|^v1\/cp\//, 'CP'],
    [/^(metrics|openapi\.json|v1\/status)$/, 'CLUSTER_READ'],
  ];
  return rules.find(([prefix]) => prefix.test(path))?.slice(1) as EndpointGroup[];
}

function groupsByMethod(method: Method): EndpointGroup[] {
  if (method === 'OPTIONS') return ['CLUSTER_READ', 'CLUSTER_WRITE'];
  return method === 'GET' || method === 'HEAD' ? ['CLUSTER_READ'] : ['CLUSTER_WRITE'];
}

function ask({ sent, clock }: Member, method: Method, path: string, body = ''): ReadResponse {
  const connection = sent(method, path, body);
  clock.settle();
  const response = connection.read();
  assert(response, `no response to ${method} ${path}`);
  return response;
}

function messageOf(response: ReadResponse): string {
  return (JSON.parse(response.body) as { message: string }).message;
}

function serverWith(isRestOn: boolean, groups: readonly EndpointGroup[]): Member {
  const member = restMember();
  member.groups.set(isRestOn, new Map(groups.map((group) => [group, true])));
  return member;
}

const others = (group: EndpointGroup): EndpointGroup[] =>
  ENDPOINT_GROUP_NAMES.filter((each) => each !== group);

describe('The surface', () => {
  for (const group of ENDPOINT_GROUP_NAMES) {
    for (const [name, enabled] of [
      ['on', [group]],
      ['off', others(group)],
    ] as const) {
      it(`responds according to its groups with only ${group} ${name}`, async () => {
        const server = serverWith(true, enabled);
        const unknown = PATHS.filter((each) => /^(rest|health)/.test(each));
        for (const path of [...PATHS, ...unknown.map((each) => `${each}/unknown/x`)]) {
          for (const method of METHODS) {
            const groups = groupsOf(method, path);
            const { status, body } = await server.askWhole(method, path, 'wrong&&&&');
            const what = `${method} ${path}: ${status} ${body}`;
            if (groups.some((each) => enabled.includes(each))) {
              assert.ok(!body.includes('endpoint group'), what);
              assert.ok(
                [200, 201, 204, 207, 400, 403, 404, 405, 409, 501, 503].includes(status),
                what,
              );
            } else {
              assert.equal(status, 403, what);
              if (method === 'HEAD') continue;
              assert.ok(
                groups.some((each) => body.includes(`group ${each} is disabled`)),
                what,
              );
            }
          }
        }
        assert.deepEqual(server.failures, []);
      });
    }
  }

  it('responds with 404 to an unknown path if its group is on, and with 403 if it is off', () => {
    const on = serverWith(true, ENDPOINT_GROUP_NAMES);
    const off = serverWith(true, []);
    for (const path of ROUTE_PATHS) {
      if (path.includes('{') || path.includes('maps/') || path.includes('queues/')) continue;
      if (!/^(rest|health)/.test(path)) continue;
      const unknown = `${path}/unknown/x`;
      const isBelowHealth = path.startsWith('health');
      assert.equal(ask(on, 'GET', unknown).status, isBelowHealth ? 400 : 404, unknown);
      assert.equal(ask(off, 'GET', unknown).status, 403, unknown);
    }
    assert.equal(ask(off, 'GET', 'nowhere').status, 404);
    for (const path of ['metrics/', 'metrics/x', 'openapi.json/', 'v1', 'v1/', 'v1/status/'])
      assert.equal(ask(on, 'GET', path).status, 404, path);
  });

  it('refuses every path, known or not, while REST is off', () => {
    const server = serverWith(false, ENDPOINT_GROUP_NAMES);
    for (const path of [...PATHS, 'nowhere', 'rest/wan/unknown', 'rest/maps']) {
      for (const method of METHODS) {
        const response = ask(server, method, path);
        assert.equal(response.status, 403, `${method} ${path}`);
        if (method !== 'HEAD') assert.match(messageOf(response), /REST is disabled/);
      }
    }
  });

  it('serves a change of the groups at once', () => {
    const server = serverWith(true, ['DATA']);
    assert.equal(ask(server, 'GET', 'rest/maps/m/k').status, 204);
    server.groups.set(true, new Map([['DATA', false]]));
    assert.equal(ask(server, 'GET', 'rest/maps/m/k').status, 403);
  });

  it('checks the number of parameters, then credentials, then does the work or responds with 501', () => {
    const server = serverWith(true, ENDPOINT_GROUP_NAMES);
    const administrative = ROWS.filter(({ permission }) => permission.login === 'credentials');
    assert.ok(administrative.length >= 31);
    for (const { path: pattern } of administrative) {
      const path = pattern.replace(/\{\w+\}/g, 'x');
      const ofNone = ask(server, 'POST', path);
      assert.equal(ofNone.status, 400, path);
      const count = Number(/at least (\d) parameters$/.exec(messageOf(ofNone))?.[1]);
      const oneLess = ask(server, 'POST', path, 'dev'.padEnd(1 + count, '&'));
      assert.deepEqual([oneLess.status, messageOf(oneLess)], [400, messageOf(ofNone)], path);
      const wrong = ask(server, 'POST', path, 'deV'.padEnd(2 + count, '&'));
      assert.equal(wrong.status, 403);
      assert.equal(wrong.body, '{"status":"fail","message":"unauthenticated"}');
      const body = 'd%65v&any'.padEnd(7 + count, '&');
      const right = server.sent('PUT', `${path}/`, body).read();
      if (right?.status === 501) assert.ok(messageOf(right).length > 0);
      else assert.notEqual(right?.status, 403, path);
    }
    const badEscape = ask(server, 'POST', 'rest/log-level', 'dev&&%zz');
    assert.deepEqual(
      [badEscape.status, messageOf(badEscape)],
      [400, 'Cannot read parameter 3: an invalid percent-escape'],
    );
    assert.deepEqual(server.failures, []);
  });
});

test('a row without a group, or an operation without a permission, does not compile', () => {
  const { group, permission, summary, statuses, ...others } = ROW;
  // @ts-expect-error
  const ungrouped = route({ ...others, permission, summary, statuses });
  // @ts-expect-error
  const open = route({ ...others, group, summary, statuses });
  // @ts-expect-error
  const undescribed = route({ ...others, group, permission, statuses });
  // @ts-expect-error
  const unanswered = route({ ...others, group, permission, summary });
  // @ts-expect-error
  const without = route({ ...ROW, statuses: [] });
  const all = [route(ROW), ungrouped, open, undescribed, unanswered, without];
  assert.equal(all.length, 6);
});

test('a row without an action, or an action without a row, does not compile', () => {
  const table = { one: route(ROW), other: route({ ...ROW, mayWait: true }) } as const;
  const work = { run() {}, waits: () => false };
  const whole: Actions<typeof table> = { one() {}, other: work };
  // @ts-expect-error
  const partial: Actions<typeof table> = { one() {} };
  // @ts-expect-error
  const further: Actions<typeof table> = { one() {}, other: work, third() {} };
  // @ts-expect-error
  const unwaiting: Actions<typeof table> = { one() {}, other() {} };
  assert.equal([whole, partial, further, unwaiting].length, 4);
});

test('a row that contradicts the table fails at the start', () => {
  const row = route(ROW);
  const of = (other: Route) => () => resourcesIn({ row, other });
  assert.throws(of(row), new RangeError('Cannot serve GET rest/x with "other": a row does'));
  assert.throws(
    of({ ...row, path: 'rest/y', dialect: 'hazelcast' }),
    new RangeError('Cannot change "rest/y" with "other": no row has the path'),
  );
  assert.doesNotThrow(of({ ...row, method: 'POST', dialect: 'hazelcast' }));
});

test('a method needs the group of its own row, and OPTIONS any of them', () => {
  const table = {
    read: route(ROW),
    change: route({ ...ROW, method: 'POST', group: 'WAN' }),
    remove: route({ ...ROW, method: 'DELETE', group: 'CP' }),
  };
  const [resource] = resourcesIn(table).known;
  const groups = [GET, HEAD, POST, PUT, DELETE].map((method) => resource?.groups[method]);
  assert.deepEqual(groups, ['DATA', 'DATA', 'WAN', 'WAN', 'CP']);
  const bits = (['DATA', 'WAN', 'CP'] as const).map(groupBit);
  assert.equal(resource?.groupBits[OPTIONS], bits[0]! | bits[1]! | bits[2]!);
});

test('all parts have different names for their rows', () => {
  const parts = [
    ...[ADMINISTRATION_ROUTES, CP_ROUTES, DATA_ROUTES],
    ...[HEALTH_ROUTES, MONITORING_ROUTES, PERSISTENCE_ROUTES, V1_ROUTES, WAN_ROUTES],
  ];
  const names = parts.flatMap((part) => Object.keys(part));
  assert.deepEqual(Object.keys(ROUTES).sort(), names.sort());
});

test('a path has the same number in both dialects and on both ports, and unknown paths have 0', () => {
  const paths = pathsOf(ROUTES);
  assert.equal(new Set(paths).size, paths.length);
  for (const compatibility of COMPATIBILITIES) {
    for (const table of [ROUTES, HEALTH_ROUTES]) {
      const { known, unknown } = resourcesIn(table, compatibility, paths);
      for (const { path, exchange } of known) assert.equal(paths[rowOf(exchange) - 1], path);
      for (const { resource, nameless } of unknown)
        assert.deepEqual([resource.exchange, nameless.exchange], [0, 0]);
    }
  }
});
