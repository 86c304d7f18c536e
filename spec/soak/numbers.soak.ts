/**
 * Numbers that 64 clients change at once, by conditional writes and by additions: the sums are exact,
 * on one member and through three members on a server. With persistence and kill -9 in ten rounds,
 * nothing that was answered is lost, and no addition is made twice.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { RawClient } from '../integration/client.ts';
import { serve, serveWith } from '../integration/member-process.ts';
import { serverForTests } from '../peers/engine-server.ts';
import { killAll, startMembers } from '../peers/served-members.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 10_000);
const WRITES = 2 * SIZE;
const ADDITIONS = 20 * SIZE;
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const CLIENTS = 64;
const KEYS = 10;
const RUN_MS_MAX = 800;

/** Adds one to the number by a conditional write. Returns the number of attempts. */
async function write(client: RawClient, key: string): Promise<number> {
  for (let attempts = 1; ; attempts++) {
    const read = await client.request('GET', key);
    assert.ok(read.status === 200 || read.status === 404, `GET ${read.status}`);
    const next = read.status === 404 ? 1 : Number(read.body) + 1;
    const condition =
      read.status === 404 ? 'If-None-Match: *' : `If-Match: ${read.fields.get('etag')}`;
    const lines = `${condition}\r\n`;
    const { status } = await client.request('PUT', key, Buffer.from(`${next}`), '', lines);
    if (status !== 412) {
      assert.equal(status, read.status === 404 ? 201 : 204);
      return attempts;
    }
  }
}

async function add(client: RawClient, key: string, by: number): Promise<void> {
  const { status, body } = await client.request('POST', key, Buffer.from(`by=${by}`));
  assert.equal(status, 200, body.toString());
}

/** Runs `count` operations on random keys, by clients that are spread over the ports. */
async function spread(
  ports: readonly number[],
  count: number,
  operate: (client: RawClient, key: number) => Promise<unknown>,
): Promise<number[]> {
  const counts = Array.from({ length: KEYS }, () => 0);
  let left = count;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const random = new Random(SEED + index);
      const client = new RawClient(ports[index % ports.length]!);
      while (left-- > 0) {
        const key = random.below(KEYS);
        counts[key]!++;
        await operate(client, key);
      }
      client.destroy();
    }),
  );
  return counts;
}

async function assertSums(port: number, map: string, sums: readonly number[]): Promise<void> {
  const client = new RawClient(port);
  for (const [key, sum] of sums.entries()) {
    const { body } = await client.request('GET', `maps/${map}/k${key}`);
    assert.equal(body.toString(), `${sum}`, `${map}/k${key}`);
  }
  client.destroy();
}

async function changeNumbers(ports: readonly number[], report: (text: string) => void) {
  let attempts = 0;
  const written = await spread(ports, WRITES, async (client, key) => {
    const made = await write(client, `v1/maps/written/entries/k${key}`);
    attempts += made;
  });
  for (const port of ports) await assertSums(port, 'written', written);
  const added = await spread(ports, ADDITIONS, (client, key) =>
    add(client, `v1/maps/added/counters/k${key}`, 3),
  );
  const sums = added.map((count) => 3 * count);
  for (const port of ports) await assertSums(port, 'added', sums);
  report(`${WRITES} conditional writes in ${attempts} attempts, ${ADDITIONS} additions`);
}

test('Numbers on one member are exact', async (context) => {
  const { child, exited, port } = await serve('--enable-group', 'DATA');
  await changeNumbers([port], (text) => context.diagnostic(text));
  child.kill();
  await exited;
});

const server = serverForTests();
after(killAll);

test('Numbers on three members on a server are exact', async (context) => {
  const members = await startMembers(3, 'numbers', server.port);
  await changeNumbers(
    members.map(({ port }) => port),
    (text) => context.diagnostic(text),
  );
});

/** A number that one client changes. An addition without a response may have been made or not. */
interface Counted {
  answered: number;
  isOpen: boolean;
}

test(`Numbers outlive ${ROUNDS} kills (seed ${SEED})`, async (context) => {
  const random = new Random(SEED);
  const directory = temporaryFolder();
  const environment = { GRID_PERSISTENCE_SYNC: 'always' };
  const flags = ['--enable-group', 'DATA', '--data-dir', directory];
  const own = Array.from({ length: CLIENTS }, (): Counted => ({ answered: 0, isOpen: false }));
  let shared = 0;
  let openCount = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const { child, exited, port } = await serveWith({ environment }, ...flags);
    const reader = new RawClient(port);
    for (const [index, counted] of own.entries()) {
      const found = Number((await reader.request('GET', `maps/m/own${index}`)).body);
      const most = counted.answered + Number(counted.isOpen);
      assert.ok(
        found === counted.answered || found === most,
        `round ${round}: own${index} is ${found}, answered ${counted.answered}`,
      );
      counted.answered = found;
      counted.isOpen = false;
    }
    const found = Number((await reader.request('GET', 'maps/m/shared')).body);
    assert.ok(found >= shared && found <= shared + openCount, `${found} of ${shared}+${openCount}`);
    shared = found;
    openCount = 0;
    const running = own.map(async (counted, index) => {
      const client = new RawClient(port);
      for (;;) {
        counted.isOpen = true;
        const mine = await client.request('POST', `v1/maps/m/counters/own${index}`).catch(() => {});
        if (mine?.status !== 200) break;
        counted.answered++;
        assert.equal(Number(mine.body), counted.answered);
        counted.isOpen = false;
        openCount++;
        const all = await client.request('POST', 'v1/maps/m/counters/shared').catch(() => {});
        if (all?.status !== 200) break;
        openCount--;
        shared++;
      }
      client.destroy();
    });
    await sleep(random.below(RUN_MS_MAX));
    child.kill('SIGKILL');
    await Promise.all([...running, exited]);
  }
  const sum = own.reduce((all, { answered }) => all + answered, 0);
  context.diagnostic(`${ROUNDS} kills, ${sum} additions to own numbers, ${shared} to one`);
});
