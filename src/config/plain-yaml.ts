/**
 * Reads the YAML of most configuration files several times faster than the parser of
 * yaml-document.ts: block mappings and sequences, flow collections on one line (or JSON over many),
 * plain and quoted scalars on one line, and comments. It returns the same document as that parser,
 * including places. Anything else, and anything invalid, ends it without a result, and that parser
 * reads the text; so there are no messages here.
 */
import type { DocumentEntry, DocumentNode } from './document.ts';
import type { Place } from './source.ts';

/** Maximum depth of nested collections; the other parser reports deeper texts. */
const DEPTH_MAX = 50;
/** Number of entries of a mapping up to which names are compared one by one. */
const NAMES_COMPARED_MAX = 8;

/** A name and its colon, before a space or the end of the line. */
const KEY = /([A-Za-z0-9_/.$][\w./*@+$-]*|"[^"\\\n]*"|'[^'\n]*') *:(?=[ \n]|$)/y;
/** A scalar in a block, and the rest of its line. A plain one contains only single spaces. */
const BLOCK_SCALAR =
  /(~|-?[A-Za-z0-9_/.$](?:[\w./*@+${},=~%()-]|:(?=[\w./*@+$])| (?=[\w./*@+$(]))*|"[^"\\\n]*"|'[^'\n]*')(?: *| +#.*)(?=\n|$)/y;
/** A scalar in a flow collection, and the white space after it. */
const FLOW_SCALAR = /(~|-?[A-Za-z0-9_/.$](?:[\w./*@+$=~%-])*|"[^"\\\n]*"|'[^'\n]*')[ \n]*/y;
/** White space in a flow collection. */
const FLOW_SPACE = /[ \n]*/y;
/** Spaces and an optional comment before the end of the line. */
const END_OF_LINE = /(?: *| +#.*)(?=\n|$)/y;
/** Lines without content, and the indentation of the next one. */
const EMPTY_LINES = /(?: *(?:#.*)?\n)*( *)/y;
/** Characters that the expressions above do not cover, and document markers. */
const UNUSUAL = /[^\P{Cc}\n]|[\p{Cs}\u2028\u2029\ufeff\ufffe\uffff]|^---|^\.\.\./mu;
const NULL = /^(~|null|Null|NULL)$/;

const [TAB_DASH, COLON, COMMA, BRACE, BRACE_END, BRACKET, BRACKET_END] = [...'-:,{}[]'].map(
  (letter) => letter.charCodeAt(0),
);
const [SPACE, NEWLINE, QUOTE, APOSTROPHE] = [...' \n"\''].map((letter) => letter.charCodeAt(0));

/**
 * Returns the root entry, or undefined if the text is not as simple or is invalid. `onProgress` is
 * called now and then with the offset reached.
 */
export function readPlainYaml(
  text: string,
  file: string,
  onProgress: (offset: number) => void,
): DocumentEntry | undefined {
  if (UNUSUAL.test(text)) return undefined;
  try {
    return new PlainReader(text, file, onProgress).readRoot();
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

class NotPlain extends Error {}
const NOT_PLAIN = new NotPlain();

class PlainReader {
  readonly #text: string;
  readonly #file: string;
  readonly #onProgress: (offset: number) => void;
  #offset = 0;
  #line = 1;
  #lineStart = 0;
  /** Indentation of the line at #offset; -1 at the end of the text. */
  #indent = 0;
  #depth = 0;
  /** Whether the root is a flow collection, which may have line breaks. */
  #isFlow = false;

  constructor(text: string, file: string, onProgress: (offset: number) => void) {
    this.#text = text;
    this.#file = file;
    this.#onProgress = onProgress;
  }

  readRoot(): DocumentEntry {
    this.#nextLine();
    this.#isFlow = this.#code() === BRACE;
    const root = this.#readBlock();
    const [entry, ...more] = root.entries;
    if (this.#indent >= 0 || entry === undefined || more.length > 0) throw NOT_PLAIN;
    return entry;
  }

  /** Reads the block or flow collection that begins here. */
  #readBlock(): DocumentNode {
    const code = this.#code();
    if (code === BRACE || code === BRACKET) {
      const node = this.#readFlow();
      this.#endLine();
      return node;
    }
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw NOT_PLAIN;
    const node = this.#isItem() ? this.#readSequence() : this.#readMapping(this.#indent);
    this.#depth -= 1;
    return node;
  }

  /** Reads the mapping whose first name is here; `indent`: the column of its names. */
  #readMapping(indent: number): DocumentNode {
    const at = this.#place();
    const entries: DocumentEntry[] = [];
    const names = new Names(entries);
    do {
      const place = this.#place();
      const name = this.#readKey();
      names.add(name);
      entries.push({ name, at: place, node: this.#readValue(indent) });
    } while (this.#indent === indent && !this.#isItem());
    if (this.#indent > indent) throw NOT_PLAIN;
    return { at, entries };
  }

  #readKey(): string {
    const key = this.#match(KEY);
    const written = key[1] as string;
    const name = unquoted(written);
    if (NULL.test(written)) throw NOT_PLAIN;
    return name;
  }

  /** Reads the value after a name, and advances to the next line. */
  #readValue(indent: number): DocumentNode {
    if (!this.#endsLine()) return this.#readInline();
    const at = this.#place();
    const isEnd = this.#code() === NEWLINE || this.#offset === this.#text.length;
    this.#endLine();
    const isBelow = this.#indent > indent || (this.#indent === indent && this.#isItem());
    if (isBelow) return this.#readBlock();
    if (!isEnd) throw NOT_PLAIN;
    return { at, entries: [] };
  }

  /** Reads a value on the line of its name or dash, and advances to the next line. */
  #readInline(): DocumentNode {
    this.#skipSpaces();
    const code = this.#code();
    if (code === BRACE || code === BRACKET) {
      const node = this.#readFlow();
      this.#endLine();
      return node;
    }
    const at = this.#place();
    const written = this.#match(BLOCK_SCALAR)[1] as string;
    this.#endLine();
    return scalar(written, at);
  }

  #readSequence(): DocumentNode {
    const at = this.#place();
    const indent = this.#indent;
    const items: DocumentNode[] = [];
    do {
      this.#offset += 1;
      if (this.#endsLine()) throw NOT_PLAIN;
      this.#skipSpaces();
      KEY.lastIndex = this.#offset;
      const code = this.#code();
      if (code === BRACE || code === BRACKET || !KEY.test(this.#text))
        items.push(this.#readInline());
      else {
        this.#indent = this.#offset - this.#lineStart;
        items.push(this.#readBlock());
      }
    } while (this.#indent === indent && this.#isItem());
    if (this.#indent > indent) throw NOT_PLAIN;
    return { at, entries: [], items };
  }

  #readFlow(): DocumentNode {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw NOT_PLAIN;
    const node = this.#code() === BRACE ? this.#readFlowMapping() : this.#readFlowSequence();
    this.#depth -= 1;
    return node;
  }

  #readFlowMapping(): DocumentNode {
    const at = this.#place();
    const entries: DocumentEntry[] = [];
    const names = new Names(entries);
    this.#beginFlow();
    while (this.#code() !== BRACE_END) {
      const place = this.#place();
      const written = this.#match(FLOW_SCALAR)[1] as string;
      if (NULL.test(written) || this.#code() !== COLON) throw NOT_PLAIN;
      this.#offset += 1;
      const next = this.#code();
      const isQuoted = isQuote(written.charCodeAt(0));
      if (!isQuoted && next !== SPACE && next !== NEWLINE) throw NOT_PLAIN;
      this.#skipFlowSpace();
      const name = unquoted(written);
      names.add(name);
      entries.push({ name, at: place, node: this.#readFlowValue() });
      this.#separate(BRACE_END);
    }
    this.#offset += 1;
    return { at, entries };
  }

  #readFlowSequence(): DocumentNode {
    const at = this.#place();
    const items: DocumentNode[] = [];
    this.#beginFlow();
    while (this.#code() !== BRACKET_END) {
      items.push(this.#readFlowValue());
      this.#separate(BRACKET_END);
    }
    this.#offset += 1;
    return { at, entries: [], items };
  }

  #beginFlow(): void {
    this.#offset += 1;
    this.#skipFlowSpace();
  }

  /** Reads a value, and the white space after it. */
  #readFlowValue(): DocumentNode {
    const code = this.#code();
    if (code === BRACE || code === BRACKET) {
      const node = this.#readFlow();
      this.#skipFlowSpace();
      return node;
    }
    const at = this.#place();
    return scalar(this.#match(FLOW_SCALAR)[1] as string, at);
  }

  /** Reads the comma before another entry; before the end there is no comma. */
  #separate(end: number | undefined): void {
    if (this.#code() === end) return;
    if (this.#code() !== COMMA) throw NOT_PLAIN;
    this.#beginFlow();
    if (this.#code() === end) throw NOT_PLAIN;
  }

  #skipFlowSpace(): void {
    this.#match(FLOW_SPACE);
  }

  /** Matches the expression here and advances past the match; counts its lines. */
  #match(expression: RegExp): RegExpExecArray {
    expression.lastIndex = this.#offset;
    const match = expression.exec(this.#text);
    if (match === null) throw NOT_PLAIN;
    const end = expression.lastIndex;
    if (expression === FLOW_SPACE || expression === FLOW_SCALAR) this.#countLines(end);
    this.#offset = end;
    return match;
  }

  /** Counts the lines of white space in a flow collection up to `end`. */
  #countLines(end: number): void {
    for (let at = end - 1; at >= this.#offset; at--) {
      const code = this.#text.charCodeAt(at);
      if (code !== SPACE && code !== NEWLINE) return;
      if (code === SPACE) continue;
      if (!this.#isFlow) throw NOT_PLAIN;
      this.#line += 1;
      if (this.#lineStart <= at) this.#lineStart = Math.max(this.#lineStart, at + 1);
    }
  }

  /** Advances to the next line with content; the rest of this one must be empty. */
  #endLine(): void {
    this.#match(END_OF_LINE);
    if (this.#offset < this.#text.length) {
      this.#offset += 1;
      this.#line += 1;
      this.#lineStart = this.#offset;
    }
    this.#nextLine();
  }

  /** Advances to the first character of the next line with content. */
  #nextLine(): void {
    const { length } = this.#text;
    const begin = this.#offset;
    const [, spaces = ''] = this.#match(EMPTY_LINES);
    const start = this.#offset - spaces.length;
    if (start !== begin) {
      for (let at = begin; at < start; at++) {
        at = this.#text.indexOf('\n', at);
        this.#line += 1;
      }
      this.#lineStart = start;
    }
    // A comment in the last line has no line break.
    const isEnd = this.#offset === length || this.#text[this.#offset] === '#';
    this.#indent = isEnd ? -1 : spaces.length;
    if ((this.#line & 0x3fff) === 0) this.#onProgress(this.#offset);
  }

  #endsLine(): boolean {
    END_OF_LINE.lastIndex = this.#offset;
    return END_OF_LINE.test(this.#text);
  }

  #skipSpaces(): void {
    while (this.#code() === SPACE) this.#offset += 1;
  }

  /** Whether an item of a block sequence begins here. */
  #isItem(): boolean {
    if (this.#code() !== TAB_DASH) return false;
    const next = this.#text.charCodeAt(this.#offset + 1);
    return next === SPACE || next === NEWLINE || Number.isNaN(next);
  }

  #code(): number {
    return this.#text.charCodeAt(this.#offset);
  }

  #place(offset = this.#offset): Place {
    return { file: this.#file, line: this.#line, column: offset - this.#lineStart + 1 };
  }
}

/** The names of a mapping, which must be unique. */
class Names {
  readonly #entries: readonly DocumentEntry[];
  #names: Set<string> | undefined;

  /** `entries`: those before the name that is added. */
  constructor(entries: readonly DocumentEntry[]) {
    this.#entries = entries;
  }

  add(name: string): void {
    const { length } = this.#entries;
    if (this.#names === undefined && length < NAMES_COMPARED_MAX) {
      for (const entry of this.#entries) if (entry.name === name) throw NOT_PLAIN;
      return;
    }
    this.#names ??= new Set(this.#entries.map((entry) => entry.name));
    if (this.#names.has(name)) throw NOT_PLAIN;
    this.#names.add(name);
  }
}

function scalar(written: string, at: Place): DocumentNode {
  return NULL.test(written) ? { at, entries: [] } : { at, entries: [], text: unquoted(written) };
}

function isQuote(code: number): boolean {
  return code === QUOTE || code === APOSTROPHE;
}

function unquoted(written: string): string {
  return isQuote(written.charCodeAt(0)) ? written.slice(1, -1) : written;
}
