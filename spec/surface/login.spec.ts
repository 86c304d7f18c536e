/**
 * HTTP Basic over the wire: the requests that need a login, permissions of users, and wrong logins.
 */
import assert from 'node:assert/strict';
import { scryptSync } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Compatibility } from '../../src/config/compatibility.ts';
import { AccessControl } from '../../src/security/access-control.ts';
import { Authenticator } from '../../src/security/authenticator.ts';
import { hashPassword } from '../../src/security/password.ts';
import type { Permission } from '../../src/security/permissions.ts';
import { bufferBytes, initialBufferBytes } from '../buffer-bytes.ts';
import { FakeClock } from '../fake-clock.ts';
import type { FakeCarrier } from '../http/fake-carrier.ts';
import { readResponses } from '../http/response-reader.ts';
import { restMember } from './rest-member.ts';

const ANN = 'ann:sésame:1';
const STATE = 'rest/management/cluster/state';
/** A hash of that password that takes little time. */
const SALT = Buffer.from('a salt');
const DIGEST = scryptSync('sésame:1', SALT, 32, { N: 1024, r: 1, p: 1 });
const CHEAP_HASH = `scrypt$1024$1$1$${SALT.toString('base64')}$${DIGEST.toString('base64')}`;

interface Options {
  readonly password?: string;
  readonly coversHealth?: boolean;
  readonly permissions?: readonly Permission[];
  readonly prefersGrant?: boolean;
  readonly compatibility?: Compatibility;
  /** Whether credentials in a body are those of the users, not the cluster name. */
  readonly hasUsersInBody?: boolean;
}

function member({
  password = 'sésame:1',
  coversHealth = false,
  permissions,
  prefersGrant = false,
  compatibility = 'none',
  hasUsersInBody = false,
}: Options = {}) {
  const clock = new FakeClock();
  const rules = {
    authenticator: new Authenticator(
      ['ann', 'eve'].map((name) => ({ name, password })),
      clock,
    ),
    users: new Map(['ann', 'eve'].map((name) => [name, { name, roles: ['writer'] }])),
    permissions,
    prefersGrant,
    coversHealth,
  };
  const access = new AccessControl(rules);
  const inBody = hasUsersInBody ? { credentials: rules.authenticator } : {};
  const rest = restMember({ services: { login: access, ...inBody }, compatibility });
  const requestOf = (method: string, path: string, login?: string, body?: string) =>
    rest.textOf(method, path, body, authorization(login));
  const connect = () => {
    const { askWhole } = rest.open();
    /** Sends a request with these credentials and returns the response. */
    return async (method: string, path: string, login?: string, body?: string) => {
      const response = await askWhole(method, path, body, authorization(login));
      return { ...response, text: `${response.status} ${response.body}`.trim() };
    };
  };
  const open = () => rest.open().socket;
  return { ...rest, clock, access, rules, requestOf, open, connect, ask: connect() };
}

/** Waits for responses, removes them from the socket and returns their statuses. */
async function statusesOn(socket: FakeCarrier): Promise<number[]> {
  while (socket.text === '') await nextTurn();
  const responses = readResponses(socket.text, [false]);
  socket.sent.length = 0;
  return responses.map(({ status }) => status);
}

/** Returns the line of the field Authorization, if there is a login. */
function authorization(login?: string): string {
  if (login === undefined) return '';
  return `Authorization: Basic ${Buffer.from(login).toString('base64')}\r\n`;
}

test('a data path refuses a request without a login, and names the login scheme', async () => {
  const { ask, audited } = member();
  const response = await ask('GET', 'rest/maps/m/k');
  assert.equal(response.status, 401);
  assert.match(response.fields.get('www-authenticate') ?? '', /^Basic realm="gridnode"/);
  assert.deepEqual(JSON.parse(response.body), {
    status: 'fail',
    message: 'Cannot GET /grid/rest/maps/m/k: a user and a password are required',
  });
  assert.deepEqual(audited, []);
});

