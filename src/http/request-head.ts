/**
 * A request as seen by its handler: numbers, and spans of the received bytes. The parser fills it in, and
 * it is reused for the next request of the connection. It is valid until the request is answered. Spans
 * may refer to the input area that all connections share, so the bytes of a request that outlives its
 * turn are copied. Tested by vectors.spec.ts.
 *
 * The header fields that are read (header-fields.ts) are places in one array. A request that has none of
 * them pays one comparison of `fieldBits`. Tested by request-fields.spec.ts.
 */
import { NO_BYTES, NO_SPAN, Span } from '../base/span.ts';
import { type HeaderField, LIST } from './header-fields.ts';
import type { ReadFailure } from './read-failures.ts';
import type { Places } from './retained-bytes.ts';

/** Numbers for each occurrence of a field: the number of its row, start and end of its value. */
const OCCURRENCE_NUMBERS = 3;
/** Maximum length of an array that is reused for later requests: that of 16 occurrences. */
const REUSED_NUMBERS_MAX = 48;
/** Memory for each number of a longer array, in bytes. */
const NUMBER_BYTES = 8;

/** The owner of a copy: a place for retained bytes, or the carry of a head. */
interface BytesCopier {
  /** Copies the bytes of the span and makes the span refer to the copy. */
  retain(span: Span): void;
}

export class RequestHead {
  // The fields below are used by every request and are adjacent in memory.
  /** The number of the method (methods.ts). */
  method = 0;
  /** The version: 10 for HTTP/1.0, 11 for HTTP/1.1. */
  version = 0;
  /**
   * Whether the connection may continue after this request (RFC 9112 section 9.3). False for CONNECT, and
   * after bytes or a fault of the member that end the connection.
   */
  keepAlive = false;
  /** Length of the content, in bytes; UNKNOWN_LENGTH if chunked. */
  contentLength = 0;
  /** The bits of the rows of all stored header fields. */
  fieldBits = 0;
  /** The path, beginning with a slash, and query; or the asterisk. Raw bytes and escapes are unchanged. */
  readonly target = new Span();
  /** Offset of the first `?` in the target's bytes, or the target's end. */
  pathEnd = 0;
  /** Whether the path contains a `%`. */
  escaped = false;
  /** The requested host, truncated, if the listener does not serve it. */
  unservedHost: string | undefined;
  /** The occurrences of fields, in their order; created when first needed. */
  #occurrences: number[] | undefined;
  /** Number of the numbers in use. */
  #numbersEnd = 0;
  /** The buffer that the occurrences refer to. */
  #fieldBuffer: Buffer = NO_BYTES;
  readonly #value = new Span();

  get hasBody(): boolean {
    return this.contentLength !== 0;
  }

  has({ bit }: HeaderField): boolean {
    return (this.fieldBits & bit) !== 0;
  }

  /** Whether the field occurs more than once. */
  isRepeated(row: HeaderField): boolean {
    return this.#next(row, this.#next(row)) >= 0;
  }

  /** Returns the first value of the field, empty if it is absent; valid until a value is read again. */
  field(row: HeaderField): Span {
    return this.has(row) ? this.#valueAt(this.#next(row)) : NO_SPAN;
  }

