/**
 * Covers src/persistence/log-end-file.ts and src/persistence/member-file.ts. A log that was cut off
 * is distinguished from a log that ended there. A missing file `member` is detected.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { Finding } from '../../src/persistence/findings.ts';
import { startEmpty, startPartial } from '../../src/persistence/forced-start.ts';
import { repair } from '../../src/persistence/repair.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { bytesOf, changed, type Files, recordsOf, storageOf } from './damaged-directory.ts';
import { contentOf } from './stored-model.ts';
import { maintenance, openPersistent, pumping, recoveredContent, until } from './subject.ts';

const LOG = 'log-0000000001';
const KEYS = 10;

interface Written {
  readonly files: Files;
  readonly content: readonly string[];
  readonly clock: FakeClock;
}

/**
 * Writes ten keys. Returns the files of a member that has stopped, or was killed this many ms after
 * the last one.
 */
async function written(end: 'stop' | number): Promise<Written> {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const clock = new FakeClock();
  const options = { clock, sync: end === 'stop' ? 'always' : 'never' } as const;
  const { ask, engine, persistence, quiet } = await openPersistent(storage, options);
  await until(persistence.member.save({ clusterState: 'PASSIVE' }), quiet);
  for (let key = 0; key < KEYS; key++) ask.set('m', `key ${key}`, Buffer.from('a value'));
  await quiet();
  if (end === 'stop') await until(persistence.close(), quiet);
  else {
    clock.advance(end);
    storage.afterKill();
  }
  return { files: storage.files, content: contentOf(engine), clock };
}

async function start(files: Files, bootId = 'boot') {
  const storage = storageOf(files, 1, bootId);
  return { storage, ...(await openPersistent(storage)) };
}

/**
 * Returns the files with the log truncated or zeroed after its fourth record, and the offset of
 * that.
 */
function cut(files: Files, isZeroed: boolean): { readonly damaged: Files; readonly at: number } {
  const bytes = bytesOf(files, LOG);
  const at = recordsOf(files, LOG)[4]?.at ?? 0;
  const left = isZeroed ? Buffer.from(bytes).fill(0, at) : bytes.subarray(0, at);
  return { damaged: changed(files, LOG, left), at };
}

async function isDamage(files: Files, offset: number, bootId?: string): Promise<void> {
  await assert.rejects(start(files, bootId), { code: 'DATA_DAMAGED', offset });
}

describe('the log of a member that has stopped', () => {
  for (const isZeroed of [false, true]) {
    it(`is damaged if its last segment is ${isZeroed ? 'zeroed' : 'cut'} from a record on`, async () => {
      const { files } = await written('stop');
      const { damaged, at } = cut(files, isZeroed);
      for (const bootId of ['boot', 'other']) await isDamage(damaged, at, bootId);
      const source = storageOf(damaged);
      const findings: Finding[] = [];
      const work = repair(maintenance({ source }, findings));
      const { damages } = await until(work, pumping(source));
      assert.deepEqual([damages, findings[0]?.file, findings[0]?.offset], [1, LOG, at]);
    });
  }

  it('is intact after each of several starts that append to it', async () => {
    let { files, content } = await written('stop');
    for (let count = 0; count < 3; count++) {
      const { engine, ask, persistence, quiet, storage, recovered } = await start(
        files,
        `${count}`,
      );
      assert.deepEqual(contentOf(engine), content);
      assert.equal(recovered.tornBytes, 0);
      if (count > 0) ask.set('m', `more ${count}`, Buffer.from('v'));
      await quiet();
      await until(persistence.close(), quiet);
      [files, content] = [storage.files, contentOf(engine)];
    }
  });
});

