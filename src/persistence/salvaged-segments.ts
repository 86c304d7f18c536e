/**
 * Writes records that were saved into new segments of a log and of a snapshot. Their checksums are
 * made anew, as they begin from the number of the segment. Without a target nothing is written.
 */
import type { Manifest, SnapshotFiles } from './manifest.ts';
import { finish, lengthAt, NOTE_BYTES, Page, SEAL, SURE, writeNote } from './record-codec.ts';
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

/** Where segments go, and what their names end in until they count. */
export interface SalvageTarget {
  readonly storage: Storage;
  readonly suffix: string;
}

/** Segments of a log, each sealed when the next one is there. */
export class SalvagedLog {
  readonly #target: SalvageTarget | undefined;
  readonly #firstNumber: number;
  #last: SegmentId | undefined;
  /** Where the last one ends. */
  #end = HEADER_BYTES;

  constructor(target: SalvageTarget | undefined, firstNumber: number) {
    this.#target = target;
    this.#firstNumber = firstNumber;
  }

  /** The records lie in the page behind the place of a header, up to `end`. */
  async add(page: Page, end: number): Promise<void> {
    const last = this.#last;
    const number = last === undefined ? this.#firstNumber : last.number + 1;
    this.#last = { kind: LOG, number, part: 0 };
    if (last !== undefined) await seal(this.#target, last, this.#end, number);
    this.#end = end;
    await writeSegment(this.#target, this.#last, page, end);
  }

  /** A log has one segment at least. Nothing is to be added any more. */
  async end(): Promise<Pick<Manifest, 'firstSegment' | 'synced'>> {
    if (this.#last === undefined) await this.add(new Page(HEADER_BYTES), HEADER_BYTES);
    const { number } = this.#last as SegmentId;
    await this.#target?.storage.syncDirectory();
    return { firstSegment: this.#firstNumber, synced: { segment: number, offset: this.#end } };
  }
}

/** Parts of a snapshot. */
export class SalvagedSnapshot {
  readonly #target: SalvageTarget | undefined;
  readonly #number: number;
  #parts = 0;
  #bytes = 0;

  constructor(target: SalvageTarget | undefined, number: number) {
    this.#target = target;
    this.#number = number;
  }

  /** As SalvagedLog.add. */
  async add(page: Page, end: number): Promise<void> {
    const id = { kind: SNAPSHOT, number: this.#number, part: this.#parts++ } as const;
    await writeSegment(this.#target, id, page, end);
    await seal(this.#target, id, end, this.#parts);
    this.#bytes += end - HEADER_BYTES;
  }

  /** Undefined where there is nothing in it. */
  get files(): SnapshotFiles | undefined {
    if (this.#parts === 0) return undefined;
    return { number: this.#number, parts: this.#parts, bytes: this.#bytes };
  }
}

async function writeSegment(
  target: SalvageTarget | undefined,
  id: SegmentId,
  page: Page,
  end: number,
): Promise<void> {
  if (target === undefined) return;
  segmentHeader(id).copy(page.bytes);
  const seed = segmentSeed(id);
  for (let at = HEADER_BYTES; at < end; ) at = finish(page, at, at + lengthAt(page, at), seed);
  const file = await target.storage.create(segmentName(id) + target.suffix);
  try {
    await file.write(page.bytes, 0, end, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function seal(
  target: SalvageTarget | undefined,
  id: SegmentId,
  end: number,
  next: number,
): Promise<void> {
  if (target === undefined) return;
  const page = new Page(NOTE_BYTES);
  writeNote(page, 0, SEAL, 0, next, SURE, segmentSeed(id));
  const file = await target.storage.open(segmentName(id) + target.suffix);
  try {
    await file.write(page.bytes, 0, NOTE_BYTES, end);
    await file.sync();
  } finally {
    await file.close();
  }
}