  /** Returns the last value of the field that is accepted, if there is one; valid as that of `field`. */
  findLast(row: HeaderField, accepts: (value: Span) => boolean): Span | undefined {
    let found = -1;
    for (let at = this.#next(row); at >= 0; at = this.#next(row, at))
      if (accepts(this.#valueAt(at))) found = at;
    return found < 0 ? undefined : this.#valueAt(found);
  }

  /** Returns all values of the field as one list (RFC 9110 section 5.3); '' if it is absent. */
  fieldText(row: HeaderField): string {
    const values: string[] = [];
    for (let at = this.#next(row); at >= 0; at = this.#next(row, at)) {
      const { bytes, start, end } = this.#valueAt(at);
      values.push(bytes.toString('latin1', start, end));
    }
    return values.join(', ');
  }

  /** Begins the fields of a request. */
  clearFields(): void {
    this.fieldBits = 0;
    this.#numbersEnd = 0;
  }

  /** Adds an occurrence; all are in one buffer. Returns the failure of a field that may not be repeated. */
  addField(row: HeaderField, bytes: Buffer, start: number, end: number): ReadFailure {
    if (this.has(row) && row.repeated !== LIST) return row.repeated;
    this.#occurrences ??= [];
    const occurrences = this.#occurrences;
    const at = this.#numbersEnd;
    occurrences[at] = row.number;
    occurrences[at + 1] = start;
    occurrences[at + 2] = end;
    this.#numbersEnd = at + OCCURRENCE_NUMBERS;
    this.#fieldBuffer = bytes;
    this.fieldBits |= row.bit;
    return 0;
  }

  /** Returns the occurrences, with offsets from `origin`, for `repeatFields`. */
  copyFields(origin: number): readonly number[] {
    const occurrences = this.#occurrences?.slice(0, this.#numbersEnd) ?? [];
    return occurrences.map((number, at) =>
      at % OCCURRENCE_NUMBERS === 0 ? number : number - origin,
    );
  }

  /** Sets all fields to those of a request that was copied. */
  repeatFields(bits: number, copy: readonly number[], bytes: Buffer, origin: number): void {
    const { length } = copy;
    this.fieldBits = bits;
    this.#numbersEnd = length;
    if (length === 0) return;
    this.#fieldBuffer = bytes;
    this.#occurrences ??= [];
    const occurrences = this.#occurrences;
    for (let at = 0; at < length; at += OCCURRENCE_NUMBERS) {
      occurrences[at] = copy[at]!;
      occurrences[at + 1] = copy[at + 1]! + origin;
      occurrences[at + 2] = copy[at + 2]! + origin;
    }
  }

  /** Copies the values, one after the other, and makes the fields refer to the copies. */
  retainFields(to: BytesCopier): void {
    const bytes = this.#fieldBuffer;
    const occurrences = this.#occurrences;
    for (let at = 0; at < this.#numbersEnd; at += OCCURRENCE_NUMBERS) {
      const value = this.#value.set(bytes, occurrences![at + 1]!, occurrences![at + 2]!);
      if (value.length === 0) continue;
      to.retain(value);
      this.#fieldBuffer = value.bytes;
      occurrences![at + 1] = value.start;
      occurrences![at + 2] = value.end;
    }
  }

  /** Makes the fields refer to `bytes`, which begins with the same bytes as their buffer. */
  rebaseFields(bytes: Buffer): void {
    this.#fieldBuffer = bytes;
  }

  /** Length of all stored values, in bytes. O(occurrences). */
  get fieldBytes(): number {
    let bytes = 0;
    const occurrences = this.#occurrences;
    for (let at = 0; at < this.#numbersEnd; at += OCCURRENCE_NUMBERS)
      bytes += occurrences![at + 2]! - occurrences![at + 1]!;
    return bytes;
  }

  /** Memory for the array of occurrences, in bytes, if it is too long to be reused; otherwise 0. */
  get occurrenceBytes(): number {
    const length = this.#occurrences?.length ?? 0;
    return length > REUSED_NUMBERS_MAX ? length * NUMBER_BYTES : 0;
  }

  /** Memory for a head that outlives its turn, in bytes: what `retainHead` copies, and many occurrences. */
  get headBytes(): number {
    const { length } = this.target;
    return this.fieldBits === 0 ? length : length + this.fieldBytes + this.occurrenceBytes;
  }

  /** Releases all of the head but its path. */
  retainPath(): void {
    this.target.end = this.pathEnd;
    this.#releaseFields();
  }

  /** Releases the bytes of the head, when the request is over. */
  releaseHead(): void {
    this.target.clear();
    this.#releaseFields();
  }

  /** Returns the first `length` bytes of the target as text, with raw bytes escaped. */
  targetText(length: number): string {
    const { bytes, start } = this.target;
    const text = bytes.toString('latin1', start, start + length);
    return text.replace(/[\x80-\xff]/g, (byte) => `%${hexadecimal(byte.charCodeAt(0))}`);
  }

  /** Copies the head, so that it outlives the turn. */
  retainHead(places: Places): void {
    const { target } = this;
    const { start } = target;
    places.retain(target);
    this.pathEnd += target.start - start;
    if (this.fieldBits !== 0) this.retainFields(places);
  }

  /** Returns the field's first occurrence, or its next one after `previous`; -1 if there is none. */
  #next({ number, bit }: HeaderField, previous = -OCCURRENCE_NUMBERS): number {
    if ((this.fieldBits & bit) === 0) return -1;
    const occurrences = this.#occurrences!;
    let at = previous + OCCURRENCE_NUMBERS;
    while (at < this.#numbersEnd && occurrences[at] !== number) at += OCCURRENCE_NUMBERS;
    return at < this.#numbersEnd ? at : -1;
  }

  #valueAt(occurrence: number): Span {
    const occurrences = this.#occurrences!;
    const start = occurrences[occurrence + 1]!;
    return this.#value.set(this.#fieldBuffer, start, occurrences[occurrence + 2]!);
  }

  #releaseFields(): void {
    if (this.occurrenceBytes > 0) this.#occurrences = undefined;
    this.clearFields();
    this.#fieldBuffer = NO_BYTES;
    this.#value.clear();
  }
}

function hexadecimal(byte: number): string {
  return byte.toString(16).toUpperCase();
}

export const UNKNOWN_LENGTH = -1;
/** The value of an absent field. */
