/** Forced starts in memory: no file is deleted, at whichever call a start is interrupted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Finding } from '../../src/persistence/findings.ts';
import { startEmpty, startPartial } from '../../src/persistence/forced-start.ts';
import { parseSegmentName } from '../../src/persistence/segment.ts';
import type { MemoryStorage } from '../world/memory-storage.ts';
import {
  type Files,
  recordsOf,
  storageOf,
  wholeDirectory,
  withFlippedBit,
} from './damaged-directory.ts';
import { contentOf } from './stored-model.ts';
import {
  maintenance,
  openPersistent,
  pumping,
  recoveredContent,
  rejectionCode,
  until,
} from './subject.ts';

/** Step between the numbers of the calls that fail; the soak has a smaller one. */
const STEP = Number(process.env.SOAK_STEP ?? 7);

const { files, content, values } = await wholeDirectory();
const LOG = [...files.keys()].filter((name) => recordsOf(files, name).length > 0).sort()[0] ?? '';
const { at = 0 } = recordsOf(files, LOG)[0] ?? {};
const damaged = withFlippedBit(files, LOG, at * 8 + 100);

type Work = typeof startEmpty;

async function forced(work: Work, storage: MemoryStorage, findings: Finding[] = []) {
  return await until(work(maintenance({ storage }, findings)), pumping(storage));
}

/** Asserts that all old files exist, either in place or in the directory for old files. */
function assertKept(storage: MemoryStorage, old: Files): void {
  for (const [name, bytes] of old) {
    const isData = parseSegmentName(name) !== undefined && recordsOf(old, name).length > 0;
    if (!isData) continue;
    const places = [name, `damaged-1/${name}`, `damaged-2/${name}`];
    assert.ok(
      places.some((place) => bytesAt(storage, place)?.equals(bytes)),
      `${name} is gone`,
    );
  }
}

function bytesAt(storage: MemoryStorage, name: string): Buffer | undefined {
  return storage.existsNow(name) ? storage.bytes(name) : undefined;
}

describe('a forced start', () => {
  it('that is empty starts without data, keeps the file `member`, and moves the old files', async () => {
    const storage = storageOf(damaged);
    const { aside, records } = await forced(startEmpty, storage);
    assert.deepEqual([aside, records], ['damaged-1', 0]);
    assertKept(storage, damaged);
    const { engine, persistence } = await openPersistent(storage);
    assert.deepEqual(contentOf(engine), []);
    assert.equal(persistence.member.values.clusterState, 'FROZEN');
    for (const name of ['manifest', 'member', LOG]) {
      assert.deepEqual(bytesAt(storage, `damaged-1/${name}`), damaged.get(name), name);
    }
  });

  it('that is partial starts with every valid record, and reports the others', async () => {
    const storage = storageOf(damaged);
    const findings: Finding[] = [];
    await forced(startPartial, storage, findings);
    assert.deepEqual(
      findings.map(({ file, offset }) => [file, offset]),
      [[LOG, at]],
    );
    assertKept(storage, damaged);
    const { engine } = await openPersistent(storage);
    const found = contentOf(engine);
    assert.ok(found.length > 0 && found.every((each) => values.has(each)));
  });

  it('loses nothing from intact files', async () => {
    const storage = storageOf(files);
    await forced(startPartial, storage);
    const first = await openPersistent(storage);
    assert.deepEqual(contentOf(first.engine), content);
    await until(first.persistence.close(), first.quiet);
    await forced(startPartial, storage);
    const { engine, ask, persistence, quiet } = await openPersistent(storage);
    assert.deepEqual(contentOf(engine), content);
    ask.set('m', 'after', Buffer.from('v'));
    await quiet();
    await until(persistence.close(), quiet);
    const again = await openPersistent(storage);
    assert.equal(contentOf(again.engine).length, content.length + 1);
    assertKept(storage, files);
  });

  it('creates a new file `member` if it is damaged', async () => {
    const old = withFlippedBit(files, 'member', 300);
    const storage = storageOf(old);
    await assert.rejects(openPersistent(storage), { code: 'DATA_DAMAGED' });
    await until(storage.close(), async () => storage.pump());
    await forced(startPartial, storage);
    assert.deepEqual(bytesAt(storage, 'damaged-1/member'), old.get('member'));
    const { engine, persistence } = await openPersistent(storage);
    assert.deepEqual(contentOf(engine), content);
    assert.deepEqual(persistence.member.values, {});
  });

  for (const [name, work] of [
    ['empty', startEmpty],
    ['partial', startPartial],
  ] as const) {
    it(`that is ${name} and crashes at any call leaves the old files or the new data complete`, async () => {
      const wanted = storageOf(damaged);
      await forced(work, wanted);
      const target = await recoveredContent(wanted);
      const seen = { old: 0, new: 0 };
      for (let crashAt = 1, isDone = false; !isDone; crashAt += STEP) {
        const storage = storageOf(damaged, crashAt);
        storage.crashAt = crashAt;
        isDone = await storage.drive(work(maintenance({ storage })));
        storage.crashAt = Number.POSITIVE_INFINITY;
        const after =
          isDone || crashAt % 2 === 0 ? storage.afterKill() : storage.afterCrash('next');
        assertKept(after, damaged);
        const found = await recoveredContent(after).catch(
          (error: { readonly code: string }) => error.code,
        );
        assertKept(after, damaged);
        if (found === 'DATA_DAMAGED') {
          seen.old++;
          await until(after.close(), async () => after.pump());
          await forced(work, after);
          assertKept(after, damaged);
          assert.deepEqual(await recoveredContent(after), target, `crash at ${crashAt}`);
        } else {
          seen.new++;
          assert.deepEqual(found, target, `crash at ${crashAt}`);
        }
      }
      assert.ok(seen.old > 2 && seen.new > 2, JSON.stringify(seen));
    });

    it(`that is ${name} and fails at any call can be retried, and has deleted nothing`, async () => {
      for (let failAt = 1, isDone = false; !isDone; failAt += STEP) {
        const storage = storageOf(damaged, failAt);
        storage.failure = { at: failAt, code: 'ENOSPC', isLasting: failAt % 2 === 0 };
        const fault = await rejectionCode(forced(work, storage));
        assert.ok(fault === undefined || fault === 'ENOSPC', fault);
        isDone = fault === undefined && storage.calls.length < failAt;
        storage.failure = undefined;
        assertKept(storage, damaged);
        await forced(work, storage);
        assertKept(storage, damaged);
        await recoveredContent(storage);
      }
    });
  }
});
