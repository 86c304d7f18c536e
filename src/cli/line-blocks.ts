/**
 * Lines of a stream of bytes, read in blocks of whole lines, so that many short lines cost little. A
 * line that is longer than the limit can be read in parts.
 */

/** Maximum length of a line that is in a block, in bytes. */
export const LINE_BYTES_MAX = 1_048_576;
const LINE_FEED = 0x0a;
const NO_BYTES = Buffer.alloc(0);

export class LineBlocks {
  readonly #chunks: AsyncIterator<Buffer>;
  /** Bytes that have been received and not read. */
  #buffer: Buffer = NO_BYTES;
  #hasEnded = false;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /**
   * Returns the next lines, each with its end; empty if the next line is longer than LINE_BYTES_MAX
   * and not received yet; undefined at the end of the stream. The last line of the stream gets an end
   * if it has none.
   */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const end = this.#buffer.lastIndexOf(LINE_FEED) + 1;
      if (end > 0) return this.#take(end);
      if (this.#buffer.length > LINE_BYTES_MAX) return NO_BYTES;
      if (await this.#read()) continue;
      if (this.#buffer.length === 0) return undefined;
      const last = Buffer.concat([this.#buffer, Buffer.of(LINE_FEED)]);
      this.#buffer = NO_BYTES;
      return last;
    }
  }

  /** Returns the beginning of the next line, if that is long: more than LINE_BYTES_MAX bytes of it. */
  get longLine(): Buffer {
    return this.#buffer;
  }

  /** Ends the stream before its end. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Reads the next line in parts, without its end. */
  async *parts(): AsyncGenerator<Buffer> {
    for (;;) {
      const end = this.#buffer.indexOf(LINE_FEED);
      const part = this.#take(end < 0 ? this.#buffer.length : end + 1);
      if (end >= 0) {
        yield part.subarray(0, -1);
        return;
      }
      yield part;
      if (!(await this.#read())) return;
    }
  }

  #take(end: number): Buffer {
    const taken = this.#buffer.subarray(0, end);
    this.#buffer = this.#buffer.subarray(end);
    return taken;
  }

  /** Reads a chunk. Returns whether there was one. */
  async #read(): Promise<boolean> {
    if (this.#hasEnded) return false;
    const { done, value } = await this.#chunks.next();
    if (done) {
      this.#hasEnded = true;
      return false;
    }
    this.#buffer = this.#buffer.length === 0 ? value : Buffer.concat([this.#buffer, value]);
    return true;
  }
}
