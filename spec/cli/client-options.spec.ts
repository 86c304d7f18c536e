/**
 * Covers src/cli and src/client. Flags of the client commands, the variables that they override,
 * and the prompts for passwords.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createBareServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { runCli } from '../../src/cli/main.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runWith } from './run-command.ts';

const TLS = join(import.meta.dirname, '..', 'tls');
const pem = (name: string) => join(TLS, `${name}.pem`);

/** Requests to the member: method, path, user and content. */
const received: string[] = [];
let nextResponse: readonly [status: number, body: string] = [200, 'value'];
/** Whether a request without a login gets 401. */
let requiresLogin = false;
const member = createServer(onRequest);
const secure = createTlsServer(
  {
    cert: readFileSync(pem('server')),
    key: readFileSync(pem('server-key')),
    ca: readFileSync(pem('authority')),
    requestCert: true,
    rejectUnauthorized: true,
  },
  onRequest,
);
const folder = temporaryFolder();

function onRequest(request: IncomingMessage, response: import('node:http').ServerResponse): void {
  const { method, url, headers } = request;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { authorization = '' } = headers;
    const login = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
    received.push([method, url, login, Buffer.concat(chunks).toString()].join(' ').trim());
    const isRefused = requiresLogin && authorization === '';
    response.writeHead(isRefused ? 401 : nextResponse[0]).end(isRefused ? '' : nextResponse[1]);
  });
}

