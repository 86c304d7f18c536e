/**
 * A member that stores its own data replicates to a cluster of two members on a Redis or Valkey
 * server; each member is a process.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { requestBytes } from '../integration/client.ts';
import { sendingTo, soon, started, stopAll } from '../integration/wan-members.ts';
import { serverForTests } from './engine-server.ts';
import { ask, killAll, type Served, startMembers } from './served-members.ts';
import { serverProgram } from './server-process.ts';

const KEYS = 2000;
const CLUSTER = 'dev';
const LATEST = { 'merge-policy-class-name': 'LatestUpdate' };
const STATISTICS = { 'per-entry-stats-enabled': true };

const server = serverForTests();
after(async () => {
  await stopAll();
  await killAll();
});

async function textOf(member: Served, key: string): Promise<string> {
  return (await ask(member, 'GET', `maps/m/${key}`)).body.toString();
}

test(`changes, a clear and a sync arrive at members on ${serverProgram()}, also if one is killed`, async () => {
  const members = await startMembers(2, CLUSTER, server.port);
  const [one, two] = members as [Served, Served];
  const endpoints = members.map(({ port }) => `127.0.0.1:${port}`).join();
  const grid = sendingTo([one.port], { 'target-endpoints': endpoints }, LATEST);
  const source = await started({ grid });
  const keys = Array.from({ length: KEYS }, (_, index) => `key${index}`);
  const set = (value: string) =>
    source.askAll(keys.map((key) => requestBytes('POST', `maps/m/${key}`, Buffer.from(value))));
  await set('first');
  const idle = async () => (await source.publisher()).queueSize;
  await soon(idle, 0);
  assert.deepEqual([await textOf(one, 'key7'), await textOf(two, 'key1999')], ['first', 'first']);
  // A delete, and a write of the target's own, which a repeated batch must not undo.
  await source.ask('DELETE', 'maps/m/key0');
  await ask(two, 'POST', 'maps/m/key1', 'own');
  await soon(idle, 0);
  assert.equal(await textOf(two, 'key0'), '');
  const setting = set('second');
  one.child.kill('SIGKILL');
  await setting;
  await soon(idle, 0);
  for (const key of ['key0', 'key1', 'key1234']) assert.equal(await textOf(two, key), 'second');
  assert.equal((await source.publisher()).eventsRejected, 0);
  const synced = await source.ask('POST', 'wan/sync/map', 'dev&&w&&m');
  assert.equal(synced.status, 200);
  const { uuid } = JSON.parse(synced.body.toString()) as { uuid: string };
  await soon(async () => {
    const { body } = await source.ask('GET', `wan/sync/progress/${uuid}`);
    const { result } = JSON.parse(body.toString()) as {
      result: { stage: string; entriesNotTaken: number };
    };
    return `${result.stage} ${result.entriesNotTaken}`;
  }, 'FINISHED 0');
  assert.equal((await source.ask('DELETE', 'maps/m')).status, 200);
  await soon(() => textOf(two, 'key1999'), '');
  await soon(idle, 0);
  for (const key of keys) assert.equal(await textOf(two, key), '');
});

test('a policy that compares reads is refused, its name is reported, and the changes wait', async () => {
  const [member] = await startMembers(1, CLUSTER, server.port);
  const grid = sendingTo([member!.port], {}, { 'merge-policy-class-name': 'HigherHits' });
  const map = { m: { ...(grid.map as { m: object }).m, ...STATISTICS } };
  const source = await started({ grid: { ...grid, map } });
  await source.set('read', 'x');
  await soon(
    async () => /409.*HigherHits.*engine\.url/.test(`${(await source.publisher()).lastError}`),
    true,
  );
  assert.equal((await source.publisher()).queueSize, 1);
  assert.equal(await textOf(member!, 'read'), '');
});
