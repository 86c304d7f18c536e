/**
 * Covers src/wan/persistent-publisher-queue.ts and src/persistence/queue-restore.ts. The queues of
 * publishers across restarts of a source with persistence, case by case.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED } from '../../src/engine/engine.ts';
import type { Finding } from '../../src/persistence/findings.ts';
import { startEmpty, startPartial } from '../../src/persistence/forced-start.ts';
import { repair } from '../../src/persistence/repair.ts';
import type { WanPublisherOptions } from '../../src/wan/wan-config.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import { maintenance, until } from '../persistence/subject.ts';
import { scraped } from '../telemetry/scraped.ts';
import { MemoryStorage, systemError } from '../world/memory-storage.ts';
import { durableMember, endpoint, Network, OPTIONS } from './members.ts';
import { PersistentSource } from './persistent-source.ts';

const MARKS = 'wan-marks';
const UNSYNCED_MARKS = 'wan-marks-unsynced';
const VALUE = Buffer.alloc(100);

type Options = Partial<WanPublisherOptions> & {
  readonly snapshotBytesMin?: number;
  readonly segmentBytes?: number;
  readonly keepsTombstones?: boolean;
};

/** A source and its target, which is down at first. */
class Pair {
  readonly network = new Network();
  readonly target = durableMember(this.network, 'target');
  storage = new MemoryStorage(new Random(1), 'boot');

  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.storage.bytesMax = bytesMax;
    this.target.isDown = true;
  }

  async start(options: Options = {}): Promise<PersistentSource> {
    const { snapshotBytesMin = Number.POSITIVE_INFINITY, segmentBytes = 4096, ...more } = options;
    const { keepsTombstones = true, ...own } = more;
    const { network, storage } = this;
    const publishers = [{ ...OPTIONS, targetEndpoints: [endpoint('target')], ...own }];
    const source = new PersistentSource({
      network,
      storage,
      sync: 'interval',
      publishers,
      snapshotBytesMin,
      segmentBytes,
      keepsTombstones,
    });
    assert.ok(await source.open());
    return source;
  }

  /** Calls `onRename` before each file gets its name. */
  watchRenames(onRename: (to: string) => void): void {
    const { storage } = this;
    const rename = storage.rename.bind(storage);
    storage.rename = (from, to) => {
      onRename(to);
      return rename(from, to);
    };
  }

  /** Rejects the creation of every file of marks. Returns a function that ends that. */
  failMarks(error: Error): () => void {
    const { storage } = this;
    const create = storage.create.bind(storage);
    storage.create = (name) => (name.startsWith(MARKS) ? Promise.reject(error) : create(name));
    return () => {
      storage.create = create;
    };
  }

  /** Lets the time pass until nothing waits, to the millisecond. */
  async drained(source: PersistentSource): Promise<void> {
    for (let ms = 0; source.status.queueSize > 0; ms++) {
      assert.ok(ms < 300);
      await this.pass(1, 1);
    }
  }

  /** Starts again after an end of only the process. */
  async restart(source: PersistentSource, options: Options = {}): Promise<PersistentSource> {
    source.member.end();
    this.storage = this.storage.afterKill();
    return await this.start(options);
  }

  async pass(ms: number, stepMs = 10): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.network.clock.advance(stepMs);
      do await this.network.settle();
      while (this.storage.pump());
      await this.network.settle();
    }
  }

  async sent(source: PersistentSource): Promise<string[]> {
    this.target.isDown = false;
    source.control.resume();
    await this.pass(4000, 50);
    assert.equal(source.status.queueSize, 0);
    return this.target.places;
  }

  async until<Value>(promise: Promise<Value>): Promise<Value> {
    return await until(promise, async () => {
      this.storage.pump();
      await this.network.settle();
    });
  }
}

async function started(options: Options = {}) {
  const pair = new Pair();
  return { pair, first: await pair.start(options) };
}

function set({ member }: PersistentSource, ...keys: readonly string[]): void {
  for (const key of keys) new AtOnce(member.engine).set('map', key, VALUE);
}

