/**
 * Bytes of 0x80 and above in a target. llhttp refuses them, and its lenient flags are never set. So the
 * parser is set back to its state before the input, and reads the input again with `%` in the place of
 * each of these bytes. It accepts them exactly where it accepts their escapes. The bytes themselves are
 * back in their places before the target is used. A target without such bytes costs nothing.
 */
import type { Llhttp } from './llhttp.ts';

export class RawTarget {
  readonly #llhttp: Llhttp;
  /** The parser's state before the input, which continues a request line; made for the first one. */
  #state: Uint8Array | undefined;
  /** The bytes that were replaced, from the first one to the end of the target. */
  #bytes: Uint8Array = NOTHING;
  /** Their address. */
  #address = 0;

  constructor(llhttp: Llhttp) {
    this.#llhttp = llhttp;
  }

  /** The input ends within a request line. */
  keepState(pointer: number): void {
    this.#state = this.#llhttp.copyState(pointer, this.#state);
  }

  /**
   * The parser has refused a byte of the target, in an input that ends before `end`. True: it is to read
   * the input again. `isSplit`: the input continues a request line.
   */
  replace(pointer: number, end: number, isSplit: boolean): boolean {
    const { memory } = this.#llhttp;
    const start = this.#llhttp.errorAddress(pointer);
    if (start >= end || (memory[start] as number) < RAW) return false;
    let at = start;
    while (at < end && (memory[at] as number) > SPACE) at++;
    this.#address = start;
    this.#bytes = Buffer.from(memory.subarray(start, at));
    replaceRawBytes(memory, start, at);
    this.#llhttp.setState(pointer, isSplit ? this.#state : undefined);
    return true;
  }

  /** The parser has read the target, up to the end of it or of the input. */
  restore(): void {
    if (this.#address === 0) return;
    this.#llhttp.memory.set(this.#bytes, this.#address);
    this.#address = 0;
    this.#bytes = NOTHING;
  }
}

/** Puts `%` in the place of each byte of 0x80 and above from `start` to `end`. */
export function replaceRawBytes(memory: Buffer, start: number, end: number): void {
  for (let at = start; at < end; at++) {
    if ((memory[at] as number) >= RAW) memory[at] = PERCENT;
  }
}

const NOTHING = new Uint8Array();
const RAW = 0x80;
const SPACE = 0x20;
const PERCENT = 0x25;
