/**
 * Covers src/wan and src/cli. Synchronisations and checks between members over real sockets, and by
 * the client's commands.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { tagOf } from '../../src/engine/entity-tag.ts';
import type { TaskStatus } from '../../src/wan/wan-status.ts';
import { run as runCommand } from '../cli/run-command.ts';
import { Asker } from '../engine/results.ts';
import { freePort } from '../free-port.ts';
import { requestBytes } from './client.ts';
import { sendingTo, soon, started, stopAll, stopped, type WanMember } from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-sync-'));
after(() => rmSync(FOLDER, { recursive: true }));

afterEach(stopAll);

const TREES = { sync: { 'consistency-check-strategy': 'MERKLE_TREES' } };

async function setAll(member: WanMember, count: number): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const requests = Array.from({ length: Math.min(500, count - from) }, (_, at) =>
      requestBytes('POST', `maps/m/k${from + at}`, Buffer.alloc(10, `${from + at}`)),
    );
    assert.deepEqual(new Set(await member.askAll(requests)), new Set([200]));
  }
}

/** Starts a synchronisation or a check by its call. Returns the uuid. */
async function begin(member: WanMember, call: string, body: string): Promise<string> {
  const response = await member.ask('POST', `wan/${call}`, body);
  assert.equal(response.status, 200, response.body.toString());
  return (JSON.parse(response.body.toString()) as { uuid: string }).uuid;
}

async function statusOf(member: WanMember, uuid: string): Promise<TaskStatus> {
  const { body } = await member.ask('GET', `wan/sync/progress/${uuid}`);
  return (JSON.parse(body.toString()) as { result: TaskStatus }).result;
}

/** Waits for the end and checks that the progress never decreases. */
async function endOf(member: WanMember, uuid: string): Promise<TaskStatus> {
  const endMs = performance.now() + 30_000;
  let last = 0;
  while (performance.now() < endMs) {
    const status = await statusOf(member, uuid);
    assert.ok(status.progress >= last);
    assert.equal(status.progress === 100, status.stage === 'FINISHED');
    last = status.progress;
    if (status.stage === 'FINISHED' || status.stage === 'FAILED') return status;
    await passed(5);
  }
  throw new Error(`sync ${uuid} has not ended in 30 s`);
}

/** The reserved map of a member. */
function reservedIn({ member }: WanMember) {
  const asker = new Asker(member.inProcess.engine);
  const entries = async () => {
    const found = await asker.allEntries('');
    return found.map(({ key, value, version }) => `${key} ${value} ${tagOf(version)}`).sort();
  };
  const fill = async (value: string): Promise<readonly string[]> => {
    for (const key of ['k', 'a', 'gone']) await asker.set('', key, value);
    await asker.delete('', 'gone');
    return await entries();
  };
  return { entries, fill };
}

/** Runs a command of the client. Returns its exit code and output. */
async function run(member: WanMember, ...words: string[]): Promise<string> {
  const address = ['--address', `127.0.0.1:${member.port}`];
  const { code, output, errors } = await runCommand('wan', ...words, ...address);
  return `${code} ${output}${errors}`.trim();
}

describe('sync', () => {
  it('sends the entries that an emptied target lacks; queued changes are sent without it', async () => {
    const port = await freePort();
    const first = await started({ port });
    const source = await started({ grid: sendingTo([port]) });
    for (const key of ['a', 'b', 'c']) await source.set(key, '1');
    await soon(() => first.values('a', 'b', 'c'), ['1', '1', '1']);
    await stopped(first);
    await source.set('queued', '2');
    const target = await started({ port });
    await soon(() => target.values('queued'), ['2']);
    assert.deepEqual(await target.values('a', 'b', 'c'), ['', '', '']);
    const uuid = await begin(source, 'sync/map', 'dev&&w&p0&m');
    const { stage, progress, wanReplicationName, wanPublisherId } = await endOf(source, uuid);
    assert.deepEqual([stage, progress], ['FINISHED', 100]);
    assert.deepEqual([wanReplicationName, wanPublisherId], ['w', 'p0']);
    assert.deepEqual(await target.values('a', 'b', 'c', 'queued'), ['1', '1', '1', '2']);
    assert.equal((await source.publisher()).state, 'REPLICATING');
  });

  it('sends a map with persistence, including changes not yet on disk', async () => {
    const target = await started({ dataDirectory: join(FOLDER, 'target') });
    const grid = sendingTo([target.port], { 'initial-publisher-state': 'STOPPED' });
    const source = await started({ grid, dataDirectory: join(FOLDER, 'source') });
    await setAll(source, 2000);
    const uuid = await begin(source, 'sync/allMaps', 'dev&&w&');
    await source.set('k0', 'later');
    assert.equal((await endOf(source, uuid)).stage, 'FINISHED');
    assert.deepEqual(await target.values('k1', 'k1999'), await source.values('k1', 'k1999'));
  });
});

