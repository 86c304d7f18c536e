/**
 * The bytes of one connection that were received before its server was stopped ("early"). Their requests
 * are answered, however long that takes.
 *
 * Node does not report the contents of the kernel's receive buffer. So bytes count as early until the
 * buffer has been read empty once: during a look of the carrier, reading did not pause and returned less
 * than LOOK_BYTES_MAX. If the client sends faster than the server reads, at most as many bytes are early
 * as the receive buffer can hold. Tested by drain.spec.ts.
 */
import { readFileSync } from 'node:fs';
import { type Carrier, LOOK_BYTES_MAX } from './carrier.ts';
import type { Input } from './input.ts';

const LIMITS_FILE = '/proc/sys/net/ipv4/tcp_rmem';
/** Linux's default limit for a receive buffer, in bytes. */
const BUFFER_BYTES_MAX = 6_291_456;

export class EarlyBytes {
  readonly #carrier: Carrier;
  readonly #input: Input;
  readonly #bytesMax: number;
  #isWatching = false;
  /** Whether all early bytes have been read from the socket. */
  #isComplete = false;
  /** Bytes read since the server was stopped. */
  #readBytes = 0;
  /** Bytes read after the early ones. */
  #lateBytes = 0;

  /** `bytesMax`: the most that the kernel's receive buffer can hold. */
  constructor(carrier: Carrier, input: Input, bytesMax: number) {
    this.#carrier = carrier;
    this.#input = input;
    this.#bytesMax = bytesMax;
    this.watch();
  }

  /** Whether early bytes may remain in the socket, or unread by the parser. */
  get areLeft(): boolean {
    return !this.#isComplete || this.#input.unreadBytes > this.#lateBytes;
  }

  /** Called when bytes were read from the socket. */
  onRead(bytes: number): void {
    if (this.#isComplete) this.#lateBytes += bytes;
    else {
      this.#readBytes += bytes;
      this.#isComplete = this.#readBytes >= this.#bytesMax;
    }
  }

  /** Marks the socket as read empty. */
  complete(): void {
    this.#isComplete = true;
  }

  /** Looks once more for early bytes. Also called when reading resumes. */
  watch(): void {
    if (this.#isComplete || this.#isWatching || this.#input.isPaused) return;
    this.#isWatching = true;
    const { pauseCount } = this.#input;
    const readBytes = this.#readBytes;
    this.#carrier.look(() => this.#onWatched(pauseCount, readBytes));
  }

  #onWatched(pauseCount: number, readBytes: number): void {
    this.#isWatching = false;
    const wasPaused = this.#input.pauseCount > pauseCount;
    if (!wasPaused && this.#readBytes - readBytes < LOOK_BYTES_MAX) this.#isComplete = true;
    else this.watch();
  }
}

/** Returns the kernel's limit for the receive buffer of a connection, in bytes. */
export function receiveBufferBytesMax(): number {
  try {
    const [, , max] = readFileSync(LIMITS_FILE, 'latin1').split(/\s+/);
    return Number(max) || BUFFER_BYTES_MAX;
  } catch {
    // Not Linux, or no /proc.
    return BUFFER_BYTES_MAX;
  }
}
