/**
 * A sync and a check of SOAK_SIZE entries, by default 20,000, from a cluster of three members on a
 * server, each a process that is killed once meanwhile and replaced: exact figures, or FAILED with a
 * reason. Without kills, each member has at most MORE_MIB_MAX more memory. Needs `make build`, as a
 * program with a loader needs more.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { fill } from '../../bench/load/fill.ts';
import { KEY } from '../../bench/load/request.ts';
import { serveWith, TEST_PARTITIONS } from '../integration/member-process.ts';
import { sendingTo } from '../integration/wan-members.ts';
import { serverForTests } from '../peers/engine-server.ts';
import { ask, killAll, running, type Served } from '../peers/served-members.ts';

const ENTRIES = Number(process.env.SOAK_SIZE ?? 20_000);
const FOLDER = mkdtempSync(join(tmpdir(), 'wan-sync-soak-'));
const MEMBERS = 3;
const MORE_MIB_MAX = 32;
const PUBLISHER = {
  'initial-publisher-state': 'STOPPED',
  sync: { 'consistency-check-strategy': 'MERKLE_TREES' },
};
const ABSENT = { 'merge-policy-class-name': 'PutIfAbsentMergePolicy' };
/** Entries that the target has of its own. */
const OWN = 500;

const server = serverForTests();
after(async () => {
  await killAll();
  rmSync(FOLDER, { recursive: true });
});

interface Result {
  readonly stage: string;
  readonly progress: number;
  readonly entriesNotTaken?: number;
  readonly entriesToSync?: number;
  readonly message?: string;
}

async function member(...flags: readonly string[]): Promise<Served> {
  const launch = { isBuilt: true };
  const partitions = ['--partition-count', `${TEST_PARTITIONS}`];
  const served = await serveWith(launch, ...flags, '--enable-group', 'all', ...partitions);
  running.push(served);
  return served;
}

/** Stores entries with values of `length` bytes. */
async function stored(to: Served, first: number, count: number, length: number): Promise<void> {
  const head = `POST /grid/rest/maps/m/${KEY} HTTP/1.1\r\nHost: localhost\r\n`;
  const request = `${head}Content-Length: ${length}\r\n\r\n${'v'.repeat(length)}`;
  await fill(to.port, { request, answer: 'HTTP/1.1 200 ' }, first, count);
}

/** Returns a figure of the process, in MiB. */
function memoryOf({ child }: Served, name: 'VmHWM' | 'VmRSS'): number {
  const text = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)![1]) / 1024;
}

/** Begins a task; with `kills`, kills a member at a time and replaces it. Resolves with the result. */
async function taskOf(
  members: Served[],
  file: string,
  call: string,
  kills: boolean,
): Promise<Result> {
  const begun = await ask(members[0]!, 'POST', `wan/${call}`, 'dev&&w&&m');
  const { uuid } = JSON.parse(begun.body.toString()) as { uuid: string };
  for (let killed = 0; ; ) {
    await passed(50);
    const { body } = await ask(members.at(-1)!, 'GET', `wan/sync/progress/${uuid}`);
    const { result } = JSON.parse(body.toString()) as { result: Result };
    if (result.stage === 'FINISHED' || result.stage === 'FAILED') return result;
    if (kills && killed < MEMBERS && result.progress >= killed * 20) {
      killed++;
      members.shift()!.child.kill('SIGKILL');
      members.push(await member('--config', file));
    }
  }
}

test(`a sync and a check of ${ENTRIES} entries, with each member killed`, async (context) => {
  const target = await member('--max-memory', '1g');
  const file = join(FOLDER, 'grid.yaml');
  const engine = { url: `redis://127.0.0.1:${server.port}`, 'max-no-heartbeat-seconds': 5 };
  const sending = sendingTo([target.port], PUBLISHER, ABSENT);
  writeFileSync(file, JSON.stringify({ grid: { ...sending, engine } }));
  const members: Served[] = [];
  while (members.length < MEMBERS) members.push(await member('--config', file));
  const share = Math.ceil(ENTRIES / MEMBERS);
  const filling = members.map((each, at) =>
    stored(each, at * share, Math.min(share, ENTRIES - at * share), 100),
  );
  await Promise.all(filling);
  await stored(target, 0, OWN, 3);
  for (const [call, kills] of [
    ['consistencyCheck/map', false],
    ['consistencyCheck/map', true],
    ['sync/map', false],
    ['sync/map', true],
  ] as const) {
    const before = members.map((each) => memoryOf(each, 'VmRSS'));
    for (const { child } of members) writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
    const sinceMs = performance.now();
    const result = await taskOf(members, file, call, kills);
    const ms = Math.round(performance.now() - sinceMs);
    context.diagnostic(`${call} ${kills ? 'with kills' : ''} ${ms} ms: ${JSON.stringify(result)}`);
    if (!kills) {
      const more = members.map((each, at) => Math.round(memoryOf(each, 'VmHWM') - before[at]!));
      context.diagnostic(
        `MiB more in each member: ${more.join()}, before ${before.map(Math.round)}`,
      );
      assert.ok(Math.max(...new Set(more)) <= MORE_MIB_MAX);
    }
    if (result.stage === 'FAILED') assert.ok(kills && result.message !== undefined);
    else if (call === 'sync/map') assert.equal(result.entriesNotTaken, OWN);
    else assert.equal(result.entriesToSync, ENTRIES);
  }
});