describe('the reserved map', () => {
  it('is not sent, synchronised, compared or changed, whatever the references match', async () => {
    const port = await freePort();
    const target = await started({ port });
    const map = { '*': { 'wan-replication-ref': { w: {} }, 'per-entry-stats-enabled': true } };
    const grid = { ...sendingTo([port], TREES), map: { ...map, default: map['*'] } };
    const source = await started({ grid });
    const [own, others] = [reservedIn(source), reservedIn(target)];
    const expected = await own.fill('of the source');
    const expectedOthers = await others.fill('of the target');
    await source.set('k', 'v');
    await soon(() => target.values('k'), ['v']);
    assert.equal((await source.publisher()).eventsSent, 1);
    for (const call of ['sync/map', 'consistencyCheck/map']) {
      const { status, body } = await source.ask('POST', `wan/${call}`, 'dev&&w&p0&');
      assert.equal(status, 400, body.toString());
    }
    assert.match(await run(source, 'sync', ''), /^4 Refused with 400/);
    assert.match(await run(source, 'check', ''), /^4 Refused with 400/);
    const all = await begin(source, 'sync/allmaps', 'dev&&w&p0');
    assert.equal((await endOf(source, all)).stage, 'FINISHED');
    assert.deepEqual(await own.entries(), expected);
    assert.deepEqual(await others.entries(), expectedOthers);
    const { eventsRejected, queueSize } = await source.publisher();
    assert.deepEqual([eventsRejected, queueSize], [0, 0]);
  });
});

describe('gridnode wan', () => {
  it('synchronises, checks and waits, with exit codes', async () => {
    const port = await freePort();
    const target = await started({ port });
    const settings = { ...TREES, 'initial-publisher-state': 'STOPPED' };
    const source = await started({ grid: sendingTo([port], settings) });
    await setAll(source, 100);
    assert.match(
      await run(source, 'check', 'm', '--wait'),
      /^1 FINISHED 100 % {2}w p0 {2}\d+ of 31 partitions differ {2}\d+ of \d+ leaves {2}100 entries to sync$/,
    );
    assert.equal(await run(source, 'sync', 'm', '--wait'), '0 FINISHED 100 %  w p0');
    assert.match(
      await run(source, 'check', 'm', '--replication', 'w', '--wait'),
      /^0 .* 0 entries/,
    );
    const begun = await run(source, 'sync', '--all', '--publisher', 'p0');
    const [, uuid = ''] = /^0 Sync initiated (\S+)$/.exec(begun) ?? [];
    assert.match(await run(source, 'progress', uuid, '--wait'), /^0 FINISHED 100 %/);
    assert.match(await run(source, 'progress', uuid), /^0 FINISHED 100 %/);
    const status = JSON.parse((await run(source, 'progress', uuid, '--json')).slice(2));
    assert.equal(status.result.stage, 'FINISHED');
    await stopped(target);
    const impatient = { ...settings, 'response-timeout-millis': 300 };
    const cutOff = await started({ grid: sendingTo([port], impatient) });
    await setAll(cutOff, 1);
    assert.match(
      await run(cutOff, 'sync', 'm', '--wait'),
      /^1 FAILED 0 % {2}w p0 {2}no target responded/,
    );
    assert.match(await run(source, 'sync', 'other'), /^4 Refused with 400: .*wan-replication-ref/);
    assert.match(await run(source, 'progress', 'abc'), /^4 Refused with 404: .*couldn't be found/);
    assert.match(await run(source, 'sync'), /^2 Cannot sync nothing: name a map, or --all/);
    assert.match(await run(source, 'sync', 'm', '--all'), /^2 Cannot sync "m" and --all/);
    const none = await started();
    assert.match(await run(none, 'sync', 'm'), /^2 Cannot choose a WAN replication .* has none/);
  });
});
