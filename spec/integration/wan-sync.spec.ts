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
import type { TaskStatus } from '../../src/wan/wan-service.ts';
import { run as runCommand } from '../cli/run-command.ts';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from './client.ts';
import { serve, TEST_PARTITIONS } from './member-process.ts';
import { sendingTo, soon, started, stopAll, stopped, type WanMember } from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-sync-'));
after(() => rmSync(FOLDER, { recursive: true }));

afterEach(stopAll);

/** Flags of a target that is a process. */
const TARGET = [
  ...['--partition-count', String(TEST_PARTITIONS)],
  ...['--enable-group', 'DATA', '--enable-group', 'WAN'],
];
const TREES = { sync: { 'consistency-check-strategy': 'MERKLE_TREES' } };

async function setAll(member: WanMember, count: number, bytes = 10): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const requests = Array.from({ length: Math.min(500, count - from) }, (_, at) =>
      requestBytes('POST', `maps/m/k${from + at}`, Buffer.alloc(bytes, `${from + at}`)),
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

/** Waits until a synchronisation has reached this percentage; it must not have ended by then. */
async function progressOf(member: WanMember, uuid: string, percent: number): Promise<void> {
  for (;;) {
    const { stage, progress } = await statusOf(member, uuid);
    assert.ok(stage === 'STARTED' || stage === 'IN_PROGRESS', stage);
    if (progress >= percent) return;
    await passed(1);
  }
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

  it('never shows an older value after a newer one, in any state of the publisher', async () => {
    for (const state of ['resume', 'pause', 'stop']) {
      const target = await started();
      const source = await started({ grid: sendingTo([target.port], { 'queue-capacity': 1 }) });
      await source.set('a', '1');
      await soon(() => target.values('a'), ['1']);
      await source.ask('POST', 'wan/pausePublisher', 'dev&&w&');
      await source.ask('DELETE', 'maps/m/a');
      await source.set('a', '2');
      assert.equal((await source.publisher()).eventsDropped, 1);
      const seen: string[] = [];
      let isWatching = true;
      const watching = (async () => {
        for (; isWatching; await passed(10)) seen.push(...(await target.values('a')));
      })();
      if (state !== 'pause') await source.ask('POST', `wan/${state}Publisher`, 'dev&&w&');
      const uuid = await begin(source, 'sync/allmaps', 'dev&&w&');
      assert.equal((await endOf(source, uuid)).stage, 'FINISHED');
      await source.ask('POST', 'wan/resumePublisher', 'dev&&w&');
      await soon(async () => (await source.publisher()).queueSize, 0);
      await passed(300);
      isWatching = false;
      await watching;
      // While the publisher sends by itself, it may send the delete before the synchronisation.
      const shown = seen.filter((value, at) => value !== seen[at - 1]).join();
      assert.ok((state === 'resume' ? ['1,2', '1,,2', '2'] : ['1,2', '2']).includes(shown), shown);
      assert.deepEqual(await target.values('a'), ['2']);
      for (const member of [source, target]) await stopped(member);
    }
  });

  it('fails if the target is suspended or killed during it; the next one succeeds', async () => {
    const port = await freePort();
    const target = await serve('--port', String(port), ...TARGET);
    const settings = { 'initial-publisher-state': 'STOPPED', 'response-timeout-millis': 1500 };
    const source = await started({ grid: sendingTo([port], { ...settings, 'batch-size': 20 }) });
    await setAll(source, 4000, 100);
    const failed = async (signal: 'SIGSTOP' | 'SIGKILL') => {
      const uuid = await begin(source, 'sync/allmaps', 'dev&&w&p0');
      await progressOf(source, uuid, 2);
      target.child.kill(signal);
      const { stage, message } = await endOf(source, uuid);
      assert.equal(stage, 'FAILED');
      assert.match(message ?? '', /^nothing was acknowledged for 1500 ms/);
    };
    const succeeded = async () => {
      const { stage, message } = await endOf(
        source,
        await begin(source, 'sync/map', 'dev&&w&p0&m'),
      );
      assert.equal(stage, 'FINISHED', message);
    };
    await failed('SIGSTOP');
    target.child.kill('SIGCONT');
    await succeeded();
    const reader = new RawClient(port);
    assert.equal((await reader.request('GET', 'maps/m/k3999')).status, 200);
    reader.destroy();
    await failed('SIGKILL');
    await target.exited;
    const again = await started({ port });
    await succeeded();
    assert.ok((await again.values('k0', 'k2000', 'k3999')).every((value) => value !== ''));
  });
});

describe('the progress of an unknown uuid', () => {
  for (const compatibility of [undefined, 'hazelcast'] as const) {
    it(`has status ${compatibility === undefined ? 404 : 200} and a message that it couldn't be found`, async () => {
      const grid = { network: { 'rest-api': { enabled: true, 'path-segment': 'grid' } } };
      const member = await started({ grid, ...(compatibility && { compatibility }) });
      const response = await member.textOf('GET', 'wan/sync/progress/no');
      const status = compatibility === undefined ? 404 : 200;
      assert.match(response, new RegExp(`^${status} .*"fail".*no couldn't be found`));
    });
  }
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
