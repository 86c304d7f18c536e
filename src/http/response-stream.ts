/**
 * A response whose content is written in pieces. Pieces are copied when they are written and sent
 * at the end of the turn. Once 64 KiB are unsent, the writer must wait for room, so a stream takes
 * no more memory than that, however long it is and however slowly it is read. Short pieces are
 * written into the arena, others into buffers of the pool for bodies, because a slow reader's bytes
 * in the arena would require a new one.
 *
 * A stream whose client has disconnected ignores further content. Its handler is asked to finish and ends
 * it as usual; until then the request's slot is in use.
 */

import type { OutputArena } from './arena.ts';
import type { InFlightBudget } from './in-flight.ts';
import { INDEPENDENT } from './response-delay.ts';
import type { ResponseQueue } from './response-queue.ts';

/** Maximum length of a chunk, in bytes: with its framing it fits into one write. */
const CHUNK_BYTES_MAX = 65520;
/** Maximum length of a piece that is written into the arena, in bytes. */
const SHORT_BYTES_MAX = 4096;
/** Room for the framing of a chunk, its hexadecimal size and line ends, in bytes. */
const CHUNK_FRAMING_BYTES = 16;
/** Unsent bytes beyond which the writer must wait. */
const UNSENT_BYTES_MAX = 65536;

/** The part of its request's slot that a stream uses. */
export interface StreamOwner {
  /** The queue to write to; undefined once the client has disconnected. */
  readonly responses: ResponseQueue | undefined;
  /** Counts the unsent bytes, and provides the buffers for them. */
  readonly inFlight: InFlightBudget;
  onStream(stream: ResponseStream): void;
  /** Called when bytes have been written and have to be sent. */
  onStreamed(): void;
  /** Called when the connection has to end at the present point of the stream. */
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

  /** `isSilent`: whether the content is not sent, as in a response to HEAD. */
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

  /** Whether written bytes are sent: not in response to HEAD, nor to a disconnected client. */
  get takesContent(): boolean {
    return this.#takesContent;
  }

  /** Writes bytes, which are copied. Returns false if the writer must wait until onRoom is called. */
  write(bytes: Buffer): boolean {
    if (this.#isEnded || !this.#takesContent) return true;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES_MAX) {
      this.#write(bytes.subarray(at, at + CHUNK_BYTES_MAX));
    }
    this.#owner.onStreamed();
    this.#wantsRoom = this.#unsentBytes() > UNSENT_BYTES_MAX;
    return !this.#wantsRoom;
  }

  /** Ends the complete content. */
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

  /** Ends content that cannot be completed; closes the connection, so that the client notices. */
  cut(): void {
    if (this.#isEnded) return;
    this.#owner.onCut();
    this.end();
  }

  /** Ignores further content, as the client has disconnected. */
  drop(): void {
    this.#takesContent = false;
    this.#wantsRoom = false;
  }

  /** Calls onRoom if the writer waits and there is room again. */
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
    responses.addPinned(buffer, 0, end, { isCounted: true, release });
  }
}
