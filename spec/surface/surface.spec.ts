/**
 * Covers src/member/routes.ts. Every path of the surface with every method: the group that permits
 * it, and the checks.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from '../../src/config/endpoint-group.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { SURFACES } from '../../src/member/surfaces.ts';
import type { Operation, Route } from '../../src/surface/route.ts';
import { RouteCompiler } from '../../src/surface/route-compiler.ts';
import type { ReadResponse } from '../http/response-reader.ts';
import { restMember } from './rest-member.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'] as const;

type Method = (typeof METHODS)[number];
type Member = ReturnType<typeof restMember>;

/** Paths of all routes, with values for `{parts}`; polls do not wait. */
const PATHS = ROUTES.map(({ path }) => path.replace('{seconds}', '0').replace(/\{\w+\}/g, 'x'));

/**
 * Returns the groups that permit a request, according to the rules of the interface instead of the
 * table of routes: those of the first matching prefix, in this order.
 */
function groupsOf(method: Method, path: string): readonly EndpointGroup[] {
  const rules: readonly (readonly [RegExp, ...EndpointGroup[]])[] = [
    [/^rest\/(maps|queues)\//, 'DATA'],
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
    [/^rest\/cp-subsystem/, 'CP'],
  ];
  return rules.find(([prefix]) => prefix.test(path))?.slice(1) as EndpointGroup[];
}

function groupsByMethod(method: Method): EndpointGroup[] {
  if (method === 'OPTIONS') return ['CLUSTER_READ', 'CLUSTER_WRITE'];
  return method === 'GET' || method === 'HEAD' ? ['CLUSTER_READ'] : ['CLUSTER_WRITE'];
}

function ask({ sent }: Member, method: Method, path: string, body = ''): ReadResponse {
  const response = sent(method, path, body).read();
  assert(response, `no response to ${method} ${path}`);
  return response;
}

function messageOf(response: ReadResponse): string {
  return (JSON.parse(response.body) as { message: string }).message;
}

function serverWith(isRestOn: boolean, groups: readonly EndpointGroup[]): Member {
  // Without WAN, every WAN call gets its response at once.
  const member = restMember({ services: { wan: undefined } });
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
      it(`responds according to its groups with only ${group} ${name}`, () => {
        const server = serverWith(true, enabled);
        for (const path of PATHS.flatMap((each) => [each, `${each}/unknown/x`])) {
          for (const method of METHODS) {
            const groups = groupsOf(method, path);
            const { status, body } = ask(server, method, path, 'wrong&&&&');
            const what = `${method} ${path}: ${status} ${body}`;
            if (groups.some((each) => enabled.includes(each))) {
              assert.ok(!body.includes('endpoint group'), what);
              assert.ok([200, 204, 400, 403, 404, 405, 409, 501, 503].includes(status), what);
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
    for (const { path } of ROUTES) {
      if (path.includes('{') || path.includes('maps/') || path.includes('queues/')) continue;
      const unknown = `${path}/unknown/x`;
      const isBelowHealth = path.startsWith('health');
      assert.equal(ask(on, 'GET', unknown).status, isBelowHealth ? 400 : 404, unknown);
      assert.equal(ask(off, 'GET', unknown).status, 403, unknown);
    }
    assert.equal(ask(off, 'GET', 'nowhere').status, 404);
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
    const administrative = ROUTES.filter(({ POST }) => POST?.permission === 'credentials');
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
  const plain = { summary: '', changesData: false, readsQuery: false, statuses: [] } as const;
  const operation = { ...plain, audited: 'path', permission: 'anyone', run() {} } as const;
  const route: Route = { path: 'x', group: 'DATA', GET: operation };
  // @ts-expect-error
  const ungrouped: Route = { path: 'x', GET: operation };
  // @ts-expect-error
  const open: Operation = { ...plain, audited: 'path', run() {} };
  assert.deepEqual([route.group, ungrouped.group, open.permission], ['DATA', undefined, undefined]);
});

test('operations are numbered from 0 in the order of the table', () => {
  for (const { routes } of Object.values(SURFACES)) {
    const compiler = new RouteCompiler(routes);
    const numbers = routes.flatMap((route) => {
      const { reading, writing } = compiler.resource(route);
      return [...reading.endpoints, ...writing.endpoints].map((each) => each?.number ?? 0);
    });
    const operations = routes.flatMap(({ GET, HEAD, POST, DELETE }) =>
      [GET, HEAD, POST, DELETE].filter((each) => each !== undefined),
    );
    assert.deepEqual(
      [...new Set(numbers)].sort((a, b) => a - b),
      operations.map((_, number) => number),
    );
  }
});
