/**
 * The value of an entry or an item in the store: a header, then the unchanged bytes. The header,
 * big-endian: a byte of format and flags; the version of the change, 8 bytes; with a lifetime, the
 * expiry time in ms since 1970, 6 bytes; with a max idle, that in seconds, 4 bytes, and the latest
 * expiry time, which no read postpones, or 0, 6 bytes; the content type, as one byte for a common
 * one, otherwise its length in 2 bytes and its text.
 *
 * In format 2, of an entry that another data set sent, the origin follows: the maker of the version
 * (../mutation.ts), 4 bytes, zero for this data set; the number of data sets in the path, one byte, and
 * their ids, 16 bytes each. The path is kept in maps that have a reference to a replication. Format 1
 * has no origin: this data set has generated the version. Tested by redis-engine.spec.ts.
 */
import { ViewedBytes } from '../../base/copy-bytes.ts';
import { NO_BYTES, Span } from '../../base/span.ts';
import { DATA_SET_ID_BYTES, PATH_LENGTH_MAX } from '../mutation.ts';
import type { Version } from '../version.ts';

const FORMAT = 1 << 4;
/** The format of a header with an origin. */
const WITH_ORIGIN = 2 << 4;
const COMMON_TYPE = 1;
const OTHER_TYPE = 2;
const ENDS = 4;
const MAX_IDLE = 8;
const FLAGS = 15;
const VERSION_AT = 1;
const VERSION_BYTES = 8;
/** End of the version; in an item, of its number. */
export const NUMBER_END = VERSION_AT + VERSION_BYTES;
const END_BYTES = 6;
/** Bytes of a lifetime with a max idle: two times, and the seconds between them. */
const LIFE_BYTES = 2 * END_BYTES + 4;
const TYPE_LENGTH_BYTES = 2;
const MAKER_BYTES = 4;
/** Bytes of an origin without a path. */
const ORIGIN_BYTES = MAKER_BYTES + 1;
const ORIGIN_BYTES_MAX = ORIGIN_BYTES + PATH_LENGTH_MAX * DATA_SET_ID_BYTES;
const HEADER_BYTES_MAX = NUMBER_END + LIFE_BYTES + TYPE_LENGTH_BYTES + 65535 + ORIGIN_BYTES_MAX;
const NO_PATH = new Span();

/** Common types, numbered from 1. Part of the format: types may only be added at the end. */
const COMMON_TYPES = [
  'text/plain',
  'application/json',
  'application/octet-stream',
  'application/xml',
  'text/xml',
  'text/html',
  'text/csv',
  'application/x-www-form-urlencoded',
  'application/binary',
  'text/plain; charset=utf-8',
  'text/plain;charset=utf-8',
  'text/plain;charset=UTF-8',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
  'image/png',
  'image/jpeg',
].map((type) => Buffer.from(type));

/** Writes headers; the bytes are valid until the next one. */
export class HeaderWriter {
  readonly #memory = new ViewedBytes(HEADER_BYTES_MAX);
  readonly bytes = this.#memory.bytes;
  readonly view = this.#memory.view;
  length = 0;

  /**
   * The content type has up to 65,535 bytes. `maker`: the data set that has generated the version; 0
   * for this one.
   */
  write(version: Version, life: Life, contentType: Span, maker = 0, path = NO_PATH): this {
    const { bytes, view } = this;
    let flags = FORMAT;
    view.setInt32(VERSION_AT, version.high);
    view.setInt32(VERSION_AT + 4, version.low);
    this.length = NUMBER_END;
    if (life.endMs !== 0) flags |= this.#writeLife(life);
    if (contentType.length > 0) flags |= this.#writeType(contentType);
    if (maker !== 0 || path.length > 0) {
      this.length = writeOrigin(bytes, this.length, maker, path);
      flags += WITH_ORIGIN - FORMAT;
    }
    bytes[0] = flags;
    return this;
  }

  #writeLife({ endMs, maxIdleSeconds, lastMs }: Life): number {
    const { bytes } = this;
    this.length = bytes.writeUIntBE(endMs, this.length, END_BYTES);
    if (maxIdleSeconds === 0) return ENDS;
    this.length = bytes.writeUInt32BE(maxIdleSeconds, this.length);
    this.length = bytes.writeUIntBE(lastMs, this.length, END_BYTES);
    return ENDS | MAX_IDLE;
  }

  #writeType(contentType: Span): number {
    const { bytes } = this;
    const number = commonNumber(contentType);
    if (number !== 0) {
      bytes[this.length++] = number;
      return COMMON_TYPE;
    }
    this.length = bytes.writeUInt16BE(contentType.length, this.length);
    this.length += contentType.bytes.copy(bytes, this.length, contentType.start, contentType.end);
    return OTHER_TYPE;
  }
}

/** Writes an origin. Returns the offset after it. */
function writeOrigin(bytes: Buffer, at: number, maker: number, path: Span): number {
  const pathAt = bytes.writeInt32LE(maker, at);
  bytes[pathAt] = path.length / DATA_SET_ID_BYTES;
  return pathAt + 1 + path.bytes.copy(bytes, pathAt + 1, path.start, path.end);
}

