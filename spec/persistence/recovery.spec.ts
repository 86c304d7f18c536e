/** Recovery of a log that is truncated, damaged or incomplete. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { GridError } from '../../src/base/errors.ts';
import { HEADER_BYTES } from '../../src/persistence/segment.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import {
  bytesOf,
  changed,
  type Files,
  recordsOf,
  storageOf,
  withFlippedBit,
} from './damaged-directory.ts';
import { contentOf } from './stored-model.ts';
import { openPersistent, type PersistentSubject, recoveredContent, until } from './subject.ts';

const FIRST = 'log-0000000001';
/** Distance between two flipped bits; the soak has a smaller one. */
const STEP = Number(process.env.SOAK_STEP ?? 61);

/** Returns the content after a start on the files, after a reboot unless `bootId` is set. */
async function recover(files: Files, bootId = 'other'): Promise<string[]> {
  const storage = storageOf(files, 1, bootId);
  return await recoveredContent(storage);
}

/** Returns undefined if the files are refused as damaged. */
async function recoverOrRefuse(files: Files, bootId: string) {
  return await recover(files, bootId).catch((error: unknown) => {
    assert.ok(error instanceof GridError && error.code.startsWith('DATA_'), String(error));
    return undefined;
  });
}

async function isRefused(files: Files, bootId = 'other'): Promise<boolean> {
  return (await recoverOrRefuse(files, bootId)) === undefined;
}

/** Returns a log of some records, with the content after each record and the offset of its end. */
async function written(sync: boolean) {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const { engine, ask, clock, persistence, quiet } = await openPersistent(storage);
  const contents = [contentOf(engine)];
  const steps = [
    () => ask.set('m', 'k', Buffer.from('a value'), 'text/plain'),
    () => ask.set('m', 'l', Buffer.from('another')),
    () => ask.offer('q', Buffer.from('an item')),
    () => ask.delete('m', 'l'),
    () => ask.set('m', 'k', Buffer.from('a third, longer value')),
    () => ask.poll('q'),
  ];
  for (const step of steps) {
    step();
    clock.endTurn();
    contents.push(contentOf(engine));
  }
  await quiet();
  if (sync) await until(persistence.log.sync(), quiet);
  await quiet();
  const files = storage.files;
  return { files, bytes: bytesOf(files, FIRST), contents, ends: endsOf(files) };
}

function endsOf(files: Files): number[] {
  return [HEADER_BYTES, ...recordsOf(files, FIRST).map(({ end }) => end)];
}

describe('a log that was written but not synced', () => {
  it('is recovered up to the last valid record if its last three are blanked, and refused if they are cut off', async () => {
    const { files, bytes, contents, ends } = await written(false);
    assert.equal(ends.length, contents.length);
    const [from = 0, to = 0] = [ends.at(-4), ends.at(-1)];
    for (let cut = from; cut <= to; cut += STEP === 1 ? 1 : 11) {
      const file = changed(files, FIRST, bytes.subarray(0, cut));
      assert.ok(await isRefused(file), `cut at ${cut}: it is shorter than its original size`);
      const blanked = changed(files, FIRST, Buffer.from(bytes).fill(0, cut));
      // If only zeros were blanked, the record is still complete.
      const left = contents[endsOf(blanked).length - 1];
      assert.deepEqual(await recover(blanked), left, `blank from ${cut}`);
    }
  });

  it('is refused, without a reboot, if a bit of an inner record is wrong', async () => {
    const { files, contents, ends } = await written(false);
    const [from = 0, to = 0] = [ends[2], ends[3]];
    for (let bit = from * 8; bit < to * 8; bit += STEP) {
      const file = withFlippedBit(files, FIRST, bit);
      assert.ok(await isRefused(file, 'boot'), `bit ${bit}`);
      assert.deepEqual(await recover(file), contents[2], 'power may have been lost');
    }
  });
});

