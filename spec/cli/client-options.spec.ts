/** Flags of the client commands, the variables that they outweigh, and the prompts for passwords. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createBareServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { runCli } from '../../src/cli/main.ts';

const TLS = join(import.meta.dirname, '..', 'tls');
const pem = (name: string) => join(TLS, `${name}.pem`);

/** The requests to the member: method, path and content, and the user. */
const asked: string[] = [];
let answer: readonly [status: number, body: string] = [200, 'value'];
/** Whether a request without a login is answered 401. */
let wantsLogin = false;
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
let folder = '';

function onRequest(request: IncomingMessage, response: import('node:http').ServerResponse): void {
  const { method, url, headers } = request;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { authorization = '' } = headers;
    const login = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
    asked.push([method, url, login, Buffer.concat(chunks).toString()].join(' ').trim());
    const isRefused = wantsLogin && authorization === '';
    response.writeHead(isRefused ? 401 : answer[0]).end(isRefused ? '' : answer[1]);
  });
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'options-'));
  for (const server of [member, secure]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});

after(() => {
  member.close();
  secure.close();
  rmSync(folder, { recursive: true });
});

function at(server: Server): string {
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Runs a command with these variables; with `typed` on a terminal where each prompt gets the next text. */
async function run(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  typed?: readonly string[],
) {
  asked.length = 0;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let errors = '';
  const left = [...(typed ?? [])];
  stderr.on('data', (chunk) => {
    errors += chunk;
    if (/: $/.test(errors)) setImmediate(() => stdin.write(`${left.shift() ?? ''}\r`));
  });
  if (typed === undefined) stdin.end();
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const streams = { stdin: Object.assign(stdin, { isTTY: typed !== undefined }), stdout, stderr };
    const code = await runCli(words, streams);
    return { code, output: String(stdout.read() ?? ''), errors, asked: [...asked] };
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

const get = ['map', 'get', 'm'];

test('a key of any bytes is given by a flag', async () => {
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
      assert.deepEqual(done.asked, [`${method} /grid/rest/maps/m/%FF%00%2Fa`]);
    }
    const { asked: set } = await run(['map', 'set', 'm', 'value', ...flag, ...address]);
    assert.deepEqual(set, ['POST /grid/rest/maps/m/%FF%00%2Fa  value']);
  }
});

test('flags outweigh variables', async () => {
  const variables = {
    GRID_ADDRESS: at(member),
    GRID_USER: 'ann',
    GRID_PASSWORD: 'secret',
    GRID_PATH_SEGMENT: 'other',
  };
  const { asked: one } = await run([...get, 'k'], variables);
  assert.deepEqual(one, ['GET /other/rest/maps/m/k ann:secret']);
  const flags = ['--path-segment', 'mine', '--user', 'bob'];
  const { asked: two } = await run([...get, 'k', ...flags], variables);
  assert.deepEqual(two, ['GET /mine/rest/maps/m/k bob:secret']);
  const { code, errors } = await run([...get, 'k'], { GRID_ADDRESS: 'a b' });
  assert.deepEqual([code, errors], [2, 'Cannot use GRID_ADDRESS "a b": not a host and port\n']);
  const ca = await run([...get, 'k'], { GRID_ADDRESS: at(member), GRID_CA: '/nowhere/ca' });
  assert.match(ca.errors, /^Cannot use GRID_CA "\/nowhere\/ca": ENOENT/);
});

test('a certificate is shown to a member that asks for one', async () => {
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

test('a password is asked for once a member wants one, and at once where it is in the content', async () => {
  const login = ['--user', 'ann', '--address', at(member)];
  const free = await run([...get, 'k', ...login], {}, []);
  assert.deepEqual([free.code, free.asked], [0, ['GET /grid/rest/maps/m/k']]);
  wantsLogin = true;
  try {
    const asking = await run([...get, 'k', ...login], {}, ['secret']);
    assert.equal(asking.code, 0);
    assert.equal(asking.errors, 'Password of ann: \n');
    assert.deepEqual(asking.asked, [
      'GET /grid/rest/maps/m/k',
      'GET /grid/rest/maps/m/k ann:secret',
    ]);
    const nobody = await run([...get, 'k', ...login]);
    assert.deepEqual([nobody.code, nobody.output], [2, '']);
    assert.match(nobody.errors, /^Cannot ask for a password: no terminal/);
  } finally {
    wantsLogin = false;
  }
  answer = [200, '{"state":"active"}'];
  const state = await run(['cluster', 'state', ...login], {}, ['secret']);
  answer = [200, 'value'];
  assert.equal(state.errors, 'Password of ann: \n');
  assert.deepEqual(state.asked, ['POST /grid/rest/management/cluster/state  ann&secret']);
});

test('a value from a terminal is asked for', async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const streams = { stdin: Object.assign(stdin, { isTTY: true }), stdout, stderr };
  const setting = runCli(['map', 'set', 'm', 'k', '--address', at(member)], streams);
  const [told] = (await once(stderr, 'data')) as [Buffer];
  assert.match(String(told), /^Waiting for the value; Ctrl-D/);
  stdin.end('typed');
  assert.equal(await setting, 0);
  assert.equal(asked.at(-1), 'POST /grid/rest/maps/m/k  typed');
});

test('hash-password asks twice on a terminal', async () => {
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
  [400, ['health', 'nonsense'], /^Refused with 400: "nonsense" is not a part of health\n$/],
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
  test(`a member that answers ${status} without a word to ${words.join(' ')}`, async () => {
    answer = [status, ''];
    const { code, output, errors } = await run([...words, '--address', at(member)]);
    answer = [200, 'value'];
    assert.deepEqual([code, output], [4, '']);
    assert.match(errors, message);
  });
}

test('TLS on a plain port, plain text on a TLS port, and no member are told', async () => {
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
  await once(closing, 'close');
  const nobody = await run([...get, 'k', '--address', address]);
  assert.equal(nobody.code, 3);
  assert.match(nobody.errors, /ECONNREFUSED .*; is a member running there\?\n$/);
});

test('update-config sends a file or standard input, and tells the outcome for each block', async () => {
  const file = join(folder, 'more.yaml');
  writeFileSync(file, 'grid: {queue: {a&b: {max-size: 1}}}');
  const addedConfigs = [{ sectionName: 'queue', configName: 'a&b' }];
  const ignoredConfigs = [{ sectionName: 'network' }];
  const told = { status: 'success', message: 'Done.', result: { addedConfigs, ignoredConfigs } };
  answer = [200, JSON.stringify(told)];
  const updated = await run(['cluster', 'update-config', file, '--address', at(member)]);
  answer = [200, 'value'];
  assert.deepEqual(updated.asked, [
    'POST /grid/rest/config/update  dev&&grid%3A%20%7Bqueue%3A%20%7Ba%26b%3A%20%7Bmax-size%3A%201%7D%7D%7D',
  ]);
  assert.deepEqual([updated.code, updated.errors], [0, '']);
  assert.equal(updated.output, 'Done.\nadded    queue a&b\nignored  network\n');
});

test('typed letters do not show at a prompt, from before the prompt on', async () => {
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
