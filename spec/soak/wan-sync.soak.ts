/**
 * A synchronisation of SOAK_ENTRIES entries (1,000,000) to an empty target while clients write:
 * checks the memory of both sides and their content at the end. Then 100 entries are changed; a
 * consistency check finds the differences, and a synchronisation sends only those. A small map in
 * the same members follows.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import type { TaskStatus } from '../../src/wan/wan-status.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { replicating, WanProcess } from './wan/wan-process.ts';

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

async function setAll(
  client: RawClient,
  keys: Iterable<number>,
  value: Buffer,
  map = 'own-m',
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

/**
 * Runs a synchronisation or a consistency check to its end. Asserts that the progress never
 * decreases.
 */
async function run(
  client: RawClient,
  call: string,
  onPoll = () => {},
  map = 'own-m',
): Promise<TaskStatus> {
  const { body } = await client.request('POST', `wan/${call}/map`, Buffer.from(`dev&&w&&${map}`));
  const { uuid } = JSON.parse(body.toString()) as { uuid: string };
  for (let last = 0; ; await passed(50)) {
    onPoll();
    const status = await client.request('GET', `wan/sync/progress/${uuid}`);
    const { result } = JSON.parse(status.body.toString()) as { result: TaskStatus };
    assert.ok(result.progress >= last, `${result.progress} after ${last}`);
    assert.equal(result.progress === 100, result.stage === 'FINISHED');
    last = result.progress;
    if (result.stage === 'FINISHED' || result.stage === 'FAILED') return result;
  }
}

/** Returns the number of bytes that the process has written to files and connections. */
function writtenBytes({ pid }: WanProcess): number {
  return Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

it(`${ENTRIES} entries reach an empty target while clients write`, async () => {
  const target = await WanProcess.started({ name: 'target' });
  const grid = replicating([[target.port]], 'LatestUpdate', {
    'initial-publisher-state': 'STOPPED',
    'queue-capacity': 100_000,
    sync: { 'consistency-check-strategy': 'MERKLE_TREES' },
  });
  const source = await WanProcess.started({ name: 'source', grid });
  const client = new RawClient(source.port);
  const writer = new RawClient(source.port);
  const emptyMiB = source.residentMib;
  await setAll(client, numbers(ENTRIES), VALUE);
  const filledMiB = source.residentMib;
  const dataMiB = filledMiB - emptyMiB;
  const targetEmptyMiB = target.residentMib;
  await source.call('resumePublisher');

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
  const wholeFrom = writtenBytes(source);
  const whole = await run(client, 'sync', () => {
    sourceMiB = Math.max(sourceMiB, source.residentMib);
    targetMiB = Math.max(targetMiB, target.residentMib);
  });
  const wholeBytes = writtenBytes(source) - wholeFrom;
  const seconds = (performance.now() - sinceMs) / 1000;
  isWriting = false;
  await writing;
  await passed(EQUAL_MS);
  const { queueSize, eventsDropped } = await source.publisher();
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

  await source.call('stopPublisher');
  await setAll(client, numbers(DIFFERENT), Buffer.from('different'));
  const found = await run(client, 'consistencyCheck');
  assert.equal(found.stage, 'FINISHED', found.message);
  const { differentLeaves = 0, entriesToSync = 0 } = found;
  assert.ok(differentLeaves > 0 && differentLeaves <= DIFFERENT, `${differentLeaves} leaves`);
  assert.ok(entriesToSync >= DIFFERENT && entriesToSync < ENTRIES / 50, `${entriesToSync} entries`);
  const deltaFrom = writtenBytes(source);
  const delta = await run(client, 'sync');
  const deltaBytes = writtenBytes(source) - deltaFrom;
  console.log(
    `${differentLeaves} leaves of ${entriesToSync} entries differ; ` +
      `${deltaBytes} bytes instead of ${wholeBytes}`,
  );
  assert.ok(deltaBytes < wholeBytes / 50, `${deltaBytes} of ${wholeBytes} bytes`);
  assert.equal(delta.stage, 'FINISHED', delta.message);
  assert.equal((await run(client, 'consistencyCheck')).differentLeaves, 0);
  await setAll(client, numbers(SMALL), VALUE, 'own-small');
  for (const differs of [true, false]) {
    const checked = await run(client, 'consistencyCheck', () => {}, 'own-small');
    assert.deepEqual([checked.stage, checked.entriesToSync], ['FINISHED', differs ? SMALL : 0]);
    assert.equal((await run(client, 'sync', () => {}, 'own-small')).stage, 'FINISHED');
  }
  const reader = new RawClient(target.port);
  const { body } = await reader.request('GET', 'maps/own-m/key7');
  assert.equal(body.toString(), 'different');
  for (const each of [client, writer, reader]) each.destroy();
});

function* numbers(count: number): Iterable<number> {
  for (let number = 0; number < count; number++) yield number;
}