describe('the log of a member that was killed', () => {
  it('is damaged, without a reboot, if it ends before a record written 100 ms ago', async () => {
    const { files } = await written(100);
    const { damaged, at } = cut(files, true);
    await isDamage(damaged, at);
    const { engine } = await start(damaged, 'other');
    assert.equal(contentOf(engine).length, 4, 'the readable records were not recovered');
  });

  it('is damaged, even after a reboot, if its last segment is shorter than it was created', async () => {
    const { files } = await written(0);
    const { damaged, at } = cut(files, false);
    for (const bootId of ['boot', 'other']) await isDamage(damaged, at, bootId);
  });

  it('has neither a record of its end nor a timer if nothing was written', async () => {
    const { clock, content, files } = await written(100);
    assert.equal(clock.timerCount, 0);
    assert.deepEqual(contentOf((await start(files)).engine), content);
  });

  it('is damaged if the record of its end in this boot cannot be read', async () => {
    const { files } = await written(100);
    await assert.rejects(start(changed(files, 'log-end', undefined)), { code: 'DATA_DAMAGED' });
    await assert.rejects(start(changed(files, 'log-end', Buffer.alloc(96))), {
      code: 'DATA_DAMAGED',
    });
    await start(changed(files, 'log-end', undefined), 'other');
  });
});

describe('a copy of the directory of a member that continues to write', () => {
  /**
   * Returns copies made while the member writes: first of the log, then of the record of its end.
   */
  async function copies(sync: SyncMode) {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const { ask, engine, quiet, pass } = await openPersistent(storage, { sync });
    const contents: (readonly string[])[] = [];
    const copied: Files[] = [];
    for (let key = 0; key < 6; key++) {
      const log = Buffer.from(storage.bytes(LOG));
      contents.push(contentOf(engine));
      for (let more = 0; more < 3; more++) {
        ask.set('m', `key ${key} ${more}`, Buffer.from('a value'));
        await quiet();
        await pass(700);
      }
      const files = [...storage.files];
      const now = new Map(files.map(([name, bytes]) => [name, Buffer.from(bytes)]));
      copied.push(changed(now, LOG, log));
    }
    return { copied, contents };
  }

  for (const sync of ['always', 'interval', 'never'] as const) {
    it(`with sync ${sync} starts with the data written before the copy, even after a reboot`, async () => {
      const { copied, contents } = await copies(sync);
      for (const [index, files] of copied.entries()) {
        for (const bootId of ['boot', 'other']) {
          const storage = storageOf(files, 1, bootId);
          storage.device = 2n;
          assert.deepEqual(await recoveredContent(storage), contents[index]);
        }
      }
    });
  }

  it('is damaged if it lacks data that was durable two minutes before', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const { ask, quiet, pass } = await openPersistent(storage, { sync: 'always' });
    const log = Buffer.from(storage.bytes(LOG));
    for (let minute = 0; minute < 5; minute++) {
      ask.set('m', `${minute}`, Buffer.from('a value'));
      await quiet();
      await pass(60_000);
    }
    const copy = storageOf(changed(storage.files, LOG, log), 1, 'boot');
    copy.device = 2n;
    await assert.rejects(openPersistent(copy), { code: 'DATA_DAMAGED' });
  });
});

describe('a file of the member that is missing', () => {
  for (const [name, work] of [
    ['forceStart', startEmpty],
    ['partialStart', startPartial],
  ] as const) {
    it(`is damage, and ${name} creates one with the defaults and reports the loss`, async () => {
      const { files, content } = await written('stop');
      const damaged = changed(files, 'member', undefined);
      await assert.rejects(start(damaged), { code: 'DATA_DAMAGED', file: 'member', offset: 0 });
      const storage = storageOf(damaged, 1, 'boot');
      const findings: Finding[] = [];
      await until(work(maintenance({ storage }, findings)), pumping(storage));
      const [{ file, what } = assert.fail()] = findings;
      assert.match(`${file} ${what}`, /^member is .*the license and the additions .* are lost/);
      const { engine, persistence } = await openPersistent(storage);
      assert.deepEqual(persistence.member.values, {});
      assert.deepEqual(contentOf(engine), name === 'forceStart' ? [] : content);
    });
  }
});
