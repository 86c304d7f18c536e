/** Starts that find a disk that hangs, or data that counts no more. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../bench/harness.ts';
import { License } from '../src/cluster/license.ts';
import { StandaloneCluster } from '../src/cluster/standalone.ts';
import { resolveConfig } from '../src/config/config.ts';
import { EmbeddedEngine } from '../src/engine/embedded/engine.ts';
import { MemberPersistence } from '../src/member-persistence.ts';
import { Page } from '../src/persistence/record-codec.ts';
import { SalvagedLog } from '../src/persistence/salvaged-segments.ts';
import { createLog } from '../src/telemetry/log.ts';
import { FakeClock } from './fake-clock.ts';
import { createTestServer } from './http/test-server.ts';
import { filesOf, recordsOf, storageOf, wholeDirectory } from './persistence/damaged-directory.ts';
import { MemoryStorage } from './persistence/memory-storage.ts';
import { contentOf } from './persistence/stored-model.ts';
import { openPersistent, until } from './persistence/subject.ts';

const SOURCE = { kind: 'file', name: 'f:1:1' } as const;

describe('a start', () => {
  for (const [limit, setting] of [
    ['validationTimeoutSeconds', 'validation-timeout-seconds'],
    ['dataLoadTimeoutSeconds', 'data-load-timeout-seconds'],
  ] as const) {
    it(`ends when the disk hangs for longer than persistence.${setting}`, async () => {
      const clock = new FakeClock();
      const storage = new MemoryStorage(new Random(1));
      const cluster = new StandaloneCluster('1.2.3');
      const log = createLog('INFO', { write: () => {} });
      const config = resolveConfig([{ key: limit, text: '7', source: SOURCE }]);
      const persistence = new MemberPersistence(config, clock, cluster, log, storage);
      const license = new License((keyHash) => persistence.saveLicense(keyHash));
      const { server } = createTestServer({}, { clock });
      const engine = new EmbeddedEngine({
        ...{ partitionCount: 271, clock, sinks: [persistence.sink] },
        queueCapacity: () => Number.POSITIVE_INFINITY,
      });
      const go = async (): Promise<void> => {
        storage.pump();
        await new Promise((resolve) => setImmediate(resolve));
      };
      if (limit === 'dataLoadTimeoutSeconds') await until(persistence.begin(license), go);
      const starting =
        limit === 'dataLoadTimeoutSeconds'
          ? persistence.open(engine, server)
          : persistence.begin(license);
      const refused = assert.rejects(starting, (error: Error & { readonly code: string }) => {
        assert.equal(error.code, 'DATA_TIMEOUT');
        assert.match(error.message, new RegExp(`within 7 s, persistence\\.${setting}$`));
        return true;
      });
      clock.advance(6999);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1);
      await refused;
      assert.equal(clock.timerCount, 0);
    });
  }

  it('removes segments that count no more, or moves them aside', async () => {
    const { files, content } = await wholeDirectory();
    const [name = ''] = [...files.keys()]
      .filter((each) => recordsOf(files, each).length > 0)
      .sort();
    const stale = 'log-0000000001';
    assert.ok(!files.has(stale));
    for (const keepsStaleData of [false, true]) {
      const storage = storageOf(files);
      const page = new Page(1024);
      files.get(name)?.copy(page.bytes);
      const log = new SalvagedLog({ storage, suffix: '' }, 1);
      const end = recordsOf(files, name)[1]?.at ?? 0;
      await until(log.add(page, end), async () => storage.pump());
      const { engine } = await openPersistent(storage, { keepsStaleData });
      assert.deepEqual(contentOf(engine), content);
      const left = await filesOf(storage);
      assert.ok(!left.has(stale));
      const aside = () => storage.bytes(`stale-1/${stale}`);
      if (keepsStaleData) assert.ok(aside().length > 0);
      else assert.throws(aside, { code: 'ENOENT' });
    }
  });
});
