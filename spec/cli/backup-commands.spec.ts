/**
 * `backup list`, `verify` and `prune` on directories of several members, beside files that must
 * remain.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { DirectoryLock } from '../../src/persistence/directory-lock.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeBackup } from './made-backup.ts';
import { run as runCommand } from './run-command.ts';

let backups = '';

beforeEach(() => {
  backups = temporaryFolder();
});

function make(name: string, uuid: string, of: string): number {
  return makeBackup(join(backups, name), uuid, of);
}

const run = (...words: string[]) => runCommand('backup', ...words, '--backup-dir', backups);

/**
 * Makes four backups of two members alternately, in the order of their times but not of their
 * numbers.
 */
function makeFour(): number {
  make('backup-9', 'ann', '2026-01-01T00:00:00.000Z');
  make('backup-2', 'bob', '2026-01-02T00:00:00.000Z');
  make('backup-10', 'ann', '2026-01-03T00:00:00.000Z');
  return make('backup-4', 'bob', '2026-01-04T00:00:00.000Z');
}

test('restore refuses a directory of backups, and names the newest one', async () => {
  makeFour();
  const target = join(temporaryFolder(), 'new');
  const words = ['restore', '--from', backups, '--data-dir', target];
  const { code, output, errors } = await runCommand(...words);
  assert.deepEqual([code, output], [2, '']);
  assert.match(errors, /: it contains backups; name one, such as ".*\/backup-4"\n$/);
  assert.ok(!existsSync(target));
});

test('list prints time, member and size, oldest first, and reports directories that are not backups', async () => {
  const bytes = makeFour();
  mkdirSync(join(backups, 'backup-5'));
  mkdirSync(join(backups, 'backup-6.tmp'));
  const { code, output, errors } = await run('list');
  assert.equal(code, 0);
  assert.equal(
    output,
    [
      `backup-9  2026-01-01T00:00:00.000Z  ann  ${bytes} bytes`,
      `backup-2  2026-01-02T00:00:00.000Z  bob  ${bytes} bytes`,
      `backup-10  2026-01-03T00:00:00.000Z  ann  ${bytes} bytes`,
      `backup-4  2026-01-04T00:00:00.000Z  bob  ${bytes} bytes\n`,
    ].join('\n'),
  );
  assert.match(errors, /^backup-5: .*is missing: not a backup, or an incomplete one\n$/);
  const list = JSON.parse((await run('list', '--json')).output) as { whole: object[] };
  const [first] = list.whole;
  assert.deepEqual(first, {
    name: 'backup-9',
    of: '2026-01-01T00:00:00.000Z',
    member: 'ann',
    bytes,
  });
});

test('verify reads every checksum, of one backup or of all', async () => {
  makeFour();
  assert.deepEqual(await run('verify', 'backup-9'), {
    code: 0,
    output: 'backup-9  whole\n',
    errors: '',
  });
  const file = join(backups, 'backup-2', 'member');
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  writeFileSync(file, bytes);
  assert.equal((await run('verify', 'backup-9')).code, 0);
  const all = await run('verify');
  assert.equal(all.code, 1);
  assert.match(all.output, /^backup-2 {2}damaged: ".*\/backup-2\/member" is damaged$/m);
  assert.match(all.output, /^backup-10 {2}whole$/m);
  const json = JSON.parse((await run('verify', 'backup-2', '--json')).output) as object[];
  assert.equal(json.length, 1);
  const none = await run('verify', 'backup-77');
  assert.deepEqual([none.code, none.output], [2, '']);
  assert.match(none.errors, /^Cannot verify "backup-77": no backup of that name is in /);
});

test('prune keeps the newest backup of each member', async () => {
  makeFour();
  const pruned = await run('prune', '--keep', '1');
  assert.deepEqual(pruned, { code: 0, output: 'removed backup-9\nremoved backup-2\n', errors: '' });
  assert.deepEqual(readdirSync(backups).sort(), ['backup-10', 'backup-4']);
  assert.deepEqual(await run('prune', '--keep', '1'), { code: 0, output: '', errors: '' });
});

test('prune does not remove directories that are incomplete, in use, damaged or foreign', async () => {
  makeFour();
  const others = ['backup-6.tmp', 'making-0123456789abcdef', 'backup-7', 'backup-old', 'photos'];
  for (const name of others) {
    mkdirSync(join(backups, name));
    writeFileSync(join(backups, name, 'file'), 'content');
  }
  // A damaged backup neither counts as one of its member's newest nor is removed.
  make('backup-11', 'ann', '2025-01-01T00:00:00.000Z');
  writeFileSync(join(backups, 'backup-11', 'member'), 'cut');
  make('backup-12', 'ann', '2025-01-01T00:00:00.000Z');
  const underWay = new DirectoryLock(join(backups, 'backup-6.tmp'));
  const used = new DirectoryLock(join(backups, 'backup-12'));
  await underWay.acquire();
  await used.acquire();
  try {
    const pruned = await run('prune', '--keep', '1', '--json');
    assert.deepEqual(JSON.parse(pruned.output), {
      removed: ['backup-9', 'backup-2'],
      inUse: ['backup-12'],
    });
  } finally {
    await underWay.release();
    await used.release();
  }
  const left = ['backup-10', 'backup-11', 'backup-12', 'backup-4', ...others];
  assert.deepEqual(readdirSync(backups).sort(), left.sort());
  for (const name of others) assert.equal(statSync(join(backups, name, 'file')).size, 7, name);
});

test('prune reports invalid arguments', async () => {
  for (const keep of ['0', '-1', 'x', '1.5', '']) {
    const { code, errors } = await run('prune', `--keep=${keep}`);
    assert.deepEqual(
      [code, errors],
      [2, `Cannot use --keep "${keep}": not an integer from 1 up\n`],
    );
  }
});
