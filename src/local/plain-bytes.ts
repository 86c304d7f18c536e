/**
 * Converts names, keys, values and content types of a program to the bytes that the engine expects.
 * Tested by embedding/embedded-member.spec.ts.
 */
import { rangeFault, shownValue, typeFault, valueFault } from '../base/argument-faults.ts';
import { NO_BYTES, Span } from '../base/span.ts';

/** Bytes, or text, which is encoded as UTF-8. */
export type BytesOrText = Uint8Array | string;

/** Maximum length of a name or key, in bytes: the longest request target. */
export const KEY_BYTES_MAX = 65_536;
/** Maximum length of a value, in bytes. */
export const VALUE_BYTES_MAX = 1_073_741_824;
/** Maximum length of a content type, in characters. */
const CONTENT_TYPE_LENGTH_MAX = 8192;
/**
 * Length up to which a loop encodes text faster than a call, in characters (bench: short-copies).
 */
const SHORT_TEXT_LENGTH = 64;

/**
 * Sets one reused span to the bytes of a value, without allocating for short text or a Buffer.
 * @internal
 */
export class PlainBytes {
  readonly span = new Span();
  readonly #what: string;
  readonly #bytesMax: number;
  readonly #scratch = Buffer.alloc(SHORT_TEXT_LENGTH);

  /** `what`: name of the value in messages. `bytesMax`: its limit, in bytes. */
  constructor(what: string, bytesMax: number) {
    this.#what = what;
    this.#bytesMax = bytesMax;
  }

  /**
   * Returns the bytes, valid until the next call. Throws TypeError for a value that is neither
   * bytes nor text, or for text that has no UTF-8 encoding (half of a surrogate pair), RangeError
   * for too many bytes.
   */
  of(value: BytesOrText): Span {
    if (typeof value === 'string') return this.#ofText(value);
    if (!(value instanceof Uint8Array)) {
      throw typeFault(`Cannot use ${typeName(value)} as ${this.#what}: neither bytes nor text`);
    }
    const bytes = asBuffer(value);
    this.#check(bytes.length);
    return this.span.set(bytes, 0, bytes.length);
  }

  /** Returns a span of a copy of the bytes; see `of`. */
  copyOf(value: BytesOrText): Span {
    return Span.of(this.of(value).toBuffer());
  }

  #ofText(text: string): Span {
    const { length } = text;
    const scratch = this.#scratch;
    if (length <= SHORT_TEXT_LENGTH) {
      let at = 0;
      for (; at < length; at++) {
        const code = text.charCodeAt(at);
        if (code > 0x7f) break;
        scratch[at] = code;
      }
      if (at === length) return this.span.set(scratch, 0, length);
    }
    if (!isWellFormed(text)) {
      throw valueFault(`Cannot use ${shownValue(text)} as ${this.#what}: not Unicode text`);
    }
    const bytes = Buffer.from(text);
    this.#check(bytes.length);
    return this.span.set(bytes, 0, bytes.length);
  }

  #check(length: number): void {
    if (length <= this.#bytesMax) return;
    throw rangeFault(`Cannot use ${length} bytes as ${this.#what}: more than ${this.#bytesMax}`);
  }
}

/** Content types as text: values of an HTTP header field, one byte per character. @internal */
export class ContentTypes {
  readonly span = new Span();
  #lastText = '';
  #lastBytes: Buffer = NO_BYTES;

  /**
   * Returns the bytes, valid until the next call. Throws TypeError for text that is not a field
   * value.
   */
  bytesOf(text: string): Span {
    if (text !== this.#lastText) {
      if (typeof text !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
        throw valueFault(`Cannot use ${shownValue(text)} as content type: not a field value`);
      }
      if (text.length > CONTENT_TYPE_LENGTH_MAX) {
        const most = CONTENT_TYPE_LENGTH_MAX;
        throw rangeFault(`Cannot use ${text.length} characters as content type: more than ${most}`);
      }
      this.#remember(text, Buffer.from(text, 'latin1'));
    }
    return this.span.set(this.#lastBytes, 0, this.#lastBytes.length);
  }

  /** Returns the text of stored bytes; undefined if there are none. */
  textOf(stored: Span): string | undefined {
    const { bytes, start, end, length } = stored;
    if (length === 0) return undefined;
    const last = this.#lastBytes;
    let at = length === last.length ? 0 : length;
    while (at < length && bytes[start + at] === last[at]) at++;
    if (length !== last.length || at < length) {
      const copy = Buffer.from(bytes.subarray(start, end));
      this.#remember(copy.toString('latin1'), copy);
    }
    return this.#lastText;
  }

  #remember(text: string, bytes: Buffer): void {
    this.#lastText = text;
    this.#lastBytes = bytes;
  }
}

/** Returns a Buffer on the same memory. @internal */
function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function typeName(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}

/** Whether every surrogate has its other half. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
