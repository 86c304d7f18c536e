/**
 * Covers src/persistence/seals.ts and src/persistence/record-codec.ts. Records of a later
 * version: types from 128 up are skipped; other unknown types and unknown fields are refused. This
 * applies to recovery and repair.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { MARK, PARTITION, reseal } from '../../src/persistence/record-codec.ts';
import { repair } from '../../src/persistence/repair.ts';
import { parseSegmentName, type SegmentId, segmentSeed } from '../../src/persistence/segment.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import {
  bytesOf,
  changed,
  type Files,
  pageOf,
  recordsOf,
  storageOf,
  wholeDirectory,
} from './damaged-directory.ts';
import { overwrite } from './random-changes.ts';
import { contentOf } from './stored-model.ts';
import { maintenance, openPersistent, pumping, recoveredContent, until } from './subject.ts';

const SMALL = { segmentBytes: 2048, snapshotBytesMin: 4096 };
const LOG_ONLY = { segmentBytes: 4096, snapshotBytesMin: Number.POSITIVE_INFINITY };
const DISK_BYTES = 160_000;
const SET = 1;
const TYPE = 8;
const FIELDS = 9;
const PATH_LENGTH = 11;

const { files, content } = await wholeDirectory();
const names = [...files.keys()].sort();
const segments = names.filter((name) => recordsOf(files, name).length > 0);
const marked = segments.filter((name) => has(name, MARK));
const log = segments.find((name) => name.startsWith('log-') && has(name, SET)) ?? '';
const part = segments.find((name) => name.startsWith('snapshot-') && has(name, SET)) ?? '';

function has(name: string, wanted: number): boolean {
  return recordsOf(files, name).some(({ type }) => type === wanted);
}

/**
 * Returns the files with the byte at `field` changed in each record of this type, in the segment or
 * in the first one.
 */
function withRecords(
  name: string,
  type: number,
  field: number,
  value: number,
  isAll = false,
  among = files,
): Files {
  const bytes = bytesOf(among, name);
  const page = pageOf(bytes);
  const found = recordsOf(among, name).filter((record) => record.type === type);
  if (found.length === 0) return among;
  const seed = segmentSeed(parseSegmentName(name) as SegmentId);
  for (const { at } of isAll ? found : found.slice(0, 1)) {
    page.bytes[at + field] = value;
    reseal(page, at, seed);
  }
  return changed(among, name, Buffer.from(page.bytes.subarray(0, bytes.length)));
}

function typesIn(given: Files): number[] {
  return [...given.keys()].flatMap((name) => recordsOf(given, name)).map(({ type }) => type);
}

/** Counts the records of type 128. */
function unknownRecordsIn(given: Files): number {
  return typesIn(given).filter((type) => type === 128).length;
}

async function recovered(given: Files): Promise<string[]> {
  return await recoveredContent(storageOf(given), SMALL);
}

async function repaired(given: Files) {
  const source = storageOf(given);
  const target = new MemoryStorage(new Random(2));
  const work = repair(maintenance({ source }), target);
  const { damages } = await until(work, pumping(source, target));
  const types = typesIn(target.files);
  assert.ok(
    types.length > 0 && types.every((type) => type <= PARTITION),
    'no unknown record is saved',
  );
  return { damages, content: await recoveredContent(target) };
}

describe('a record of an unknown type', () => {
  it('is skipped from 128 up, without a report', async () => {
    assert.ok(marked.length > 0);
    for (const type of [128, 200, 255]) {
      for (const name of marked) {
        const given = withRecords(name, MARK, TYPE, type, true);
        assert.deepEqual(await recovered(given), content);
        assert.deepEqual(await repaired(given), { damages: 0, content });
      }
    }
  });

  it('is dropped by a compaction from 128 up', async () => {
    const storage = new MemoryStorage(new Random(3), 'boot', DISK_BYTES);
    const first = await openPersistent(storage, LOG_ONLY);
    await overwrite(first, (count) => count < 300);
    await until(first.persistence.close(), first.quiet);
    let given = storage.files;
    for (const name of given.keys()) given = withRecords(name, MARK, TYPE, 128, true, given);
    const before = unknownRecordsIn(given);
    assert.ok(before > 20);
    const full = storageOf(given, 3, 'other', DISK_BYTES);
    const { engine, ...subject } = await openPersistent(full, LOG_ONLY);
    assert.deepEqual(contentOf(engine), contentOf(first.engine));
    await overwrite(subject, () => !subject.events.includes('compacted'));
    assert.ok(unknownRecordsIn(full.files) < before);
    assert.deepEqual(await recoveredContent(full.afterKill(), LOG_ONLY), contentOf(engine));
  });

  it('is refused below 128, with its type, its position and a remedy, in the log and in a snapshot', async () => {
    for (const [name, from] of [
      [log, SET],
      [part, SET],
      [marked[0] ?? '', MARK],
    ] as const) {
      for (const type of [0, 8, 15, 19, 127]) {
        const given = withRecords(name, from, TYPE, type);
        const { at = 0 } = recordsOf(given, name).find((record) => record.type === type) ?? {};
        const message = new RegExp(
          `^Cannot read ".*${name}": the record at byte ${at} has type ${type}, which this version does not support; use the version that wrote it, or a later one$`,
        );
        const refused = { code: 'DATA_RECORD_NEWER', message };
        await assert.rejects(recovered(given), refused);
        await assert.rejects(repaired(given), refused);
      }
    }
  });
});

describe('a change with an unknown field', () => {
  it('is refused, with the field', async () => {
    for (const name of [log, part]) {
      for (const fields of [64, 129]) {
        const given = withRecords(name, SET, FIELDS, fields);
        const message = new RegExp(
          ` has fields ${fields & ~63}, which this version does not support`,
        );
        const refused = { code: 'DATA_RECORD_NEWER', message };
        await assert.rejects(recovered(given), refused);
        await assert.rejects(repaired(given), refused);
      }
    }
  });
});

describe('a change whose path does not fit', () => {
  it('is damage', async () => {
    const given = withRecords(log, SET, PATH_LENGTH, 16);
    await assert.rejects(recovered(given), { code: 'DATA_DAMAGED', message: /wrong fields/ });
    assert.ok((await repaired(given)).damages > 0);
  });
});
