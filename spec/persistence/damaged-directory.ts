/**
 * A data directory in memory with a snapshot and a log of several segments, for tests that damage
 * it.
 */
import { Random } from '../../bench/harness.ts';
import type { Mutation } from '../../src/engine/mutation.ts';
import { Page } from '../../src/persistence/page.ts';
import { checkRecord, SEAL, typeAt } from '../../src/persistence/record-codec.ts';
import { HEADER_BYTES, parseSegmentName, segmentSeed } from '../../src/persistence/segment.ts';
import { RecordingSink } from '../engine/sinks.ts';
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
  const sinks = [new RecordingSink((mutation) => history.push(mutation))];
  const options = { segmentBytes: 1024, snapshotBytesMin: 8192, sinks };
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

export function storageOf(files: Files, seed = 1, bootId = 'other'): MemoryStorage {
  const storage = new MemoryStorage(new Random(seed), bootId);
  for (const [name, bytes] of files) storage.put(name, bytes);
  return storage;
}

export function changed(files: Files, name: string, bytes: Buffer | undefined): Files {
  const next = new Map(files);
  if (bytes === undefined) next.delete(name);
  else next.set(name, bytes);
  return next;
}

export function flipped(bytes: Buffer, bit: number): Buffer {
  const next = Buffer.from(bytes);
  next[bit >> 3] = (next[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return next;
}

export interface RecordPlace {
  readonly at: number;
  readonly type: number;
}

/** The records of the file, without its SEAL; empty if it is not a segment. */
export function recordsOf(files: Files, name: string): readonly RecordPlace[] {
  const id = parseSegmentName(name);
  const bytes = files.get(name);
  if (id === undefined || bytes === undefined) return [];
  const page = new Page((bytes.length + 15) & ~7);
  page.bytes.fill(0);
  bytes.copy(page.bytes);
  const found: RecordPlace[] = [];
  for (let at = HEADER_BYTES; ; ) {
    const paddedLength = checkRecord(page, at, bytes.length, segmentSeed(id));
    if (paddedLength === 0 || typeAt(page, at) === SEAL) return found;
    found.push({ at, type: typeAt(page, at) });
    at += paddedLength;
  }
}
