/**
 * Covers src/surface/openapi, src/member/routes.ts and src/surface/rest-handler.ts. A client that
 * knows only the document of a member sends random requests, valid ones and such with one fault, and
 * finds every response as described. SOAK_CASES is the number of requests, SOAK_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import fc from 'fast-check';
import type { Compatibility } from '../../../src/config/compatibility.ts';
import { type EmbeddedMember, startMember } from '../../../src/index.ts';
import { DIALECTS } from '../../../src/surface/dialect.ts';
import { RawClient, type ReceivedResponse } from '../../integration/client.ts';
import { TEST_MEMORY } from '../../integration/member-process.ts';
import { sendingTo } from '../../integration/wan-members.ts';
import { cheapHash } from '../../security/cheap-hash.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { FakeServer, type Script } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import {
  documentOf,
  LOGINS,
  type Operation,
  type ReadDocument,
  readDocument,
} from './described-interface.ts';
import {
  basicField,
  type Fault,
  type Known,
  type RandomRequest,
  randomRequest,
  textOfRequest,
} from './random-requests.ts';
import { differences } from './response-check.ts';

const CASES = Number(process.env.SOAK_CASES ?? 5000);
const SEED = Number(process.env.SOAK_SEED ?? 1);
/** Number of characters of a wrong request that are shown. */
const SHOWN_LENGTH = 1000;
/** Number of failures after which logins are not checked. */
const FAILED_LOGINS_MAX = 5;
const FAILURE = JSON.stringify({ status: 'fail', message: 'a' });
/** A port on which nothing listens. */
const CLOSED_PORT = 9;

/** Operations that need a member's message, an added publisher, or that no sync or check is under way. */
const RARE = [
  'receiveMessage',
  'removePublisher',
  'syncMap',
  'syncAllMaps',
  'syncAllMapsToo',
  'checkMap',
];
/** Operations that start a thread: one request in SLOW_SHARE is for one of them. */
const SLOW = ['reload', 'updateConfig'];
const SLOW_SHARE = 100;
/** Operations that end sessions, and with them locks. */
const ENDING = ['removeCpGroup', 'resetCp', 'endCpSession', 'closeCpSession'];
/** One request in CP_SHARE is for CP operations of a member on a server without these, and one with them. */
const CP_SHARE = 10;

interface Case {
  readonly name: string;
  readonly compatibility: Compatibility;
  readonly authentication: 'none' | 'basic' | 'basic-all';
  readonly groups: readonly ('all' | 'DATA')[];
  /** Configuration below the root. */
  readonly grid: object;
  /** Whether it stores its data on a server, and another member is gone: it has only requests of CP. */
  readonly isOnServer?: true;
}

const ON = { enabled: true };
const EVERYTHING = {
  ...sendingTo([CLOSED_PORT], {
    'response-timeout-millis': 100,
    sync: { 'consistency-check-strategy': 'MERKLE_TREES' },
  }),
  queue: { q: { 'max-size': 2 } },
};
const ADDED = {
  name: 'added',
  batchPublishers: [
    { publisherId: 'a', clusterName: 'dev', targetEndpoints: `127.0.0.1:${CLOSED_PORT}` },
  ],
};
const USER = { user: 'ann', password: 'a&b:c' };

const CASES_OF_MEMBERS: readonly Case[] = [
  {
    name: 'a member with all groups',
    compatibility: 'none',
    authentication: 'none',
    groups: ['all'],
    grid: {
      ...EVERYTHING,
      persistence: { ...ON, 'base-dir': temporaryFolder(), 'backup-dir': temporaryFolder() },
    },
  },
  {
    name: 'a member with all groups in the other dialect',
    compatibility: 'hazelcast',
    authentication: 'none',
    groups: ['all'],
    grid: EVERYTHING,
  },
  {
    name: 'a member with users and the default groups',
    compatibility: 'none',
    authentication: 'basic',
    groups: [],
    grid: {},
  },
  {
    name: 'a member with users and permissions in the other dialect',
    compatibility: 'hazelcast',
    authentication: 'basic-all',
    groups: ['all'],
    grid: EVERYTHING,
  },
  {
    name: 'a member on a server',
    compatibility: 'none',
    authentication: 'none',
    groups: ['all'],
    grid: {},
    isOnServer: true,
  },
];

