/**
 * A synchronisation of SOAK_ENTRIES entries (1,000,000) to an empty target while clients write:
 * checks the memory of both sides and their content at the end. Then 100 entries are changed; a
 * consistency check finds the differences, and a synchronisation sends only those. A small map in
 * the same members follows.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import type { PublisherStatus, TaskStatus } from '../../src/wan/wan-service.ts';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { sendingTo } from '../integration/wan-members.ts';

const ENTRIES = Number(process.env.SOAK_ENTRIES ?? 1_000_000);
const DIFFERENT = 100;
/** Number of entries of the small map. */
const SMALL = 1000;
const VALUE = Buffer.alloc(100, 'v');
/** Number of requests that are sent before their responses are read. */
const PIPELINED = 1000;
const FURTHER_MIB_MAX = 64;
/** Time until both sides are equal after the writers have stopped, in ms. */
const EQUAL_MS = 15_000;

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-sync-'));
after(() => rmSync(FOLDER, { recursive: true }));

const FLAGS = ['--enable-group', 'DATA', '--enable-group', 'WAN', '--host', '127.0.0.1'];
const MEMORY = ['--max-memory', `${Math.max(64, Math.ceil(ENTRIES / 2000))}m`];

async function setAll(
  client: RawClient,
  keys: Iterable<number>,
  value: Buffer,
  map = 'm',
): Promise<void> {
  let requests: Buffer[] = [];
  const send = async () => {
    client.send(Buffer.concat(requests));
    for (const _ of requests) assert.equal((await client.response())?.status, 200);
    requests = [];
  };
  for (const key of keys) {
    requests.push(requestBytes('POST', `maps/${map}/key${key}`, value));
    if (requests.length === PIPELINED) await send();
  }
  await send();
}

async function json<Value>(client: RawClient, path: string): Promise<Value> {
  return JSON.parse((await client.request('GET', path)).body.toString()) as Value;
}

async function publisher(client: RawClient): Promise<PublisherStatus> {
  const [first] = (await json<{ publishers: PublisherStatus[] }>(client, 'wan/publishers'))
    .publishers;
  assert(first !== undefined);
  return first;
}

/**
 * Runs a synchronisation or a consistency check to its end. Asserts that the progress never
 * decreases.
 */
async function run(
  client: RawClient,
  call: string,
  onPoll = () => {},
  map = 'm',
): Promise<TaskStatus> {
  const { body } = await client.request('POST', `wan/${call}/map`, Buffer.from(`dev&&w&&${map}`));
  const { uuid } = JSON.parse(body.toString()) as { uuid: string };
  for (let last = 0; ; await passed(50)) {
    onPoll();
    const { result } = await json<{ result: TaskStatus }>(client, `wan/sync/progress/${uuid}`);
    assert.ok(result.progress >= last, `${result.progress} after ${last}`);
    assert.equal(result.progress === 100, result.stage === 'FINISHED');
    last = result.progress;
    if (result.stage === 'FINISHED' || result.stage === 'FAILED') return result;
  }
}

