/**
 * Support for raw bytes (0x80 and above) in a target. llhttp refuses them, and its lenient flags are never
 * set. So the parser is reset to its state before the input, and parses the input again with `%` in place
 * of each raw byte. A raw byte is therefore accepted exactly where its escape would be. The raw bytes are
 * restored before the target is used. A target without them costs nothing.
 * Tested by vectors.spec.ts.
 */
import { NO_BYTES } from '../base/span.ts';
import type { Llhttp } from './llhttp.ts';

export class RawTarget {
  readonly #llhttp: Llhttp;
  /** The parser's state before an input that continues a request line; created for the first one. */
  #state: Uint8Array | undefined;
  /** The original bytes, from the first replaced one to the end of the target. */
  #bytes: Uint8Array = NO_BYTES;
  /** The address of `#bytes`; 0 if nothing is replaced. */
  #address = 0;

  constructor(llhttp: Llhttp) {
    this.#llhttp = llhttp;
  }

  /** Saves the parser's state when the input ends within a request line. */
  saveState(pointer: number): void {
    this.#state = this.#llhttp.copyState(pointer, this.#state);
  }

  /**
   * Replaces the raw bytes from the byte of the target that the parser has refused; the input extends to
   * `end`. Returns whether the parser must parse the input again. `isSplit`: whether the input continues a
   * request line.
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

  /** Restores the raw bytes, once the parser has read the target's part in the input. */
  restore(): void {
    if (this.#address === 0) return;
    this.#llhttp.memory.set(this.#bytes, this.#address);
    this.#address = 0;
    this.#bytes = NO_BYTES;
  }
}

/** Replaces each byte of 0x80 and above from `start` to `end` by `%`. */
export function replaceRawBytes(memory: Buffer, start: number, end: number): void {
  for (let at = start; at < end; at++) {
    if ((memory[at] as number) >= RAW) memory[at] = PERCENT;
  }
}

const RAW = 0x80;
const SPACE = 0x20;
const PERCENT = 0x25;