const places = (...keys: readonly string[]) => keys.map((key) => `map/${key}`).sort();

describe('a publisher of a source with persistence', () => {
  for (const initialPublisherState of ['PAUSED', 'STOPPED'] as const) {
    it(`recovers its waiting events, also if it begins ${initialPublisherState}`, async () => {
      const { pair, first } = await started();
      set(first, 'a', 'b', 'c');
      new AtOnce(first.member.engine).delete('map', 'b');
      await pair.pass(50);
      const again = await pair.restart(first, { initialPublisherState });
      assert.equal(again.status.queueSize, 4);
      await pair.pass(100);
      assert.ok(again.status.lagMillis >= 140, `${again.status.lagMillis}`);
      const labels = 'replication="r",publisher="p"';
      const series = scraped((to) => again.replications.figures(to));
      assert.equal(series[`gridnode_wan_queued_events{${labels}}`], 4);
      const lagSeconds = again.status.lagMillis / 1000;
      assert.equal(series[`gridnode_wan_lag_seconds{${labels}}`], lagSeconds);
      assert.equal(series[`gridnode_wan_state{${labels},state="${initialPublisherState}"}`], 1);
      pair.target.isDown = false;
      await pair.pass(500);
      assert.deepEqual(pair.target.places, []);
      assert.deepEqual(await pair.sent(again), places('a', 'c'));
    });
  }

  it('recovers no acknowledged event once the marks are written', async () => {
    const { pair, first } = await started();
    pair.target.isDown = false;
    set(first, 'a', 'b');
    await pair.drained(first);
    const early = await pair.restart(first, { initialPublisherState: 'PAUSED' });
    assert.equal(early.status.queueSize, 2);
    assert.deepEqual(await pair.sent(early), places('a', 'b'));
    const late = await pair.restart(early);
    assert.equal(late.status.queueSize, 0);
  });

  for (const [why, options, queued] of [
    ['it was stopped', { initialPublisherState: 'STOPPED' }, 0],
    ['its queue was full', { queueCapacity: 1 }, 1],
  ] as const) {
    it(`recovers no change that it dropped because ${why}, once the marks are written`, async () => {
      const { pair, first } = await started(options);
      set(first, 'a', 'b', 'c');
      assert.equal(first.status.queueSize, queued);
      await pair.pass(2000);
      const again = await pair.restart(first, { initialPublisherState: 'PAUSED' });
      assert.equal(again.status.queueSize, queued);
    });
  }

  it('is marked as empty within 50 ms, so that a kill repeats nothing, without a sync', async () => {
    const { pair, first } = await started();
    pair.target.isDown = false;
    const writes: string[] = [];
    pair.watchRenames((to) => {
      if (to.startsWith(MARKS)) writes.push(to);
    });
    for (const key of ['a', 'b', 'c']) {
      set(first, key);
      await pair.drained(first);
      await pair.pass(55, 1);
      assert.equal(writes.at(-1), UNSYNCED_MARKS);
    }
    assert.ok(writes.length <= 7, writes.join());
    const again = await pair.restart(first, { initialPublisherState: 'PAUSED' });
    assert.equal(again.status.queueSize, 0);
    assert.equal(pair.storage.has(UNSYNCED_MARKS), false);
  });

  it('is not marked without a sync if a later change has replaced a marked one', async () => {
    const { pair, first } = await started({ snapshotEnabled: true });
    set(first, 'a', 'b', 'a');
    await pair.pass(300, 1);
    assert.equal(pair.storage.has(UNSYNCED_MARKS), false);
    pair.target.isDown = false;
    await pair.pass(5000);
    assert.equal(first.status.queueSize, 0);
    assert.equal(pair.storage.has(UNSYNCED_MARKS), true);
  });

  for (const damage of ['empty', 'cut', 'flipped'] as const) {
    it(`uses the synced marks if the unsynced file is ${damage}`, async () => {
      const { pair, first } = await started();
      pair.target.isDown = false;
      set(first, 'a');
      await pair.pass(3000);
      set(first, 'b');
      await pair.pass(200);
      assert.equal(first.status.queueSize, 0);
      const file = await pair.until(pair.storage.open(UNSYNCED_MARKS));
      const bytes = Buffer.alloc(file.length);
      await pair.until(file.read(bytes, 0));
      if (damage === 'flipped') bytes[30]! ^= 1;
      await pair.until(file.truncate(damage === 'empty' ? 0 : bytes.length - 8));
      if (damage === 'flipped') await pair.until(file.write(bytes, 0, bytes.length, 0));
      await pair.until(file.close());
      const again = await pair.restart(first, { initialPublisherState: 'PAUSED' });
      assert.equal(again.status.queueSize, 1);
      assert.ok(!again.log.lines.includes('marks lost'));
    });
  }

  it('begins empty if it is new, and is persisted from then on', async () => {
    const { pair, first } = await started();
    set(first, 'a');
    const other = await pair.restart(first, { publisherId: 'other' });
    assert.equal(other.replications.publishers()[0]?.queueSize, 0);
    set(other, 'b');
    await pair.pass(20);
    const again = await pair.restart(other, { publisherId: 'other' });
    assert.equal(again.replications.publishers()[0]?.queueSize, 1);
    // The first target was unreachable and starts empty.
    const back = await pair.restart(again);
    assert.equal(back.status.queueSize, 0);
  });

  it('recovers a clear after the sets before it, and before those after it', async () => {
    const { pair, first } = await started();
    const keys = Array.from({ length: 20 }, (_, index) => `key${index}`);
    set(first, ...keys);
    new AtOnce(first.member.engine).clear('map');
    set(first, 'after');
    await pair.pass(20);
    const again = await pair.restart(first);
    assert.equal(again.status.queueSize, 22);
    assert.deepEqual(await pair.sent(again), places('after'));
  });

  it('may exceed its capacity after a recovery, and is full until it has less', async () => {
    const { pair, first } = await started({ queueCapacity: 5 });
    const keys = Array.from({ length: 12 }, (_, index) => `key${index}`);
    set(first, ...keys);
    assert.deepEqual([first.status.queueSize, first.status.eventsDropped], [5, 7]);
    await pair.pass(20);
    const again = await pair.restart(first, { queueCapacity: 5 });
    assert.deepEqual([again.status.queueSize, again.status.eventsDropped], [12, 0]);
    set(again, 'more');
    assert.deepEqual([again.status.queueSize, again.status.eventsDropped], [12, 1]);
    assert.deepEqual(await pair.sent(again), places(...keys));
  });

  it('drops the newest events if they still exceed the bytes', async () => {
    const pair = new Pair();
    const long = Buffer.alloc(2 ** 20);
    const options = { queueBytesMax: 2 ** 20, segmentBytes: 2 ** 22 };
    const first = await pair.start(options);
    for (let index = 0; index < 80; index++) {
      new AtOnce(first.member.engine).set('map', `key${index}`, long);
      // Before marks that count dropped changes are written.
      if (index % 2 === 0) await pair.pass(1, 1);
    }
    const again = await pair.restart(first, options);
    const { queueSize, eventsDropped, queueBytes } = again.status;
    assert.equal(queueSize + eventsDropped, 80);
    assert.ok(queueSize >= 60 && queueBytes <= 65 * 2 ** 20, `${queueSize}, ${queueBytes}`);
  });

  it('remains empty if its queue was cleared and the marks were written', async () => {
    const { pair, first } = await started();
    set(first, 'a', 'b');
    await pair.pass(20);
    first.control.clear();
    await pair.until(first.member.persistence.storeMarks());
    const again = await pair.restart(first);
    assert.equal(again.status.queueSize, 0);
    assert.deepEqual(await pair.sent(again), []);
  });

  it('is cleared if that can be stored, otherwise unchanged', async () => {
    const { pair, first } = await started();
    set(first, 'a', 'b');
    await pair.pass(20);
    const endFailure = pair.failMarks(new Error('the disk is full'));
    const queue = first.control.persistentQueue;
    const refused = first.member.persistence.clearQueue(queue).then(
      () => 'cleared',
      (error: Error) => error.message,
    );
    assert.match(await pair.until(refused), /the disk is full/);
    assert.equal(first.status.queueSize, 2);
    endFailure();
    const cleared = first.member.persistence.clearQueue(queue);
    assert.equal(first.status.queueSize, 2);
    await pair.until(cleared);
    assert.equal(first.status.queueSize, 0);
    const again = await pair.restart(first);
    assert.equal(again.status.queueSize, 0);
    assert.deepEqual(await pair.sent(again), []);
  });

  it('retains events that are queued while it is being cleared', async () => {
    for (const snapshotEnabled of [false, true]) {
      const { pair, first } = await started({ snapshotEnabled });
      set(first, 'a', 'b', 'c');
      await pair.pass(20);
      let writes = 0;
      pair.watchRenames((to) => {
        // The second write of a clear contains the marks without the waiting changes.
        if (to === MARKS && ++writes === 2) set(first, 'b', 'd');
      });
      await pair.until(first.member.persistence.clearQueue(first.control.persistentQueue));
      assert.ok(writes >= 2);
      assert.equal(first.status.queueSize, 2);
      const again = await pair.restart(first, { snapshotEnabled });
      assert.deepEqual(await pair.sent(again), places('b', 'd'));
    }
  });

  it('writes marks once a second while they change, and sets no timer otherwise', async () => {
    const { pair, first } = await started();
    pair.target.isDown = false;
    let writes = 0;
    pair.watchRenames((to) => {
      if (to === MARKS) writes++;
    });
    for (let round = 0; round < 30; round++) {
      set(first, `key${round}`);
      await pair.pass(100);
    }
    assert.ok(writes >= 2 && writes <= 3, `${writes}`);
    await pair.pass(3000);
    const before = writes;
    await pair.pass(5000);
    assert.equal(writes, before);
  });

  it('continues with older marks if new ones cannot be written', async () => {
    const { pair, first } = await started();
    pair.target.isDown = false;
    pair.failMarks(systemError('ENOSPC'));
    set(first, 'a');
    await pair.pass(5000, 100);
    assert.deepEqual(
      first.log.lines.filter((line) => line === 'marks failed'),
      ['marks failed'],
    );
    await assert.rejects(pair.until(first.member.persistence.storeMarks()), { code: 'ENOSPC' });
    const again = await pair.restart(first, { initialPublisherState: 'PAUSED' });
    assert.equal(again.status.queueSize, 1);
  });
});

