/**
 * Clusters on a Redis or Valkey server replicate: to a member that stores its own data, and to one
 * another. Their members are processes.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { sendingTo, soon, started, stopAll, stopped } from '../integration/wan-members.ts';
import { serverForTests } from './engine-server.ts';
import { ask, killAll, running, type Served } from './served-members.ts';
import { serverProgram } from './server-process.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-from-servers-'));
const KEYS = Array.from({ length: 2000 }, (_, index) => `key${index}`);
const LATEST = { 'merge-policy-class-name': 'LatestUpdate' };

const server = serverForTests();
after(async () => {
  await stopAll();
  await killAll();
  rmSync(FOLDER, { recursive: true });
});

/** Starts a member of the cluster with this configuration below `grid`. */
async function member(cluster: string, grid: object, port = 0): Promise<Served> {
  const file = join(FOLDER, `${Math.random()}.yaml`);
  const engine = { url: `redis://127.0.0.1:${server.port}` };
  writeFileSync(file, JSON.stringify({ grid: { 'cluster-name': cluster, engine, ...grid } }));
  const words = ['--config', file, '--enable-group', 'all', '--host', '127.0.0.1'];
  const served = await serve(...words, ...(port === 0 ? [] : ['--port', `${port}`]));
  running.push(served);
  return served;
}

async function publisherOf(each: Served): Promise<PublisherStatus> {
  const { body } = await ask(each, 'GET', 'wan/publishers');
  return (JSON.parse(body.toString()) as { publishers: PublisherStatus[] }).publishers[0]!;
}

/** Returns the number of keys that wait in the partitions of all members. */
async function waiting(members: readonly Served[]): Promise<number> {
  const all = await Promise.all(members.map(publisherOf));
  return all.reduce((sum, { queueSize }) => sum + queueSize, 0);
}

/** Sets the keys through a member. Returns how many were acknowledged before the member ended. */
async function setAll({ port }: Served, keys: readonly string[], value: string): Promise<number> {
  const client = new RawClient(port);
  const body = Buffer.from(value);
  let count = 0;
  try {
    client.send(Buffer.concat(keys.map((key) => requestBytes('POST', `maps/m/${key}`, body))));
    for (; count < keys.length; count++) {
      if ((await client.response())?.status !== 200) break;
    }
  } catch {
    // The member was killed.
  } finally {
    client.destroy();
  }
  return count;
}

/** Returns the values of the keys; the status if there is none. */
async function textsOf({ port }: { readonly port: number }, keys = KEYS): Promise<string[]> {
  const client = new RawClient(port);
  const texts: string[] = [];
  client.send(Buffer.concat(keys.map((key) => requestBytes('GET', `maps/m/${key}`))));
  for (const _ of keys) {
    const { status, body } = (await client.response())!;
    texts.push(status === 200 ? body.toString() : `${status}`);
  }
  client.destroy();
  return texts;
}

async function textOf(each: { readonly port: number }, key: string): Promise<string> {
  return (await textsOf(each, [key]))[0]!;
}

function isEach(texts: readonly string[], wanted: string): boolean {
  return texts.every((text) => text === wanted);
}

