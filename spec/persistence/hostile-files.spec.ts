/**
 * Covers src/persistence/damage.ts and src/persistence/framed-file.ts. Files with wrong content, most of
 * them with a correct checksum: each is read, or refused with a code, and no more memory is allocated than
 * for the longest valid content. `make soak` reads a million.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { Random } from '../../bench/harness.ts';
import { viewed } from '../../src/base/copy-bytes.ts';
import { GridError } from '../../src/base/errors.ts';
import { writeFrame } from '../../src/base/frame.ts';
import { Mutation } from '../../src/engine/mutation.ts';
import { DATA_FORMAT } from '../../src/persistence/data-format.ts';
import { provenEnd } from '../../src/persistence/log-end-file.ts';
import { readManifest } from '../../src/persistence/manifest.ts';
import { MARKS, readMarks, writeMarks } from '../../src/persistence/marks-file.ts';
import { readMemberFile } from '../../src/persistence/member-file.ts';
import { checkRecord, readMutation, reseal } from '../../src/persistence/record-codec.ts';
import { HEADER_BYTES, parseSegmentName, segmentSeed } from '../../src/persistence/segment.ts';
import { SegmentReader } from '../../src/persistence/segment-reader.ts';
import {
  queueFileName,
  readQueueFile,
  writeQueueFile,
} from '../../src/persistence/wan-queue-file.ts';
import { FakeClock } from '../fake-clock.ts';
import type { MemoryStorage } from '../world/memory-storage.ts';
import {
  bytesOf,
  changed,
  type Files,
  recordsOf,
  storageOf,
  wholeDirectory,
} from './damaged-directory.ts';
import { oneLaneQueue } from './one-lane-queue.ts';
import { PARTITION_COUNT, pumping, recoveredContent, until } from './subject.ts';

const CASES = Number(process.env.SOAK_CASES ?? 6000);
const SEED = Number(process.env.SOAK_SEED ?? 1);
/** Share of the cases in which a whole directory is recovered. */
const RECOVERED = 50;
/** The longest block of a file of waiting events, and room for a segment that is read. */
const ALLOCATED_MAX = 300_000;

const { files } = await wholeDirectory(true);
const segments = [...files.keys()].filter((name) => recordsOf(files, name).length > 0);

/** Changes one to three bytes from `from` on. */
function flip(bytes: Buffer, from: number, random: Random): void {
  for (let count = 1 + random.below(3); count > 0 && bytes.length > from; count--) {
    const at = from + random.below(bytes.length - from);
    bytes[at] = random.below(3) > 0 ? random.below(256) : random.below(2) * 255;
  }
}

const MANIFEST_OF = {
  partitionCount: PARTITION_COUNT,
  firstSegment: 1,
  synced: { segment: 1, offset: 32 },
};
const IGNORING = { onQueue() {}, onLane: () => true, onCut() {} };
const SNAPSHOT = 1;

/** The files of the directory, and those of waiting changes. */
async function withQueueFiles(): Promise<Files> {
  const memory = storageOf(files);
  const pump = pumping(memory);
  const sequences = () => new Float64Array(PARTITION_COUNT).fill(5);
  const queues = oneLaneQueue(Buffer.from('events'));
  const parts = { storage: memory, clock: new FakeClock(), queues, sequences };
  await until(writeMarks(memory, PARTITION_COUNT, new Map([['q', sequences()]])), pump);
  await until(writeQueueFile({ ...parts, mayWrite: async () => true }, SNAPSHOT), pump);
  return memory.files;
}

/** Corrects the checksums of the blocks in a file of waiting changes, as far as they are whole. */
function resealBlocks(file: Buffer): void {
  let number = 0;
  for (let at = 28; at + 10 <= file.length; number++) {
    const end = at + file.readUInt32LE(at + 4);
    if (end > file.length || end < at + 10) break;
    const seed = Math.imul(SNAPSHOT, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b);
    file.writeUInt32LE(crc32(file.subarray(at + 4, end), seed >>> 0), at);
    at = end;
  }
}

/** Returns the file with wrong content, mostly with a correct checksum of its frame. */
function wrongFile(bytes: Buffer, random: Random): Buffer {
  let wrong = Buffer.from(bytes);
  const kind = random.below(8);
  if (kind === 0) wrong = wrong.subarray(0, random.below(wrong.length + 1));
  else if (kind === 1) wrong = Buffer.concat([wrong, random.bytes(random.below(64))]);
  if (kind < 3) {
    flip(wrong, 0, random);
    return wrong;
  }
  flip(wrong, 20, random);
  const length = Math.min(wrong.length, bytes.readUInt32LE(16));
  if (bytes.toString('latin1', 0, 8) === 'gridWAIT') resealBlocks(wrong);
  writeFrame(viewed(wrong), length, bytes.toString('latin1', 0, 8), DATA_FORMAT);
  return wrong;
}

