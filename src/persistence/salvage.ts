/**
 * Reads a data directory that may be damaged in any way, reports the faults, and saves every record
 * with a correct checksum, in order and without gaps, in new segments. The source is not changed.
 * The caller writes the manifest, which makes the saved data valid. A file of another format or a
 * record of a later version stops the work: without it the data would be wrong.
 *
 * If several files are copies of one segment, each adds the records that the others lack. The
 * manifest specifies which snapshot and which segments are valid. Without a manifest these are the
 * snapshot with the most partitions and every segment of the log: the sequences show which of their
 * records the snapshot covers. MARKs and superseded segments are omitted from the new files. So are
 * the WAN queues, which start empty. Tested by repair.spec.ts.
 */
import { type Viewed, ViewedBytes } from '../base/copy-bytes.ts';
import { GridError } from '../base/errors.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { Mutation } from '../engine/mutation.ts';
import { DamagedData, INVALID_FIELDS, unreadableRecord } from './damage.ts';
import { type Finding, Findings } from './findings.ts';
import { isBefore, LOG_END, provenEnd } from './log-end-file.ts';
import { MANIFEST, type Manifest, readManifest, type SnapshotFiles } from './manifest.ts';
import { MEMBER, MEMBER_LOSS, type MemberValues, readMemberFile } from './member-file.ts';
import {
  MARK,
  PARTITION,
  partitionAt,
  readMutation,
  recordBytesAt,
  SKIPPED_TYPE_MIN,
  typeAt,
  unknownIn,
} from './record-codec.ts';
import type { Pace, Scanned } from './record-scan.ts';
import { SalvagedLog, SalvagedSnapshot, type SalvageTarget } from './salvaged-segments.ts';
import { HEADER_BYTES, LOG, type LogPosition, SNAPSHOT, segmentName } from './segment.ts';
import { type Candidate, SegmentCandidates } from './segment-candidates.ts';
import type { ReadSegment } from './segment-reader.ts';
import type { Storage } from './storage.ts';
import { readQueueFile } from './wan-queue-file.ts';

export interface SalvageOptions extends Pace {
  readonly source: Storage;
  /** The partition count to assume if no file contains it. */
  readonly partitionCount: number;
  /** Receives each fault. */
  onFinding(finding: Finding): void;
}

export interface Salvaged {
  /** The manifest of the saved data; meaningless without a target. */
  readonly manifest: Manifest;
  /** The values of the member; undefined if the file is missing or unreadable. */
  readonly member: MemberValues | undefined;
  readonly records: number;
  readonly bytes: number;
  readonly damages: number;
}

interface WholeRecord {
  readonly page: Viewed;
  readonly at: number;
  readonly end: number;
}

export class Salvage {
  readonly #options: SalvageOptions;
  readonly #source: Storage;
  /** A buffer for the saved records of one segment. */
  #page = new ViewedBytes(HEADER_BYTES);
  readonly #mutation = new Mutation();
  readonly #findings: Findings;
  readonly #candidates: SegmentCandidates;
  #partitionCount: number;
  #records = 0;
  #bytes = 0;

  constructor(options: SalvageOptions) {
    this.#options = options;
    this.#source = options.source;
    this.#findings = new Findings(options.onFinding);
    this.#candidates = new SegmentCandidates(options.source, this.#findings);
    this.#partitionCount = options.partitionCount;
  }

