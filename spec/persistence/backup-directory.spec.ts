/** Members that share a directory for backups: no member touches the backup of another. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BackupDirectory } from '../../src/persistence/backup-directory.ts';

const MEMBERS = 3;
const BACKUPS = 10;

const parent = mkdtempSync(join(tmpdir(), 'gridnode-backups-'));
after(() => rmSync(parent, { recursive: true, force: true }));

async function backUp(content: string, isKept: boolean): Promise<string | undefined> {
  const directory = await BackupDirectory.begin(parent);
  const file = await directory.storage.create('file');
  await file.write(Buffer.from(content), 0, content.length, 0);
  await file.close();
  if (isKept) return await directory.complete();
  await directory.discard();
  return undefined;
}

describe('BackupDirectory', () => {
  it('is independent of others that are created, completed and discarded at the same time', async () => {
    const completed = new Map<string, string>();
    const members = Array.from({ length: MEMBERS }, async (_, member) => {
      for (let count = 0; count < BACKUPS; count++) {
        const content = `backup ${count} of member ${member}`;
        const path = await backUp(content, count % 5 !== 0);
        if (path !== undefined) completed.set(path, content);
      }
    });
    await Promise.all(members);
    assert.equal(completed.size, MEMBERS * BACKUPS * 0.8);
    for (const [path, content] of completed) {
      assert.equal(readFileSync(join(path, 'file'), 'latin1'), content);
      assert.deepEqual(readdirSync(path), ['file']);
    }
    assert.equal(readdirSync(parent).length, completed.size, 'no other file is left');
  });

  it('removes an incomplete backup whose process has ended', async () => {
    const left = join(parent, 'backup-9999.tmp');
    mkdirSync(left);
    writeFileSync(join(left, 'manifest'), '?');
    await backUp('the next', true);
    assert.ok(!readdirSync(parent).includes('backup-9999.tmp'));
  });
});
