/**
 * A data directory in memory with a snapshot and a log of several segments, for tests that damage
 * it.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { ViewedBytes } from '../../src/base/copy-bytes.ts';
import { Mutation } from '../../src/engine/mutation.ts';
import { checkRecord, readMutation, SEAL, typeAt } from '../../src/persistence/record-codec.ts';
import { HEADER_BYTES, parseSegmentName, segmentSeed } from '../../src/persistence/segment.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { changeAtRandom } from './random-changes.ts';
import { contentOf, described } from './stored-model.ts';
import { openPersistent, until } from './subject.ts';

export type Files = ReadonlyMap<string, Buffer>;

export interface WholeDirectory {
  readonly files: Files;
  readonly content: readonly string[];
  /** Every value that ever existed. */
  readonly values: ReadonlySet<string>;
}

/** The directory of a member that has stopped, or was killed. */
export async function wholeDirectory(isKilled = false): Promise<WholeDirectory> {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const history: Mutation[] = [];
  const options = { segmentBytes: 1024, snapshotBytesMin: 8192, history };
  const { ask, engine, persistence, quiet, events } = await openPersistent(storage, options);
  const random = new Random(7);
  for (let more = 30; more > 0; ) {
    changeAtRandom(ask, random);
    await quiet();
    if (events.includes('snapshot')) more--;
  }
  await until(persistence.member.save({ clusterState: 'FROZEN' }), quiet);
  if (isKilled) storage.afterKill();
  else await until(persistence.close(), quiet);
  const values = new Set(history.map(described));
  return { files: storage.files, content: contentOf(engine), values };
}

export function storageOf(
  files: Files,
  seed = 1,
  bootId = 'other',
  bytesMax = Number.POSITIVE_INFINITY,
): MemoryStorage {
  const storage = new MemoryStorage(new Random(seed), bootId, bytesMax);
  for (const [name, bytes] of files) storage.put(name, bytes);
  return storage;
}

export function changed(files: Files, name: string, bytes: Buffer | undefined): Files {
  const next = new Map(files);
  if (bytes === undefined) next.delete(name);
  else next.set(name, bytes);
  return next;
}

/** Returns the files with another value of one bit of the named file. */
export function withFlippedBit(files: Files, name: string, bit: number): Files {
  const next = Buffer.from(bytesOf(files, name));
  next[bit >> 3] = (next[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return changed(files, name, next);
}

/** Flips a bit of the middle record of the file, or of its middle if it has no records. */
export function damagedIn(files: Files, name: string): Files {
  const records = recordsOf(files, name);
  const at = records[records.length >> 1]?.at ?? bytesOf(files, name).length >> 1;
  return withFlippedBit(files, name, at * 8 + 100);
}

export function bytesOf(files: Files, name: string): Buffer {
  return files.get(name) ?? assert.fail(`"${name}" is missing`);
}

interface RecordPlace {
  readonly at: number;
  readonly end: number;
  readonly type: number;
}

/** The records of the file, without its SEAL; empty if it is not a segment. */
export function recordsOf(files: Files, name: string): readonly RecordPlace[] {
  const id = parseSegmentName(name);
  const bytes = files.get(name);
  if (id === undefined || bytes === undefined) return [];
  const page = pageOf(bytes);
  const found: RecordPlace[] = [];
  for (let at = HEADER_BYTES; ; ) {
    const paddedLength = checkRecord(page, at, bytes.length, segmentSeed(id));
    if (paddedLength === 0 || typeAt(page, at) === SEAL) return found;
    found.push({ at, end: at + paddedLength, type: typeAt(page, at) });
    at += paddedLength;
  }
}

/** Calls `visit` with each change in the segments, and its place. */
export function visitMutations(
  files: Files,
  visit: (mutation: Mutation, name: string, at: number) => void,
): void {
  const mutation = new Mutation();
  for (const [name, bytes] of files) {
    const page = pageOf(bytes);
    for (const { at } of recordsOf(files, name)) {
      if (readMutation(page, at, mutation)) visit(mutation, name, at);
    }
  }
}

export function pageOf(bytes: Buffer): ViewedBytes {
  const page = new ViewedBytes((bytes.length + 15) & ~7);
  page.bytes.fill(0);
  bytes.copy(page.bytes);
  return page;
}