/** The operations that have been successful, and those that can be. */
const succeeded = new Set<string>();
const successful = new Set<string>();
const members: EmbeddedMember[] = [];
/** Functions that end servers, after their members. */
const ends: (() => void)[] = [];
after(async () => {
  for (const member of members) await member.drain();
  for (const end of ends) end();
});

/** Starts a server with real connections. `script`: the replies that are not the usual ones. */
async function engineServer(script: Script): Promise<string> {
  const fake = new FakeServer(new World(), script);
  const server = createServer((socket) => {
    const clientAddress = { host: '127.0.0.1', port: socket.remotePort ?? 0 };
    const observer = fake.accept({
      clientAddress,
      isClosed: false,
      write: (bytes) => void socket.write(bytes),
      close: () => void socket.destroy(),
    });
    socket.on('data', (bytes) => observer.onBytes(bytes));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => observer.onEnd(false));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => void server.close());
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Returns the URL of a server, and the uuid of a member that has left, but is still listed as a CP
 * member, because the server has refused the change of that list.
 */
async function serverWithGoneMember(): Promise<{ engine: string; uuid: string }> {
  let isLeaving = false;
  const engine = await engineServer((words) => {
    const isRefused = isLeaving && words.some((word) => word.includes('{"members":['));
    return isRefused ? "-OOM command not allowed when used memory > 'maxmemory'.\r\n" : undefined;
  });
  const member = await startMember({ port: 0, host: '127.0.0.1', groups: ['all'], engine });
  const client = new RawClient(member.port);
  const { body } = await client.request('GET', 'cp-subsystem/members/local');
  client.destroy();
  isLeaving = true;
  await member.drain();
  isLeaving = false;
  return { engine, uuid: JSON.parse(body.toString()).uuid };
}

/** Starts the member and returns a client of it, and what the client knows. */
async function started({ compatibility, authentication, groups, grid, isOnServer }: Case) {
  const hasUsers = authentication !== 'none';
  const users = [{ username: USER.user, password: cheapHash(USER.password) }];
  const security = {
    ...ON,
    realms: [{ name: 'r', authentication: { simple: { users } } }],
    'member-authentication': { realm: 'r' },
    'client-permissions': { map: [{ name: 'm', principal: '*', actions: ['all'] }] },
  };
  const gone = isOnServer && (await serverWithGoneMember());
  const member = await startMember({
    port: 0,
    host: '127.0.0.1',
    groups,
    compatibility,
    ...(gone ? { engine: gone.engine } : { maxMemory: TEST_MEMORY }),
    bodyBytesMax: 1_000_000,
    config: {
      grid: {
        ...grid,
        ...(hasUsers ? { security } : {}),
        network: {
          join: { 'tcp-ip': ON },
          'rest-api': { ...ON, authentication },
        },
      },
    },
  });
  members.push(member);
  const known: Known = {
    ...(hasUsers ? USER : { user: 'dev', password: '' }),
    values: {
      map: ['m', 'm', 'm', 'x'],
      key: ['k'],
      queue: ['q'],
      uuid: gone ? [gone.uuid] : [],
      replication: ['w', 'w', 'w', 'added'],
      publisher: ['', 'p0'],
      version: ['0.1', '5.7'],
      configuration: [ADDED, { grid: { map: { n: {} } } }].map(encoded),
      state: ['active'],
      group: ['g'],
      lock: ['l'],
      id: [],
      session: [],
      name: ['a'],
      by: ['1'],
      wait: ['0'],
    },
    badValueStatus: DIALECTS[compatibility].badValueStatus,
  };
  return { member, known };
}

function encoded(value: object): string {
  return encodeURIComponent(JSON.stringify(value));
}

/** Sends requests to a port, each failed login from an address of its own. */
class Sender {
  readonly #port: number;
  #client: RawClient | undefined;
  #addresses = 0;

  constructor(port: number) {
    this.#port = port;
  }

  async send(bytes: string, isFailedLogin = false): Promise<ReceivedResponse> {
    if (isFailedLogin) {
      const place = this.#addresses++ % 62_500;
      const localAddress = `127.1.${Math.floor(place / 250)}.${1 + (place % 250)}`;
      const client = new RawClient(connect({ port: this.#port, host: '127.0.0.1', localAddress }));
      const response = await responseTo(client, bytes);
      client.destroy();
      return response;
    }
    this.#client ??= new RawClient(this.#port);
    const response = await responseTo(this.#client, bytes);
    if (response.fields.get('connection') === 'close') this.end();
    return response;
  }

  end(): void {
    this.#client?.destroy();
    this.#client = undefined;
  }
}

async function responseTo(client: RawClient, bytes: string): Promise<ReceivedResponse> {
  client.send(Buffer.from(bytes, 'latin1'));
  return (await client.response()) ?? assert.fail('the connection ended without a response');
}

/** Sends wrong logins from one address until the member no longer checks them. */
async function checkThrottle(
  document: ReadDocument,
  sender: Sender,
  { user }: Known,
): Promise<void> {
  const login = basicField(user, 'wrong');
  const attempts = [
    { id: 'members', line: `GET ${document.server}/rest/cluster`, content: '' },
    {
      id: 'state',
      line: `POST ${document.server}/rest/management/cluster/state`,
      content: 'nobody&x',
    },
  ];
  for (const { id, line, content } of attempts) {
    const operation = document.operations.find((each) => each.id === id) ?? assert.fail();
    const statuses: number[] = [];
    for (let count = 0; count <= FAILED_LOGINS_MAX; count++) {
      const response = await sender.send(textOfRequest(line, [login], content));
      statuses.push(response.status);
      assert.deepEqual(differences(document, operation, response), []);
    }
    assert.equal(statuses.at(-1), 429);
  }
}

for (const [index, each] of CASES_OF_MEMBERS.entries()) {
  const count = Math.ceil(CASES / (each.isOnServer ? CP_SHARE : CASES_OF_MEMBERS.length - 1));
  const seed = SEED + index;
  test(`${each.name} responds as described, ${count} requests, seed ${seed}`, async () => {
    const { member, known } = await started(each);
    const sender = new Sender(member.port);
    const segment = DIALECTS[each.compatibility].pathSegment;
    const login = basicField(known.user, known.password);
    const { body } = await sender.send(textOfRequest(`GET /${segment}/openapi.json`, [login]));
    const document = readDocument(body.toString());
    const { operations } = document;
    const check = async ({ operation, fault, bytes }: RandomRequest): Promise<void> => {
      const response = await sender.send(bytes, fault?.isFailedLogin);
      const { status } = response;
      if (status < 300) succeeded.add(operation.id);
      const [, uuid] = /"uuid":"([^"]+)"}$/.exec(response.body.toString()) ?? [];
      if (uuid !== undefined) known.values.uuid?.splice(0, 1, uuid);
      const [, session] = /^\{"id":(\d+),"creationTime"/.exec(response.body.toString()) ?? [];
      if (session !== undefined) {
        known.values.session?.splice(0, 1, session);
        known.values.id?.splice(0, 1, session);
      }
      const isInDocument = fault === undefined || fault.status !== undefined;
      const found = isInDocument ? differences(document, operation, response) : [];
      if (!isExpected(status, fault, operation)) found.push(`not expected: status ${status}`);
      assert.deepEqual(found, []);
    };
    /** A request with a fault may be refused earlier: by its group, its permission, or in PASSIVE. */
    const isExpected = (status: number, fault: Fault | undefined, { tags }: Operation): boolean => {
      if (status === 500) return known.badValueStatus === 500;
      if (fault?.status === undefined) return true;
      const earlier = tags.includes('DATA')
        ? [403, DIALECTS[each.compatibility].passiveStatus]
        : [];
      if (!each.groups.includes('all')) earlier.push(403);
      return [fault.status, ...earlier].includes(status);
    };
    const isSlow = ({ id }: Operation) => SLOW.includes(id);
    const isEnding = ({ id }: Operation) => ENDING.includes(id);
    const ofCp = operations.filter(({ tags }) => tags.includes('CP'));
    const rounds = each.isOnServer
      ? [
          { chosen: ofCp.filter((one) => !isEnding(one)), numRuns: count },
          { chosen: ofCp, numRuns: count },
        ]
      : [
          { chosen: operations.filter((one) => !isSlow(one)), numRuns: count },
          { chosen: operations.filter(isSlow), numRuns: Math.ceil(count / SLOW_SHARE) },
        ];
    for (const { chosen, numRuns } of rounds) {
      const requests = randomRequest(document, known, chosen);
      const property = fc.asyncProperty(requests, check);
      const { failed, errorInstance, counterexample } = await fc.check(property, { numRuns, seed });
      const [wrong] = counterexample ?? [];
      const request = `${wrong?.operation.id}, ${wrong?.fault?.name ?? 'valid'}: ${wrong?.bytes}`;
      assert.ok(!failed, `${request.slice(0, SHOWN_LENGTH)}\n${errorInstance}`);
    }
    // A drain waits for publishers that send.
    const credentials = [known.user, known.password].map(encodeURIComponent).join('&');
    for (const names of ['w&p0', 'added&a']) {
      const line = `POST ${document.server}/rest/wan/pausePublisher`;
      await sender.send(textOfRequest(line, [], `${credentials}&${names}`));
    }
    if (each.authentication !== 'none') await checkThrottle(document, sender, known);
    sender.end();
    for (const operation of operations) {
      if (document.responseOf(operation, 200) !== undefined) successful.add(operation.id);
    }
  });
}

test('each operation has been successful, if that needs no more than a request', () => {
  const never = [...successful].filter((id) => !succeeded.has(id) && !RARE.includes(id));
  assert.deepEqual(never, []);
});

test('the comparison finds what a document does not describe', () => {
  const document = documentOf('none');
  const operation = document.operations.find(({ id }) => id === 'health') ?? assert.fail();
  const type = ['content-type', 'application/json'] as const;
  const health = {
    nodeState: 'ACTIVE',
    clusterState: 'ACTIVE',
    clusterSafe: true,
    migrationQueueSize: 0,
    clusterSize: 1,
  };
  const of = (status: number, fields: readonly (readonly [string, string])[], value?: object) => {
    const body = Buffer.from(value === undefined ? '' : JSON.stringify(value));
    return differences(document, operation, { status, fields: new Map(fields), body });
  };
  assert.deepEqual(of(200, [type], health), []);
  assert.deepEqual(of(503, [['retry-after', '5']]), []);
  assert.deepEqual(of(409, [type], health), ['status 409']);
  assert.deepEqual(of(200, [type]), ['no content']);
  assert.deepEqual(of(408, [type], health), ['content']);
  assert.deepEqual(of(200, [['content-type', 'text/plain']], health), ['content type text/plain']);
  assert.deepEqual(of(503, [['x', 'y']]), ['field x']);
  assert.match(of(503, [['retry-after', 'soon']]).join(), /^field retry-after: soon: .* integer/);
  assert.match(of(200, [type], { ...health, clusterSize: -1 }).join(), /must be >= 0$/);
  assert.match(of(200, [type], { ...health, more: 1 }).join(), /additional properties$/);
  const login = documentOf('none', LOGINS.basicAll);
  const refusal = { status: 401, fields: new Map([type]), body: Buffer.from(FAILURE) };
  assert.deepEqual(differences(login, operation, refusal), ['status 401']);
  const [needingLogin = operation] = login.operations.filter(({ id }) => id === 'health');
  assert.deepEqual(differences(login, needingLogin, refusal), ['no field www-authenticate']);
});
