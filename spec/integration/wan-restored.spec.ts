/**
 * Covers src/wan and src/persistence. Members whose data were restored from a backup, as targets,
 * as sources, and beside the member of the backup.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { run } from '../cli/run-command.ts';
import { freePort } from '../free-port.ts';
import { sendingTo, soon, started, stopAll, stopped, type WanMember } from './wan-members.ts';

const LATEST = { 'merge-policy-class-name': 'LatestUpdate' };
const FOLDER = mkdtempSync(join(tmpdir(), 'wan-restored-'));
after(() => rmSync(FOLDER, { recursive: true }));
afterEach(stopAll);

/**
 * Starts a member with persistence that sends the map `m` to the port; its data and backups are
 * below `name`.
 */
async function source(name: string, port: number): Promise<WanMember> {
  const [directory, backups] = [join(FOLDER, name), join(FOLDER, `${name}-backups`)];
  const persistence = { enabled: true, 'base-dir': directory, 'backup-dir': backups };
  return await started({ grid: { ...sendingTo([port], {}, LATEST), persistence } });
}

async function call(member: WanMember, name: string): Promise<void> {
  assert.match(await member.textOf('POST', `wan/${name}`, 'dev&&w&'), /^200 /);
}

async function backUp(member: WanMember): Promise<void> {
  assert.match(await member.textOf('POST', 'management/cluster/backup', 'dev&'), /^200 /);
}

/** Restores the first backup of the named source. Returns the new data directory. */
async function restored(name: string, to: string, ...flags: string[]): Promise<string> {
  const dataDirectory = join(FOLDER, to);
  const from = ['--from', join(FOLDER, `${name}-backups`, 'backup-1'), '--data-dir', dataDirectory];
  assert.equal((await run('restore', ...from, ...flags)).code, 0);
  return dataDirectory;
}

async function uuidOf(member: WanMember): Promise<string> {
  const { members } = JSON.parse((await member.ask('GET', 'cluster')).body.toString());
  return members[0].uuid;
}

describe('a restored backup', () => {
  it('is the same data set; with --new-member it is another', async () => {
    const port = await freePort();
    const first = await source('original', port);
    await call(first, 'pausePublisher');
    await first.set('a', '1');
    await backUp(first);
    await first.set('b', '2');
    await call(first, 'resumePublisher');
    const same = await started({ port, dataDirectory: await restored('original', 'same') });
    assert.equal(await uuidOf(same), await uuidOf(first));
    await soon(async () => (await first.publisher()).lastError?.includes('--new-member'), true);
    assert.deepEqual(await same.values('a', 'b'), ['1', '']);
    await stopped(same);
    const dataDirectory = await restored('original', 'another', '--new-member');
    const another = await started({ port, dataDirectory });
    assert.notEqual(await uuidOf(another), await uuidOf(first));
    await soon(() => another.values('a', 'b'), ['1', '2']);
  });

  it('does not send the changes that were queued at the backup; a sync sends them', async () => {
    const port = await freePort();
    const first = await source('waiting', port);
    await first.set('a', '1');
    assert.equal((await first.publisher()).queueSize, 1);
    await backUp(first);
    await call(first, 'pausePublisher');
    await stopped(first);
    const dataDirectory = await restored('waiting', 'waiting-again');
    const again = await started({ dataDirectory, grid: sendingTo([port], {}, LATEST) });
    assert.deepEqual(await again.values('a'), ['1']);
    assert.equal((await again.publisher()).queueSize, 0);
    const target = await started({ port });
    await again.set('b', '2');
    await soon(() => target.values('a', 'b'), ['', '2']);
    await call(again, 'sync/allmaps');
    await soon(() => target.values('a', 'b'), ['1', '2']);
  });

  it('is treated as its original member if both send, unless it was restored with --new-member', async () => {
    const target = await started();
    const first = await source('beside', target.port);
    await first.set('a', '1');
    await soon(() => target.values('a'), ['1']);
    await backUp(first);
    const grid = sendingTo([target.port], {}, LATEST);
    const later = /has recorded a later start of this data set/;
    const hasMetLater = ({ lines }: WanMember) => lines.some(({ msg = '' }) => later.test(msg));
    const dataDirectory = await restored('beside', 'other', '--new-member');
    const other = await started({ dataDirectory, grid });
    for (const round of ['2', '3']) {
      await other.set('b', round);
      await soon(() => target.values('b'), [round]);
      await first.set('a', round);
      await soon(() => target.values('a'), [round]);
    }
    assert.deepEqual([hasMetLater(first), hasMetLater(other)], [false, false]);
    const same = await started({ dataDirectory: await restored('beside', 'beside-same'), grid });
    await same.set('c', '1');
    await soon(() => target.values('c'), ['1']);
    await first.set('a', '4');
    await soon(async () => hasMetLater(first), true);
  });
});