/** Returns the origin of a removal; empty if this data set has made it. */
export function originOf(maker: number, path: Span): Buffer {
  if (maker === 0 && path.length === 0) return NO_BYTES;
  const origin = Buffer.alloc(ORIGIN_BYTES + path.length);
  writeOrigin(origin, 0, maker, path);
  return origin;
}

/** When an entry expires; times in ms since 1970. */
export interface Life {
  /** Expiry time; 0 for never. */
  readonly endMs: number;
  /** Time by which a read postpones the expiry, from the read on; 0 for none. */
  readonly maxIdleSeconds: number;
  /** The latest expiry time, which no read postpones; 0 for none. */
  readonly lastMs: number;
}

export const FOR_EVER: Life = { endMs: 0, maxIdleSeconds: 0, lastMs: 0 };

/** Returns the life, from `now` on, of an entry with these limits; each is 0 for none. */
export function lifeOf(now: number, lastMs: number, maxIdleSeconds: number): Life {
  if (maxIdleSeconds === 0) return { endMs: lastMs, maxIdleSeconds, lastMs };
  const idleEnd = Math.ceil(now + maxIdleSeconds * 1000);
  return { endMs: lastMs === 0 ? idleEnd : Math.min(idleEnd, lastMs), maxIdleSeconds, lastMs };
}

/** The parsed form of a stored value. Its spans are valid as long as the bytes read. */
export class StoredValue implements Life {
  readonly value = new Span();
  readonly contentType = new Span();
  endMs = 0;
  maxIdleSeconds = 0;
  lastMs = 0;
  versionHigh = 0;
  versionLow = 0;
  /** See HeaderWriter. */
  maker = 0;
  readonly path = new Span();

  /** Returns false if the bytes have another format. */
  read({ bytes, view, start, end }: Span): boolean {
    const flags = bytes[start]!;
    const format = flags & ~FLAGS;
    if (end - start < NUMBER_END || (format !== FORMAT && format !== WITH_ORIGIN)) return false;
    const versionAt = start + VERSION_AT;
    this.versionHigh = view?.getInt32(versionAt) ?? bytes.readInt32BE(versionAt);
    this.versionLow = view?.getInt32(versionAt + 4) ?? bytes.readInt32BE(versionAt + 4);
    let at = start + NUMBER_END;
    this.endMs = 0;
    this.maxIdleSeconds = 0;
    if ((flags & ENDS) !== 0) {
      if (end - at < ((flags & MAX_IDLE) === 0 ? END_BYTES : LIFE_BYTES)) return false;
      at = this.#readLife(bytes, at, flags);
    }
    if ((flags & OTHER_TYPE) !== 0 && end - at < TYPE_LENGTH_BYTES) return false;
    at = this.#readType(bytes, at, flags);
    this.maker = 0;
    if (this.path.end > 0) this.path.clear();
    if (format === WITH_ORIGIN) at = readOrigin(bytes, at, end, this);
    if (at > end) return false;
    this.value.setViewed(bytes, view, at, end);
    return true;
  }

  #readLife(bytes: Buffer, from: number, flags: number): number {
    const at = from + END_BYTES;
    this.endMs = bytes.readUIntBE(from, END_BYTES);
    if ((flags & MAX_IDLE) === 0) return at;
    this.maxIdleSeconds = bytes.readUInt32BE(at);
    this.lastMs = bytes.readUIntBE(at + 4, END_BYTES);
    return at + 4 + END_BYTES;
  }

  #readType(bytes: Buffer, at: number, flags: number): number {
    if ((flags & COMMON_TYPE) !== 0) {
      const type = COMMON_TYPES[bytes[at]! - 1];
      if (type === undefined) return Number.POSITIVE_INFINITY;
      this.contentType.set(type, 0, type.length);
      return at + 1;
    }
    if ((flags & OTHER_TYPE) === 0) {
      this.contentType.clear();
      return at;
    }
    const start = at + 2;
    const end = start + bytes.readUInt16BE(at);
    this.contentType.set(bytes, start, end);
    return end;
  }
}

/** Sets maker and path to those of an origin. Returns the offset after it, more than `end` if invalid. */
export function readOrigin(
  bytes: Buffer,
  at: number,
  end: number,
  to: { maker: number; readonly path: Span },
): number {
  const pathAt = at + ORIGIN_BYTES;
  if (pathAt > end) return Number.POSITIVE_INFINITY;
  const pathEnd = pathAt + DATA_SET_ID_BYTES * bytes[pathAt - 1]!;
  to.maker = bytes.readInt32LE(at);
  if (pathEnd > pathAt) to.path.set(bytes, pathAt, pathEnd);
  return pathEnd;
}

/** Returns 0 if the type is not a common one. */
function commonNumber(type: Span): number {
  for (let index = 0; index < COMMON_TYPES.length; index++) {
    if (type.is(COMMON_TYPES[index]!)) return index + 1;
  }
  return 0;
}
