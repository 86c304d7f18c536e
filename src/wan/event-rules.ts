/**
 * Applies the limits of clients' requests to changes of other members. A client could not write an
 * entry with an empty key, an over-long value, or a content type that is not a valid field value:
 * such an entry could not be read, or would break responses. Tested by hostile-events.spec.ts.
 */
import { isFieldValue } from '../base/field-value.ts';
import type { Span } from '../base/span.ts';
import { CLEAR, type Mutation } from '../engine/mutation.ts';

/** Bytes of the field line apart from the content type: field name, colon and line end. */
const TYPE_LINE_BYTES = 'Content-Type:\r\n'.length;
const PERCENT = 0x25;
const SLASH = 0x2f;

/** The limits of clients' requests, in bytes. */
export interface RequestLimits {
  /** First segment of the paths. */
  readonly segment: string;
  readonly headerBytesMax: number;
  readonly targetBytesMax: number;
  readonly bodyBytesMax: number;
}

export class EventRules {
  readonly #limits: RequestLimits;
  /** Bytes of a path before the map's name. */
  readonly #pathBytes: number;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
    this.#pathBytes = `/${limits.segment}/rest/maps/`.length;
  }

  /** Returns why no client could have made the change, as the end of a sentence, or undefined. */
  faultOf({ operation, name, key, contentType, value }: Mutation): string | undefined {
    const { headerBytesMax, bodyBytesMax, targetBytesMax } = this.#limits;
    if (operation !== CLEAR && key.length === 0) return 'its key is empty';
    const { bytes, start, end } = contentType;
    if (!isFieldValue(bytes, start, end)) return 'its content type has a control character';
    if (contentType.length + TYPE_LINE_BYTES > headerBytesMax) {
      return `its content type has ${contentType.length} bytes, more than header-bytes-max permits`;
    }
    if (value.length > bodyBytesMax) {
      return `its value has ${value.length} bytes, more than body-bytes-max permits`;
    }
    const plain = this.#pathBytes + name.length + 1 + key.length;
    // Even with every byte escaped as three, short names fit: they need not be read.
    if (this.#pathBytes + 1 + (name.length + key.length) * 3 <= targetBytesMax) return undefined;
    const escapes = escapedBytes(name, true) + escapedBytes(key, false);
    if (plain + escapes * 2 <= targetBytesMax) return undefined;
    return `its map and key have ${name.length} and ${key.length} bytes, more than target-bytes-max permits`;
  }
}

/** Counts the bytes that must be percent-escaped in a path. */
function escapedBytes({ bytes, start, end }: Span, isName: boolean): number {
  let count = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    const isSlash = byte === SLASH && (isName || at === end - 1);
    if (byte <= 0x20 || byte === 0x7f || isSlash || isDelimiter(byte)) count++;
  }
  return count;
}

/** Returns whether the byte is `#`, `?` or `%`. */
function isDelimiter(byte: number): boolean {
  return byte === 0x23 || byte === 0x3f || byte === PERCENT;
}
