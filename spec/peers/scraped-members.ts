/**
 * Members for scrapes: one with logins, TLS, persistence and WAN replication, one without any of
 * these, and one on a server. They have names with characters that the text forms escape.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../free-port.ts';
import { serve } from '../integration/member-process.ts';
import { cheapHash } from '../security/cheap-hash.ts';
import { tlsFile } from '../tls/identity.ts';
import { running } from './served-members.ts';
import { until } from './server-process.ts';

export const USER = 'prometheus';
export const PASSWORD = 'correct horse';

/** A port of a member. */
export interface ScrapedPort {
  readonly name: string;
  readonly isTls: boolean;
  readonly port: number;
  /** Requires the login of USER. */
  readonly hasLogin: boolean;
}

interface Call {
  readonly method?: string;
  readonly body?: string;
  readonly accept?: string;
  /** Replaces that of the port. */
  readonly login?: string;
}

const ON = { enabled: true };
/** A quote, a backslash and a letter outside ASCII. */
const ODD_NAME = 'a "b" \\ ü';
/** Names of maps and queues: also a line feed and bytes that are not UTF-8, as escapes; commas. */
const ODD_PATHS = ['%22a%22%5C%0A%C3%BC', '%FF%FE%00', "a'b,c=%7Bd%7D"];
/** Events that the queue of the WAN publisher has room for; its target cannot be reached. */
const QUEUE_CAPACITY = 100;
/** Size of a value, and number of its changes, which together cause a snapshot. */
const LARGE_BYTES = 8_388_608;
const LARGE_CHANGES = 34;
/** Failed logins of a user after which the next one is throttled. */
const FAILURES = 5;

/** Starts the members and makes happen what their metrics count, as far as a client can. */
export async function scrapedMembers(folder: string, serverPort: number): Promise<ScrapedPort[]> {
  const secured = await started(folder, 'secured', {
    'cluster-name': ODD_NAME,
    'instance-name': ODD_NAME,
    ...replication(await freePort()),
    network: { ssl: TLS, 'rest-api': { ...REST, authentication: 'basic' } },
    security: SECURITY,
    persistence: { ...ON, 'base-dir': join(folder, 'data'), 'backup-dir': join(folder, 'backups') },
  });
  const plain = await started(folder, 'plain', {
    'cluster-name': ODD_NAME,
    network: { 'rest-api': REST },
  });
  const shared = await started(folder, 'shared', {
    network: { 'rest-api': REST },
    engine: { url: `redis://127.0.0.1:${serverPort}` },
  });
  const members = [secured, plain, shared];
  for (const [port] of members) await useData(port);
  await useAdministration(secured[0]);
  await causeSnapshot(secured[0]);
  return members.flat();
}

type Ports = readonly [data: ScrapedPort, health: ScrapedPort];

/** Starts a member with a configuration below `grid`. */
async function started(folder: string, name: string, grid: object): Promise<Ports> {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify({ grid: { queue: QUEUE, ...grid } }));
  const words = ['--config', file, '--host', '127.0.0.1', '--health-port', '0'];
  const member = await serve(...words, '--path-segment', 'grid');
  running.push(member);
  const isTls = name === 'secured';
  const hasLogin = isTls;
  return [
    { name, isTls, port: member.port, hasLogin },
    { name: `${name}-health`, isTls: false, port: member.healthPort, hasLogin },
  ];
}

const QUEUE = { '*': { 'max-size': 10 } };
const REST = { ...ON, 'endpoint-groups': { DATA: ON, PERSISTENCE: ON } };
const TLS = {
  ...ON,
  properties: { keyCertChainFile: tlsFile('server.pem'), keyFile: tlsFile('server-key.pem') },
};
const USERS = [{ username: USER, password: cheapHash(PASSWORD) }];
const SECURITY = {
  ...ON,
  realms: [{ name: 'staff', authentication: { simple: { users: USERS } } }],
  'member-authentication': { realm: 'staff' },
};

/** Returns the settings of a publisher, with such names, for all maps. */
function replication(targetPort: number): object {
  const publisher = {
    'cluster-name': 'other',
    'target-endpoints': `127.0.0.1:${targetPort}`,
    'queue-capacity': QUEUE_CAPACITY,
  };
  return {
    'wan-replication': { [ODD_NAME]: { 'batch-publisher': { [ODD_NAME]: publisher } } },
    map: { '*': { 'wan-replication-ref': { [ODD_NAME]: {} } } },
  };
}

async function useData(port: ScrapedPort): Promise<void> {
  for (const path of ODD_PATHS) {
    await succeed(port, `rest/maps/${path}/${path}`, { method: 'POST', body: 'v' });
    await succeed(port, `rest/queues/${path}`, { method: 'POST', body: 'v' });
  }
  for (let key = 0; key <= QUEUE_CAPACITY; key++) {
    await succeed(port, `rest/maps/m/${key}`, { method: 'POST', body: 'v' });
  }
  await succeed(port, 'rest/maps/m/1');
}

async function useAdministration(port: ScrapedPort): Promise<void> {
  const body = `${USER}&${encodeURIComponent(PASSWORD)}`;
  await succeed(port, 'rest/management/cluster/backup', { method: 'POST', body });
  for (let count = 0; count <= FAILURES; count++) {
    const refused = await responseOf(port, 'rest/maps/m/1', { login: 'mallory:guess' });
    assert.equal(refused.statusCode, count < FAILURES ? 401 : 429);
    refused.resume();
  }
}

/** Fills the log until the member writes a snapshot (src/persistence/persistence.ts: 256 MiB). */
async function causeSnapshot(port: ScrapedPort): Promise<void> {
  const body = 'v'.repeat(LARGE_BYTES);
  for (let count = 0; count < LARGE_CHANGES; count++) {
    await succeed(port, 'rest/maps/m/large', { method: 'POST', body });
  }
  await until(async () => (await succeed(port, 'metrics')).includes('gridnode_snapshot_'));
}

/** Sends a request for a path below the segment; resolves with the content of the response. */
export async function succeed(port: ScrapedPort, path: string, call: Call = {}): Promise<string> {
  const response = await responseOf(port, path, call);
  const content = await text(response);
  assert.ok([200, 204].includes(response.statusCode ?? 0), `${port.name} ${path}: ${content}`);
  return content;
}

function responseOf(port: ScrapedPort, path: string, call: Call): Promise<IncomingMessage> {
  const { method = 'GET', body = '', accept, login = `${USER}:${PASSWORD}` } = call;
  const url = `${originOf(port)}/grid/${path}`;
  const options = {
    method,
    headers: { 'content-length': Buffer.byteLength(body), ...(accept && { accept }) },
    ...(port.hasLogin && { auth: login }),
  };
  return new Promise((resolve, reject) => {
    const sent = port.isTls
      ? tlsRequest(url, { ...options, ca: readFileSync(tlsFile('authority.pem')) }, resolve)
      : plainRequest(url, options, resolve);
    sent.on('error', reject).end(body);
  });
}

export function originOf({ isTls, port }: ScrapedPort): string {
  return `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`;
}