describe('a log that was synced', () => {
  it('is refused, even after a reboot, if a bit of a record is wrong', async () => {
    const { files, ends } = await written(true);
    const [from = 0, to = 0] = [ends[3], ends[4]];
    for (let bit = from * 8; bit < to * 8; bit += STEP) {
      assert.ok(await isRefused(withFlippedBit(files, FIRST, bit)), `bit ${bit}`);
    }
  });

  it('is refused if a bit of its header or of the manifest is wrong', async () => {
    const { files } = await written(true);
    for (let bit = 0; bit < HEADER_BYTES * 8; bit += STEP) {
      assert.ok(await isRefused(withFlippedBit(files, FIRST, bit)), `bit ${bit}`);
    }
    for (let bit = 0; bit < bytesOf(files, 'manifest').length * 8; bit += STEP) {
      assert.ok(await isRefused(withFlippedBit(files, 'manifest', bit)), `bit ${bit}`);
    }
  });
});

describe('a log of several segments', () => {
  async function long(
    entries = 40,
    segmentBytes = 1024,
    valueBytes = 100,
  ): Promise<{ files: Files; subject: PersistentSubject }> {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const subject = await openPersistent(storage, { segmentBytes });
    for (let each = 0; each < entries; each++) {
      subject.ask.set('m', `key ${each}`, Buffer.alloc(valueBytes, each));
      if (entries < 100 || each % 10 === 0) await subject.quiet();
    }
    await until(subject.persistence.log.sync(), subject.quiet);
    await subject.quiet();
    return { subject, files: storage.files };
  }

  it('is recovered completely, and progress is reported every second', async () => {
    const { files, subject } = await long(1500, 65_536);
    const storage = storageOf(files);
    // The clock advances by 50 ms at each reading.
    const clock = new FakeClock();
    let nowMs = 0;
    clock.now = () => {
      nowMs += 50;
      return nowMs;
    };
    const { progress, engine, recovered } = await openPersistent(storage, { clock });
    assert.deepEqual(contentOf(engine), contentOf(subject.engine));
    assert.ok(progress.length > 0 && progress.length < nowMs / 1000, `${progress.length} lines`);
    const records = progress.map((each) => each.records);
    assert.deepEqual(
      records,
      [...records].sort((a, b) => a - b),
    );
    assert.ok((records[0] ?? 0) > 0 && (records.at(-1) ?? 0) < recovered.records);
    assert.ok((progress[0]?.bytes ?? 0) > 0 && (progress[0]?.segmentsLeft ?? 0) > 0);
  });

  it('is recovered completely, or refused if a bit is wrong, when a thread reads ahead', async () => {
    const { files, subject } = await long(22, 4_194_304, 500_000);
    assert.deepEqual(await recover(files), contentOf(subject.engine));
    const random = new Random(5);
    for (const number of [2, 3]) {
      const name = `log-000000000${number}`;
      const bit = (HEADER_BYTES + random.below(3_000_000)) * 8 + random.below(8);
      assert.ok(await isRefused(withFlippedBit(files, name, bit), 'boot'), name);
    }
  });

  it('is refused if a segment that contained records is missing', async () => {
    const { files, subject } = await long();
    const last = subject.persistence.log.segment;
    for (let number = 1; number <= last; number++) {
      const name = `log-${String(number).padStart(10, '0')}`;
      if (!files.has(name)) continue;
      assert.ok(await isRefused(changed(files, name, undefined)), name);
    }
  });

  it('is refused or recovered completely if one segment has the content of another', async () => {
    const { files, subject } = await long(24);
    const wanted = contentOf(subject.engine);
    const names = [...files.keys()].filter((name) => name.startsWith('log-'));
    const more = [...names, 'log-0000000098'];
    let refusedCount = 0;
    for (const [index, name] of names.entries()) {
      for (const other of more) {
        const file = changed(files, other, files.get(name));
        const content = await recoverOrRefuse(file, index % 2 === 0 ? 'boot' : 'other');
        if (content === undefined) refusedCount++;
        else assert.deepEqual(content, wanted, `${name} as ${other}`);
        assert.ok(other !== name || content !== undefined);
      }
    }
    assert.ok(refusedCount > names.length, `${refusedCount} refused`);
  });
});
