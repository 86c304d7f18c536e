/**
 * Writes lines to a descriptor whose writes do not block (standard-output.ts). A log and an audit
 * log that share one writer keep the order of their lines.
 *
 * The first line of a turn of the event loop is written before the call returns, so that it
 * survives a crash right after it; the other lines of the turn are written together at its end.
 * While the descriptor accepts nothing, because its reader pauses or the disk is full, lines wait.
 * They are retried when later lines are written and by a timer. At most WAITING_BYTES_MAX wait.
 * Further lines are lost and counted; the next accepted line reports their number.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { NO_BYTES } from '../base/span.ts';

/** Maximum size of the waiting lines, in bytes. */
const WAITING_BYTES_MAX = 1_048_576;
/**
 * Delays of retries by the timer, in ms: the first and the longest; each is twice the previous one.
 */
const RETRY_MS = 10;
const RETRY_MS_MAX = 1000;
/**
 * Minimum time between two retries caused by lines, in ms: Node takes about 50 µs to create the
 * error of each.
 */
const TRY_MS = 2;
/**
 * Maximum time for which the end of the process waits for lines, and the delay of its retries, in
 * ms.
 */
const END_MS = 1000;
const END_RETRY_MS = 10;

/**
 * Writes the bytes from `start` on and returns how many were written. Throws the system's error: EAGAIN
 * if none can be written now.
 */
export type WriteBytes = (bytes: Buffer, start: number) => number;

export class LineWriter {
  readonly #send: WriteBytes;
  readonly #clock: Clock;
  readonly #onError: (error: Error) => void;
  /** Bytes being written, from `#at` on; `#lines` follow. */
  #bytes: Buffer = NO_BYTES;
  #at = 0;
  #lines: string[] = [];
  /** Number of waiting bytes, including those of `#lines`. */
  #waitingBytes = 0;
  #lostCount = 0;
  /** The part of `#lostCount` that the line being formatted reports. */
  #reportedCount = 0;
  /** Whether writing a line has been tried in this turn. */
  #hasTriedInTurn = false;
  /** Code of the error that kept the last try from writing everything; undefined for none. */
  #obstacle: string | undefined;
  /** Time from which a line may cause the next try while there is an obstacle. */
  #notBeforeMs = 0;
  #hasReported = false;
  #retryMs = RETRY_MS;
  #retry: Timer | undefined;

  /** `onError` is called with the first error of a write that is not EAGAIN. */
  constructor(send: WriteBytes, clock: Clock, onError: (error: Error) => void) {
    this.#send = send;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Accepts a line with its line end. */
  write(line: string): void {
    const length = Buffer.byteLength(line);
    if (this.#waitingBytes + length > WAITING_BYTES_MAX) {
      this.#lostCount++;
      this.#reportedCount = 0;
      return;
    }
    this.#lostCount -= this.#reportedCount;
    this.#reportedCount = 0;
    this.#lines.push(line);
    this.#waitingBytes += length;
    if (this.#hasTriedInTurn) return;
    this.#hasTriedInTurn = true;
    this.#clock.endOfTurn(this.#onTurnEnd);
    if (this.#obstacle === undefined || this.#clock.now() >= this.#notBeforeMs) this.flushSync();
  }

  /** Returns the fields for the next line: the number of lines lost before it. */
  nextFields(): { linesLost?: number } {
    this.#reportedCount = this.#lostCount;
    return this.#lostCount === 0 ? {} : { linesLost: this.#lostCount };
  }

  /**
   * Writes as much as the descriptor accepts now; pino calls it after each line of level fatal.
   */
  flushSync(): void {
    while (this.#waitingBytes > 0) {
      if (this.#at === this.#bytes.length) this.#beginLines();
      try {
        const count = this.#send(this.#bytes, this.#at);
        this.#at += count;
        this.#waitingBytes -= count;
        this.#endRetries();
      } catch (error) {
        return this.#onFault(error as NodeJS.ErrnoException);
      }
      if (this.#at < this.#bytes.length) return this.#tryLater(FULL);
    }
    this.#bytes = NO_BYTES;
    this.#at = 0;
    this.#obstacle = undefined;
  }

  /**
   * Writes all waiting lines before the process ends. Blocks the thread while the reader accepts
   * nothing, for at most END_MS; it does not wait after an error, such as EPIPE if the reader has
   * ended.
   */
  end(sleep: (ms: number) => void = sleepNow): void {
    const endMs = this.#clock.now() + END_MS;
    this.flushSync();
    while (this.#obstacle === FULL && this.#clock.now() < endMs) {
      sleep(END_RETRY_MS);
      this.flushSync();
    }
  }

  #beginLines(): void {
    this.#bytes = Buffer.from(this.#lines.join(''));
    this.#at = 0;
    this.#lines = [];
  }

  readonly #onTurnEnd = (): void => {
    this.#hasTriedInTurn = false;
    if (this.#obstacle === undefined) this.flushSync();
  };

  #endRetries(): void {
    this.#retryMs = RETRY_MS;
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  #onFault(error: NodeJS.ErrnoException): void {
    if (error.code !== FULL && !this.#hasReported) {
      this.#hasReported = true;
      this.#onError(error);
    }
    this.#tryLater(error.code ?? '');
  }

  #tryLater(obstacle: string): void {
    this.#obstacle = obstacle;
    this.#notBeforeMs = this.#clock.now() + TRY_MS;
    if (this.#retry !== undefined) return;
    this.#retry = this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
      this.flushSync();
    });
  }
}

function sleepNow(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Error code of a descriptor that accepts nothing at the moment. */
const FULL = 'EAGAIN';
