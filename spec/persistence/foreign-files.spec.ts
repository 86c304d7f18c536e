/** Files in a data directory that do not belong to a member. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED } from '../../src/engine/engine.ts';
import type { Finding } from '../../src/persistence/findings.ts';
import { startPartial } from '../../src/persistence/forced-start.ts';
import { foreignFiles } from '../../src/persistence/foreign-files.ts';
import { repair } from '../../src/persistence/repair.ts';
import { post } from '../http/test-client.ts';
import { storedMember } from '../stored-member.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { recordsOf, storageOf, wholeDirectory, withFlippedBit } from './damaged-directory.ts';
import { contentOf } from './stored-model.ts';
import { maintenance, openPersistent, pumping, until } from './subject.ts';

test('foreignFiles recognizes the files of a member by their names', () => {
  const own = [
    'manifest',
    'member',
    'log-end',
    'reserve',
    'backup',
    'lock',
    'lock.0123456789abcdef',
    'log.tmp',
    'wan-marks',
    'wan-0000000003',
    'manifest.tmp',
    'log-0000000001',
    'log-0000000001.new',
    'snapshot-0000000002-000000',
  ];
  assert.deepEqual(foreignFiles(own), []);
  const foreign = [
    'lock.0123456789abcdef0',
    'lock.bak',
    'lock.tmp',
    'log-0000000001 (copy)',
    'log-1',
    'manifest.bak',
    'members',
    'notes.txt',
    'snapshot-0000000002',
    'wan-3',
  ];
  assert.deepEqual(foreignFiles([...foreign].reverse().concat(own)), foreign);
});

test('a member reports foreign files in its data directory, and does not remove them', async () => {
  const memory = new MemoryStorage(new Random(1), 'boot', 8_000_000);
  const warnings = ({ lines }: ReturnType<typeof storedMember>) =>
    lines.filter(({ level }) => level === 'warn');
  const first = storedMember(memory);
  await first.serve();
  assert.equal(await first.status(post('maps/m/k', 'v')), 200);
  assert.equal(await first.status(post('management/cluster/changeState', 'dev&&frozen')), 200);
  await until(first.persistence.close(), first.go);
  for (let count = 0; count < 12; count++) memory.createNow(`note-${count}`);
  const second = storedMember(memory);
  await second.serve();
  assert.deepEqual(warnings(first), []);
  const [{ msg, ...fields } = { msg: '' }, ...more] = warnings(second);
  assert.deepEqual(more, []);
  assert.match(msg, /^files in the data directory do not belong to a member/);
  const { files, count } = fields as { files?: string[]; count?: number };
  assert.deepEqual([files?.length, files?.[0], count], [10, 'note-0', 12]);
  await until(second.persistence.close(), second.go);
  const names = await until(memory.list(), second.go);
  assert.equal(names.filter((name) => name.startsWith('note-')).length, 12);
});

test('files with names of segments but without their headers are reported and not removed', async () => {
  const notes = Buffer.from('the notes of a user, who names them by the hour of the day');
  const foreign = [
    'log-0000000000',
    'log-2147483648',
    'log-2026112618',
    'log-9999999999',
    'snapshot-2026112618-000000',
    'wan-2026112618',
    'wan-2147483648',
    'notes.tmp',
    'a.new',
  ];
  // Each is the next number of a segment or a snapshot, or of an earlier one.
  const inTheWay = ['log-0000000002', 'log-0000000005', 'snapshot-0000000006-000000'];
  const all = [...foreign, ...inTheWay].sort();
  let storage = new MemoryStorage(new Random(1), 'boot');
  const options = { segmentBytes: 1024, snapshotBytesMin: 8192 };
  let wanted: string[] = [];
  for (let start = 0; start < 4; start++) {
    if (start === 1) for (const name of all) storage.put(name, notes);
    const subject = await openPersistent(storage, options);
    assert.deepEqual(contentOf(subject.engine), wanted);
    assert.deepEqual(subject.recovered.foreign, start === 0 ? [] : all);
    for (let count = 0; count < 80; count++) {
      const { outcome } = subject.ask.set('m', `${count % 30}`, Buffer.alloc(200 + start));
      assert.equal(outcome, APPLIED);
      await subject.quiet();
    }
    if (start > 0) assert.ok(subject.events.includes('snapshot'), 'older segments were removed');
    for (const name of start > 0 ? all : []) assert.deepEqual(storage.bytes(name), notes, name);
    assert.ok(subject.persistence.log.segment < 1000);
    wanted = contentOf(subject.engine);
    if (start % 2 === 0) storage = storage.afterKill();
    else await until(subject.persistence.close(), subject.quiet);
  }
});

test('a forced start does not move files that are not segments, and repair reports them', async () => {
  const { files } = await wholeDirectory();
  const [log = ''] = [...files.keys()].filter((name) => recordsOf(files, name).length > 0).sort();
  const damaged = withFlippedBit(files, log, 4000);
  const storage = storageOf(damaged);
  for (const name of ['log-2026112618', 'log-2147483647']) storage.put(name, Buffer.from('note'));
  const findings: Finding[] = [];
  await until(repair(maintenance({ source: storage }, findings)), pumping(storage));
  const { what } = findings.find(({ file }) => file === 'log-2026112618') ?? {};
  assert.equal(what, 'contains neither a segment header nor a record');
  await until(startPartial(maintenance({ storage })), pumping(storage));
  const { engine, persistence } = await openPersistent(storage);
  assert.ok(contentOf(engine).length > 0);
  assert.ok(persistence.log.segment < 1000);
  for (const name of ['log-2026112618', 'log-2147483647'])
    assert.deepEqual(storage.bytes(name), Buffer.from('note'));
});
