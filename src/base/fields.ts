/**
 * Reads and writes fields one after another, without gaps. All numbers are little-endian. A text is two
 * bytes of length and that many bytes of UTF-8. Tested by wan/message-format.spec.ts.
 */

const TEXT_BYTES_MAX = 65_535;

/** Reads fields; each is bounded by the bytes that are left. */
export class FieldReader {
  at: number;
  readonly #bytes: Buffer;
  readonly #fault: (what: string) => Error;

  /** `fault` makes the error that is thrown; `what` is the end of a sentence. */
  constructor(bytes: Buffer, at: number, fault: (what: string) => Error) {
    this.#bytes = bytes;
    this.at = at;
    this.#fault = fault;
  }

  byte(): number {
    return this.#bytes[this.#pass(1)]!;
  }

  short(): number {
    return this.#bytes.readUInt16LE(this.#pass(2));
  }

  word(): number {
    return this.#bytes.readUInt32LE(this.#pass(4));
  }

  /** Reads a whole number of at least `least`, a double. */
  count(least: number): number {
    const number = this.#bytes.readDoubleLE(this.#pass(8));
    if (!Number.isSafeInteger(number) || number < least) throw this.#fault(`contains ${number}`);
    return number;
  }

  /** Reads that many whole numbers of at least 0. */
  counts(length: number): Float64Array {
    const counts = new Float64Array(length);
    for (let index = 0; index < length; index++) counts[index] = this.count(0);
    return counts;
  }

  bytes(length: number): Buffer {
    const start = this.#pass(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** Reads the bytes of a text. */
  text(): Buffer {
    return this.bytes(this.short());
  }

  /** Throws unless everything was read. */
  end(): void {
    if (this.at !== this.#bytes.length) throw this.#fault('continues after its end');
  }

  #pass(length: number): number {
    const start = this.at;
    if (length > this.#bytes.length - start) throw this.#fault('ends within a field');
    this.at = start + length;
    return start;
  }
}

/** Writes fields into a buffer, which must be long enough. */
export class FieldWriter {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(number: number): this {
    this.at = this.bytes.writeUInt8(number, this.at);
    return this;
  }

  short(number: number): this {
    this.at = this.bytes.writeUInt16LE(number, this.at);
    return this;
  }

  word(number: number): this {
    this.at = this.bytes.writeUInt32LE(number, this.at);
    return this;
  }

  /** Writes a whole number as a double. */
  count(number: number): this {
    this.at = this.bytes.writeDoubleLE(number, this.at);
    return this;
  }

  counts(numbers: Float64Array): this {
    for (const number of numbers) this.count(number);
    return this;
  }

  put(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
    return this;
  }
}

/** Encodes a text. Throws RangeError if it is too long. */
export function textBytes(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text);
  const { length } = bytes;
  if (length > TEXT_BYTES_MAX) {
    throw new RangeError(`Cannot write a name of ${length} bytes: ${TEXT_BYTES_MAX} at most`);
  }
  const head = Buffer.alloc(2);
  head.writeUInt16LE(length);
  return Buffer.concat([head, bytes]);
}
