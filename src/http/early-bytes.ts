/**
 * The bytes of one connection that were received before its server was stopped. Their requests are
 * answered, however long that takes.
 *
 * Node does not report what the system's receive buffer holds. So the bytes that are read count as early
 * until that buffer was read empty once: a turn of the event loop has passed in which reading did not
 * pause, and which read less than the loop reads of one socket at most. From a client that sends faster
 * than the server reads, no more bytes are early than such a buffer holds.
 */
import { readFileSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';
import type { Input } from './input.ts';

/**
 * The event loop reads a socket up to 32 times a turn, as long as that fills the buffer, which has 64 KiB
 * (for TLS 16 KiB). A turn that read less than this has read the socket empty, in bytes.
 */
const TURN_BYTES_MAX = 262_144;
const LIMITS_FILE = '/proc/sys/net/ipv4/tcp_rmem';
/** Linux's own limit of a receive buffer, in bytes. */
const BUFFER_BYTES_MAX = 6_291_456;

export class EarlyBytes {
  readonly #clock: Clock;
  readonly #input: Input;
  readonly #bytesMax: number;
  #isWatching = false;
  /** Whether all early bytes have been read from the socket. */
  #isComplete = false;
  /** Bytes read since the server was stopped. */
  #readBytes = 0;
  /** Bytes read after the early ones. */
  #lateBytes = 0;

  /** `bytesMax`: the most that the system's receive buffer may have held. */
  constructor(clock: Clock, input: Input, bytesMax: number) {
    this.#clock = clock;
    this.#input = input;
    this.#bytesMax = bytesMax;
    this.watch();
  }

  /** Whether early bytes may be left: in the socket, or unread by the parser. */
  get areLeft(): boolean {
    return !this.#isComplete || this.#input.unreadBytes > this.#lateBytes;
  }

  /** Bytes were read from the socket. */
  onRead(bytes: number): void {
    if (this.#isComplete) this.#lateBytes += bytes;
    else {
      this.#readBytes += bytes;
      this.#isComplete = this.#readBytes >= this.#bytesMax;
    }
  }

  /** The socket is known to be empty. */
  complete(): void {
    this.#isComplete = true;
  }

  /** Watches whether the socket is read empty; also to be called when reading goes on after a pause. */
  watch(): void {
    if (this.#isComplete || this.#isWatching || this.#input.isPaused) return;
    this.#isWatching = true;
    const { pauseCount } = this.#input;
    const readBytes = this.#readBytes;
    // The second end of a turn is that of a whole one.
    this.#clock.endOfTurn(() => {
      this.#clock.endOfTurn(() => this.#onWatched(pauseCount, readBytes));
    });
  }

  #onWatched(pauseCount: number, readBytes: number): void {
    this.#isWatching = false;
    const wasPaused = this.#input.pauseCount > pauseCount;
    if (!wasPaused && this.#readBytes - readBytes < TURN_BYTES_MAX) this.#isComplete = true;
    else this.watch();
  }
}

/** The most bytes that the system keeps of a connection for a program to read. */
export function receiveBufferBytesMax(): number {
  try {
    const [, , max] = readFileSync(LIMITS_FILE, 'latin1').split(/\s+/);
    return Number(max) || BUFFER_BYTES_MAX;
  } catch {
    // Not Linux, or no /proc.
    return BUFFER_BYTES_MAX;
  }
}
