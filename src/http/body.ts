/**
 * The content of a request while it arrives. One that came whole with its head is named where it
 * lies in the chunk; one of known length goes into a buffer of that length; a chunked one into a
 * buffer that doubles up to the limit. A body that nobody wants is only counted.
 */
import type { Span } from '../base/span.ts';
import { UNKNOWN_LENGTH } from './request.ts';

/** First size of the buffer of a chunked body, in bytes. */
const CHUNKED_BYTES_FIRST = 4096;

export class Body {
  readonly #bytesMax: number;
  readonly #span: Span;
  #buffer: Buffer | undefined;
  #length = 0;
  /** Bytes of content that have come. */
  received = 0;
  /** Bytes of content that have come or certainly will. */
  announced = 0;
  /** Whether what comes is only counted. */
  isDropped = false;
  /** Whether more content came, or is announced, than may. */
  isTooLong = false;

  /** `span` names the content once it is complete; more than `bytesMax` is not kept. */
  constructor(span: Span, bytesMax: number) {
    this.#span = span;
    this.#bytesMax = bytesMax;
  }

  /** Content of `length` bytes is expected, or of UNKNOWN_LENGTH. */
  begin(length: number): void {
    this.#length = length;
    this.received = 0;
    this.announced = 0;
    this.isDropped = false;
    this.isTooLong = false;
  }

  /** At least so many bytes more are to come. */
  announce(bytes: number): void {
    this.announced = this.received + bytes;
    if (this.announced <= this.#bytesMax) return;
    this.isTooLong = true;
    this.drop();
  }

  append(bytes: Buffer, start: number, end: number): void {
    const at = this.received;
    this.received += end - start;
    this.announce(0);
    if (this.isDropped) return;
    if (at === 0 && end - start === this.#length) {
      this.#span.set(bytes, start, end);
      return;
    }
    const buffer = this.#reserve();
    bytes.copy(buffer, at, start, end);
    this.#span.set(buffer, 0, this.received);
  }

  /** What came is let go of, and what comes from now on is dropped. */
  drop(): void {
    this.isDropped = true;
    this.end();
  }

  /** The request is over: its content is let go of. */
  end(): void {
    this.#buffer = undefined;
    this.#span.clear();
  }

  #reserve(): Buffer {
    const buffer = this.#buffer;
    if (buffer !== undefined && buffer.length >= this.received) return buffer;
    const doubled = Math.max(CHUNKED_BYTES_FIRST, (buffer?.length ?? 0) * 2, this.received);
    const grown = Buffer.allocUnsafeSlow(
      this.#length === UNKNOWN_LENGTH ? Math.min(doubled, this.#bytesMax) : this.#length,
    );
    buffer?.copy(grown);
    this.#buffer = grown;
    return grown;
  }
}
