/**
 * The files of a data directory that may be segments: each is identified by its header, whatever its name,
 * and by its name where the header is damaged. Several files may be the same segment. All are only read.
 */
import type { Findings } from './findings.ts';
import { LOG_END } from './log-end-file.ts';
import { MANIFEST, type SnapshotFiles } from './manifest.ts';
import { MARKS, UNSYNCED_MARKS } from './marks-file.ts';
import { MEMBER } from './member-file.ts';
import { Page } from './page.ts';
import { PARTITION, partitionAt, typeAt } from './record-codec.ts';
import { type Pace, type Scanned, scanRecords } from './record-scan.ts';
import {
  HEADER_BYTES,
  parseSegmentName,
  type SegmentId,
  SNAPSHOT,
  segmentInHeader,
  segmentName,
} from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';
import { parseWaitingName } from './waiting-file.ts';

/** Files that have no records and are not foreign. */
const OTHERS = new Set([
  ...[MANIFEST, MEMBER, LOG_END, MARKS, UNSYNCED_MARKS],
  ...['backup', 'lock', 'reserve', 'restoring'],
]);
/** Files that were unfinished when their process ended. */
const UNFINISHED = /\.(tmp|new)$/;

/** A segment, and the names of the files that contain it, its own name first. */
export interface Candidate {
  readonly id: SegmentId;
  readonly names: string[];
}

/** A file of a segment, read and searched for records. */
interface ScannedFile {
  readonly segment: ReadSegment;
  readonly scanned: Scanned;
}

interface BestSnapshot {
  readonly files: SnapshotFiles;
  /** Undefined where no snapshot tells it. */
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

  /** The candidate of the segment that has that name properly. */
  named(name: string): Candidate | undefined {
    return this.#byName.get(name);
  }

  /** Finds out which segment the file is, if any. */
  async identify(name: string): Promise<void> {
    if (OTHERS.has(name) || UNFINISHED.test(name) || parseWaitingName(name) !== undefined) return;
    const id = (await this.#readHeader(name)) ?? parseSegmentName(name);
    if (id === undefined) {
      const what = 'is no file of a data directory';
      return this.#findings.tell({ file: name, what, isDamage: false });
    }
    const proper = segmentName(id);
    const candidate = this.#byName.get(proper) ?? { id, names: [] };
    this.#byName.set(proper, candidate);
    if (name === proper) candidate.names.unshift(name);
    else candidate.names.push(name);
    if (name === proper) return;
    this.#findings.tell({ file: name, what: `has the content of ${proper}`, isDamage: false });
  }

  async #readHeader(name: string): Promise<SegmentId | undefined> {
    const file = await this.#source.open(name);
    try {
      const page = new Page(HEADER_BYTES);
      page.bytes.fill(0);
      await file.read(page.bytes, 0);
      return segmentInHeader(page);
    } finally {
      await file.close();
    }
  }

  /** Reads the candidate's files, in their order. The first one's page lasts until the next call. */
  async scan(candidate: Candidate | undefined, pace: Pace): Promise<readonly ScannedFile[]> {
    const all: ScannedFile[] = [];
    for (const name of candidate?.names ?? []) {
      // Each further file has a reader of its own, as the pages of all files are needed at once.
      const reader = all.length === 0 ? this.#reader : new SegmentReader(this.#source);
      const segment = await reader.readFile(name, candidate?.id as SegmentId);
      all.push({ segment, scanned: await scanRecords(segment, pace) });
    }
    return all;
  }

  /**
   * The snapshot with the most partitions, of several such the latest, and the partition count of the
   * latest such that is whole.
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

  /** The partitions whose visits the snapshot notes, and whether its last part has an end. */
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