  /**
   * Writes segments, numbered from `firstNumber`, to the target, if there is one. Rejects as
   * checkFormat throws, with GridError DATA_RECORD_NEWER or PARTITION_COUNT_CHANGED, or with the
   * system's error.
   */
  async run(target: SalvageTarget | undefined, firstNumber: number): Promise<Salvaged> {
    const names = [...(await this.#source.list())].sort();
    const manifest = await this.#readIntact(MANIFEST, names, readManifest);
    const member = await this.#readIntact(MEMBER, names, readMemberFile);
    if (manifest?.hasMember && !names.includes(MEMBER)) {
      this.#findings.reportDamage(MEMBER, `is missing: ${MEMBER_LOSS}`);
    }
    for (const name of names) await this.#candidates.identify(name);
    if (manifest !== undefined) this.#partitionCount = manifest.partitionCount;
    else if (!this.#candidates.isEmpty && !names.includes(MANIFEST)) {
      this.#findings.reportDamage(MANIFEST, 'is missing');
    }
    await this.#checkQueueFile(manifest);
    const snapshot = await this.#salvageSnapshot(manifest, target, firstNumber);
    const log = await this.#salvageLog(manifest, target, firstNumber + 1);
    const whole = { partitionCount: this.#partitionCount, hasMember: true, ...log };
    return {
      manifest: snapshot === undefined ? whole : { ...whole, snapshot },
      member,
      records: this.#records,
      bytes: this.#bytes,
      damages: this.#findings.damages,
    };
  }

  async #readIntact<Content>(
    name: string,
    names: readonly string[],
    read: (storage: Storage) => Promise<Content>,
  ): Promise<Content | undefined> {
    if (!names.includes(name)) return undefined;
    try {
      return await read(this.#source);
    } catch (error) {
      if (!(error instanceof DamagedData)) throw error;
      const what = name === MEMBER ? `is damaged: ${MEMBER_LOSS}` : 'is damaged';
      this.#findings.report({ file: name, offset: error.offset, what, isDamage: true });
      return undefined;
    }
  }

  /** Reports damage of the WAN queue file, of which nothing is saved. */
  async #checkQueueFile(manifest: Manifest | undefined): Promise<void> {
    const { number, hasWaiting } = manifest?.snapshot ?? {};
    if (number === undefined || hasWaiting !== true) return;
    const ignored = { onQueue: () => {}, onLane: () => true, onCut: () => {} };
    try {
      await readQueueFile(this.#source, number, this.#partitionCount, ignored);
    } catch (error) {
      if (!(error instanceof DamagedData)) throw error;
      const { file, offset } = error;
      this.#findings.report({ file, offset, what: WAITING_LOST, isDamage: true });
    }
  }

  async #salvageSnapshot(
    manifest: Manifest | undefined,
    target: SalvageTarget | undefined,
    number: number,
  ): Promise<SnapshotFiles | undefined> {
    const counted = manifest === undefined ? await this.#bestSnapshot() : manifest.snapshot;
    if (counted === undefined) return undefined;
    const saved = new SalvagedSnapshot(target, number);
    for (let part = 0; part < counted.parts; part++) {
      const id = { kind: SNAPSHOT, number: counted.number, part } as const;
      const candidate = this.#candidates.named(segmentName(id));
      if (candidate === undefined) {
        this.#findings.reportDamage(segmentName(id), 'is missing');
        continue;
      }
      const scanned = await this.#salvageSegment(candidate, (page, end) => saved.add(page, end));
      this.#findings.flushTail();
      const isSealed = scanned.some(({ next }) => next !== undefined);
      if (!isSealed) this.#findings.reportDamage(segmentName(id), 'has no end');
    }
    return saved.files;
  }

  async #bestSnapshot(): Promise<SnapshotFiles | undefined> {
    const best = await this.#candidates.bestSnapshot(this.#options);
    if (best?.partitionCount !== undefined) this.#partitionCount = best.partitionCount;
    return best?.files;
  }

  async #salvageLog(
    manifest: Manifest | undefined,
    target: SalvageTarget | undefined,
    firstNumber: number,
  ): Promise<Pick<Manifest, 'firstSegment' | 'synced'>> {
    const first = manifest?.firstSegment ?? 0;
    const logs = this.#candidates
      .all()
      .filter(({ id }) => id.kind === LOG && id.number >= first)
      .sort((a, b) => a.id.number - b.id.number);
    const saved = new SalvagedLog(target, firstNumber);
    try {
      return await this.#saveLog(manifest, logs, saved);
    } finally {
      await saved.discard();
    }
  }