before(async () => {
  for (const server of [member, secure]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});

after(() => {
  member.close();
  secure.close();
});

function at(server: Server): string {
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Runs a command as `runWith` does. Also returns the requests to the member. */
async function run(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  typed?: readonly string[],
) {
  received.length = 0;
  return { ...(await runWith(environment, words, typed)), received: [...received] };
}

const get = ['map', 'get', 'm'];

test('a flag can specify a key of any bytes', async () => {
  const file = join(folder, 'key');
  writeFileSync(file, Buffer.from([0xff, 0x00, 0x2f, 0x61]));
  const address = ['--address', at(member)];
  for (const flag of [
    ['--key-base64', '/wAvYQ=='],
    ['--key-base64', '_wAvYQ'],
    ['--key-file', file],
  ]) {
    for (const word of ['get', 'delete']) {
      const done = await run(['map', word, 'm', ...flag, ...address]);
      assert.deepEqual([done.code, done.errors], [0, '']);
      const method = word === 'get' ? 'GET' : 'DELETE';
      assert.deepEqual(done.received, [`${method} /grid/rest/maps/m/%FF%00%2Fa`]);
    }
    const { received: set } = await run(['map', 'set', 'm', 'value', ...flag, ...address]);
    assert.deepEqual(set, ['POST /grid/rest/maps/m/%FF%00%2Fa  value']);
  }
});

test('flags override variables', async () => {
  const variables = {
    GRID_ADDRESS: at(member),
    GRID_USER: 'ann',
    GRID_PASSWORD: 'secret',
    GRID_PATH_SEGMENT: 'other',
  };
  const { received: one } = await run([...get, 'k'], variables);
  assert.deepEqual(one, ['GET /other/rest/maps/m/k ann:secret']);
  const flags = ['--path-segment', 'mine', '--user', 'bob'];
  const { received: two } = await run([...get, 'k', ...flags], variables);
  assert.deepEqual(two, ['GET /mine/rest/maps/m/k bob:secret']);
  const { code, errors } = await run([...get, 'k'], { GRID_ADDRESS: 'a b' });
  assert.deepEqual(
    [code, errors],
    [
      2,
      'Cannot use GRID_ADDRESS "a b": not a host and port, or an http or https URL without a path\n',
    ],
  );
  const ca = await run([...get, 'k'], { GRID_ADDRESS: at(member), GRID_CA: '/nowhere/ca' });
  assert.match(ca.errors, /^Cannot use GRID_CA "\/nowhere\/ca": no such file\n$/);
});

test('administrative calls authenticate with --cluster-name, else GRID_CLUSTER_NAME, else dev', async () => {
  const state = ['cluster', 'state', '--address', at(member)];
  const path = 'POST /grid/rest/management/cluster/state';
  for (const [flags, environment, name] of [
    [[], {}, 'dev'],
    [[], { GRID_CLUSTER_NAME: 'blue' }, 'blue'],
    [['--cluster-name', 'green'], { GRID_CLUSTER_NAME: 'blue' }, 'green'],
  ] as const) {
    const { received } = await run([...state, ...flags], environment);
    assert.deepEqual(received, [`${path}  ${name}&`]);
  }
});

test('the client sends a certificate to a member that requests one', async () => {
  const address = [
    '--address',
    `https://localhost:${at(secure).split(':')[1]}`,
    '--ca',
    pem('authority'),
  ];
  const own = ['--tls-certificate', pem('client'), '--tls-key', pem('client-key')];
  const shown = await run([...get, 'k', ...address, ...own]);
  assert.deepEqual([shown.code, shown.output, shown.errors], [0, 'value', '']);
  assert.equal((await run([...get, 'k', ...address])).code, 3);
});

test('the client prompts for a password after a 401, or at once if the content contains it', async () => {
  const login = ['--user', 'ann', '--address', at(member)];
  const free = await run([...get, 'k', ...login], {}, []);
  assert.deepEqual([free.code, free.received], [0, ['GET /grid/rest/maps/m/k']]);
  requiresLogin = true;
  try {
    const asking = await run([...get, 'k', ...login], {}, ['secret']);
    assert.equal(asking.code, 0);
    assert.equal(asking.errors, 'Password of ann: \n');
    assert.deepEqual(asking.received, [
      'GET /grid/rest/maps/m/k',
      'GET /grid/rest/maps/m/k ann:secret',
    ]);
    const nobody = await run([...get, 'k', ...login]);
    assert.deepEqual([nobody.code, nobody.output], [2, '']);
    assert.match(nobody.errors, /^Cannot ask for a password: no terminal/);
  } finally {
    requiresLogin = false;
  }
  nextResponse = [200, '{"state":"active"}'];
  const state = await run(['cluster', 'state', ...login], {}, ['secret']);
  nextResponse = [200, 'value'];
  assert.equal(state.errors, 'Password of ann: \n');
  assert.deepEqual(state.received, ['POST /grid/rest/management/cluster/state  ann&secret']);
});

test('a command of several requests logs in once', async () => {
  requiresLogin = true;
  const pages = ['"one"', 'null'].map((cursor) => `{"key":"k"}\n{"cursor":${cursor}}\n`);
  nextResponse = [200, pages[0]!];
  const login = ['--user', 'ann', '--address', at(member)];
  try {
    const running = run(['map', 'keys', 'm', ...login], {}, ['secret']);
    while (received.length < 2) await new Promise((resolve) => setImmediate(resolve));
    nextResponse = [200, pages[1]!];
    const { code, output, errors, received: seen } = await running;
    assert.deepEqual([code, output, errors], [0, 'k\nk\n', 'Password of ann: \n']);
    assert.deepEqual(seen, [
      'GET /grid/v1/maps/m/keys?limit=10000',
      'GET /grid/v1/maps/m/keys?limit=10000 ann:secret',
      'GET /grid/v1/maps/m/keys?limit=10000&cursor=one ann:secret',
    ]);
  } finally {
    requiresLogin = false;
    nextResponse = [200, 'value'];
  }
});

test('the client waits for a value from a terminal', async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const streams = { stdin: Object.assign(stdin, { isTTY: true }), stdout, stderr };
  const setting = runCli(['map', 'set', 'm', 'k', '--address', at(member)], streams);
  const [prompt] = (await once(stderr, 'data')) as [Buffer];
  assert.match(String(prompt), /^Waiting for the value; Ctrl-D/);
  stdin.end('typed');
  assert.equal(await setting, 0);
  assert.equal(received.at(-1), 'POST /grid/rest/maps/m/k  typed');
});

test('hash-password prompts twice on a terminal', async () => {
  const same = await run(['hash-password'], {}, ['secret', 'secret']);
  assert.deepEqual([same.code, same.errors], [0, 'Password: \nAgain: \n']);
  assert.match(same.output, /^scrypt\$/);
  const other = await run(['hash-password'], {}, ['secret', 'secert']);
  assert.deepEqual([other.code, other.output], [2, '']);
  assert.match(other.errors, /Cannot hash a password: the second input differs\n$/);
});

const refused: readonly (readonly [status: number, words: readonly string[], RegExp])[] = [
  [
    404,
    [...get, 'k'],
    /^Refused with 404: nothing is at \/grid\/rest\/maps\/m\/k; is "grid" the member's --path-segment\?\n$/,
  ],
  [
    400,
    ['health', 'nonsense'],
    /^Refused with 400: "nonsense" is not a part of health: node-state, .*, live\n$/,
  ],
  [
    413,
    ['map', 'set', 'm', 'k', 'four'],
    /^Refused with 413: the value of 4 bytes is over the member's body-/,
  ],
  [
    414,
    [...get, 'k'],
    /^Refused with 414: the path of 19 bytes is over the member's target-bytes-max\n$/,
  ],
  [431, [...get, 'k'], /^Refused with 431: the header is over the member's header-bytes-max\n$/],
  [501, [...get, 'k'], /^Refused with 501: the member does not serve \/grid\/rest\/maps\/m\/k\n$/],
  [
    503,
    ['map', 'set', 'm', 'k', 'v'],
    /^Refused with 503: the member accepts no more connections or is/,
  ],
];
for (const [status, words, message] of refused) {
  test(`the message for a response ${status} without content to ${words.join(' ')} gives the cause`, async () => {
    nextResponse = [status, ''];
    const { code, output, errors } = await run([...words, '--address', at(member)]);
    nextResponse = [200, 'value'];
    assert.deepEqual([code, output], [4, '']);
    assert.match(errors, message);
  });
}

test('the client reports TLS on a plain port, and plain text on a TLS port', async () => {
  const plain = await run([...get, 'k', '--address', `https://${at(member)}`]);
  assert.equal(plain.code, 3);
  assert.match(
    plain.errors,
    /: the port does not use TLS; try --address http:\/\/127\.0\.0\.1:\d+\n$/,
  );
  const closing = createBareServer((socket) =>
    socket.resume().once('data', () => socket.destroy()),
  );
  closing.listen(0, '127.0.0.1');
  await once(closing, 'listening');
  const address = `127.0.0.1:${(closing.address() as { port: number }).port}`;
  const tls = await run([...get, 'k', '--address', address]);
  assert.equal(tls.code, 3);
  assert.match(tls.errors, /; if the port uses TLS, try --address https:\/\/127\.0\.0\.1:\d+\n$/);
  closing.close();
});

test('a command without --user that needs a login names the flag', async () => {
  requiresLogin = true;
  const { code, errors } = await run([...get, 'k', '--address', at(member)]);
  requiresLogin = false;
  assert.deepEqual([code, errors], [4, 'Refused with 401: --user logs in\n']);
});

test('an empty list prints no line', async () => {
  nextResponse = [200, '{"publishers":[]}'];
  const publishers = ['wan', 'publishers', '--address', at(member)];
  const { code, output } = await run(publishers);
  const { output: json } = await run([...publishers, '--json']);
  nextResponse = [200, 'value'];
  assert.deepEqual([code, output, json], [0, '', '{"publishers":[]}\n']);
});

test('update-config sends a file or standard input, and prints the outcome for each block', async () => {
  const file = join(folder, 'more.yaml');
  writeFileSync(file, 'grid: {queue: {a&b: {max-size: 1}}}');
  const addedConfigs = [{ sectionName: 'queue', configName: 'a&b' }];
  const ignoredConfigs = [{ sectionName: 'network' }];
  const outcome = { status: 'success', message: 'Done.', result: { addedConfigs, ignoredConfigs } };
  nextResponse = [200, JSON.stringify(outcome)];
  const updated = await run(['cluster', 'update-config', file, '--address', at(member)]);
  nextResponse = [200, 'value'];
  assert.deepEqual(updated.received, [
    'POST /grid/rest/config/update  dev&&grid%3A%20%7Bqueue%3A%20%7Ba%26b%3A%20%7Bmax-size%3A%201%7D%7D%7D',
  ]);
  assert.deepEqual([updated.code, updated.errors], [0, '']);
  assert.equal(updated.output, 'Done.\nadded    queue a&b\nignored  network\n');
});

test('typed characters are not echoed at a prompt, from before the prompt is printed', async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const seen: string[] = [];
  stderr.on('data', (chunk) => {
    seen.push(String(chunk).trim());
    if (/: $/.test(String(chunk))) setImmediate(() => stdin.write('secret\r'));
  });
  const setRawMode = (isRaw: boolean) => seen.push(isRaw ? 'raw' : 'as before');
  const streams = { stdin: Object.assign(stdin, { isTTY: true, setRawMode }), stdout, stderr };
  assert.equal(await runCli(['hash-password'], streams), 0);
  assert.deepEqual(seen.slice(0, 2), ['raw', 'Password:']);
});
