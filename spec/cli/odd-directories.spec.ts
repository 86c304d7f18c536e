/**
 * Covers src/cli and src/persistence. Damaged or unusual directories, and those of another format:
 * each command reports the fault and what to do, changes nothing, and leaves no files.
 */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { DATA_FORMAT } from '../../src/persistence/data-format.ts';
import { FileStorage } from '../../src/persistence/file-storage.ts';
import { checkAllAreFiles } from '../../src/persistence/foreign-files.ts';
import { memberOn } from '../integration/member-on.ts';
import { checkedBytes } from '../persistence/checked-bytes.ts';
import {
  type Files,
  recordsOf,
  wholeDirectory,
  withFlippedBit,
} from '../persistence/damaged-directory.ts';
import { inFormat, inOtherFormat } from '../persistence/other-format.ts';
import { PARTITION_COUNT } from '../persistence/subject.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { run } from './run-command.ts';

/** More bytes than a buffer can contain. */
const HUGE_BYTES = 5 * 2 ** 30;
/** More bytes than a member may use, and fewer than a segment can have. */
const LONG_BYTES = 2 ** 30;

const { files } = await wholeDirectory();
const segments = [...files.keys()].filter((name) => /^(log|snapshot)-\d/.test(name));
const log = segments.filter((name) => name.startsWith('log-')).sort()[0] ?? '';
/** Returns the files of a backup. */
function backupOf(content: Files, format = DATA_FORMAT): Files {
  const kept = [...content].filter(([name]) => !['log-end', 'reserve'].includes(name));
  const list = kept.map(([name, bytes]) => ({ name, bytes: bytes.length, crc32: crc32(bytes) }));
  const of = '2026-01-01T00:00:00.000Z';
  return new Map([...kept, ['backup', checkedBytes('backup', { of, files: list }, format)]]);
}
const backup = backupOf(files);

/** A segment of a later format. */
const newer = inOtherFormat(files.get(log) ?? Buffer.alloc(0), DATA_FORMAT + 1);

let folder = '';

beforeEach(() => {
  folder = realpathSync(temporaryFolder());
});

function written(name: string, content: Files): string {
  const directory = join(folder, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, bytes] of content) writeFileSync(join(directory, file), bytes);
  return directory;
}

function member(directory: string) {
  const count = ['--partition-count', `${PARTITION_COUNT}`] as const;
  return memberOn(directory, [count, ['--disable-group', 'PERSISTENCE']]);
}

/** Runs a member that must not start. Resolves with its exit code and its last line. */
async function refused(directory: string) {
  const { exit, lines } = member(directory);
  const code = await exit;
  return { exit: code, msg: '', ...lines.at(-1) };
}

