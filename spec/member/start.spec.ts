/**
 * Covers src/persistence/persistence-part.ts and src/persistence/stale-data.ts. Starts on a disk that hangs,
 * or with segments that are obsolete.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { ViewedBytes } from '../../src/base/copy-bytes.ts';
import { SalvagedLog } from '../../src/persistence/salvaged-segments.ts';
import { recordsOf, storageOf, wholeDirectory } from '../persistence/damaged-directory.ts';
import { contentOf } from '../persistence/stored-model.ts';
import { openPersistent, until } from '../persistence/subject.ts';
import { storedMember } from '../stored-member.ts';
import { MemoryStorage } from '../world/memory-storage.ts';

describe('A start', () => {
  for (const [limit, setting] of [
    ['validationTimeoutSeconds', 'validation-timeout-seconds'],
    ['dataLoadTimeoutSeconds', 'data-load-timeout-seconds'],
  ] as const) {
    it(`ends when the disk hangs for longer than persistence.${setting}`, async () => {
      const storage = new MemoryStorage(new Random(1));
      const member = storedMember(storage, [{ key: limit, text: '7' }]);
      const { clock, persistence, begin, go } = member;
      if (limit === 'dataLoadTimeoutSeconds') await until(begin(), go);
      const starting = limit === 'dataLoadTimeoutSeconds' ? persistence.recover() : begin();
      const refused = assert.rejects(starting, (error: Error & { readonly code: string }) => {
        assert.equal(error.code, 'DATA_TIMEOUT');
        assert.match(error.message, new RegExp(`takes longer than persistence\\.${setting}, 7 s$`));
        return true;
      });
      clock.advance(6999);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1);
      await refused;
      assert.equal(clock.timerCount, 0);
    });
  }

  it('removes obsolete segments, or sets them aside', async () => {
    const { files, content } = await wholeDirectory();
    const [name = ''] = [...files.keys()]
      .filter((each) => recordsOf(files, each).length > 0)
      .sort();
    const stale = 'log-0000000001';
    assert.ok(!files.has(stale));
    for (const keepsStaleData of [false, true]) {
      const storage = storageOf(files);
      const page = new ViewedBytes(1024);
      files.get(name)?.copy(page.bytes);
      const log = new SalvagedLog({ storage, suffix: '' }, 1);
      const end = recordsOf(files, name)[1]?.at ?? 0;
      const adding = log.add(page, end).then(() => log.end());
      await until(adding, async () => storage.pump());
      const { engine } = await openPersistent(storage, { keepsStaleData });
      assert.deepEqual(contentOf(engine), content);
      const remaining = storage.files;
      assert.ok(!remaining.has(stale));
      const aside = () => storage.bytes(`stale-1/${stale}`);
      if (keepsStaleData) assert.ok(aside().length > 0);
      else assert.throws(aside, { code: 'ENOENT' });
    }
  });
});
