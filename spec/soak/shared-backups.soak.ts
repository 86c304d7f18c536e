/**
 * Three members that share a backup directory and make SOAK_BACKUPS backups each, concurrently.
 * Each request makes a backup or is refused because one is under way, and each backup can be
 * restored to the content of its member.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileStorage } from '../../src/persistence/file-storage.ts';
import { restore } from '../../src/persistence/restore.ts';
import { RawClient } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { PARTITION_COUNT, recoveredContent } from '../persistence/subject.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const BACKUPS = Number(process.env.SOAK_BACKUPS ?? Math.ceil((SIZE * 120) / 10_000));
const MEMBERS = 3;

test(`${MEMBERS} members can make ${BACKUPS} backups each in one directory`, async () => {
  const root = mkdtempSync(join(tmpdir(), 'gridnode-shared-'));
  const backups = join(root, 'backups');
  try {
    const made = await Promise.all(
      Array.from({ length: MEMBERS }, (_, member) => backUpRepeatedly(root, member)),
    );
    const total = made.reduce((sum, count) => sum + count, 0);
    const names = readdirSync(backups);
    assert.equal(names.length, total, names.filter((name) => !/^backup-\d+$/.test(name)).join());
    for (const name of names) await checkRestored(join(backups, name), join(root, name));
    console.log(`${total} backups, each restored`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

/**
 * Makes backups; every second one is requested while another is under way. Resolves with the number
 * of backups made.
 */
async function backUpRepeatedly(root: string, member: number): Promise<number> {
  const flags = ['--enable-group', 'all', '--partition-count', String(PARTITION_COUNT)];
  const data = ['--data-dir', join(root, `data-${member}`), '--backup-dir', join(root, 'backups')];
  const { child, exited, port } = await serve(...flags, ...data);
  const client = new RawClient(port);
  const other = new RawClient(port);
  let made = 0;
  for (let count = 0; count < BACKUPS; count++) {
    const set = await client.request('POST', `maps/member ${member}/${count}`.replace(' ', '%20'));
    assert.equal(set.status, 200);
    const asked = [client, ...(count % 2 === 0 ? [other] : [])].map((each) =>
      each.request('POST', 'management/cluster/backup', Buffer.from('dev&')),
    );
    for (const { status, body } of await Promise.all(asked)) {
      if (status === 200) made++;
      else {
        assert.equal(status, 409, body.toString());
        assert.match(body.toString(), /a backup is under way/);
      }
    }
  }
  client.destroy();
  other.destroy();
  child.kill('SIGTERM');
  assert.equal((await exited)[0], 0);
  return made;
}

async function checkRestored(backup: string, target: string): Promise<void> {
  const storage = new FileStorage(target);
  await restore(new FileStorage(backup, true), storage);
  const content = await recoveredContent(storage);
  const members = new Set(content.map((each) => each.slice(0, 'm member 0'.length)));
  assert.equal(members.size, 1, [...members].join());
  rmSync(target, { recursive: true });
}
