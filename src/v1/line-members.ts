/**
 * A line of JSON: an object of texts and numbers, as the members of lines of requests are. It is read
 * without JSON.parse, because that hides repeated members, rounds numbers and takes 100 ms for some
 * lines of 1 MiB. A text without escapes is not copied. Tested by line-members.spec.ts.
 */
import { isUtf8 } from 'node:buffer';
import { Span } from '../base/span.ts';
import { isWhiteSpace } from './request-lines.ts';

/** Maximum length of the names and values that messages show, in characters. */
const SHOWN_MAX = 100;
const BASE64 = 'Base64';

export class LineMembers {
  /** Why the line is not used; empty as long as it is valid. */
  fault = '';
  /** By name: the bytes of a text; or a number, true, false or null as it is written. */
  readonly #values = new Map<string, Span | string>();
  readonly #line: Buffer;
  #at = 0;

  /** Reads the line, which must have no other members than `known`. */
  constructor({ bytes, start, end }: Span, known: ReadonlySet<string>) {
    this.#line = bytes.subarray(start, end);
    if (!isUtf8(this.#line)) this.fault = 'Cannot read the line: not UTF-8';
    else if (!this.#read(known) && this.fault === '')
      this.fault = 'Cannot read the line: not a JSON object';
  }

  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Returns the bytes of a member, a text or with Base64 in its name; undefined if that is a fault. */
  bytes(name: string): Span | undefined {
    const coded = name + BASE64;
    if (!this.has(coded)) return this.text(name);
    if (this.has(name)) return this.refuse(coded, `the line also has "${name}"`);
    const text = this.text(coded);
    if (text === undefined) return undefined;
    const latin1 = text.bytes.toString('latin1', text.start, text.end);
    const decoded = Buffer.from(latin1, 'base64');
    if (decoded.toString('base64') === latin1) return Span.of(decoded);
    return this.refuseValue(coded, 'base64 with its padding');
  }

  /** Returns the bytes of the member `key`; undefined if that is a fault. */
  key(): Span | undefined {
    const key = this.bytes('key');
    return key?.length === 0 ? this.refuse('key', 'it is empty') : key;
  }

  /** Returns the bytes of a text; undefined if that is a fault. */
  text(name: string): Span | undefined {
    const value = this.#values.get(name);
    if (value instanceof Span) return value;
    return value === undefined
      ? this.refuse(name, 'it is missing')
      : this.refuseValue(name, 'a text in quotes');
  }

  /** Returns a member as it is written, without the quotes of a text; '' if there is none. */
  written(name: string): string {
    const value = this.#values.get(name);
    if (!(value instanceof Span)) return value ?? '';
    return value.bytes.toString('utf8', value.start, value.end);
  }

  /** Whether the member is a text. */
  isText(name: string): boolean {
    return this.#values.get(name) instanceof Span;
  }

  /** Makes the line invalid because of a member. */
  refuse(name: string, reason: string): undefined {
    this.fault = `Cannot use the member ${shown(JSON.stringify(name))}: ${reason}`;
    return undefined;
  }

  /** Makes the line invalid because of the value of a member. */
  refuseValue(name: string, expected: string): undefined {
    const value = this.#values.get(name);
    const seen = value instanceof Span ? JSON.stringify(beginningOf(value)) : String(value);
    this.fault = `Cannot use ${name}=${shown(seen)}: not ${expected}`;
    return undefined;
  }

  /** Returns whether the line is an object of known members. */
  #read(known: ReadonlySet<string>): boolean {
    if (!this.#take(OPENING_BRACE)) return false;
    for (let isFirst = true; !this.#take(CLOSING_BRACE); isFirst = false) {
      if (!isFirst && !this.#take(COMMA)) return false;
      const name = this.#name();
      if (name === undefined || !this.#take(COLON)) return false;
      const reason = this.has(name) ? 'it is repeated' : 'it is unknown';
      if (!known.has(name) || this.has(name)) return this.refuse(name, reason) ?? false;
      const value = this.#value(name);
      if (value === undefined) return false;
      this.#values.set(name, value);
    }
    this.#skip();
    return this.#at === this.#line.length;
  }

  #skip(): void {
    const { length } = this.#line;
    while (this.#at < length && isWhiteSpace(this.#line[this.#at]!)) this.#at++;
  }

  /** Skips white space and the byte, if it is next. Returns whether it was. */
  #take(byte: number): boolean {
    this.#skip();
    if (this.#line[this.#at] !== byte) return false;
    this.#at++;
    return true;
  }

  /** Returns the next name, or its beginning; undefined if there is none. */
  #name(): string | undefined {
    this.#skip();
    const text = this.#line[this.#at] === QUOTE ? this.#text('') : undefined;
    return text && beginningOf(text);
  }

  #value(name: string): Span | string | undefined {
    this.#skip();
    const first = this.#line[this.#at];
    if (first === QUOTE) return this.#text(name);
    if (first === OPENING_BRACE || first === OPENING_BRACKET)
      return this.refuse(name, 'neither a text nor a number');
    const start = this.#at;
    while (isInWord(this.#line[this.#at])) this.#at++;
    const word = this.#line.toString('latin1', start, this.#at);
    return WORD.test(word) ? word : undefined;
  }

  /** Returns the bytes of the next text; undefined if it is invalid. `name`: the member's. */
  #text(name: string): Span | undefined {
    const line = this.#line;
    const start = this.#at + 1;
    let hasEscape = false;
    let at = start;
    for (; line[at] !== QUOTE; at++) {
      const byte = line[at];
      if (byte === undefined || byte < 0x20) return undefined;
      if (byte !== BACKSLASH) continue;
      hasEscape = true;
      at++;
    }
    this.#at = at + 1;
    if (!hasEscape) return new Span().set(line, start, at);
    const text = unescaped(line.toString('utf8', start - 1, at + 1));
    if (text === undefined) return undefined;
    return HALF_PAIR.test(text) ? this.refuse(name, 'it has half a surrogate pair') : Span.of(text);
  }
}

function beginningOf({ bytes, start, end }: Span): string {
  // No character takes more than 4 bytes.
  return bytes.toString('utf8', start, Math.min(end, start + 4 * SHOWN_MAX));
}

function shown(text: string): string {
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}

/** Returns a text in quotes without its escapes; undefined if one of them is invalid. */
function unescaped(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    // The text has an invalid escape.
    return undefined;
  }
}

/** Whether the byte may be part of a number or of true, false or null. */
function isInWord(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  if ((byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a)) return true;
  return byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45;
}

/** Half of a surrogate pair, which has no bytes in UTF-8. */
const HALF_PAIR = /\p{Surrogate}/u;
/** RFC 8259 sections 3 and 6. */
const WORD = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
