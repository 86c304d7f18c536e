/**
 * The commands of a turn, one behind the other as RESP2 writes them, in one buffer: an array of bulk
 * strings each. A command is `begin` and then as many arguments as that says.
 */
import { copyRange, ViewedBytes } from '../../base/short-copies.ts';
import type { Span } from '../../base/span.ts';

const FIRST_BYTES = 16384;
/** A buffer beyond this is not used again. */
const REUSED_BYTES_MAX = 1024 * 1024;
/** Digits of the greatest length, `$` and two line ends. */
const FRAME_BYTES = 24;

export class CommandBuffer {
  #memory: ViewedBytes;
  #bytes: Buffer;
  #length = 0;

  /** `byteCount`: how long it is at first. */
  constructor(byteCount = FIRST_BYTES) {
    this.#memory = new ViewedBytes(byteCount);
    this.#bytes = this.#memory.bytes;
  }

  /** Bytes that are gathered. */
  get length(): number {
    return this.#length;
  }

  /** The beginning of a command: the bytes of `header(…)`. */
  begin(header: ViewedBytes): void {
    this.#makeRoom(header.length);
    this.#copy(header.bytes, header.view, 0, header.length);
  }

  span(span: Span): void {
    this.#beginBulk(span.length);
    this.#copySpan(span);
    this.#endLine();
  }

  bytes(bytes: Buffer): void {
    this.#beginBulk(bytes.length);
    this.#copy(bytes, undefined, 0, bytes.length);
    this.#endLine();
  }

  /** ASCII. */
  text(text: string): void {
    this.#beginBulk(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
    this.#endLine();
  }

  /** An integer, in decimal digits. */
  number(value: number): void {
    this.text(String(value));
  }

  /** Two strings as one argument. */
  pair(first: Span, second: Span): void {
    this.#beginBulk(first.length + second.length);
    this.#copySpan(first);
    this.#copySpan(second);
    this.#endLine();
  }

  /** An argument of several parts, which have that length together; `part` follows, then `close`. */
  open(length: number): void {
    this.#beginBulk(length);
  }

  part(bytes: Buffer, start: number, end: number, view?: DataView): void {
    this.#copy(bytes, view, start, end);
  }

  close(): void {
    this.#endLine();
  }

  /** Commands that are written already. */
  whole(commands: Buffer): void {
    this.#makeRoom(commands.length);
    this.#copy(commands, undefined, 0, commands.length);
  }

  /** What another buffer has gathered. */
  copyOf(other: CommandBuffer): void {
    this.#makeRoom(other.#length);
    this.#copy(other.#bytes, other.#memory.view, 0, other.#length);
  }

  /** Drops what was gathered. */
  clear(): void {
    this.#length = 0;
  }

  copy(start: number, end: number): Buffer {
    return Buffer.from(this.#bytes.subarray(start, end));
  }

  /** The buffer, with the gathered bytes in front. From now on they gather anew, in `spare`, if any. */
  take(spare: ViewedBytes | undefined): ViewedBytes {
    const taken = this.#memory;
    this.#memory = spare ?? new ViewedBytes(FIRST_BYTES);
    this.#bytes = this.#memory.bytes;
    this.#length = 0;
    return taken;
  }

  #beginBulk(length: number): void {
    this.#makeRoom(length + FRAME_BYTES);
    const bytes = this.#bytes;
    bytes[this.#length++] = 0x24;
    this.#digits(length);
    this.#endLine();
  }

  #digits(value: number): void {
    let end = this.#length + 1;
    for (let limit = 10; value >= limit; limit *= 10) end++;
    this.#length = end;
    const bytes = this.#bytes;
    for (let rest = value, at = end - 1; ; at--) {
      // A division of integers: a length has 32 bits.
      const tens = (rest / 10) | 0;
      bytes[at] = 0x30 + rest - 10 * tens;
      if (tens === 0) return;
      rest = tens;
    }
  }

  #endLine(): void {
    const at = this.#length;
    this.#bytes[at] = 0x0d;
    this.#bytes[at + 1] = 0x0a;
    this.#length = at + 2;
  }

  #copySpan({ bytes, view, start, end }: Span): void {
    this.#copy(bytes, view, start, end);
  }

  #copy(bytes: Buffer, view: DataView | undefined, start: number, end: number): void {
    copyRange(this.#memory, this.#length, bytes, view, start, end);
    this.#length += end - start;
  }

  #makeRoom(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    this.#grow(this.#length + length);
  }

  #grow(length: number): void {
    const grown = new ViewedBytes(Math.max(length, 2 * this.#bytes.length));
    this.#bytes.copy(grown.bytes, 0, 0, this.#length);
    this.#memory = grown;
    this.#bytes = grown.bytes;
  }
}

/** Whether a buffer is worth being used again. */
export function isReusable({ length }: ViewedBytes): boolean {
  return length <= REUSED_BYTES_MAX;
}

/** The first bytes of a command of `argumentCount` arguments, its words before the variable ones included. */
export function header(argumentCount: number, ...words: readonly (string | Buffer)[]): ViewedBytes {
  const pieces: Buffer[] = [Buffer.from(`*${argumentCount}\r\n`)];
  for (const word of words) {
    const bytes = typeof word === 'string' ? Buffer.from(word) : word;
    pieces.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return ViewedBytes.copyOf(Buffer.concat(pieces));
}
