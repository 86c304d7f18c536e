/**
 * The values of Host that a listener serves. A browser keeps pages of other sites from reading what a
 * member on loopback returns, by the name in the URL. A site whose name resolves to 127.0.0.1 (DNS
 * rebinding) evades that, but its name is in Host. So only names of this machine are served there, and
 * those that are configured. An address is no name that resolves.
 */
import { isLoopback } from '../base/loopback.ts';

export class ServedHosts {
  readonly #names: ReadonlySet<string>;
  /** Ends of names, with their first dot. */
  readonly #ends: readonly string[];
  readonly #areConfigured: boolean;
  #servesAll: boolean;
  /** The value that was served last: most requests repeat it. */
  #last = NOTHING;

  /**
   * `own`: names of this machine; `allowed`: further names, `*.example.org` for those below it, `*` for
   * all.
   */
  constructor(own: readonly string[], allowed: readonly string[]) {
    const all = [...own, ...allowed].map(nameOf);
    this.#names = new Set(['localhost', ...all.filter((name) => !isPattern(name))]);
    this.#ends = ['.localhost', ...all.filter(isPattern).map((name) => name.slice(1))];
    this.#areConfigured = allowed.length > 0;
    this.#servesAll = allowed.includes('*');
  }

  /** The listener is bound to the address. Beyond loopback all hosts are served, unless some are allowed. */
  bind(address: string): void {
    this.#servesAll ||= !this.#areConfigured && !isLoopback(address);
  }

  /** Whether the valid value of Host is served. */
  serves(bytes: Buffer, start: number, end: number): boolean {
    return this.#servesAll || this.#isLast(bytes, start, end) || this.#isNamed(bytes, start, end);
  }

  #isLast(bytes: Buffer, start: number, end: number): boolean {
    const last = this.#last;
    if (last.length !== end - start || last.length === 0) return false;
    for (let index = 0; index < last.length; index++) {
      if (bytes[start + index] !== last[index]) return false;
    }
    return true;
  }

  #isNamed(bytes: Buffer, start: number, end: number): boolean {
    const name = nameOf(bytes.toString('latin1', start, end).replace(/:\d*$/, ''));
    const isServed =
      ADDRESS.test(name) || this.#names.has(name) || this.#ends.some((each) => name.endsWith(each));
    if (isServed) this.#last = Buffer.from(bytes.subarray(start, end));
    return isServed;
  }
}

function isPattern(name: string): boolean {
  return name.startsWith('*');
}

/** In lower case, without the dot of the root. */
function nameOf(text: string): string {
  return text.toLowerCase().replace(/\.$/, '');
}

/** In brackets, or a number at the end: no name ends in one (URL Standard, "ends in a number"). */
const ADDRESS = /^\[|(^|\.)(\d+|0x[0-9a-f]*)$/;
const NOTHING = Buffer.alloc(0);
