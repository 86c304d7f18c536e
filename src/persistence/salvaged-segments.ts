/**
 * Writes saved records into new segments of a log and of a snapshot. Their checksums are
 * recomputed, as they depend on the number of the segment. Without a target nothing is written.
 * Tested by repair.spec.ts.
 */

import { type Viewed, ViewedBytes } from '../base/copy-bytes.ts';
import { AtomicFile } from './atomic-file.ts';
import type { Manifest, SnapshotFiles } from './manifest.ts';
import { CONTROL_RECORD_BYTES, reseal, SEAL, writeControlRecord } from './record-codec.ts';
import { NEXT_DURABLE } from './seals.ts';
import {
  HEADER_BYTES,
  LOG,
  type SegmentId,
  SNAPSHOT,
  segmentHeader,
  segmentName,
  segmentSeed,
} from './segment.ts';
import type { Storage } from './storage.ts';

/** The storage for the segments, and the suffix of their names until they are valid. */
export interface SalvageTarget {
  readonly storage: Storage;
  readonly suffix: string;
}

/** Writes the segments of a log. Each is sealed when the next one starts. */
export class SalvagedLog {
  readonly #target: SalvageTarget | undefined;
  readonly #firstNumber: number;
  #last: SalvagedSegment | undefined;

  constructor(target: SalvageTarget | undefined, firstNumber: number) {
    this.#target = target;
    this.#firstNumber = firstNumber;
  }

  /** Adds a segment. Its records are in the page, from HEADER_BYTES to `end`. */
  async add(page: Viewed, end: number): Promise<void> {
    const number = this.#last === undefined ? this.#firstNumber : this.#last.id.number + 1;
    await this.#last?.complete(number);
    this.#last = await SalvagedSegment.begin(this.#target, { kind: LOG, number, part: 0 });
    await this.#last.write(page, end);
  }

  /** Ends the log, which has at least one segment. Nothing may be added afterwards. */
  async end(): Promise<Pick<Manifest, 'firstSegment' | 'synced'>> {
    if (this.#last === undefined) await this.add(new ViewedBytes(HEADER_BYTES), HEADER_BYTES);
    const { id, end } = this.#last as SalvagedSegment;
    await this.#last?.complete(undefined);
    return { firstSegment: this.#firstNumber, synced: { segment: id.number, offset: end } };
  }

  /** Discards an unfinished segment. */
  async discard(): Promise<void> {
    await this.#last?.discard();
  }
}

/** Writes the parts of a snapshot. */
export class SalvagedSnapshot {
  readonly #target: SalvageTarget | undefined;
  readonly #number: number;
  #parts = 0;
  #bytes = 0;

  constructor(target: SalvageTarget | undefined, number: number) {
    this.#target = target;
    this.#number = number;
  }

  /** Adds a part. Its records are in the page, from HEADER_BYTES to `end`. */
  async add(page: Viewed, end: number): Promise<void> {
    const id = { kind: SNAPSHOT, number: this.#number, part: this.#parts++ } as const;
    const segment = await SalvagedSegment.begin(this.#target, id);
    await segment.write(page, end);
    await segment.complete(this.#parts);
    this.#bytes += end - HEADER_BYTES;
  }

  /** The files of the snapshot; undefined if it has no parts. */
  get files(): SnapshotFiles | undefined {
    if (this.#parts === 0) return undefined;
    return { number: this.#number, parts: this.#parts, bytes: this.#bytes };
  }
}

class SalvagedSegment {
  readonly id: SegmentId;
  /** Offset after its records. */
  end = HEADER_BYTES;
  #whole: AtomicFile | undefined;

  private constructor(id: SegmentId, whole: AtomicFile | undefined) {
    this.id = id;
    this.#whole = whole;
  }

  static async begin(target: SalvageTarget | undefined, id: SegmentId): Promise<SalvagedSegment> {
    const name = segmentName(id) + (target?.suffix ?? '');
    const whole = target === undefined ? undefined : await AtomicFile.begin(target.storage, name);
    return new SalvagedSegment(id, whole);
  }

  async write(page: Viewed, end: number): Promise<void> {
    this.end = end;
    if (this.#whole === undefined) return;
    const seed = segmentSeed(this.id);
    for (let at = HEADER_BYTES; at < end; ) at = reseal(page, at, seed);
    await this.#attempt(({ file }) => file.write(page.bytes, HEADER_BYTES, end, HEADER_BYTES));
  }

  /** Completes the segment, with a SEAL if another one follows. */
  async complete(next: number | undefined): Promise<void> {
    await this.#attempt(async ({ file }) => {
      let length = this.end;
      if (next !== undefined) {
        const page = new ViewedBytes(CONTROL_RECORD_BYTES);
        length += writeControlRecord(page, 0, SEAL, 0, next, NEXT_DURABLE, segmentSeed(this.id));
        await file.write(page.bytes, 0, CONTROL_RECORD_BYTES, this.end);
      }
      await file.write(segmentHeader(this.id, length), 0, HEADER_BYTES, 0);
    });
    const whole = this.#whole;
    this.#whole = undefined;
    await whole?.complete();
  }

  async discard(): Promise<void> {
    await this.#whole?.discard();
    this.#whole = undefined;
  }

  async #attempt(work: (whole: AtomicFile) => Promise<void>): Promise<void> {
    if (this.#whole === undefined) return;
    try {
      await work(this.#whole);
    } catch (error) {
      await this.discard();
      throw error;
    }
  }
}
