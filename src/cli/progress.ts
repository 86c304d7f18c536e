/** How far a command is, in one line on a terminal that is written over; elsewhere nothing. */
import type { Streams } from './output.ts';

/** Between two writes, in milliseconds. */
const INTERVAL_MS = 200;
const MIB = 1_048_576;
/** What takes the line away. */
const CLEAR_LINE = '\r\u{1b}[K';

export class Progress {
  readonly #streams: Streams;
  readonly #what: string;
  #bytes = 0;
  #writtenMs = Number.NEGATIVE_INFINITY;

  constructor(streams: Streams, what: string) {
    this.#streams = streams;
    this.#what = what;
  }

  /** So many more bytes are done. */
  readonly add = (bytes: number): void => {
    this.#bytes += bytes;
    this.tell(`${Math.floor(this.#bytes / MIB)} MiB`);
  };

  tell(text: string): void {
    const { stderr } = this.#streams;
    const nowMs = performance.now();
    if (!stderr.isTTY || nowMs - this.#writtenMs < INTERVAL_MS) return;
    this.#writtenMs = nowMs;
    stderr.write(`${CLEAR_LINE}${this.#what}: ${text}`);
  }

  end(): void {
    if (this.#writtenMs > 0) this.#streams.stderr.write(CLEAR_LINE);
  }
}