describe('a snapshot', () => {
  const options = { snapshotBytesMin: 16_384 };
  const waitingOf = (storage: MemoryStorage) =>
    Array.from({ length: 100 }, (_, number) => `wan-${String(number).padStart(10, '0')}`).filter(
      (name) => storage.has(name),
    );

  async function filled(): Promise<{ pair: Pair; source: PersistentSource; keys: string[] }> {
    const pair = new Pair();
    const source = await pair.start(options);
    const keys: string[] = [];
    // The file is written before the snapshot is in effect.
    while (source.member.snapshotCount === 0) {
      assert.ok(keys.length < 2000);
      for (let count = 0; count < 10; count++) keys.push(`key${keys.length}`);
      set(source, ...keys.slice(-10));
      await pair.pass(10);
    }
    return { pair, source, keys };
  }

  it('stores the waiting events of the log that it replaces', async () => {
    const { pair, source, keys } = await filled();
    const again = await pair.restart(source, options);
    assert.equal(again.status.queueSize, keys.length);
    assert.deepEqual(await pair.sent(again), places(...keys));
  });

  it('removes the file of the previous one, and writes none if nothing waits', async () => {
    const { pair, source, keys } = await filled();
    const [first] = waitingOf(pair.storage);
    await pair.sent(source);
    for (let round = 0; round < 400 && waitingOf(pair.storage).includes(first!); round++) {
      // Changes of this map are not sent.
      new AtOnce(source.member.engine).set('own', `key${round % 9}`, VALUE);
      await pair.pass(20);
    }
    assert.deepEqual(waitingOf(pair.storage), []);
    const again = await pair.restart(source, options);
    assert.equal(again.status.queueSize, 0);
    assert.deepEqual(pair.target.places, places(...keys));
  });

  it('is not recovered without its file or with a damaged one; repair reports it', async () => {
    const { pair, source } = await filled();
    const [name] = waitingOf(pair.storage);
    const whole = Buffer.from(pair.storage.bytes(name!));
    const damaged = Buffer.from(whole);
    damaged[whole.length >> 1]! ^= 1;
    for (const content of [undefined, damaged]) {
      source.member.end();
      pair.storage = pair.storage.afterKill();
      pair.storage.put(name!, content);
      await assert.rejects(pair.start(options), { code: 'DATA_DAMAGED' });
      const findings: Finding[] = [];
      await pair.until(repair(maintenance({ source: pair.storage }, findings)));
      const what = 'is damaged or missing: it contains unsent changes of WAN publishers';
      assert.deepEqual(
        findings.map((each) => [each.file, each.what]),
        [[name, what]],
      );
    }
  });

  it('is not used by a forced start: queues begin empty, and the old files remain', async () => {
    for (const start of [startEmpty, startPartial]) {
      const { pair, source } = await filled();
      const [name] = waitingOf(pair.storage);
      source.member.end();
      pair.storage = pair.storage.afterKill();
      const { storage } = pair;
      await pair.until(start(maintenance({ storage })));
      assert.ok(storage.has(`damaged-1/${name}`) && storage.has(`damaged-1/${MARKS}`));
      const again = await pair.start(options);
      assert.equal(again.status.queueSize, 0);
      set(again, 'new');
      await pair.pass(20);
      const last = await pair.restart(again, options);
      assert.equal(last.status.queueSize, 1);
    }
  });
});