describe('a file that is too long', () => {
  for (const name of ['manifest', 'member', 'snapshot-0000000001-000000']) {
    it(`is damage for a member: ${name}`, async () => {
      const directory = written('data', files);
      truncateSync(join(directory, name), HUGE_BYTES);
      const { exit, code, msg } = await refused(directory);
      assert.deepEqual([exit, code], [3, 'DATA_DAMAGED'], msg);
      assert.ok(msg.includes(join(directory, name)), msg);
      assert.match(msg, /continues after its end|is longer than a segment can be/);
    });
  }

  it('is damage for a member: a log segment that is longer than its original size', async () => {
    const directory = written('data', files);
    truncateSync(join(directory, log), LONG_BYTES);
    const { exit, code, msg } = await refused(directory);
    assert.deepEqual([exit, code], [3, 'DATA_DAMAGED'], msg);
    assert.ok(msg.includes(`"${join(directory, log)}" is longer than it was made at byte 0`), msg);
  });

  it('is damage for repair, which saves the rest', async () => {
    const directory = written('data', files);
    for (const name of ['manifest', 'member', log]) {
      truncateSync(join(directory, name), HUGE_BYTES);
    }
    const { code, output, errors } = await run('repair', '--data-dir', directory);
    assert.equal(code, 1, errors);
    assert.match(output, /^manifest: at byte \d+: is damaged$/m);
    assert.match(output, /^member: at byte \d+: is damaged: the cluster's state/m);
    assert.ok(output.includes(`${log}: at byte 0: is longer than a segment can be`), output);
    assert.match(output, /; whole: [1-9]\d* records?, \d+ (bytes|kB)/);
  });

  it('is damage in a backup, and is not read', async () => {
    const directory = written('backups/backup-1', backup);
    assert.equal((await run('backup', 'verify', '--backup-dir', join(folder, 'backups'))).code, 0);
    for (const name of ['backup', 'manifest', 'member', log]) {
      const from = written('backups/backup-1', backup);
      truncateSync(join(from, name), HUGE_BYTES);
      const verified = await run('backup', 'verify', '--backup-dir', join(folder, 'backups'));
      assert.equal(verified.code, 1);
      const detail = name === 'backup' ? '' : `: it has ${HUGE_BYTES} bytes, not \\d+`;
      const fault = new RegExp(`/${name}" is damaged${detail}$`, 'm');
      assert.match(verified.output, fault);
      const restored = await run('restore', '--from', from, '--data-dir', join(folder, 'new/data'));
      assert.equal(restored.code, 1);
      assert.match(restored.errors, fault);
      assert.ok(!existsSync(join(folder, 'new')));
    }
    assert.ok(!existsSync(join(directory, 'lock')));
  });
});

describe('damage that is found after a part of the data was loaded', () => {
  it('ends the start with its reason', async () => {
    const full = segments.filter((name) => recordsOf(files, name).length > 0).sort();
    const [snapshot = '', last = ''] = [
      full.at(-1),
      full.findLast((name) => name.startsWith('log-')),
    ];
    assert.match(snapshot, /^snapshot-/);
    const [record = { at: 0 }] = recordsOf(files, last);
    const directory = written('data', withFlippedBit(files, last, record.at * 8 + 100));
    const { exit, code, msg } = await refused(directory);
    assert.deepEqual([exit, code], [3, 'DATA_DAMAGED'], msg);
    assert.ok(msg.includes(last), msg);
  });
});

test('repair of a directory without data reports that, besides the files that are there', async () => {
  const directory = written('other', new Map([['notes.txt', Buffer.from('text')]]));
  const { code, output } = await run('repair', '--data-dir', directory);
  assert.equal(code, 0);
  assert.match(output, /^notes\.txt: is not a file .*\nno data: ".*" has no file of a member\n$/);
});

describe('the target directory of restore or repair', () => {
  /** Returns both commands; the last flag of each is that of the target. */
  function commands(): readonly (readonly string[])[] {
    return [
      ['restore', '--from', written('source', backup), '--data-dir'],
      ['repair', '--data-dir', written('source', backup), '--to'],
    ];
  }

  it('contains neither a lock nor a marker afterwards, and neither does the source', async () => {
    for (const command of commands()) {
      const target = join(folder, command[0] ?? '', 'deep');
      const { code, errors } = await run(...command, target);
      assert.equal(code, 0, errors);
      const names = readdirSync(target);
      assert.ok(names.includes('manifest'));
      assert.deepEqual(
        names.filter((name) => /^(lock|restoring)/.test(name)),
        [],
      );
      assert.ok(!existsSync(join(folder, 'source', 'lock')));
    }
  });

  it('must be empty: a directory or a link in it also counts, even after an interruption', async () => {
    for (const [index, command] of commands().entries()) {
      for (const name of ['directory', 'link', 'log-0000000009/', 'file']) {
        for (const isResumed of [false, true]) {
          const target = join(folder, `used-${index}-${name.replace('/', '')}-${isResumed}`);
          mkdirSync(target);
          const bare = name.replace('/', '');
          if (name === 'link') symlinkSync('nowhere', join(target, name));
          else if (name === 'file') writeFileSync(join(target, name), '');
          else mkdirSync(join(target, bare));
          if (isResumed) writeFileSync(join(target, 'restoring'), '');
          const before = readdirSync(target);
          const { code, errors } = await run(...command, target);
          assert.equal(code, 3, `${name}: ${errors}`);
          assert.ok(errors.includes(`it contains "${bare}"`), errors);
          assert.deepEqual(readdirSync(target), before);
        }
      }
    }
  });

  it('can be filled after an interruption', async () => {
    for (const command of commands()) {
      const target = written(`half-of-${command[0]}`, new Map([['restoring', Buffer.alloc(0)]]));
      for (const name of [
        'log-0000000007',
        'manifest.tmp',
        'log-0000000008.tmp',
        'restoring.tmp',
      ]) {
        writeFileSync(join(target, name), 'x');
      }
      const { code, errors } = await run(...command, target);
      assert.equal(code, 0, errors);
      assert.deepEqual(
        readdirSync(target).filter((name) => /^restoring|tmp$|000[78]$/.test(name)),
        [],
      );
    }
  });

  it('must not be the source or a directory in it, by any path', async () => {
    for (const [name = '', ...rest] of commands()) {
      const source = join(folder, 'source');
      symlinkSync(source, join(folder, `link-${name}`));
      const before = readdirSync(source);
      const same = await run(name, ...rest, `${source}/.`);
      assert.equal(same.code, 2);
      assert.match(same.errors, /: it is the (backup to restore|directory to repair)$/m);
      for (const inner of [join(source, 'a', 'b'), join(folder, `link-${name}`, 'a')]) {
        const { code, errors } = await run(name, ...rest, inner);
        assert.equal(code, 2, errors);
        assert.match(
          errors,
          /: it is in the (backup to restore|directory to repair), ".*source"$/m,
        );
      }
      assert.deepEqual(readdirSync(source), before);
      assert.equal((await run(name, ...rest, `${source}-${name}`)).code, 0);
    }
  });

  it('does not exist after a refusal if it did not exist before', async () => {
    const [restore = [], repair = []] = commands();
    const target = join(folder, 'not', 'there');
    rmSync(join(folder, 'source', 'backup'));
    assert.equal((await run(...restore, target)).code, 1);
    writeFileSync(join(folder, 'source', log), newer);
    assert.equal((await run(...repair, target)).code, 3);
    const long = join(target, 'x'.repeat(300));
    assert.equal((await run(...repair, long)).code, 3);
    assert.ok(!existsSync(join(folder, 'not')));
    const isThere = written('is-there', new Map());
    assert.equal((await run(...repair, isThere)).code, 3);
    assert.deepEqual(readdirSync(isThere), []);
  });

  it('must not be a link to a path that does not exist', async () => {
    symlinkSync('/nowhere/at/all', join(folder, 'link'));
    const message = `"${join(folder, 'link')}" is a link to "/nowhere/at/all", which does not exist`;
    for (const command of commands()) {
      for (const target of ['link', 'link/below']) {
        const { code, errors } = await run(...command, join(folder, target));
        assert.equal(code, 3);
        assert.ok(errors.includes(message), errors);
      }
    }
    const { exit, code, msg } = await refused(join(folder, 'link'));
    assert.deepEqual([exit, code], [3, 'DATA_DIRECTORY_UNUSABLE']);
    assert.ok(msg.includes(message), msg);
    const read = await run('repair', '--data-dir', join(folder, 'link'));
    assert.equal(read.code, 2);
    assert.ok(read.errors.includes(message), read.errors);
  });
});

describe('a data directory with symbolic links', () => {
  /** Returns a copy like that of `cp -rs`. */
  function linked(name: string, content: Files): string {
    const from = written('original', content);
    const directory = join(folder, name);
    mkdirSync(directory);
    for (const file of content.keys()) symlinkSync(join(from, file), join(directory, file));
    return directory;
  }

  it('is refused by a member with the names of the links, and is not changed', async () => {
    const directory = linked('copy', files);
    const { exit, code, msg } = await refused(directory);
    assert.deepEqual([exit, code], [3, 'DATA_DIRECTORY_UNUSABLE'], msg);
    const first = [...files.keys()].sort()[0];
    assert.ok(msg.includes(`"${first}" is a symbolic link, `), msg);
    assert.ok(msg.includes(`, ${files.size - 3} more are not files: `), msg);
    for (const [name, bytes] of files) {
      assert.ok(readFileSync(join(directory, name)).equals(bytes), name);
      assert.ok(readFileSync(join(folder, 'original', name)).equals(bytes), name);
    }
    assert.deepEqual(readdirSync(directory).sort(), [...files.keys()].sort());
  });

  it("is refused for one link or directory with the name of a member's file", async () => {
    const names = ['manifest', 'member', 'wan-marks', 'wan-0000000003', 'log-0000009999'];
    for (const [index, name] of [...names, 'log-0000009999.tmp', 'restoring'].entries()) {
      const directory = written(`data-${index}`, files);
      rmSync(join(directory, name), { force: true });
      if (index % 2 === 0) symlinkSync('/nowhere', join(directory, name));
      else mkdirSync(join(directory, name));
      const kind = index % 2 === 0 ? 'symbolic link' : 'directory';
      await assert.rejects(checkAllAreFiles(new FileStorage(directory)), {
        code: 'DATA_DIRECTORY_UNUSABLE',
        message:
          `Cannot use data directory "${directory}": "${name}" is a ${kind}: a member's files must be ` +
          'in the directory itself',
      });
    }
  });

  it('is read by repair, restore and backup verify', async () => {
    const copy = linked('backup-1', backup);
    const verified = await run('backup', 'verify', '--backup-dir', folder);
    assert.deepEqual([verified.code, verified.output], [0, 'backup-1  whole\n']);
    assert.equal((await run('repair', '--data-dir', copy)).code, 0);
    const restored = join(folder, 'restored');
    assert.equal((await run('restore', '--from', copy, '--data-dir', restored)).code, 0);
    for (const [name, bytes] of backup) {
      if (name !== 'backup') assert.ok(readFileSync(join(restored, name)).equals(bytes), name);
    }
  });

  it('is used if it is itself a link, or if a link in it does not have the name of a member’s file', async () => {
    const directory = written('data', files);
    symlinkSync(directory, join(folder, 'link'));
    symlinkSync('/nowhere', join(directory, 'notes'));
    const linked = member(join(folder, 'link'));
    await linked.listening();
    assert.equal(await linked.stop(), 0);
    assert.ok(!existsSync(join(directory, 'lock')));
  });
});

const OLDER =
  /^Cannot read "[^"]+": it has format [123], this version reads only format 4 and converts no other; start the version that wrote it and copy the data over HTTP to a member of this version, or start with an empty data directory$/m;