test(`changes of two members on ${serverProgram()} arrive, while one is paused or killed`, async () => {
  const target = await started();
  const grid = sendingTo([target.port], {}, LATEST);
  const [one, two] = [await member('source', grid), await member('source', grid)];
  const both = [one, two];
  const isIdle = () => waiting(both);
  const half = KEYS.length / 2;
  await Promise.all([
    setAll(one, KEYS.slice(0, half), 'first'),
    setAll(two, KEYS.slice(half), 'first'),
  ]);
  await soon(() => textOf(target, 'key1999'), 'first');
  await soon(isIdle, 0);
  assert.equal(isEach(await textsOf(target), 'first'), true);
  const sent = await Promise.all(both.map(publisherOf));
  assert.equal(sent[0]!.eventsSent + sent[1]!.eventsSent, KEYS.length);
  // A delete, a long value, and one of the target's own.
  await ask(one, 'DELETE', 'maps/m/key0');
  await ask(two, 'POST', 'maps/m/long', 'x'.repeat(1_000_000));
  await ask(target, 'POST', 'maps/m/own', 'own');
  await soon(() => textOf(target, 'key0'), '204');
  await soon(async () => (await textOf(target, 'long')).length, 1_000_000);
  // What the paused member sends for waits; the rest arrives.
  assert.equal((await ask(one, 'POST', 'wan/pausePublisher', 'source&&w&')).status, 200);
  await setAll(two, KEYS, 'paused');
  await soon(async () => (await publisherOf(two)).queueSize, 0);
  const { queueSize, state } = await publisherOf(one);
  assert.deepEqual([state, queueSize > 200, queueSize < 1800], ['PAUSED', true, true]);
  const arrivedCount = async () =>
    (await textsOf(target)).filter((text) => text === 'paused').length;
  await soon(async () => (await publisherOf(one)).queueSize + (await arrivedCount()), KEYS.length);
  // The state ends with the member: the other one sends its share.
  one.child.kill('SIGKILL');
  await soon(async () => isEach(await textsOf(target), 'paused'), true);
  assert.equal(await textOf(target, 'own'), 'own');
  // A clear arrives as one event.
  await soon(async () => (await publisherOf(two)).queueSize, 0);
  const before = (await publisherOf(two)).eventsSent;
  assert.equal((await ask(two, 'DELETE', 'maps/m')).status, 200);
  await soon(() => textOf(target, 'key1999'), '204');
  await soon(() => waiting([two]), 0);
  assert.equal((await publisherOf(two)).eventsSent - before, 1);
  assert.equal(await textOf(target, 'own'), '204');
  await stopped(target);
});

test('nothing is lost if members are killed while they send and the target is away', async () => {
  const port = await freePort();
  const grid = sendingTo([port], {}, LATEST);
  const members = [await member('killed', grid), await member('killed', grid)];
  const setting = setAll(members[0]!, KEYS, 'first');
  const target = await started({ port });
  await soon(async () => (await textOf(target, 'key1')) === 'first', true);
  members[0]!.child.kill('SIGKILL');
  const acknowledged = await setting;
  const third = await member('killed', grid);
  await stopped(target);
  await setAll(third, KEYS.slice(0, acknowledged), 'second');
  members[1]!.child.kill('SIGKILL');
  const again = await started({ port });
  const known = KEYS.slice(0, acknowledged);
  await soon(async () => isEach(await textsOf(again, known), 'second'), true);
  await soon(() => waiting([third]), 0);
  await stopped(again);
});

test('two clusters that write to each other become equal, and nothing circulates', async () => {
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
  const gridTo = (cluster: string, targets: readonly number[]) => {
    const endpoints = targets.map((port) => `127.0.0.1:${port}`).join();
    return sendingTo([0], { 'cluster-name': cluster, 'target-endpoints': endpoints }, LATEST);
  };
  const east: Served[] = [];
  const west: Served[] = [];
  for (const index of [0, 1]) {
    east.push(await member('east', gridTo('west', ports.slice(2)), ports[index]));
    west.push(await member('west', gridTo('east', ports.slice(0, 2)), ports[index + 2]));
  }
  const all = [...east, ...west];
  const keys = KEYS.slice(0, 500);
  await Promise.all(all.map((each, index) => setAll(each, keys, `by ${index}`)));
  await Promise.all([
    ask(east[0]!, 'DELETE', 'maps/m/key5'),
    ask(west[1]!, 'DELETE', 'maps/m/key6'),
  ]);
  await soon(() => waiting(all), 0);
  const difference = async () => {
    const [one, other] = [await textsOf(east[0]!, keys), await textsOf(west[1]!, keys)];
    return keys.filter((_, index) => one[index] !== other[index]);
  };
  await soon(difference, []);
  const sentCount = async () =>
    (await Promise.all(all.map(publisherOf))).reduce((sum, { eventsSent }) => sum + eventsSent, 0);
  const sent = await sentCount();
  assert.equal(sent <= 4 * (keys.length + 1), true, `${sent} events`);
  await setAll(east[1]!, ['late'], 'late');
  await soon(() => textOf(west[0]!, 'late'), 'late');
  await soon(() => waiting(all), 0);
  assert.equal(await sentCount(), sent + 1);
});
