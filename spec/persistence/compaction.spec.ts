/** A full disk with dead records: compaction frees their space, and no confirmed change is lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED, FOUND } from '../../src/engine/engine.ts';
import { MANIFEST } from '../../src/persistence/manifest.ts';
import { RESERVE } from '../../src/persistence/reserve.ts';
import { LOG, parseSegmentName, SNAPSHOT, segmentName } from '../../src/persistence/segment.ts';
import type { StoredFile } from '../../src/persistence/storage.ts';
import { MemoryStorage, systemError } from '../world/memory-storage.ts';
import { contentOf } from './stored-model.ts';
import {
  openPersistent,
  type PersistentOptions,
  type PersistentSubject,
  recoveredContent,
  until,
} from './subject.ts';

const DISK_BYTES = 160_000;
const LOG_ONLY = { segmentBytes: 4096, snapshotBytesMin: Number.POSITIVE_INFINITY };
const VALUE_BYTES_MAX = 300;
/** Length of a value of which three fit into a segment, in bytes. */
const LONG = 1200;
/** Maximum length of a record without its key and value, in bytes. */
const RECORD_BYTES = 72;
const LIVE_SHARE = 0.7;
const PATIENCE_MS = 5000;
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 2);

class Filled {
  readonly lengths: Map<string, number>;
  readonly subject: PersistentSubject;
  readonly #random: Random;