const NEWER =
  /^Cannot read "[^"]+": it has format 5, this version reads only format 4; use the version that wrote it, or a backup of format 4$/m;

const FORMATS = [
  [1, OLDER],
  [2, OLDER],
  [3, OLDER],
  [5, NEWER],
] as const;

describe('a data directory of another format', () => {
  for (const [format, message] of FORMATS) {
    it(`is refused by serve with exit code 3 and what to do: format ${format}`, async () => {
      const content = new Map([...inFormat(files, format)].sort());
      const directory = written('data', content);
      const { exit, code, msg } = await refused(directory);
      assert.equal(exit, 3);
      assert.match(msg, message);
      assert.ok(msg.includes(directory));
      assert.match(String(code), /^DATA_FORMAT_(OLDER|NEWER)$/);
      const names = readdirSync(directory).filter((name) => name !== 'lock');
      const left = names.map((name) => [name, readFileSync(join(directory, name))] as const);
      assert.deepEqual(new Map(left.sort()), content);
    });

    it(`is refused by repair with exit code 3, whichever file has the format: format ${format}`, async () => {
      for (const name of ['manifest', 'member', segments[0] ?? '', segments.at(-1) ?? '']) {
        const bytes = inOtherFormat(files.get(name) ?? Buffer.alloc(0), format);
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
  for (const [format, message] of FORMATS) {
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
