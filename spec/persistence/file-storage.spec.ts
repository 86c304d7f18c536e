import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileStorage, makeDirectories } from '../../src/persistence/file-storage.ts';

describe('makeDirectories', () => {
  it('creates missing directories, only for their owner, and does not change existing ones', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'a', 'b', 'c');
    makeDirectories(path);
    makeDirectories(path);
    assert.equal(statSync(path).mode & 0o777, 0o700);
    symlinkSync(path, join(folder, 'link'));
    makeDirectories(join(folder, 'link', 'd'));
    assert(statSync(join(path, 'd')).isDirectory());
    assert(statSync(new FileStorage(join(path, 'e', 'f')).path).isDirectory());
  });

  it('throws the error of the system if one cannot be created', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'file'), '');
    for (const [path, code] of [
      [join(folder, 'file'), 'EEXIST'],
      [join(folder, 'file', 'below'), 'ENOTDIR'],
      ['/proc/x', 'ENOENT'],
      ['/proc/x/y', 'ENOENT'],
    ] as const) {
      assert.throws(() => makeDirectories(path), { code }, path);
    }
  });
});

describe('a file of a FileStorage', () => {
  it('has the time of its last change', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const storage = new FileStorage(folder);
    writeFileSync(join(folder, 'file'), '');
    utimesSync(join(folder, 'file'), 1, 1_600_000_000.5);
    assert.equal(await storage.modifiedMs('file'), 1_600_000_000_500);
    await assert.rejects(storage.modifiedMs('absent'), { code: 'ENOENT' });
  });

  it('has the length of what was written, from any part of a buffer', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = await new FileStorage(folder).create('file');
    const bytes = Buffer.alloc(20, 'x');
    file.writeNow(bytes, 12, 15, 0);
    assert.equal(file.length, 3);
    await file.write(bytes, 12, 18, 2);
    assert.equal(file.length, 8);
    await file.write(bytes, 5, 6, 0);
    await file.close();
    assert.deepEqual([statSync(join(folder, 'file')).size, file.length], [8, 8]);
  });

  it('is closed once, when its calls have ended, and is not used afterwards', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const storage = new FileStorage(folder);
    const file = await storage.create('file');
    const bytes = Buffer.alloc(100_000, 'x');
    const writing = Promise.all([file.write(bytes, 0, 100_000, 0), file.sync()]);
    const closing = file.close();
    await assert.rejects(file.close(), { message: '"file" is closed' });
    await assert.rejects(file.sync(), { message: '"file" is closed' });
    assert.throws(() => file.writeNow(bytes, 0, 1, 0), { message: '"file" is closed' });
    await Promise.all([writing, closing]);
    // The system gives the number of the descriptor to the next file, which is not closed.
    const next = await storage.create('next');
    await assert.rejects(file.close(), { message: '"file" is closed' });
    await next.write(bytes, 0, 1, 0);
    await next.close();
    assert.deepEqual([statSync(join(folder, 'file')).size, file.length], [100_000, 100_000]);
  });
});
