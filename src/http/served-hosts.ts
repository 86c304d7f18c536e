/**
 * The values of Host that a listener serves, as a protection against DNS rebinding. A browser prevents
 * pages of other sites from reading the responses of a member on loopback, by the name in the URL. A site
 * whose own name resolves to 127.0.0.1 evades that, but its name is in Host. So a listener on loopback
 * serves only this machine's names, the configured ones, and addresses, which cannot be rebound.
 */
import { isLoopback } from '../base/server-address.ts';
import { NO_BYTES } from '../base/span.ts';

export class ServedHosts {
  readonly #names: ReadonlySet<string>;
  /** Suffixes of served names, each beginning with a dot. */
  readonly #ends: readonly string[];
  readonly #areConfigured: boolean;
  #servesAll: boolean;
  /** The value that was served last; most requests repeat it. */
  #last = NO_BYTES;

  /**
   * `own`: names of this machine. `allowed`: further names; `*.example.org` for its subdomains, `*` for all
   * names.
   */
  constructor(own: readonly string[], allowed: readonly string[]) {
    const all = [...own, ...allowed].map(nameOf);
    this.#names = new Set(['localhost', ...all.filter((name) => !isPattern(name))]);
    this.#ends = ['.localhost', ...all.filter(isPattern).map((name) => name.slice(1))];
    this.#areConfigured = allowed.length > 0;
    this.#servesAll = allowed.includes('*');
  }

  /** Sets the listener's address. One beyond loopback serves all hosts, unless some are configured. */
  bind(address: string): void {
    this.#servesAll ||= !this.#areConfigured && !isLoopback(address);
  }

  /** Whether a syntactically valid value of Host is served. */
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

/** Returns the name in lower case, without a trailing dot. */
function nameOf(text: string): string {
  return text.toLowerCase().replace(/\.$/, '');
}

/** An address: in brackets, or with a number as its last label (URL Standard, "ends in a number"). */
const ADDRESS = /^\[|(^|\.)(\d+|0x[0-9a-f]*)$/;
