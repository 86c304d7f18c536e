/**
 * SOAK_SIZE keys, by default 20,000, that wait in a cluster of three members on a server while the target
 * is away, as many as the queue has room for, and one with a value of 16 MiB. None is dropped, and all
 * reach the target after its return, although each member is killed meanwhile.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { fill } from '../../bench/load/fill.ts';
import { KEY } from '../../bench/load/request.ts';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';
import { freePort } from '../free-port.ts';
import { serveWith, TEST_PARTITIONS } from '../integration/member-process.ts';
import { sendingTo } from '../integration/wan-members.ts';
import { serverForTests } from '../peers/engine-server.ts';
import { ask, killAll, running, type Served } from '../peers/served-members.ts';
import { until } from '../peers/server-process.ts';

const ENTRIES = Number(process.env.SOAK_SIZE ?? 20_000);
const FOLDER = mkdtempSync(join(tmpdir(), 'wan-waiting-soak-'));
const MEMBERS = 3;
const LONG = 'v'.repeat(16 * 2 ** 20);
const SENT_MS_MAX = 600_000;
const QUIET_MS = 5000;

const server = serverForTests();
after(async () => {
  await killAll();
  rmSync(FOLDER, { recursive: true });
});

async function member(...flags: readonly string[]): Promise<Served> {
  const partitions = ['--partition-count', `${TEST_PARTITIONS}`];
  const served = await serveWith(
    { isBuilt: true },
    ...flags,
    '--enable-group',
    'all',
    ...partitions,
  );
  running.push(served);
  return served;
}

/** Returns the publisher of each member. */
async function publishersOf(members: readonly Served[]): Promise<readonly PublisherStatus[]> {
  const bodies = members.map(async (each) => (await ask(each, 'GET', 'wan/publishers')).body);
  const texts = (await Promise.all(bodies)).map((body) => body.toString());
  return texts.flatMap(
    (text) => (JSON.parse(text) as { publishers: PublisherStatus[] }).publishers,
  );
}

async function waitingIn(members: readonly Served[]): Promise<number> {
  return (await publishersOf(members)).reduce((sum, { queueSize }) => sum + queueSize, 0);
}

test(`${ENTRIES} keys that wait reach the target`, async (context) => {
  const port = await freePort();
  const file = join(FOLDER, 'grid.yaml');
  const engine = { url: `redis://127.0.0.1:${server.port}`, 'max-no-heartbeat-seconds': 5 };
  const sending = sendingTo([port], { 'queue-capacity': ENTRIES + 1 });
  writeFileSync(file, JSON.stringify({ grid: { ...sending, engine } }));
  const members: Served[] = [];
  while (members.length < MEMBERS) members.push(await member('--config', file));
  const share = Math.ceil(ENTRIES / MEMBERS);
  const head = `POST /grid/rest/maps/m/${KEY} HTTP/1.1\r\nHost: localhost\r\n`;
  const request = `${head}Content-Length: 100\r\n\r\n${'v'.repeat(100)}`;
  const filling = members.map((each, at) =>
    fill(
      each.port,
      { request, answer: 'HTTP/1.1 200 ' },
      at * share,
      Math.min(share, ENTRIES - at * share),
    ),
  );
  await Promise.all(filling);
  assert.equal((await ask(members[0]!, 'POST', 'maps/m/long', LONG)).status, 200);
  await until(async () => (await waitingIn(members)) === ENTRIES + 1);
  for (const { eventsDropped } of await publishersOf(members)) assert.equal(eventsDropped, 0);

  const target = await member('--port', `${port}`, '--max-memory', '1g');
  const sinceMs = performance.now();
  let killed = 0;
  // A member that has just started has counted nothing yet.
  for (let emptySince = sinceMs; performance.now() - emptySince < QUIET_MS; ) {
    await passed(50);
    const waiting = await waitingIn(members);
    assert.ok(performance.now() - sinceMs < SENT_MS_MAX, `${waiting} wait`);
    if (waiting > 0) emptySince = performance.now();
    if (killed === MEMBERS || waiting > ENTRIES * (1 - 0.25 * (killed + 1))) continue;
    killed++;
    members.shift()!.child.kill('SIGKILL');
    members.push(await member('--config', file));
    emptySince = performance.now();
  }
  const seconds = ((performance.now() - sinceMs) / 1000).toFixed(1);
  context.diagnostic(`${killed} of ${MEMBERS} killed, ${seconds} s`);
  assert.equal((await ask(target, 'GET', 'maps/m/long')).body.toString() === LONG, true);
  const map = await fetch(`http://127.0.0.1:${port}/grid/v1/maps/m`);
  const { size } = (await map.json()) as { size: number };
  assert.equal(size, ENTRIES + 1);
});
