/**
 * Reads segments, each whole, the next one already while the one before is worked on. The pages of
 * two are used in turn: what was read stays until the one after the next is asked for.
 */
import { Page } from './record-codec.ts';
import { headerFault, type SegmentId, segmentName, segmentSeed } from './segment.ts';
import type { Storage } from './storage.ts';

export interface ReadSegment {
  readonly id: SegmentId;
  readonly seed: number;
  readonly page: Page;
  /** Bytes of the file. */
  readonly length: number;
  /** What is wrong with its header. */
  readonly fault: string | undefined;
}

export class SegmentReader {
  readonly #storage: Storage;
  readonly #pages: Page[] = [];
  /** Which of the pages was given last. */
  #turn = 0;
  #ahead: { readonly name: string; readonly segment: Promise<ReadSegment> } | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async read(id: SegmentId, next: SegmentId | undefined): Promise<ReadSegment> {
    const name = segmentName(id);
    const ahead = this.#ahead;
    this.#ahead = undefined;
    // Also where it is another that is wanted: its page is not free before.
    const read = await ahead?.segment.catch(() => undefined);
    const segment =
      read !== undefined && ahead?.name === name ? read : await this.readFile(name, id);
    if (next !== undefined) {
      const reading = this.readFile(segmentName(next), next);
      // Whoever asks for it reads again, and gets the error then.
      reading.catch(() => {});
      this.#ahead = { name: segmentName(next), segment: reading };
    }
    return segment;
  }

  /** Reads a file of any name as that segment. */
  async readFile(name: string, id: SegmentId): Promise<ReadSegment> {
    const file = await this.#storage.open(name);
    try {
      const page = this.#page(file.length);
      const length = await file.read(page.bytes, 0);
      page.bytes.fill(0, length, Math.min(page.bytes.length, length + 8));
      const fault = headerFault(id, page, length);
      return { id, seed: segmentSeed(id), page, length, fault };
    } finally {
      await file.close();
    }
  }

  #page(bytes: number): Page {
    this.#turn ^= 1;
    const page = this.#pages[this.#turn];
    // Zeros behind the last byte, up to a whole record, count as the file's.
    const needed = (bytes + 15) & ~7;
    if (page !== undefined && page.bytes.length >= needed) return page;
    const longer = new Page(needed, true);
    this.#pages[this.#turn] = longer;
    return longer;
  }
}