function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Returns the number of bytes that the process has written to files and connections. */
function writtenBytes(pid: number | undefined): number {
  return Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

it(`${ENTRIES} entries reach an empty target while clients write`, async () => {
  const port = await freePort();
  const target = await serve(...FLAGS, ...MEMORY, '--port', String(port));
  const file = join(FOLDER, 'source.json');
  const sync = { 'consistency-check-strategy': 'MERKLE_TREES' };
  const publisherOf = { 'initial-publisher-state': 'STOPPED', 'queue-capacity': 100_000, sync };
  const ref = { 'merge-policy-class-name': 'LatestUpdate' };
  const grid = sendingTo([port], publisherOf, ref);
  const maps = Object.fromEntries(
    ['m', 'small'].map((map) => [map, { 'wan-replication-ref': { w: ref } }]),
  );
  writeFileSync(file, JSON.stringify({ grid: { ...grid, map: maps } }));
  const source = await serve('--config', file, ...FLAGS, ...MEMORY);
  const client = new RawClient(source.port);
  const writer = new RawClient(source.port);
  const emptyMiB = residentMiB(source.child.pid);
  await setAll(client, numbers(ENTRIES), VALUE);
  const filledMiB = residentMiB(source.child.pid);
  const dataMiB = filledMiB - emptyMiB;
  const targetEmptyMiB = residentMiB(target.child.pid);
  await client.request('POST', 'wan/resumePublisher', Buffer.from('dev&&w&'));

  let isWriting = true;
  let writtenCount = 0;
  const writing = (async () => {
    for (let round = 0; isWriting; round++) {
      const keys = Array.from({ length: 20 }, (_, at) => (round * 7919 + at * 104_729) % ENTRIES);
      await setAll(writer, keys, Buffer.alloc(100, String(round)));
      writtenCount += keys.length;
      await passed(10);
    }
  })();
  let sourceMiB = 0;
  let targetMiB = 0;
  const sinceMs = performance.now();
  const wholeFrom = writtenBytes(source.child.pid);
  const whole = await run(client, 'sync', () => {
    sourceMiB = Math.max(sourceMiB, residentMiB(source.child.pid));
    targetMiB = Math.max(targetMiB, residentMiB(target.child.pid));
  });
  const wholeBytes = writtenBytes(source.child.pid) - wholeFrom;
  const seconds = (performance.now() - sinceMs) / 1000;
  isWriting = false;
  await writing;
  await passed(EQUAL_MS);
  const { queueSize, eventsDropped } = await publisher(client);
  const check = await run(client, 'consistencyCheck');
  console.log(
    `${ENTRIES} entries of ${dataMiB.toFixed()} MiB in ${seconds.toFixed(1)} s, ${writtenCount} written; ` +
      `source + ${(sourceMiB - filledMiB).toFixed()} MiB, ` +
      `target + ${(targetMiB - targetEmptyMiB - dataMiB).toFixed()} MiB beyond the data`,
  );
  assert.deepEqual([whole.stage, whole.progress, whole.message], ['FINISHED', 100, undefined]);
  assert.deepEqual([queueSize, eventsDropped], [0, 0]);
  assert.deepEqual([check.stage, check.differentLeaves], ['FINISHED', 0], check.message);
  assert.ok(
    sourceMiB - filledMiB <= FURTHER_MIB_MAX,
    `the source grew by ${sourceMiB - filledMiB} MiB`,
  );
  const more = targetMiB - targetEmptyMiB - dataMiB;
  assert.ok(more <= FURTHER_MIB_MAX, `the target grew by ${more} MiB`);

  await client.request('POST', 'wan/stopPublisher', Buffer.from('dev&&w&'));
  await setAll(client, numbers(DIFFERENT), Buffer.from('different'));
  const found = await run(client, 'consistencyCheck');
  assert.equal(found.stage, 'FINISHED', found.message);
  const { differentLeaves = 0, entriesToSync = 0 } = found;
  assert.ok(differentLeaves > 0 && differentLeaves <= DIFFERENT, `${differentLeaves} leaves`);
  assert.ok(entriesToSync >= DIFFERENT && entriesToSync < ENTRIES / 50, `${entriesToSync} entries`);
  const deltaFrom = writtenBytes(source.child.pid);
  const delta = await run(client, 'sync');
  const deltaBytes = writtenBytes(source.child.pid) - deltaFrom;
  console.log(
    `${differentLeaves} leaves of ${entriesToSync} entries differ; ` +
      `${deltaBytes} bytes instead of ${wholeBytes}`,
  );
  assert.ok(deltaBytes < wholeBytes / 50, `${deltaBytes} of ${wholeBytes} bytes`);
  assert.equal(delta.stage, 'FINISHED', delta.message);
  assert.equal((await run(client, 'consistencyCheck')).differentLeaves, 0);
  await setAll(client, numbers(SMALL), VALUE, 'small');
  for (const differs of [true, false]) {
    const checked = await run(client, 'consistencyCheck', () => {}, 'small');
    assert.deepEqual([checked.stage, checked.entriesToSync], ['FINISHED', differs ? SMALL : 0]);
    assert.equal((await run(client, 'sync', () => {}, 'small')).stage, 'FINISHED');
  }
  const reader = new RawClient(target.port);
  const { body } = await reader.request('GET', 'maps/m/key7');
  assert.equal(body.toString(), 'different');
  for (const each of [client, writer, reader]) each.destroy();
  for (const { child, exited } of [source, target]) {
    child.kill('SIGTERM');
    await exited;
  }
});

function* numbers(count: number): Iterable<number> {
  for (let number = 0; number < count; number++) yield number;
}
