/**
 * Covers src/persistence/engine-recovery.ts and src/persistence/checked-file.ts. Starts that are
 * refused: each handle is closed once, and no file is changed.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { post } from '../http/test-client.ts';
import { storedMember } from '../stored-member.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { checkedBytes } from './checked-bytes.ts';
import {
  changed,
  damagedIn,
  type Files,
  recordsOf,
  storageOf,
  wholeDirectory,
  withFlippedBit,
} from './damaged-directory.ts';
import {
  checkNoneOpen,
  openPersistent,
  type PersistentOptions,
  rejectionCode,
  until,
} from './subject.ts';

const { files } = await wholeDirectory(true);
const logs = [...files.keys()].filter((name) => recordsOf(files, name).length > 0).sort();
const [first = '', last = ''] = [logs[0], logs.filter((name) => name.startsWith('log-')).at(-1)];

const damaged = (name: string): Files => damagedIn(files, name);

function manifestOf(format: number): Files {
  return changed(files, 'manifest', checkedBytes('manifest', {}, format));
}

async function assertUnchanged(memory: MemoryStorage, content: Files): Promise<void> {
  const files = memory.files;
  assert.deepEqual([...files.keys()].sort(), [...content.keys()].sort());
  for (const [name, bytes] of files) assert.ok(content.get(name)?.equals(bytes), name);
}

const REFUSED: readonly (readonly [string, Files, PersistentOptions, string])[] = [
  ['a damaged manifest', damaged('manifest'), {}, 'DATA_DAMAGED'],
  ['no manifest', changed(files, 'manifest', undefined), {}, 'DATA_DAMAGED'],
  ['a manifest of format 1', manifestOf(1), {}, 'DATA_FORMAT_OLDER'],
  ['a manifest of format 2', manifestOf(2), {}, 'DATA_FORMAT_OLDER'],
  ['a manifest of format 3', manifestOf(3), {}, 'DATA_FORMAT_OLDER'],
  ['a manifest of format 5', manifestOf(5), {}, 'DATA_FORMAT_NEWER'],
  ['a damaged file of the member', damaged('member'), {}, 'DATA_DAMAGED'],
  ['a damaged record of where the log ends', damaged('log-end'), {}, 'DATA_DAMAGED'],
  ['a damaged first segment', damaged(first), {}, 'DATA_DAMAGED'],
  ['a damaged last segment', damaged(last), {}, 'DATA_DAMAGED'],
  ['a missing segment', changed(files, last, undefined), {}, 'DATA_DAMAGED'],
  ['no reserve', changed(damaged(last), 'reserve', undefined), {}, 'DATA_DAMAGED'],
  ['another partition count', files, { partitionCount: 7 }, 'PARTITION_COUNT_CHANGED'],
];

describe('a start that is refused has changed no file and closed each handle once', () => {
  for (const [name, content, options, code] of REFUSED) {
    it(`with ${name}`, async () => {
      const memory = storageOf(content, 1, 'boot');
      await assert.rejects(openPersistent(memory, { segmentBytes: 1024, ...options }), { code });
      await assertUnchanged(memory, content);
    });
  }

  it('with too little memory', async () => {
    const writer = new MemoryStorage(new Random(1), 'boot');
    const before = await openPersistent(writer, { memoryBytesMax: 8_000_000 });
    for (let key = 0; key < 150; key++) before.ask.set('m', `${key}`, Buffer.alloc(20_000));
    await until(before.persistence.close(), before.quiet);
    const content = writer.files;
    const memory = storageOf(content, 1, 'boot');
    const opening = openPersistent(memory, { memoryBytesMax: 2_000_000 });
    await assert.rejects(opening, { code: 'DATA_NEEDS_MEMORY' });
    await assertUnchanged(memory, content);
  });

  it('with a disk that cannot be read, whichever call fails', async () => {
    const readCount = await readCalls();
    for (let at = 1; at <= readCount; at++) {
      const memory = storageOf(files, 1, 'boot');
      memory.failure = { at, code: 'EIO', isLasting: true };
      await assert.rejects(openPersistent(memory, { segmentBytes: 1024 }), { code: 'EIO' });
      memory.failure = undefined;
      await assertUnchanged(memory, files);
    }
  });

  /** Number of calls of a start before the first that changes a file. */
  async function readCalls(): Promise<number> {
    const memory = storageOf(files, 1, 'boot');
    await openPersistent(memory, { segmentBytes: 1024 });
    return memory.calls.findIndex((call) => call !== 'other');
  }

  it('when it is stopped during recovery, after any number of calls', async () => {
    for (let calls = 0; calls < 40; calls += 3) {
      const memory = storageOf(files, 1, 'boot');
      const { persistence, start, go } = storedMember(memory, [
        { key: 'partitionCount', text: '5' },
      ]);
      const starting = rejectionCode(start());
      for (let call = 0; call < calls; call++) await go();
      await until(persistence.close(), go);
      assert.equal(await until(starting, go), 'STOPPED_RECOVERING');
      checkNoneOpen(memory);
      await assertUnchanged(memory, files);
    }
  });
});

describe('the values of a member', () => {
  it('are not stored by a start that is refused', async () => {
    const memory = storageOf(new Map(), 1, 'boot');
    const { serve, status, persistence, go } = storedMember(memory);
    await serve();
    assert.equal(await status(post('maps/m/k', 'v')), 200);
    await until(persistence.close(), go);
    const whole = memory.files;
    const log = recordsOf(whole, 'log-0000000001');
    const damagedLog = withFlippedBit(whole, 'log-0000000001', (log[0]?.at ?? 0) * 8 + 99);
    const member = checkedBytes('member', { uuid: 'its own', clusterVersion: '1.1' });
    const content = changed(damagedLog, 'member', member);
    const refused = storageOf(content, 1, 'boot');
    const next = storedMember(refused, [
      { key: 'endpointGroups', name: 'PERSISTENCE', text: 'false' },
    ]);
    await assert.rejects(until(next.start(), next.go), { code: 'DATA_DAMAGED' });
    await until(next.persistence.close(), next.go);
    await assertUnchanged(refused, content);
  });
});
