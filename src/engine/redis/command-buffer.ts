/**
 * The commands of a turn in one buffer, encoded one after another as RESP2 arrays of bulk strings.
 * A command is `begin`, then as many arguments as its header declares.
 * Tested by lost-connections.spec.ts.
 */
import { copySpan, ViewedBytes } from '../../base/copy-bytes.ts';
import { Span } from '../../base/span.ts';

const FIRST_BYTES = 16384;
/** Maximum size of a buffer that is reused, in bytes. */
const REUSED_BYTES_MAX = 1024 * 1024;
/** Bytes around an argument: the digits of the greatest length, `$` and two line ends. */
const FRAME_BYTES = 24;

/** Times in microseconds from here on have MICROS_DIGITS, until the year 2255. */
const MICROS_MIN = 1e15;
const MICROS_MAX = Number.MAX_SAFE_INTEGER;
const MICROS_DIGITS = 16;
/** Half of the digits fit in 32 bits. */
const MICROS_HALF = 1e8;

export class CommandBuffer {
  #memory: ViewedBytes;
  #bytes: Buffer;
  #length = 0;
  readonly #copied = new Span();

  /** `byteCount`: the initial size. */
  constructor(byteCount = FIRST_BYTES) {
    this.#memory = new ViewedBytes(byteCount);
    this.#bytes = this.#memory.bytes;
  }

  /** Bytes written since the buffer was cleared or taken. */
  get length(): number {
    return this.#length;
  }

  /** Begins a command. `header` is from `header(…)`. */
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

  /** Adds an ASCII argument. */
  text(text: string): void {
    this.#beginBulk(text.length);
    if (text !== '') this.#length += this.#bytes.write(text, this.#length, 'latin1');
    this.#endLine();
  }

  /** Adds an integer argument in decimal digits. */
  number(value: number): void {
    if (value >= MICROS_MIN && value < MICROS_MAX) this.#micros(value);
    else this.text(String(value));
  }

  /** Adds two strings as one argument. */
  pair(first: Span, second: Span): void {
    this.#beginBulk(first.length + second.length);
    this.#copySpan(first);
    this.#copySpan(second);
    this.#endLine();
  }

  /**
   * Begins an argument made of several parts, `length` bytes in total. Call `part` for each, then
   * `close`.
   */
  open(length: number): void {
    this.#beginBulk(length);
  }

  part(bytes: Buffer, start: number, end: number, view?: DataView): void {
    this.#copy(bytes, view, start, end);
  }

  close(): void {
    this.#endLine();
  }

  /** Adds commands that are already encoded. */
  whole(commands: Buffer): void {
    this.#makeRoom(commands.length);
    this.#copy(commands, undefined, 0, commands.length);
  }

  /** Adds the commands of another buffer. */
  copyOf(other: CommandBuffer): void {
    this.#makeRoom(other.#length);
    this.#copy(other.#bytes, other.#memory.view, 0, other.#length);
  }

  /** Removes all commands. */
  clear(): void {
    this.#length = 0;
  }

  copy(start: number, end: number): Buffer {
    return Buffer.from(this.#bytes.subarray(start, end));
  }

  /**
   * Returns the memory, whose first `length` bytes are the commands. Later commands are written to
   * `spare`, or to new memory.
   */
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

  /** Adds a time in microseconds, which has MICROS_DIGITS: a string of it takes 0.3 us to make. */
  #micros(value: number): void {
    this.#beginBulk(MICROS_DIGITS);
    const end = this.#length + MICROS_DIGITS;
    const bytes = this.#bytes;
    let rest = (value % MICROS_HALF) | 0;
    for (let at = end - 1; at >= this.#length; at--) {
      if (at === end - 1 - MICROS_DIGITS / 2) rest = (value / MICROS_HALF) | 0;
      const tens = (rest / 10) | 0;
      bytes[at] = 0x30 + rest - 10 * tens;
      rest = tens;
    }
    this.#length = end;
    this.#endLine();
  }

  #digits(value: number): void {
    let end = this.#length + 1;
    for (let limit = 10; value >= limit; limit *= 10) end++;
    this.#length = end;
    const bytes = this.#bytes;
    for (let rest = value, at = end - 1; ; at--) {
      // Integer division: a length has 32 bits.
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

  #copySpan(span: Span): void {
    copySpan(this.#memory, this.#length, span);
    this.#length += span.end - span.start;
  }

  #copy(bytes: Buffer, view: DataView | undefined, start: number, end: number): void {
    this.#copySpan(this.#copied.setViewed(bytes, view, start, end));
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

/** Whether a buffer is small enough to be reused. */
export function isReusable({ length }: ViewedBytes): boolean {
  return length <= REUSED_BYTES_MAX;
}

/**
 * Returns the first bytes of a command with `argumentCount` arguments, including `words`, its fixed
 * first arguments.
 */
export function header(argumentCount: number, ...words: readonly (string | Buffer)[]): ViewedBytes {
  const pieces: Buffer[] = [Buffer.from(`*${argumentCount}\r\n`)];
  for (const word of words) {
    const bytes = typeof word === 'string' ? Buffer.from(word) : word;
    pieces.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return ViewedBytes.copyOf(Buffer.concat(pieces));
}
