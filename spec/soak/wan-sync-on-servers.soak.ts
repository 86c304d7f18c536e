/**
 * A sync and a check of SOAK_SIZE entries, by default 20,000, from a cluster of three members on a
 * server, each a process that is killed once meanwhile and replaced: exact figures, or FAILED with a
 * reason. Prints how much more memory each member had.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { requestBytes } from '../integration/client.ts';
import { serve, TEST_PARTITIONS } from '../integration/member-process.ts';
import { sendingTo, started, stopAll } from '../integration/wan-members.ts';
import { serverForTests } from '../peers/engine-server.ts';
import { ask, killAll, running, type Served } from '../peers/served-members.ts';

const ENTRIES = Number(process.env.SOAK_SIZE ?? 20_000);
const FOLDER = mkdtempSync(join(tmpdir(), 'wan-sync-soak-'));
const MEMBERS = 3;
/** Requests in flight while the target is filled with entries of its own. */
const FILLED_AT_ONCE = 50;
const PUBLISHER = {
  'initial-publisher-state': 'STOPPED',
  sync: { 'consistency-check-strategy': 'MERKLE_TREES' },
};
const ABSENT = { 'merge-policy-class-name': 'PutIfAbsentMergePolicy' };
const OWN = 500;

const server = serverForTests();
after(async () => {
  await stopAll();
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

async function member(file: string): Promise<Served> {
  const flags = ['--config', file, '--enable-group', 'all', '--host', '127.0.0.1'];
  const served = await serve(...flags, '--partition-count', `${TEST_PARTITIONS}`);
  running.push(served);
  return served;
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
      members.push(await member(file));
    }
  }
}

test(`a sync and a check of ${ENTRIES} entries, with each member killed`, async (context) => {
  const port = await freePort();
  const file = join(FOLDER, 'grid.yaml');
  const engine = { url: `redis://127.0.0.1:${server.port}`, 'max-no-heartbeat-seconds': 5 };
  writeFileSync(
    file,
    JSON.stringify({ grid: { ...sendingTo([port], PUBLISHER, ABSENT), engine } }),
  );
  const members: Served[] = [];
  while (members.length < MEMBERS) members.push(await member(file));
  const single = await started({ port });
  for (let from = 0; from < ENTRIES; from += FILLED_AT_ONCE) {
    const keys = Array.from({ length: FILLED_AT_ONCE }, (_, index) => from + index);
    await Promise.all(
      keys.map((key) => ask(members[key % MEMBERS]!, 'POST', `maps/m/key${key}`, 'v'.repeat(100))),
    );
  }
  const owns = Array.from({ length: OWN }, (_, key) =>
    requestBytes('POST', `maps/m/key${key}`, Buffer.from('own')),
  );
  await single.askAll(owns);
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
      context.diagnostic(`MiB more in each member: ${more.join()}`);
    }
    if (result.stage === 'FAILED') assert.ok(kills && result.message !== undefined);
    else if (call === 'sync/map') assert.equal(result.entriesNotTaken, OWN);
    else assert.equal(result.entriesToSync, ENTRIES);
  }
});