  async #saveLog(
    manifest: Manifest | undefined,
    logs: readonly Candidate[],
    saved: SalvagedLog,
  ): Promise<Pick<Manifest, 'firstSegment' | 'synced'>> {
    const first = manifest?.firstSegment ?? 0;
    const reached = new Set(manifest === undefined ? [] : [first]);
    const broken: LogPosition[] = [];
    let lastWithRecords = 0;
    for (const candidate of logs) {
      const { number } = candidate.id;
      const before = this.#records;
      const scanned = await this.#salvageSegment(candidate, (page, end) => saved.add(page, end));
      if (this.#records > before) lastWithRecords = number;
      const { next, isNextOfStart } = scanned.find((each) => each.next !== undefined) ?? {};
      const hasBegun = isNextOfStart !== true || (manifest?.synced.segment ?? 0) >= (next ?? 0);
      if (next !== undefined && next !== 0 && hasBegun) reached.add(next);
      const isOfLog = reached.has(number) || this.#records > before;
      const hasGapBehind = scanned.some(({ gaps, end }) =>
        gaps.some(({ offset }) => offset >= end),
      );
      if (!isOfLog || next !== undefined || hasGapBehind) continue;
      broken.push({ segment: number, offset: Math.max(...scanned.map(({ end }) => end)) });
    }
    for (const number of reached) {
      if (this.#candidates.named(logName(number)) !== undefined) continue;
      this.#findings.reportDamage(logName(number), 'is missing');
    }
    const synced = await this.#provenEnd(manifest);
    for (const position of broken) {
      if (position.segment >= lastWithRecords && !isBefore(position, synced)) continue;
      const what = 'ends early, although the log continued';
      this.#findings.report({
        file: logName(position.segment),
        offset: position.offset,
        what,
        isDamage: true,
      });
    }
    this.#findings.endTail(synced);
    return await saved.end();
  }

  /**
   * Returns the position that the log has certainly reached: anything missing before it is damage.
   */
  async #provenEnd(manifest: Manifest | undefined): Promise<LogPosition> {
    if (manifest === undefined) return { segment: 0, offset: 0 };
    const proven = await provenEnd(this.#source, manifest).catch((error: unknown) => {
      if (!(error instanceof DamagedData)) throw error;
      this.#findings.report({
        file: LOG_END,
        offset: 0,
        what: 'is damaged or missing',
        isDamage: true,
      });
      return undefined;
    });
    return proven?.position ?? manifest.synced;
  }

  /** Passes the valid records of the candidate's files to `save` and reports faults. */
  async #salvageSegment(
    candidate: Candidate,
    save: (page: Viewed, end: number) => Promise<void>,
  ): Promise<readonly Scanned[]> {
    const { id, names } = candidate;
    if (!names.includes(segmentName(id))) {
      this.#findings.reportDamage(segmentName(id), 'is missing');
    }
    const all = await this.#candidates.scan(candidate, this.#options);
    const whole: WholeRecord[] = [];
    for (const [index, { segment, scanned }] of all.entries()) {
      const { page } = segment;
      const name = names[index] ?? '';
      const isBlank = scanned.records.length === 0 && scanned.gaps.length === 0;
      if (segment.fault !== undefined && !isBlank) {
        this.#findings.report({ file: name, offset: 0, what: segment.fault, isDamage: true });
      } else if (segment.fault !== undefined) {
        this.#findings.report({ file: name, what: NO_SEGMENT, isDamage: false });
      }
      if (scanned.records.length > 0) this.#findings.flushTail();
      for (const at of scanned.records) {
        if (this.#isSaved(segment, name, at)) {
          whole.push({ page, at, end: at + recordBytesAt(page, at) });
        }
      }
      for (const gap of scanned.gaps) {
        if (gap.offset >= scanned.end) this.#findings.addToTail({ segment, file: name, gap });
        else this.#findings.reportGap({ segment, file: name, gap });
      }
    }
    whole.sort((a, b) => a.at - b.at);
    const saved = this.#pageFor(Math.max(...all.map(({ segment }) => segment.length)));
    let end = HEADER_BYTES;
    let covered = 0;
    for (const record of whole) {
      if (record.at < covered) continue;
      covered = record.end;
      this.#records++;
      const { page, at } = record;
      this.#bytes += record.end - at;
      page.bytes.copy(saved.bytes, end, at, record.end);
      end += record.end - at;
    }
    if (end > HEADER_BYTES) await save(saved, end);
    return all.map(({ scanned }) => scanned);
  }

  #pageFor(bytes: number): Viewed {
    if (this.#page.bytes.length < bytes) this.#page = new ViewedBytes(bytes);
    return this.#page;
  }

  /** Whether the record, which has a correct checksum, is saved. */
  #isSaved({ page, id }: ReadSegment, file: string, at: number): boolean {
    const type = typeAt(page, at);
    if (type === MARK || type >= SKIPPED_TYPE_MIN) return false;
    const isNote = type === PARTITION && id.kind === SNAPSHOT;
    if (!isNote && !readMutation(page, at, this.#mutation)) {
      if (unknownIn(page, at) !== undefined) throw unreadableRecord(this.#source, file, page, at);
      this.#findings.reportDamage(file, INVALID_FIELDS, at);
      return false;
    }
    const partition = partitionAt(page, at);
    if (partition === EVERY_PARTITION || partition < this.#partitionCount) return true;
    throw new GridError('PARTITION_COUNT_CHANGED', {
      configured: this.#partitionCount,
      stored: `${partition + 1} at least`,
      directory: this.#source.path,
    });
  }
}

const WAITING_LOST = 'is damaged or missing: it contains unsent changes of WAN publishers';

const NO_SEGMENT = 'contains neither a segment header nor a record';

function logName(number: number): string {
  return segmentName({ kind: LOG, number, part: 0 });
}
