/**
 * The files of a data directory that may be segments. Each is identified by its header, regardless
 * of its name, or by its name if the header is damaged. Several files may be copies of one segment.
 * The files are only read. Tested by repair.spec.ts.
 */
import { ViewedBytes } from '../base/copy-bytes.ts';
import type { Findings } from './findings.ts';
import { isUsedByMember } from './foreign-files.ts';
import type { SnapshotFiles } from './manifest.ts';
import { PARTITION, partitionAt, typeAt } from './record-codec.ts';
import { type Pace, type Scanned, scanRecords } from './record-scan.ts';
import {
  HEADER_BYTES,
  parseSegmentName,
  readHeader,
  type SegmentId,
  SNAPSHOT,
  segmentName,
} from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';

/** A segment and the names of the files that contain it. The proper name comes first. */
export interface Candidate {
  readonly id: SegmentId;
  readonly names: string[];
}

/** A file of a segment that has been read and scanned for records. */
interface ScannedFile {
  readonly segment: ReadSegment;
  readonly scanned: Scanned;
}

interface BestSnapshot {
  readonly files: SnapshotFiles;
  /** The partition count; undefined if no snapshot shows it. */
  readonly partitionCount: number | undefined;
}

export class SegmentCandidates {
  readonly #source: Storage;
  readonly #findings: Findings;
  readonly #reader: SegmentReader;
  readonly #byName = new Map<string, Candidate>();

  constructor(source: Storage, findings: Findings) {
    this.#source = source;
    this.#findings = findings;
    this.#reader = new SegmentReader(source);
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  all(): readonly Candidate[] {
    return [...this.#byName.values()];
  }

  /** Returns the candidate of the segment whose proper name this is. */
  named(name: string): Candidate | undefined {
    return this.#byName.get(name);
  }

  /** Determines which segment the file is, if any. */
  async identify(name: string): Promise<void> {
    if (isUsedByMember(name) && parseSegmentName(name) === undefined) return;
    const id = (await this.#readHeader(name)) ?? parseSegmentName(name);
    if (id === undefined) {
      const what = 'is not a file of a data directory';
      return this.#findings.report({ file: name, what, isDamage: false });
    }
    const proper = segmentName(id);
    const candidate = this.#byName.get(proper) ?? { id, names: [] };
    this.#byName.set(proper, candidate);
    if (name === proper) candidate.names.unshift(name);
    else candidate.names.push(name);
    if (name === proper) return;
    this.#findings.report({ file: name, what: `has the content of ${proper}`, isDamage: false });
  }

  async #readHeader(name: string): Promise<SegmentId | undefined> {
    const file = await this.#source.open(name);
    try {
      const header = new ViewedBytes(HEADER_BYTES);
      const length = await file.read(header.bytes, 0);
      return readHeader(this.#source, name, header, length).id;
    } finally {
      await file.close();
    }
  }

  /**
   * Reads the candidate's files in order. The page of the first one is valid until the next call.
   */
  async scan(candidate: Candidate | undefined, pace: Pace): Promise<readonly ScannedFile[]> {
    const all: ScannedFile[] = [];
    for (const name of candidate?.names ?? []) {
      // Each further file needs a separate reader, as the pages of all files are used together.
      const reader = all.length === 0 ? this.#reader : new SegmentReader(this.#source);
      const segment = await reader.readFile(name, candidate?.id as SegmentId);
      all.push({ segment, scanned: await scanRecords(segment, pace) });
    }
    return all;
  }

  /**
   * Returns the snapshot with the most partitions (the latest, if there are several), and the
   * partition count of the latest complete one.
   */
  async bestSnapshot(pace: Pace): Promise<BestSnapshot | undefined> {
    let best: BestSnapshot | undefined;
    let most = 0;
    const snapshots = this.all().filter(({ id }) => id.kind === SNAPSHOT);
    const numbers = new Set(snapshots.map(({ id }) => id.number));
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const own = snapshots.filter(({ id }) => id.number === number);
      const parts = 1 + Math.max(...own.map(({ id }) => id.part));
      const { partitions, isSealed } = await this.#partitionsOf(number, parts, pace);
      if (best !== undefined && partitions.size < most) continue;
      most = partitions.size;
      const count = 1 + Math.max(...partitions);
      const isWhole = isSealed && most === count;
      const partitionCount: number | undefined = isWhole ? count : best?.partitionCount;
      best = { files: { number, parts, bytes: 0 }, partitionCount };
    }
    return best;
  }

  /** Returns the partitions that the snapshot contains, and whether its last part is sealed. */
  async #partitionsOf(number: number, parts: number, pace: Pace) {
    const partitions = new Set<number>();
    let isSealed = false;
    for (let part = 0; part < parts; part++) {
      isSealed = false;
      const candidate = this.named(segmentName({ kind: SNAPSHOT, number, part }));
      for (const { segment, scanned } of await this.scan(candidate, pace)) {
        isSealed ||= scanned.next !== undefined;
        for (const at of scanned.records) {
          if (typeAt(segment.page, at) === PARTITION) partitions.add(partitionAt(segment.page, at));
        }
      }
    }
    return { partitions, isSealed };
  }
}
