/**
 * A response whose content is made piece by piece. Pieces are copied when they are written and leave at
 * the end of the turn; once 64 KiB wait to be sent, the writer is to wait for room. So a stream takes
 * no more memory than that, however long it is and however slowly it is read. Short pieces go through
 * the arena. Others go into buffers of the pool for contents, as a slow reader's bytes in the arena
 * would cost a new arena.
 *
 * A stream whose client has gone takes no more content. Its handler is hurried then, and ends it, as
 * any other; until then the request's slot is in use.
 */

import { INDEPENDENT } from './answer-delay.ts';
import type { OutputArena } from './arena.ts';
import type { InFlightBudget } from './in-flight.ts';
import type { ResponseQueue } from './response-queue.ts';

/** The most bytes of one chunk: with its framing as many as are sent at once. */
const CHUNK_BYTES_MAX = 65520;
/** Pieces up to so many bytes go through the arena. */
const SHORT_BYTES_MAX = 4096;
/** A chunk's size in hexadecimal, and the line ends around it and after it. */
const CHUNK_FRAMING_BYTES = 16;
/** Where more bytes have not been sent, the writer is to wait. */
const UNSENT_BYTES_MAX = 65536;

/** The parts of its request's slot that a stream uses. */
export interface StreamOwner {
  /** Where the stream is written; undefined once the client has gone. */
  readonly responses: ResponseQueue | undefined;
  /** Counts the bytes not sent yet, and has buffers for them. */
  readonly inFlight: InFlightBudget;
  onStream(stream: ResponseStream): void;
  /** Bytes have been written and are to leave. */
  onStreamed(): void;
  /** The connection is to end at the present point of the stream. */
  onCut(): void;
}

export class ResponseStream {
  readonly #owner: StreamOwner;
  readonly #arena: OutputArena;
  readonly #isChunked: boolean;
  readonly #onRoom: () => void;
  readonly #onEnded: () => void;
  #takesContent: boolean;
  #isEnded = false;
  #wantsRoom = false;

  /** `isSilent`: no content is sent, as to HEAD. */
  constructor(
    owner: StreamOwner,
    arena: OutputArena,
    isChunked: boolean,
    isSilent: boolean,
    onRoom: () => void,
    onEnded: () => void,
  ) {
    this.#owner = owner;
    this.#arena = arena;
    this.#isChunked = isChunked;
    this.#takesContent = !isSilent;
    this.#onRoom = onRoom;
    this.#onEnded = onEnded;
  }

  /** Whether the bytes written are sent: not to HEAD, nor to a client that has gone. */
  get takesContent(): boolean {
    return this.#takesContent;
  }

  /** Adds bytes, which are copied. False: no more until onRoom is called. */
  write(bytes: Buffer): boolean {
    if (this.#isEnded || !this.#takesContent) return true;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES_MAX) {
      this.#write(bytes.subarray(at, at + CHUNK_BYTES_MAX));
    }
    this.#owner.onStreamed();
    this.#wantsRoom = this.#unsentBytes() > UNSENT_BYTES_MAX;
    return !this.#wantsRoom;
  }

  /** The content is complete. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { responses } = this.#owner;
    if (this.#takesContent && this.#isChunked && responses !== undefined) {
      responses.begin(CHUNK_FRAMING_BYTES, INDEPENDENT, 0);
      this.#arena.writeText('0\r\n\r\n');
      responses.end(false);
    }
    this.#onEnded();
  }

  /** The content cannot be completed: the connection ends, so that the client notices it. */
  cut(): void {
    if (this.#isEnded) return;
    this.#owner.onCut();
    this.end();
  }

  /** The client has gone. */
  drop(): void {
    this.#takesContent = false;
    this.#wantsRoom = false;
  }

  /** Notifies the writer where there is room again. */
  offerRoom(): void {
    if (!this.#wantsRoom || this.#unsentBytes() > UNSENT_BYTES_MAX / 2) return;
    this.#wantsRoom = false;
    this.#onRoom();
  }

  #unsentBytes(): number {
    return this.#owner.responses?.unsentBytes ?? 0;
  }

  #write(bytes: Buffer): void {
    const { responses } = this.#owner;
    if (responses === undefined) return;
    if (bytes.length > SHORT_BYTES_MAX) return this.#writeLong(responses, bytes);
    const arena = this.#arena;
    responses.begin(bytes.length + CHUNK_FRAMING_BYTES, INDEPENDENT, 0);
    if (this.#isChunked) arena.writeText(`${bytes.length.toString(16)}\r\n`);
    arena.writeBytes(bytes, 0, bytes.length);
    if (this.#isChunked) arena.writeText('\r\n');
    responses.end(false);
  }

  #writeLong(responses: ResponseQueue, bytes: Buffer): void {
    const { inFlight } = this.#owner;
    const buffer = inFlight.buffers.take(bytes.length + CHUNK_FRAMING_BYTES);
    let end = 0;
    if (this.#isChunked) end = buffer.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
    end += bytes.copy(buffer, end);
    if (this.#isChunked) end += buffer.write('\r\n', end, 'latin1');
    inFlight.overdraw(end);
    const release = (): void => {
      inFlight.give(end);
      inFlight.buffers.give(buffer);
    };
    responses.addPinned(buffer, 0, end, { isCounted: true, release });
  }
}
