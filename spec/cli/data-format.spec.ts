/**
 * Covers src/persistence/data-format.ts. Data directories and backups of another format: each
 * command reports what to do, and changes nothing.
 */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { checkedBytes } from '../../src/persistence/checked-file.ts';
import { DATA_FORMAT } from '../../src/persistence/data-format.ts';
import { memberOn } from '../integration/member-on.ts';
import { type Files, wholeDirectory } from '../persistence/damaged-directory.ts';
import { fileInFormat, inFormat } from '../persistence/other-format.ts';
import { run } from './run-command.ts';

const { files } = await wholeDirectory();

const OLDER =
  /^Cannot read "[^"]+": it has format [12], this version reads only format 3 and converts no other; start the version that wrote it and copy the data over HTTP to a member of this version, or start with an empty data directory$/m;
const NEWER =
  /^Cannot read "[^"]+": it has format 4, this version reads only format 3; use the version that wrote it, or a backup of format 3$/m;

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'format-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, content: Files): string {
  const directory = join(folder, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, bytes] of content) writeFileSync(join(directory, file), bytes);
  return directory;
}

function readAll(directory: string): Files {
  const names = readdirSync(directory).filter((name) => name !== 'lock');
  return new Map(names.sort().map((name) => [name, readFileSync(join(directory, name))]));
}

/** Returns a backup with these files. */
function backupOf(content: Files, format: number): Files {
  const kept = [...content].filter(([name]) => name !== 'log-end' && name !== 'reserve');
  const list = kept.map(([name, bytes]) => ({ name, bytes: bytes.length, crc32: crc32(bytes) }));
  const of = '2026-01-01T00:00:00.000Z';
  return new Map([...kept, ['backup', checkedBytes({ of, files: list }, format)]]);
}

describe('a data directory of another format', () => {
  for (const [format, message] of [
    [1, OLDER],
    [2, OLDER],
    [4, NEWER],
  ] as const) {
    it(`is refused by serve with exit code 3 and what to do: format ${format}`, async () => {
      const content = new Map([...inFormat(files, format)].sort());
      const directory = written('data', content);
      const { exit, lines } = memberOn(directory);
      assert.equal(await exit, 3);
      const { msg = '', code: reason = '' } = lines.at(-1) ?? {};
      assert.match(msg, message);
      assert.ok(msg.includes(directory));
      assert.match(reason, /^DATA_FORMAT_(OLDER|NEWER)$/);
      assert.deepEqual(readAll(directory), content);
    });

    it(`is refused by repair with exit code 3, whichever file has the format: format ${format}`, async () => {
      const segments = [...files.keys()].filter((name) => /^(log|snapshot)-\d/.test(name));
      for (const name of ['manifest', 'member', segments[0] ?? '', segments.at(-1) ?? '']) {
        const bytes = fileInFormat(name, files.get(name) ?? Buffer.alloc(0), format);
        const directory = written(`with-${name}`, new Map([...files, [name, bytes]]));
        const target = join(folder, `repaired-${name}`);
        const { code, errors } = await run('repair', '--data-dir', directory, '--to', target);
        assert.equal(code, 3, name);
        assert.match(errors, message);
        assert.ok(errors.includes(join(directory, name)), errors);
        assert.ok(!existsSync(target));
      }
    });
  }
});

describe('a backup of another format', () => {
  for (const [format, message] of [
    [1, OLDER],
    [2, OLDER],
    [4, NEWER],
  ] as const) {
    it(`is refused by restore with exit code 3, and nothing is restored: format ${format}`, async () => {
      const backup = written('backup-1', backupOf(inFormat(files, format), format));
      const target = join(folder, 'restored');
      const { code, errors } = await run('restore', '--from', backup, '--data-dir', target);
      assert.equal(code, 3);
      assert.match(errors, message);
      assert.ok(!existsSync(target));
    });

    it(`is distinguished from a damaged one by verify: format ${format}`, async () => {
      written('backup-1', backupOf(inFormat(files, format), format));
      written('backup-2', backupOf(files, DATA_FORMAT));
      const { code, output } = await run('backup', 'verify', '--backup-dir', folder);
      assert.equal(code, 1);
      const [whole, other = ''] = output.split('\n');
      assert.equal(whole, 'backup-2  whole');
      assert.match(other.replace('backup-1  of another version: ', ''), message);
    });
  }
});
