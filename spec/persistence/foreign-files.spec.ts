/** Files in a data directory that are not of a member. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { foreignFiles } from '../../src/persistence/foreign-files.ts';
import { post } from '../http/test-client.ts';
import { storedMember } from '../stored-member.ts';
import { MemoryStorage } from './memory-storage.ts';
import { until } from './subject.ts';

test('foreignFiles knows the files of a member by their names', () => {
  const own = [
    ...['manifest', 'member', 'log-end', 'reserve', 'backup', 'lock', 'lock.0a', 'log.tmp'],
    ...['wan-marks', 'wan-0000000003'],
    ...['manifest.tmp', 'log-0000000001', 'log-0000000001.new', 'snapshot-0000000002-000000'],
  ];
  assert.deepEqual(foreignFiles(own), []);
  const foreign = ['log-1', 'manifest.bak', 'members', 'notes.txt', 'snapshot-0000000002', 'wan-3'];
  assert.deepEqual(foreignFiles([...foreign].reverse().concat(own)), foreign);
});

test('a member reports files in its data directory that are not of a member, and leaves them', async () => {
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
  const [{ msg, ...told } = { msg: '' }, ...more] = warnings(second);
  assert.deepEqual(more, []);
  assert.match(msg, /^files in the data directory are not of a member/);
  const { files, count } = told as { files?: string[]; count?: number };
  assert.deepEqual([files?.length, files?.[0], count], [10, 'note-0', 12]);
  await until(second.persistence.close(), second.go);
  const names = await until(memory.list(), second.go);
  assert.equal(names.filter((name) => name.startsWith('note-')).length, 12);
});