describe('a full disk', () => {
  const options = { keepsTombstones: false, initialPublisherState: 'PAUSED' } as const;

  it('retains waiting removals, and values that expired before they were sent', async () => {
    const pair = new Pair(120_000);
    const source = await pair.start(options);
    const ask = new AtOnce(source.member.engine);
    set(source, 'deleted', 'ended', 'stays');
    ask.set('cleared', 'key', VALUE);
    assert.deepEqual((await pair.sent(source)).length, 4);
    pair.target.isDown = true;
    source.control.pause();
    ask.delete('map', 'deleted');
    ask.set('map', 'ended', VALUE, '', { timeToLiveMs: 100, maxIdleSeconds: 0 });
    ask.clear('cleared');
    await pair.pass(200);
    let compacted = 0;
    for (let round = 0; round < 3000 && compacted < 3; round++) {
      const { outcome } = ask.set('own', `key${round % 9}`, VALUE);
      if (outcome !== APPLIED) compacted++;
      await pair.pass(outcome === APPLIED ? 0 : 3000, 100);
    }
    assert.equal(compacted, 3);
    const again = await pair.restart(source, options);
    assert.equal(again.status.queueSize, 3);
    assert.deepEqual(await pair.sent(again), places('stays'));
  });
});

describe('damaged or missing marks', () => {
  it('allow the member to start: everything in the log is sent again', async () => {
    for (const damage of ['missing', 'changed'] as const) {
      const { pair, first } = await started();
      pair.target.isDown = false;
      set(first, 'a', 'b');
      await pair.pass(3000);
      first.member.end();
      pair.storage = pair.storage.afterKill();
      const bytes = Buffer.from(pair.storage.bytes(MARKS));
      bytes[bytes.length - 1]! ^= 1;
      pair.storage.put(MARKS, damage === 'missing' ? undefined : bytes);
      const again = await pair.start({ initialPublisherState: 'PAUSED' });
      assert.deepEqual(again.log.lines, ['marks lost']);
      assert.equal(again.status.queueSize, 2);
      const last = await pair.restart(again);
      assert.ok(!last.log.lines.includes('marks lost'));
    }
  });
});