test("a data path serves a user who has logged in, and only requests with this user's credentials", async () => {
  const { ask, connect, audited } = member();
  assert.equal((await ask('POST', 'rest/maps/m/k', ANN, 'v')).text, '200');
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).text, '200 v');
  assert.equal((await ask('GET', 'rest/maps/m/k', 'ann:wrong')).status, 401);
  assert.equal((await ask('GET', 'rest/maps/m/k', 'bob:sésame:1')).status, 401);
  assert.equal((await ask('GET', 'rest/maps/m/k')).status, 401);
  assert.equal((await connect()('GET', 'rest/maps/m/k', ANN)).text, '200 v');
  assert.deepEqual(
    audited.map(({ user, action, status }) => `${user} ${action} ${status}`),
    [
      'ann log in 200',
      'ann GET /grid/rest/maps/m/k 401',
      'bob GET /grid/rest/maps/m/k 401',
      'ann log in 200',
    ],
  );
  assert.ok(!JSON.stringify(audited).includes('wrong'));
});

/** Returns a request with these credentials after this number of blanks. */
function padded({ requestOf }: ReturnType<typeof member>, login: string, blanks: number): string {
  return requestOf('GET', 'rest/maps/m/k', login).replace('Basic ', `Basic ${' '.repeat(blanks)}`);
}

test('a connection stores long credentials as a digest, and recognises them', () => {
  for (const blanks of [0, 400, 500, 20_000]) {
    const subject = member();
    const socket = subject.open();
    const [right, wrong] = [ANN, 'ann:sésame:2'].map((login) => padded(subject, login, blanks));
    const requests = [right, right, wrong, right, padded(subject, ANN, blanks + 1), right];
    for (const request of requests) socket.receive(request ?? '');
    assert.deepEqual(
      readResponses(socket.text).map(({ status }) => status),
      [204, 204, 401, 204, 204, 204],
    );
    // A change of the length requires a new login, and so does the change back.
    assert.deepEqual(
      subject.audited.map(({ status }) => status),
      [200, 401, 200, 200],
    );
  }
});

test('long credentials use no memory of a connection beyond the limits', async () => {
  const hash = await hashPassword(Buffer.from('sésame:1'));
  for (const password of ['sésame:1', hash]) {
    const subject = member({ password });
    await subject.connect()('GET', 'rest/maps/m/k', ANN);
    const { inFlight } = subject.server;
    const request = padded(subject, ANN, 20_000);
    const guess = subject.requestOf('GET', 'rest/maps/m/k', `ann:${'x'.repeat(20_000)}`);
    const before = await initialBufferBytes();
    for (const sent of [request, guess]) {
      const sockets = Array.from({ length: 100 }, subject.open);
      for (const socket of sockets) {
        socket.receive(sent);
        socket.sent.length = 0;
      }
      const taken = bufferBytes() - before - inFlight.usedBytes - inFlight.unreadBytes;
      assert.ok(taken < 100 * 6000, `${taken} bytes of 100 connections`);
      while (inFlight.unreadBytes > 0) await nextTurn();
      const left = bufferBytes() - before;
      assert.ok(left < 100 * 4000, `${left} bytes of 100 connections`);
      for (const socket of sockets) socket.destroy();
    }
  }
});

test('a hashed password is checked while the request waits, and no byte of it is lost', async () => {
  const { ask, connect, engine } = member({
    password: await hashPassword(Buffer.from('sésame:1')),
  });
  assert.equal((await ask('POST', 'rest/maps/a%20map/a%2Fkey', ANN, 'a value')).text, '200');
  assert.equal((await connect()('GET', 'rest/maps/a%20map/a/key', ANN)).text, '200 a value');
  assert.equal((await connect()('GET', 'rest/maps/a%20map/a/key', 'ann:no')).status, 401);
  assert.ok(engine);
});

test('a request whose password is checked after the one before it uses its slot, and keeps its content', async () => {
  const subject = member({ password: CHEAP_HASH });
  for (const path of ['rest/maps/m/k', 'rest/queues/q']) {
    const socket = subject.open();
    const posts = ['ann', 'eve'].map((name) =>
      subject.requestOf('POST', path, `${name}:sésame:1`, `value of ${name}`),
    );
    socket.receive(posts.join(''));
    while (readResponses(socket.text).length < 2) await nextTurn();
  }
  const ask = subject.connect();
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).body, 'value of eve');
  for (const name of ['ann', 'eve']) {
    assert.equal((await ask('DELETE', 'rest/queues/q/1', ANN)).body, `value of ${name}`);
  }
});