  /** `before` is the member that was killed. */
  constructor(subject: PersistentSubject, random: Random, before?: Filled) {
    this.subject = subject;
    this.#random = random;
    this.lengths = new Map(before?.lengths);
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

  /** Overwrites keys until writes are refused repeatedly; temporary refusals are ignored. */
  async fill(keys: number): Promise<void> {
    let refused = 0;
    for (let count = 0; refused < 3 && count < 5000; count++) {
      const key = `key ${this.#random.below(keys)}`;
      if (this.set(key, this.#random.below(VALUE_BYTES_MAX))) refused = 0;
      else refused++;
      if (refused > 0 || count % 6 === 0) await this.pass(refused > 0 ? 50 : 0);
    }
  }

  /** Deletes until the live records leave enough space. No delete is refused. */
  async free(): Promise<void> {
    for (const [index, key] of [...this.lengths.keys()].entries()) {
      if (this.liveBytes < DISK_BYTES * LIVE_SHARE) break;
      this.delete(key);
      if (index % 3 === 0) await this.pass(0);
    }
  }

  /** Waits until a write is accepted. */
  async awaitRoom(): Promise<void> {
    for (let ms = 0; ; ms += 100) {
      const isTaken = this.set('probe', 100);
      await this.pass(0);
      if (isTaken) return;
      assert.ok(ms < PATIENCE_MS, `refused, with ${this.liveBytes} live: ${this.subject.events}`);
      await this.pass(100);
    }
  }

  delete(key: string): void {
    assert.equal(this.subject.ask.delete('m', key).outcome, APPLIED, 'a delete is accepted');
    this.lengths.delete(key);
  }

  /** Fills the disk with segments of three records each, one of them dead. */
  async fillEvenly(): Promise<void> {
    let keys = 0;
    for (; this.set(`key ${keys}`, LONG); keys++) await this.pass(0);
    for (let key = 1; key < keys; key += 3) this.delete(`key ${key}`);
    this.subject.clock.endTurn();
  }

  /**
   * Deletes random keys in one turn until only this share of the disk is live, or until a delete is
   * refused.
   */
  freeAtOnce(share: number): void {
    const keys = [...this.lengths.keys()];
    while (this.liveBytes > DISK_BYTES * share) {
      const [key = ''] = keys.splice(this.#random.below(keys.length), 1);
      if (this.subject.ask.delete('m', key).outcome !== APPLIED) break;
      this.lengths.delete(key);
    }
    this.subject.clock.endTurn();
  }

  /** Advances the time, and completes this many calls of the work that is due by then. */
  async work(storage: MemoryStorage, calls: number, ms = 1000): Promise<void> {
    const { clock } = this.subject;
    clock.advance(ms);
    for (let count = 0; count < calls; count++) {
      clock.endTurn();
      storage.pump();
      await new Promise((resolve) => setImmediate(resolve));
    }
    clock.endTurn();
  }

  /**
   * Returns the storage after a kill, with only this much space beside the files that the next
   * start retains.
   */
  async killFull(storage: MemoryStorage, freeBytes: number): Promise<MemoryStorage> {
    const { segment } = this.subject.persistence.log;
    const killed = storage.afterKill();
    const last = segmentName({ kind: LOG, number: segment, part: 0 });
    for (const name of await segmentNames(killed)) if (name > last) killed.put(name, undefined);
    killed.bytesMax = killed.usedBytes + freeBytes;
    return killed;
  }

  pass(ms: number): Promise<void> {
    return this.subject.pass(ms);
  }
}

async function emptyDisk(options: PersistentOptions = LOG_ONLY) {
  const storage = new MemoryStorage(new Random(1), 'boot', DISK_BYTES);
  return { storage, filled: new Filled(await openPersistent(storage, options), new Random(1)) };
}

async function segmentNames(
  storage: MemoryStorage,
  kind: number = LOG,
): Promise<readonly string[]> {
  const names = await until(storage.list(), async () => storage.pump());
  return names.filter((name) => parseSegmentName(name)?.kind === kind);
}

describe('a full disk', () => {
  it('accepts writes within 5 s once there is room, whatever was overwritten, even after a kill', async () => {
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const random = new Random(seed * 2654435761);
      let storage = new MemoryStorage(random, 'boot', DISK_BYTES);
      const options = { ...LOG_ONLY, sync: random.below(2) === 0 ? 'always' : 'never' } as const;
      let filled = new Filled(await openPersistent(storage, options), random);
      for (let cycle = 0; cycle < 2; cycle++) {
        await filled.fill(700 + random.below(400));
        if (random.below(2) === 0) {
          await filled.work(storage, random.below(100));
          const wanted = contentOf(filled.subject.engine);
          storage = storage.afterKill();
          filled = new Filled(await openPersistent(storage, options), random, filled);
          assert.deepEqual(contentOf(filled.subject.engine), wanted, `seed ${seed}`);
        }
        await filled.free();
        await filled.awaitRoom();
      }
      const wanted = contentOf(filled.subject.engine);
      assert.equal(wanted.length, filled.lengths.size);
      assert.deepEqual(
        await recoveredContent(storage.afterKill(), options),
        wanted,
        `seed ${seed}`,
      );
    }
  });

  it('has room for live values of 70 % of its size and more, when it is filled with new keys', async () => {
    const { filled } = await emptyDisk({ segmentBytes: 4096, snapshotBytesMin: 16_384 });
    for (let key = 0; filled.set(`key ${key}`, 200); key++) await filled.pass(0);
    assert.ok(filled.liveBytes > DISK_BYTES * LIVE_SHARE, `${filled.liveBytes} bytes`);
  });

  it('retains neither removals that remove nothing, nor a segment for each one that was emptied', async () => {
    const { storage, filled } = await emptyDisk();
    const { ask, engine } = filled.subject;
    filled.set('stays', 100);
    // Each round uses a part of the disk, and leaves no live record.
    for (let round = 0; round < 30; round++) {
      for (let each = 0; each < 40; each++) {
        assert.equal(ask.set('m', `key ${each}`, Buffer.alloc(150)).outcome, APPLIED);
        assert.equal(ask.offer('q', Buffer.alloc(150)).outcome, APPLIED);
        assert.equal(ask.delete('m', `key ${each}`).outcome, APPLIED);
        assert.equal(ask.poll('q').outcome, FOUND);
        await filled.pass(0);
      }
      await filled.awaitRoom();
      await filled.pass(PATIENCE_MS);
    }
    assert.ok((await segmentNames(storage)).length < DISK_BYTES / 4096, 'segments were not merged');
    const { engine: next } = await openPersistent(storage.afterKill(), LOG_ONLY);
    assert.deepEqual(contentOf(next), contentOf(engine));
  });

  it('gives its space to the reserve before the log, if a kill has left compaction without one', async () => {
    const { storage, filled } = await emptyDisk();
    for (let key = 0; filled.set(`key ${key}`, 200); key++) await filled.pass(0);
    filled.freeAtOnce(LIVE_SHARE);
    storage.put(RESERVE, undefined);
    const killed = await filled.killFull(storage, LOG_ONLY.segmentBytes);
    const next = new Filled(await openPersistent(killed, LOG_ONLY), new Random(1), filled);
    assert.equal(killed.bytes(RESERVE).length, LOG_ONLY.segmentBytes);
    await next.awaitRoom();
  });

  it('creates no segment from space that compaction frees until the reserve is complete again', async () => {
    const { storage, filled } = await emptyDisk();
    await filled.fillEvenly();
    let more = 0;
    for (let count = 0; count < 1000; count++) {
      await filled.work(storage, 1, 20);
      if (storage.has(RESERVE)) continue;
      // Writes use all the space they get while a segment is rewritten in the space of the reserve.
      const { usedBytes } = storage;
      while (more < 20 && filled.set(`more ${more}`, LONG)) more++;
      assert.equal(storage.usedBytes, usedBytes, 'a file was created');
    }
    assert.ok(more > 0, 'no write while the reserve was in use');
    await filled.pass(0);
    assert.equal(storage.bytes(RESERVE).length, LOG_ONLY.segmentBytes);
  });

  it('gives prepared segments to the reserve if another program has used its space', async () => {
    const { storage, filled } = await emptyDisk();
    await filled.fillEvenly();
    for (let count = 0; count < 1000; count++) {
      await filled.work(storage, 1, 20);
      if (!storage.has(RESERVE)) storage.bytesMax = Math.min(storage.bytesMax, storage.usedBytes);
    }
    assert.ok(storage.bytesMax < DISK_BYTES, 'the space of the reserve was not used');
    await filled.awaitRoom();
    assert.equal(storage.bytes(RESERVE).length, LOG_ONLY.segmentBytes);
  });

  it('is compacted up to a damaged segment, where the pass ends', async () => {
    const { storage, filled } = await emptyDisk();
    await filled.fillEvenly();
    for (const name of await segmentNames(storage)) storage.bytes(name)[2000]! ^= 1;
    for (let seconds = 0; seconds < 10; seconds++) await filled.work(storage, 100);
    await new Promise((resolve) => setImmediate(resolve));
    const { endCount } = filled.subject.clock;
    // Without this, a pass that never ends would also block the check after the test.
    storage.afterKill();
    assert.equal(endCount, 0, 'a segment is still being read');
  });

  it('continues a pass that started long ago without an equally long pause', async () => {
    const { storage, filled } = await emptyDisk({ ...LOG_ONLY, sync: 'always' });
    let keys = 0;
    // All records are live: the pass has read a part of the log when another program frees space.
    for (; filled.set(`key ${keys}`, LONG); keys++) await filled.work(storage, 20, 0);
    storage.bytesMax += 4 * LOG_ONLY.segmentBytes;
    await filled.pass(1000);
    assert.ok(filled.set(`key ${keys++}`, LONG), 'the write was refused');
    await filled.pass(600_000);
    for (; filled.set(`key ${keys}`, LONG); keys++) await filled.pass(0);
    for (let key = 0; key < 30; key++) filled.delete(`key ${key}`);
    await filled.awaitRoom();
  });

  it('retains no file of a snapshot that the manifest has no room to name', async () => {
    class WithoutManifests extends MemoryStorage {
      isOn = false;
      override create(name: string): Promise<StoredFile> {
        if (!this.isOn || !name.startsWith(MANIFEST)) return super.create(name);
        return Promise.reject(systemError('ENOSPC'));
      }
    }
    const storage = new WithoutManifests(new Random(1), 'boot', DISK_BYTES);
    const options = { segmentBytes: 4096, snapshotBytesMin: 16_384 };
    const filled = new Filled(await openPersistent(storage, options), new Random(1));
    storage.isOn = true;
    for (let key = 0; key < 20; key++) {
      filled.set(`key ${key}`, LONG);
      await filled.pass(0);
    }
    // It is retried only after a while.
    assert.deepEqual(filled.subject.events, ['snapshot failed']);
    assert.deepEqual(await segmentNames(storage, SNAPSHOT), []);
  });

  it('is also freed with a part of the reserve', async () => {
    const { storage, filled } = await emptyDisk();
    await filled.fill(500);
    filled.freeAtOnce(0.2);
    storage.put(RESERVE, Buffer.alloc(LOG_ONLY.segmentBytes / 4));
    const killed = await filled.killFull(storage, 0);
    const next = new Filled(await openPersistent(killed, LOG_ONLY), new Random(1), filled);
    await next.awaitRoom();
  });

  it('starts its log before any later segment, so that each has a lower number than the next', async () => {
    for (let count = 1; count <= 60; count += 15) {
      const { storage, filled } = await emptyDisk();
      await filled.fill(700);
      filled.freeAtOnce(0.4);
      const full = storage.afterKill();
      full.bytesMax = full.usedBytes;
      const next = new Filled(await openPersistent(full, LOG_ONLY), new Random(1));
      await next.awaitRoom();
      for (let number = 0; number < count; number++) {
        next.set(`key ${number}`, 200);
        await next.pass(10);
      }
      assert.deepEqual(
        await recoveredContent(full.afterKill(), LOG_ONLY),
        contentOf(next.subject.engine),
        `after ${count}`,
      );
    }
  });

  it('is compacted on a member that has no room to start its log, which then accepts writes', async () => {
    const { storage, filled } = await emptyDisk();
    await filled.fill(700);
    await filled.free();
    const full = storage.afterKill();
    full.bytesMax = full.usedBytes;
    const next = new Filled(await openPersistent(full, LOG_ONLY), new Random(1), filled);
    await next.awaitRoom();
    assert.equal(contentOf(next.subject.engine).length, next.lengths.size);
  });
});