/** Returns the segment with one wrong record that has a correct checksum. */
function wrongSegment(name: string, random: Random): Buffer {
  const wrong = Buffer.from(bytesOf(files, name));
  const records = recordsOf(files, name);
  const { at, end } = records[random.below(records.length)]!;
  const record = wrong.subarray(at, end);
  flip(record, random.below(3) === 0 ? 8 : 4, random);
  // The length stays within the record, so that the checksum can be corrected.
  record.writeUInt32LE(Math.min(record.readUInt32LE(4), record.length - 4), 4);
  const memory = viewed(wrong);
  reseal(memory, at, segmentSeed(parseSegmentName(name)!));
  return wrong;
}

/** Resolves with the error's code, or with undefined. Fails for any other error. */
async function codeOf(work: Promise<unknown>, memory: MemoryStorage): Promise<string | undefined> {
  const ending = work.then(
    () => undefined,
    (error: unknown) => {
      assert.ok(error instanceof GridError, `${(error as Error).stack}`);
      return error.code;
    },
  );
  return await until(ending, pumping(memory));
}

describe('a file with wrong content', () => {
  const random = new Random(SEED * 2654435761);

  it('is read or refused, and needs no more memory', async (context) => {
    const given = await withQueueFiles();
    const readers: readonly (readonly [string, (memory: MemoryStorage) => Promise<unknown>])[] = [
      ['manifest', (memory) => readManifest(memory)],
      ['member', (memory) => readMemberFile(memory)],
      [MARKS, (memory) => readMarks(memory, PARTITION_COUNT)],
      ['log-end', async (memory) => await provenEnd(memory, MANIFEST_OF)],
      [
        queueFileName(SNAPSHOT),
        (memory) => readQueueFile(memory, SNAPSHOT, PARTITION_COUNT, IGNORING),
      ],
      [
        segments[0]!,
        (memory) => new SegmentReader(memory).read(parseSegmentName(segments[0]!)!, undefined),
      ],
    ];
    const allocate = context.mock.method(Buffer, 'allocUnsafeSlow');
    const codes = new Set<string | undefined>();
    for (let round = 0; round < CASES; round++) {
      const [name, read] = readers[round % readers.length]!;
      const memory = storageOf(new Map([[name, wrongFile(bytesOf(given, name), random)]]));
      codes.add(await codeOf(read(memory), memory));
      for (const { arguments: own } of allocate.mock.calls) assert.ok(own[0]! <= ALLOCATED_MAX);
      allocate.mock.resetCalls();
    }
    assert.ok(codes.has('DATA_DAMAGED') && codes.has(undefined), [...codes].join());
  });

  it('is read up to 512 MiB, if it has the length that it states', async () => {
    for (const [length, what] of [
      [2 ** 29, 'has a wrong checksum'],
      [2 ** 29 + 1, `has ${2 ** 29 + 1} bytes, more than ${2 ** 29}`],
    ] as const) {
      const head = bytesOf(files, 'member').subarray(0, 20);
      const stated = Buffer.from(head);
      stated.writeUInt32LE(length, 16);
      const read = async (into: Buffer) => stated.copy(into);
      const open = async () => ({ name: 'member', length, read, close: async () => {} });
      const storage = { path: '/data', open } as unknown as MemoryStorage;
      await assert.rejects(readMemberFile(storage), {
        code: 'DATA_DAMAGED',
        message: new RegExp(what),
      });
    }
  });

  it('is read or refused as a record', () => {
    const mutation = new Mutation();
    let valid = 0;
    for (let round = 0; round < CASES; round++) {
      const name = segments[round % segments.length]!;
      const page = viewed(wrongSegment(name, random));
      const seed = segmentSeed(parseSegmentName(name)!);
      for (let at = HEADER_BYTES, bytes = 1; bytes > 0; at += bytes) {
        bytes = checkRecord(page, at, page.bytes.length, seed);
        if (bytes > 0 && readMutation(page, at, mutation)) valid++;
      }
    }
    assert.ok(valid > CASES);
  });

  it('is recovered from or refused in a data directory', async () => {
    const codes = new Set<string | undefined>();
    for (let round = 0; round < CASES / RECOVERED; round++) {
      const name = segments[round % segments.length]!;
      const memory = storageOf(changed(files, name, wrongSegment(name, random)));
      codes.add(await codeOf(recoveredContent(memory, { segmentBytes: 1024 }), memory));
    }
    assert.ok(codes.has('DATA_DAMAGED') && codes.has(undefined), [...codes].join());
  });
});