for (const field of [
  '',
  'Basic',
  'Bearer abc',
  'Basic ???',
  `Basic ${Buffer.from('ann').toString('base64')}`,
]) {
  test(`Authorization "${field}" is not a login`, async () => {
    const login = `Authorization: ${field}\r\n`;
    assert.equal(member().sent('GET', 'rest/maps/m/k', '', login).read()?.status, 401);
  });
}

test('after five wrong logins of a user from an address, only this user has to wait there', async () => {
  const { ask, clock } = member();
  for (let count = 0; count < 5; count++) {
    assert.equal((await ask('GET', 'rest/maps/m/k', 'ann:wrong')).status, 401);
  }
  const throttled = await ask('GET', 'rest/maps/m/k', ANN);
  assert.equal(throttled.status, 429);
  assert.equal(throttled.fields.get('retry-after'), '10');
  assert.equal((await ask('GET', 'rest/maps/m/k', 'bob:wrong')).status, 401);
  clock.advance(10_000);
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).status, 204);
});

for (const [place, refused, right] of [
  ['a header field', 401, 204],
  ['the body', 403, 200],
] as const) {
  const attempt = (subject: ReturnType<typeof member>, password: string) =>
    place === 'the body'
      ? subject.requestOf('POST', STATE, undefined, `ann&${encodeURIComponent(password)}`)
      : subject.requestOf('GET', 'rest/maps/m/k', `ann:${password}`);

  for (const order of ['one after the other', 'on 200 connections at once']) {
    test(`200 wrong passwords in ${place} are checked five times, ${order}`, async () => {
      const subject = member({ password: CHEAP_HASH, hasUsersInBody: true });
      const isAtOnce = order !== 'one after the other';
      const sockets = Array.from({ length: isAtOnce ? 200 : 1 }, subject.open);
      const statuses: number[] = [];
      for (let index = 0; index < 200; index++) {
        const socket = sockets[index % sockets.length] as FakeCarrier;
        socket.receive(attempt(subject, `secret ${index}`));
        if (!isAtOnce) statuses.push(...(await statusesOn(socket)));
      }
      if (isAtOnce) statuses.push(...(await Promise.all(sockets.map(statusesOn))).flat());
      assert.equal(statuses.filter((status) => status === refused).length, 5);
      assert.equal(statuses.filter((status) => status === 429).length, 195);
      const [socket] = sockets as [FakeCarrier];
      socket.receive(attempt(subject, 'sésame:1'));
      assert.deepEqual(await statusesOn(socket), [429]);
      subject.clock.advance(10_000);
      socket.receive(attempt(subject, 'sésame:1'));
      assert.deepEqual(await statusesOn(socket), [right]);
    });
  }
}

test('reads of the cluster need a login, calls with credentials in the body do not', async () => {
  const { ask } = member();
  for (const path of ['rest/cluster', 'rest/instance', 'rest/log-level', 'rest/license']) {
    assert.equal((await ask('GET', path)).status, 401, path);
    assert.equal((await ask('GET', path, ANN)).status, 200, path);
  }
  assert.equal((await ask('POST', 'rest/management/cluster/state', undefined, 'dev&')).status, 200);
  assert.equal((await ask('GET', 'rest/nowhere')).status, 404);
  assert.equal((await ask('DELETE', 'rest/cluster')).status, 405);
});

test('health needs a login only if configured, live and ready never', async () => {
  for (const coversHealth of [false, true]) {
    const { ask } = member({ coversHealth });
    for (const path of ['health', 'health/node-state', 'health/cluster-size']) {
      assert.equal((await ask('GET', path)).status, coversHealth ? 401 : 200, path);
      assert.equal((await ask('GET', path, ANN)).status, 200, path);
    }
    assert.equal((await ask('GET', 'health/live')).status, 200);
    assert.equal((await ask('GET', 'health/ready')).status, 200);
  }
});

function permission(
  kind: 'map' | 'queue',
  name: string,
  principal: string,
  actions: readonly string[],
  { holds = true, isDenial = false } = {},
): Permission {
  return { kind, name, principal, actions, isDenial, appliesAt: () => holds };
}

