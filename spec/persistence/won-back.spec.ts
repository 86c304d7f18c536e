/** A full disk with dead records: compaction frees their space, and no answered change is lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED, FOUND } from '../../src/engine/engine.ts';
import { LOG, parseSegmentName } from '../../src/persistence/segment.ts';
import { MemoryStorage } from './memory-storage.ts';
import { contentOf } from './stored-model.ts';
import type { PersistentSubject } from './subject.ts';
import { openPersistent, until } from './subject.ts';

const DISK_BYTES = 160_000;
const LOG_ONLY = { segmentBytes: 4096, snapshotBytesMin: Number.POSITIVE_INFINITY };
const VALUE_BYTES_MAX = 300;
/** Bytes of a record beside its key and value, at most. */
const RECORD_BYTES = 72;
const LIVE_SHARE = 0.7;
const PATIENCE_MS = 5000;
const ROUNDS = 4;

class Filled {
  readonly lengths = new Map<string, number>();
  readonly subject: PersistentSubject;
  readonly #random: Random;

  constructor(subject: PersistentSubject, random: Random) {
    this.subject = subject;
    this.#random = random;
  }

  get liveBytes(): number {
    let bytes = 0;
    for (const [key, length] of this.lengths) bytes += key.length + length + RECORD_BYTES;
    return bytes;
  }

  set(key: string, length: number): boolean {
    if (this.subject.ask.set('m', key, Buffer.alloc(length)).outcome !== APPLIED) return false;
    this.lengths.set(key, length);
    return true;
  }

  /** Overwrites keys until that is refused; temporary refusals are ignored. */
  async fill(keys: number): Promise<void> {
    for (let [count, refused] = [0, 0]; refused < 3 && count < 5000; count++) {
      const key = `key ${this.#random.below(keys)}`;
      if (this.set(key, this.#random.below(VALUE_BYTES_MAX))) refused = 0;
      else refused++;
      await this.pass(refused > 0 ? 50 : 0);
    }
  }

  /** Deletes until the live records leave room. No delete is refused. */
  async free(): Promise<void> {
    for (const key of [...this.lengths.keys()]) {
      if (this.liveBytes < DISK_BYTES * LIVE_SHARE) break;
      assert.equal(this.subject.ask.delete('m', key).outcome, APPLIED, 'a delete is taken');
      this.lengths.delete(key);
      await this.pass(0);
    }
  }

  /** Waits until a write is taken. Resolves with the time that it took, in ms. */
  async awaitRoom(): Promise<number> {
    for (let ms = 0; ; ms += 100) {
      const isTaken = this.set('probe', 100);
      await this.pass(0);
      if (isTaken) return ms;
      assert.ok(ms < PATIENCE_MS, `refused, with ${this.liveBytes} live: ${this.subject.told}`);
      await this.pass(100);
    }
  }

  async pass(ms: number): Promise<void> {
    this.subject.clock.advance(ms);
    await this.subject.quiet();
  }
}

async function segmentCount(storage: MemoryStorage): Promise<number> {
  const names = await until(storage.list(), async () => storage.pump());
  return names.filter((name) => parseSegmentName(name)?.kind === LOG).length;
}

describe('a full disk', () => {
  it('takes writes within 5 s once there is room, whatever was overwritten, also after a kill', async () => {
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const random = new Random(seed * 2654435761);
      let storage = new MemoryStorage(random, 'boot', DISK_BYTES);
      const options = { ...LOG_ONLY, sync: random.below(2) === 0 ? 'always' : 'never' } as const;
      let filled = new Filled(await openPersistent(storage, options), random);
      for (let cycle = 0; cycle < 2; cycle++) {
        await filled.fill(700 + random.below(400));
        if (random.below(2) === 0) {
          const wanted = contentOf(filled.subject.engine);
          storage = storage.afterKill();
          const next = new Filled(await openPersistent(storage, options), random);
          assert.deepEqual(contentOf(next.subject.engine), wanted, `seed ${seed}`);
          for (const [key, length] of filled.lengths) next.lengths.set(key, length);
          filled = next;
        }
        await filled.free();
        await filled.awaitRoom();
      }
      const wanted = contentOf(filled.subject.engine);
      assert.equal(wanted.length, filled.lengths.size);
      const { engine } = await openPersistent(storage.afterKill(), options);
      assert.deepEqual(contentOf(engine), wanted, `seed ${seed}`);
    }
  });

  it('has room for live values of 70 % of its size and more, when it is filled with new keys', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', DISK_BYTES);
    const options = { segmentBytes: 4096, snapshotBytesMin: 16_384 };
    const filled = new Filled(await openPersistent(storage, options), new Random(1));
    for (let key = 0; filled.set(`key ${key}`, 200); key++) await filled.pass(0);
    assert.ok(filled.liveBytes > DISK_BYTES * LIVE_SHARE, `${filled.liveBytes} bytes`);
  });

  it('keeps neither removals that end nothing, nor a segment for each that was emptied', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', DISK_BYTES);
    const filled = new Filled(await openPersistent(storage, LOG_ONLY), new Random(1));
    const { ask, engine } = filled.subject;
    filled.set('stays', 100);
    // Each round takes a part of the disk, and leaves no live record.
    for (let round = 0; round < 30; round++) {
      for (let each = 0; each < 40; each++) {
        assert.equal(ask.set('m', `key ${each}`, Buffer.alloc(150)).outcome, APPLIED);
        assert.equal(ask.offer('q', Buffer.alloc(150)).outcome, APPLIED);
        await filled.pass(0);
        assert.equal(ask.delete('m', `key ${each}`).outcome, APPLIED);
        assert.equal(ask.poll('q').outcome, FOUND);
        await filled.pass(0);
      }
      await filled.awaitRoom();
      await filled.pass(PATIENCE_MS);
    }
    assert.ok((await segmentCount(storage)) < DISK_BYTES / 4096, 'segments are merged');
    const { engine: next } = await openPersistent(storage.afterKill(), LOG_ONLY);
    assert.deepEqual(contentOf(next), contentOf(engine));
  });

  it('is compacted on a member that has no room to begin its log, which then takes writes', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', DISK_BYTES);
    const filled = new Filled(await openPersistent(storage, LOG_ONLY), new Random(1));
    await filled.fill(700);
    await filled.free();
    const full = storage.afterKill();
    full.bytesMax = full.usedBytes;
    const next = new Filled(await openPersistent(full, LOG_ONLY), new Random(1));
    for (const [key, length] of filled.lengths) next.lengths.set(key, length);
    await next.awaitRoom();
    assert.equal(contentOf(next.subject.engine).length, next.lengths.size);
  });
});
