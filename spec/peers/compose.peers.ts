/**
 * examples/compose.yaml: Docker Compose reads it, and the commands of all services run as processes,
 * with other addresses of this machine. No container is started. The client `valkey-cli` is Debian's
 * `redis-cli`.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { OPEN_TO_PROGRAMS } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from './server-process.ts';
import {
  dockerCompose,
  ROOT,
  requireProgram,
  runChecked,
  runProgram,
  valkeyServer,
} from './tools.ts';

interface Service {
  readonly command: readonly string[];
  readonly networks: { readonly grid: { readonly ipv4_address: string } | null };
}

const EXAMPLES = join(ROOT, 'examples');
const MEMBERS = ['member-1', 'member-2', 'member-3'];
const SERVERS = [1, 2, 3, 4, 5, 6].map((number) => `valkey-${number}`);
const SUBNET = '172.30.57.';
/** Addresses of this machine, of this run. */
const LOCAL = `127.${(process.pid % 200) + 20}.57.`;
const PROXY = `${LOCAL}30`;
const GRID = `http://${PROXY}:5701/grid`;
const EXPECTED = readFileSync(join(EXAMPLES, 'ten-calls/expected.txt'), 'utf8');

const folder = temporaryFolder();
const programs = join(folder, 'programs');
const running = new Map<string, ChildProcess>();
const logs = new Map<string, string>();
let services: Readonly<Record<string, Service>> = {};

before(async () => {
  for (const program of ['haproxy', 'redis-cli']) requireProgram(program);
  const words = ['--file', join(EXAMPLES, 'compose.yaml'), 'config', '--format', 'json'];
  services = JSON.parse(await runChecked(dockerCompose(), words)).services;
  mkdirSync(programs);
  symlinkSync(valkeyServer(), join(programs, 'valkey-server'));
  symlinkSync('/usr/bin/redis-cli', join(programs, 'valkey-cli'));
});

after(async () => {
  for (const name of [...running.keys()].reverse()) await stop(name, 'SIGKILL');
});

function addressOf(name: string): string {
  return adapted(services[name]?.networks.grid?.ipv4_address ?? '');
}

function adapted(text: string): string {
  return text.replaceAll(SUBNET, LOCAL).replaceAll('$$', '$');
}

function commandOf(name: string): string[] {
  return (services[name]?.command ?? []).map(adapted);
}

/** Starts the command of a service in its own folder. */
function start(name: string, program: string, words: readonly string[]): void {
  const cwd = join(folder, name);
  mkdirSync(cwd, { recursive: true });
  const env = { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` };
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => logs.set(name, `${logs.get(name) ?? ''}${bytes}`));
  }
  running.set(name, child);
}

async function stop(name: string, signal: NodeJS.Signals): Promise<void> {
  const child = running.get(name);
  running.delete(name);
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

function startServer(name: string): void {
  const [program = '', ...words] = commandOf(name);
  // Servers recognize one another by the addresses of their connections.
  const address = addressOf(name);
  start(name, program, [...words, '--bind', address, '--bind-source-addr', address]);
}

function startMember(name: string): void {
  const words = commandOf(name).map((word) => (word === '0.0.0.0' ? addressOf(name) : word));
  start(name, process.execPath, [join(ROOT, 'dist/bin/gridnode.js'), ...words]);
}

function startProxy(): void {
  const file = join(folder, 'haproxy.cfg');
  const text = readFileSync(join(EXAMPLES, 'compose/haproxy.cfg'), 'utf8');
  writeFileSync(file, adapted(text).replace('bind :5701', `bind ${PROXY}:5701`));
  const [program = '', ...words] = commandOf('haproxy');
  const mounted = '/usr/local/etc/haproxy/haproxy.cfg';
  assert.ok(words.includes(mounted));
  start(
    'haproxy',
    program,
    words.map((word) => (word === mounted ? file : word)),
  );
}

function runService(name: string): Promise<string> {
  const [program = '', ...words] = commandOf(name);
  const env = { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` };
  return runChecked(program, words, { env });
}

async function isReady(host: string, port = 5701): Promise<boolean> {
  const response = await fetch(`http://${host}:${port}/grid/health/ready`);
  return response.status === 200;
}

async function tenCalls(): Promise<string> {
  const env = { ...process.env, GRIDNODE_URL: GRID };
  const words = [join(EXAMPLES, 'ten-calls/curl.sh')];
  return (await runProgram('sh', words, { env })).output;
}

test('the members of the example serve their health on the port that the image checks', () => {
  const image = readFileSync(join(ROOT, 'packaging/Containerfile'), 'utf8');
  const port = /^HEALTHCHECK[^[]*\[.*"127\.0\.0\.1:(\d+)"\]$/m.exec(image)?.[1];
  assert.notEqual(port, undefined);
  for (const name of MEMBERS) {
    const words = commandOf(name);
    assert.equal(words[words.indexOf('--health-port') + 1], port);
  }
});

test('the services of the example start, and serve the ten calls', {
  timeout: 120_000,
}, async () => {
  for (const name of SERVERS) startServer(name);
  assert.match(await runService('valkey-cluster'), /All 16384 slots covered/);
  for (const name of MEMBERS) startMember(name);
  for (const name of MEMBERS) await until(() => isReady(addressOf(name), 8080));
  startProxy();
  await until(() => isReady(PROXY));
  assert.equal(await tenCalls(), EXPECTED);
  const response = await fetch(`${GRID}/rest/cluster`);
  const { members } = (await response.json()) as { members: { address: string }[] };
  const addresses = members.map(({ address }) => address).sort();
  assert.deepEqual(
    addresses,
    MEMBERS.map((name) => `${addressOf(name)}:5701`),
  );
});

test('the members of the example log no warning about their servers', () => {
  for (const name of MEMBERS) {
    const lines = (logs.get(name) ?? '').trim().split('\n');
    const warnings = lines
      .map((line) => JSON.parse(line) as { level: string; msg: string })
      .filter(({ level, msg }) => level !== 'info' && !msg.startsWith(OPEN_TO_PROGRAMS));
    assert.deepEqual(warnings, []);
  }
});

test('a second start of the example does not change its cluster', async () => {
  assert.equal(await runService('valkey-cluster'), '');
});

test('the example serves the ten calls while a member is stopped', async () => {
  await stop('member-1', 'SIGTERM');
  assert.equal(await tenCalls(), EXPECTED);
  startMember('member-1');
  await until(() => isReady(addressOf('member-1'), 8080));
});

test('the example keeps its data if a server is killed and restarts', async () => {
  const entries = Array.from({ length: 20 }, (_, each) => `${GRID}/rest/maps/example-kept/${each}`);
  for (const entry of entries) {
    assert.equal((await fetch(entry, { method: 'POST', body: 'Ada' })).status, 200);
  }
  await stop('valkey-1', 'SIGKILL');
  startServer('valkey-1');
  for (const entry of entries) {
    await until(async () => (await (await fetch(entry)).text()) === 'Ada');
  }
  await until(async () => {
    // A call that failed may have left its item.
    await fetch(`${GRID}/rest/queues/example-jobs/0`, { method: 'DELETE' });
    return (await tenCalls()) === EXPECTED;
  });
});