test('a list of maps has only those that the user may read, whatever the limit', async () => {
  const { ask, askWhole } = member({
    permissions: [permission('map', 'a*', 'ann', ['read']), permission('map', '*', 'eve', ['put'])],
  });
  const EVE = ANN.replace('ann', 'eve');
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']) {
    assert.equal((await ask('POST', `rest/maps/${name}/k`, EVE, 'v')).status, 200);
  }
  for (const limit of [1, 2, 3, 100]) {
    const found: string[] = [];
    for (let query = `?limit=${limit}`; query !== ''; ) {
      const lines = (await ask('GET', `v1/maps${query}`, ANN)).body.trimEnd().split('\n');
      const { cursor } = JSON.parse(lines.pop() ?? '') as { cursor: string | null };
      for (const line of lines) found.push((JSON.parse(line) as { name: string }).name);
      assert.ok(lines.length <= limit);
      query = cursor === null ? '' : `?limit=${limit}&cursor=${cursor}`;
    }
    assert.deepEqual(found.sort(), ['a1', 'a2', 'a3']);
  }
  assert.equal((await ask('GET', 'v1/maps/b1/keys', ANN)).status, 403);
  assert.equal((await ask('GET', 'v1/maps', EVE)).body, '{"cursor":null}\n');
  assert.equal((await askWhole('GET', 'v1/maps')).status, 401);
});

test('permissions limit a user to the actions granted on names that match', async () => {
  const { ask, audited } = member({
    permissions: [
      permission('map', 'orders-*', 'writer', ['put']),
      permission('map', '*', 'a*n', ['read', 'create']),
      permission('map', 'gone', 'ann', ['all'], { holds: false }),
      permission('map', 'bobs', 'bob', ['all']),
      permission('queue', 'jobs', 'ann', ['add']),
    ],
  });
  const allowed: readonly (readonly [string, string, number])[] = [
    ['POST', 'rest/maps/orders-1/k', 200],
    ['GET', 'rest/maps/orders-1/k', 200],
    ['GET', 'rest/maps/bobs/k', 204],
    ['POST', 'rest/queues/jobs', 200],
    ['PUT', 'v1/maps/orders-1/entries/l', 201],
    ['GET', 'v1/maps/orders-1/size', 200],
    ['POST', 'v1/maps/orders-1/counters/n', 200],
  ];
  for (const [method, path, status] of allowed) {
    assert.equal((await ask(method, path, ANN)).status, status, `${method} ${path}`);
  }
  for (const [method, path] of [
    ['DELETE', 'rest/maps/orders-1/k'],
    ['DELETE', 'rest/maps/orders-1'],
    ['POST', 'rest/maps/other/k'],
    ['POST', 'rest/maps/gone/k'],
    ['POST', 'rest/maps/bobs/k'],
    ['DELETE', 'rest/queues/jobs/0'],
    ['GET', 'rest/queues/jobs/size'],
    ['POST', 'rest/queues/others'],
    ['DELETE', 'v1/maps/orders-1/entries/l'],
    ['DELETE', 'v1/maps/orders-1'],
    ['PUT', 'v1/maps/other/entries/k'],
    ['POST', 'v1/maps/other/counters/n'],
  ] as const) {
    const { text } = await ask(method, path, ANN);
    const message = `Cannot ${method} /grid/${path}: the user lacks the permission`;
    assert.equal(text, `403 ${JSON.stringify({ status: 'fail', message })}`);
  }
  assert.equal(audited.at(-1)?.status, 403);
});

test('after a change of the rules every user has to log in again', async () => {
  const { ask, access, rules, clock } = member();
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).status, 204);
  const authenticator = new Authenticator([{ name: 'ann', password: 'other' }], clock);
  access.replaceRules({ ...rules, authenticator });
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).status, 401);
  assert.equal((await ask('GET', 'rest/maps/m/k', 'ann:other')).status, 204);
});

for (const prefersGrant of [false, true]) {
  test(`a permission ${prefersGrant ? 'grants' : 'does not grant'} what another one denies`, async () => {
    const { ask } = member({
      prefersGrant,
      permissions: [
        permission('map', '*', 'ann', ['all']),
        permission('map', 'secret', '*', ['read'], { isDenial: true }),
      ],
    });
    assert.equal((await ask('POST', 'rest/maps/secret/k', ANN, 'v')).status, 200);
    assert.equal((await ask('GET', 'rest/maps/secret/k', ANN)).status, prefersGrant ? 200 : 403);
    assert.equal((await ask('GET', 'rest/maps/other/k', ANN)).status, 204);
  });
}

