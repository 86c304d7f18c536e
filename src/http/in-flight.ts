/**
 * The budget for bytes in flight over all connections: contents under way, by their announced
 * length, and copies of answers that wait for their clients. A long value that is sent from where
 * it is stored is not in it: it is data, and counted there.
 *
 * Contents are refused beyond the budget. Answers are not, as their requests have taken effect; but
 * then connections that hold some of it read no further. So that content half sent locks nobody out,
 * each refusal ends the one that has been under way for a while with the least to show for it.
 */

/** Content that has been under way so long, in milliseconds, with fewer bytes, may be ended. */
const PATIENCE_MS = 5000;
const SPARED_BYTES = 65536;
/** The contents under way are looked through once in so many milliseconds at most. */
const SEARCH_PAUSE_MS = 10;

/** Content that did not come whole with its head. */
export interface ContentUnderWay {
  /** When its head had come, in milliseconds of the clock. */
  readonly sinceMs: number;
  /** Bytes of it that have come. */
  readonly received: number;
  /** Its request is to end, with 408. */
  makeRoom(): void;
}

export class InFlightBudget {
  readonly bytesMax: number;
  /** Bytes of contents and answers. */
  usedBytes = 0;
  /** In the order in which they began. */
  readonly #contents = new Set<ContentUnderWay>();
  #searchedMs = Number.NEGATIVE_INFINITY;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Whether nothing more fits. */
  get isFull(): boolean {
    return this.usedBytes >= this.bytesMax;
  }

  /** Takes bytes for content. False: they do not fit, and nothing was taken. */
  take(bytes: number): boolean {
    if (this.usedBytes + bytes > this.bytesMax) return false;
    this.usedBytes += bytes;
    return true;
  }

  /** Takes bytes for an answer, whether they fit or not. */
  overdraw(bytes: number): void {
    this.usedBytes += bytes;
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    this.usedBytes -= bytes;
  }

  /** Content is under way; to be left when it has come or is let go of. */
  enter(content: ContentUnderWay): void {
    this.#contents.add(content);
  }

  leave(content: ContentUnderWay): void {
    this.#contents.delete(content);
  }

  /** Content was refused: ends the one that has the least to show for its time, if any may be. */
  relieve(nowMs: number): void {
    if (nowMs < this.#searchedMs + SEARCH_PAUSE_MS) return;
    this.#searchedMs = nowMs;
    let least: ContentUnderWay | undefined;
    let leastBytes = SPARED_BYTES;
    for (const content of this.#contents) {
      if (content.sinceMs + PATIENCE_MS > nowMs) break;
      if (content.received >= leastBytes) continue;
      least = content;
      leastBytes = content.received;
    }
    least?.makeRoom();
  }
}
