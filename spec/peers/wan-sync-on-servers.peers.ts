/**
 * Syncs and checks between a cluster of two members on a Redis or Valkey server, each a process, and a
 * member that stores its own data, in both directions.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { requestBytes } from '../integration/client.ts';
import { serve, TEST_PARTITIONS } from '../integration/member-process.ts';
import { sendingTo, soon, started, stopAll } from '../integration/wan-members.ts';
import { serverForTests } from './engine-server.ts';
import { ask, killAll, running, type Served } from './served-members.ts';
import { serverProgram } from './server-process.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-sync-'));
const KEYS = 1500;
/** A publisher that sends nothing but syncs. */
const PUBLISHER = {
  'initial-publisher-state': 'STOPPED',
  sync: { 'consistency-check-strategy': 'MERKLE_TREES' },
};
const LATEST = { 'merge-policy-class-name': 'LatestUpdate' };
const ABSENT = { 'merge-policy-class-name': 'PutIfAbsentMergePolicy' };

const server = serverForTests();
after(async () => {
  await stopAll();
  await killAll();
  rmSync(FOLDER, { recursive: true });
});

/** Starts two members of a new cluster that send the maps `m` and `absent` to that port. */
async function clusterSendingTo(port: number): Promise<readonly [Served, Served]> {
  const file = join(FOLDER, `${port}.yaml`);
  const engine = { url: `redis://127.0.0.1:${server.port}` };
  const grid = sendingTo([port], PUBLISHER, LATEST);
  const map = { ...(grid.map as object), absent: { 'wan-replication-ref': { w: ABSENT } } };
  writeFileSync(file, JSON.stringify({ grid: { ...grid, map, engine } }));
  const flags = ['--config', file, '--enable-group', 'all', '--host', '127.0.0.1'];
  const members: Served[] = [];
  for (const _ of [1, 2]) {
    const member = await serve(...flags, '--partition-count', `${TEST_PARTITIONS}`);
    running.push(member);
    members.push(member);
  }
  return members as unknown as readonly [Served, Served];
}

/** Asks a member of either kind. */
type Ask = (method: string, path: string, body?: string) => Promise<{ body: Buffer }>;

/** Begins a task with one member, and resolves with its result, as another one reports it. */
async function taskOf(begins: Ask, reports: Ask, call: string, map: string) {
  const begun = await begins('POST', `wan/${call}`, `dev&&w&&${map}`);
  const { uuid } = JSON.parse(begun.body.toString()) as { uuid: string };
  assert.ok(uuid !== undefined, begun.body.toString());
  let result: Record<string, unknown> = {};
  await soon(async () => {
    const { body } = await reports('GET', `wan/sync/progress/${uuid}`);
    ({ result } = JSON.parse(body.toString()) as { result: Record<string, unknown> });
    return /^FINISHED|FAILED$/.test(`${result.stage}`);
  }, true);
  return result;
}

test(`syncs and checks in both directions on ${serverProgram()}, also if a member is killed`, async () => {
  const port = await freePort();
  const [one, two] = await clusterSendingTo(port);
  const endpoints = [one, two].map((member) => `127.0.0.1:${member.port}`).join();
  const back = sendingTo([one.port], { ...PUBLISHER, 'target-endpoints': endpoints }, LATEST);
  const single = await started({ port, grid: back });
  const askOne: Ask = (method, path, body = '') => ask(one, method, path, body);
  const askTwo: Ask = (method, path, body = '') => ask(two, method, path, body);
  const askSingle: Ask = (method, path, body = '') => single.ask(method, path, body);

  for (let key = 0; key < KEYS; key++) {
    await ask(key % 2 === 0 ? one : two, 'POST', `maps/m/key${key}`, `value${key}`);
  }
  await ask(one, 'POST', 'maps/m/long', 'v'.repeat(200_000));
  const first = await taskOf(askTwo, askOne, 'sync/map', 'm');
  assert.deepEqual([first.stage, first.entriesNotTaken], ['FINISHED', 0], JSON.stringify(first));
  const sizeOf = async (call: Ask) => (await call('GET', 'maps/m/key1499')).body.toString();
  assert.equal(await sizeOf(askSingle), 'value1499');
  assert.equal((await askSingle('GET', 'maps/m/long')).body.length, 200_000);

  const equal = await taskOf(askOne, askTwo, 'consistencyCheck/map', 'm');
  assert.deepEqual([equal.stage, equal.differentPartitions], ['FINISHED', 0], `${equal.message}`);
  await single.askAll([
    requestBytes('POST', 'maps/m/key7', Buffer.from('changed')),
    requestBytes('POST', 'maps/m/elsewhere', Buffer.from('only there')),
  ]);
  const found = await taskOf(askTwo, askOne, 'consistencyCheck/map', 'm');
  assert.deepEqual([found.differentLeaves, found.entriesToSync], [2, 1]);
  const theirs = await taskOf(askSingle, askSingle, 'consistencyCheck/map', 'm');
  assert.deepEqual([theirs.differentLeaves, theirs.entriesToSync], [2, 2]);
  const returned = await taskOf(askSingle, askSingle, 'sync/map', 'm');
  assert.deepEqual([returned.stage, returned.entriesNotTaken], ['FINISHED', 0]);
  for (const [key, value] of [
    ['key7', 'changed'],
    ['elsewhere', 'only there'],
  ]) {
    assert.equal((await askOne('GET', `maps/m/${key}`)).body.toString(), value);
  }
  const again = await taskOf(askOne, askTwo, 'consistencyCheck/map', 'm');
  assert.equal(again.differentPartitions, 0);

  for (let key = 0; key < 100; key++) await ask(one, 'POST', `maps/absent/key${key}`, 'ours');
  for (let key = 0; key < 30; key++) await single.ask('POST', `maps/absent/key${key}`, 'theirs');
  const kept = await taskOf(askTwo, askOne, 'sync/map', 'absent');
  assert.deepEqual([kept.stage, kept.entriesNotTaken], ['FINISHED', 30]);

  for (let key = 0; key < KEYS; key++) await ask(two, 'POST', `maps/m/key${key}`, 'second');
  const ended = taskOf(askTwo, askTwo, 'sync/map', 'm');
  await passed(20);
  one.child.kill('SIGKILL');
  const last = await ended;
  assert.deepEqual([last.stage, last.entriesNotTaken], ['FINISHED', 0], `${last.message}`);
  for (let key = 0; key < KEYS; key++) {
    assert.equal((await askSingle('GET', `maps/m/key${key}`)).body.toString(), 'second');
  }
});