test('the audit log names the refused user, not the previous user of the same connection', async () => {
  const { ask, open, audited, requestOf } = member({
    permissions: [permission('map', 'open', 'ann', ['all'])],
  });
  assert.equal((await ask('GET', 'rest/maps/open/k', ANN)).status, 204);
  assert.equal((await ask('GET', 'rest/maps/open/k', 'bob:wrong')).status, 401);
  assert.equal((await ask('GET', 'rest/maps/shut/k', ANN)).status, 403);
  const socket = open();
  const broken = requestOf('GET', 'rest/maps/open/k', ANN).replace(/Basic .*/, 'Basic ???');
  socket.receive(requestOf('GET', 'rest/maps/open/k', ANN) + broken);
  assert.deepEqual(
    audited.map(({ user, status }) => `${user} ${status}`),
    ['ann 200', 'bob 401', 'ann 403', 'ann 200', 'undefined 401'],
  );
});

test('a login checked by rules that have changed meanwhile is checked again', async () => {
  const hash = await hashPassword(Buffer.from('sésame:1'));
  const { ask, access, rules, clock } = member({ password: hash });
  const underWay = ask('GET', 'rest/maps/m/k', ANN);
  const authenticator = new Authenticator([{ name: 'ann', password: 'other' }], clock);
  access.replaceRules({ ...rules, authenticator });
  assert.equal((await underWay).status, 401);
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).status, 401);
});

test('a login whose client disconnects is in the audit log, but its request has no effect', async () => {
  const hash = await hashPassword(Buffer.from('sésame:1'));
  const { ask, open, audited, failures, requestOf } = member({ password: hash });
  for (const login of [ANN, 'ann:wrong']) {
    const socket = open();
    socket.receive(requestOf('POST', 'rest/maps/m/k', login, 'v'));
    socket.destroy();
  }
  while (audited.length < 2) await nextTurn();
  assert.deepEqual(
    audited.map(({ user, action, status }) => `${user} ${action} ${status}`).sort(),
    ['ann POST /grid/rest/maps/m/k 401', 'ann log in 200'],
  );
  assert.equal((await ask('GET', 'rest/maps/m/k', ANN)).status, 204);
  assert.deepEqual(failures, []);
});

test('the audit log contains no item of a queue, even if the path contains it', async () => {
  const { ask, audited } = member({ compatibility: 'hazelcast' });
  assert.equal((await ask('POST', 'rest/queues/q/item', 'ann:wrong')).status, 401);
  assert.equal(audited[0]?.action, 'POST /hazelcast/rest/queues/q');
});

test('a permission is required for every form of the URL', async () => {
  const { ask } = member({ permissions: [permission('map', 'open', 'ann', ['all'])] });
  for (const [method, path, status] of [
    ['GET', 'rest/maps/sh%75t/k', 403],
    ['GET', 'rest/m%61ps/shut/k', 403],
    ['GET', '%72est/maps/shut/k/', 403],
    ['GET', 'rest/maps/shut/k?open', 403],
    ['GET', 'rest/maps/shut//k', 403],
    ['HEAD', 'rest/maps/shut/k', 403],
    ['PUT', 'rest/maps/shut/k', 403],
    ['DELETE', 'rest/maps/shut', 403],
    ['GET', 'rest/maps/open%2F../shut', 403],
    ['GET', 'rest/maps/open/../shut/k', 204],
    ['GET', 'rest/maps/op%65n/k', 204],
    ['GET', 'rest/maps//open/k', 400],
    ['GET', 'rest//maps/shut/k', 404],
    ['GET', 'rest%2Fmaps/shut/k', 404],
    ['GET', 'REST/maps/shut/k', 404],
    ['DELETE', 'rest/queues/q/0/', 403],
    ['DELETE', 'rest/queues/q/0?x', 403],
    ['GET', 'rest/queues/q/size', 403],
    ['OPTIONS', 'rest/maps/shut/k', 204],
  ] as const) {
    assert.equal((await ask(method, path, ANN)).status, status, `${method} ${path}`);
  }
});
