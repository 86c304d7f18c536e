/**
 * A response whose content is written in pieces. Pieces are copied when they are written and sent
 * at the end of the turn. Once 32 KiB are unsent, the writer must wait for room, so a stream takes
 * no more memory than that and a piece, however long it is and however slowly it is read. Short pieces are
 * written into the arena, others into buffers of the pool for bodies, because a slow reader's bytes
 * in the arena would require a new one.
 *
 * A stream whose client has disconnected ignores further content. Its handler is asked to finish and ends
 * it as usual; until then the request is under way.
 */

import { NO_PARTITION } from '../base/partition-number.ts';
import { Span } from '../base/span.ts';
import { HEAD } from './methods.ts';
import type { Request } from './request.ts';
import type { ResponseQueue } from './response-queue.ts';
import type { HttpServer } from './server.ts';

/** Maximum length of a chunk, in bytes: with its framing it fits into one write. */
const CHUNK_BYTES_MAX = 65520;
/** Maximum length of a piece that is written into the arena, in bytes. */
const SHORT_BYTES_MAX = 4096;
/** Room for the framing of a chunk, its hexadecimal size and line ends, in bytes. */
const CHUNK_FRAMING_BYTES = 16;
/** Unsent bytes beyond which the writer must wait. */
const UNSENT_BYTES_MAX = 32768;

export class ResponseStream {
  readonly #request: Request;
  readonly #server: HttpServer;
  readonly #isChunked: boolean;
  readonly #onRoom: () => void;
  readonly #onEnded: () => void;
  readonly #piece = new Span();
  /** Whether written bytes are sent: not in response to HEAD, nor to a disconnected client. */
  takesContent: boolean;
  #isEnded = false;
  #wantsRoom = false;

  /** `isSent`: whether the head has been written, as the client has not disconnected. */
  constructor(
    request: Request,
    server: HttpServer,
    isSent: boolean,
    onRoom: () => void,
    onEnded: () => void,
  ) {
    const { method, version } = request.head;
    this.#request = request;
    this.#server = server;
    this.#isChunked = version === 11;
    this.takesContent = isSent && method !== HEAD;
    this.#onRoom = onRoom;
    this.#onEnded = onEnded;
  }

  /**
   * Writes bytes, which are copied. Returns false if the writer must wait until onRoom is called.
   * `partition` and `sequence`: the mutation that must be durable before they are sent.
   */
  write(bytes: Buffer, partition = NO_PARTITION, sequence = 0): boolean {
    if (this.#isEnded || !this.takesContent) return true;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES_MAX) {
      this.#write(bytes.subarray(at, at + CHUNK_BYTES_MAX), partition, sequence);
    }
    this.#request.onStreamed();
    this.#wantsRoom = this.#unsentBytes() > UNSENT_BYTES_MAX;
    return !this.#wantsRoom;
  }

  /** Ends the complete content. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { queue } = this.#request;
    if (this.takesContent && this.#isChunked && queue !== undefined) {
      queue.begin(CHUNK_FRAMING_BYTES, NO_PARTITION, 0);
      this.#server.arena.writeText('0\r\n\r\n');
      queue.end();
      queue.endPieces();
    }
    this.#onEnded();
  }

  /** Ends content that cannot be completed; closes the connection, so that the client notices. */
  cut(): void {
    if (this.#isEnded) return;
    this.#request.onCut();
    this.end();
  }

  /** Ignores further content, as the client has disconnected. */
  drop(): void {
    this.takesContent = false;
    this.#wantsRoom = false;
  }

  /** Calls onRoom if the writer waits and there is room again. */
  offerRoom(): void {
    if (!this.#wantsRoom || this.#unsentBytes() > UNSENT_BYTES_MAX / 2) return;
    this.#wantsRoom = false;
    this.#onRoom();
  }

  #unsentBytes(): number {
    return this.#request.queue?.unsentBytes ?? 0;
  }

  #write(bytes: Buffer, partition: number, sequence: number): void {
    const { queue } = this.#request;
    if (queue === undefined) return;
    if (bytes.length > SHORT_BYTES_MAX) return this.#writeLong(queue, bytes, partition, sequence);
    const { arena } = this.#server;
    queue.begin(bytes.length + CHUNK_FRAMING_BYTES, partition, sequence);
    if (this.#isChunked) arena.writeText(`${bytes.length.toString(16)}\r\n`);
    arena.writeSpan(this.#piece.set(bytes, 0, bytes.length));
    if (this.#isChunked) arena.writeText('\r\n');
    queue.end();
  }

  #writeLong(queue: ResponseQueue, bytes: Buffer, partition: number, sequence: number): void {
    const { inFlight } = this.#server;
    const buffer = inFlight.buffers.acquire(bytes.length + CHUNK_FRAMING_BYTES);
    let end = 0;
    if (this.#isChunked) end = buffer.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
    end += bytes.copy(buffer, end);
    if (this.#isChunked) end += buffer.write('\r\n', end, 'latin1');
    inFlight.overdraw(end);
    const release = (): void => {
      inFlight.release(end);
      inFlight.buffers.release(buffer);
    };
    queue.addPinned(buffer, 0, end, { isCounted: true, release }, partition, sequence);
  }
}
