/**
 * Reads XML as a document with places. The parser accepts only well-formed texts. It supports only
 * the five entities of XML itself, so it never reads anything outside the file, and a small file
 * cannot expand to a large one. Comments and processing instructions are ignored.
 * Tested by broken-files.spec.ts.
 */
import { SaxesParser } from 'saxes';
import type { DocumentEntry, DocumentNode, ParsedDocument } from './document.ts';
import { FindingList, shortened } from './finding-list.ts';
import type { Place } from './source.ts';

/** Number of characters that are searched for the end of an entity. */
const ENTITY_MAX = 40;
/** Maximum depth of nested elements. */
const DEPTH_MAX = 100;

/** Parses the text. `onProgress` is called now and then with the offset reached. */
export function parseXml(
  text: string,
  file: string,
  onProgress: (offset: number) => void = () => {},
): ParsedDocument {
  const reader = new XmlReader(text, file, onProgress);
  return { root: reader.read(), problems: reader.problems };
}

interface OpenElement {
  readonly name: string;
  readonly at: Place;
  readonly entries: DocumentEntry[];
  text: string;
  textAt: Place | undefined;
}

class XmlReader {
  readonly problems = new FindingList();
  readonly #text: string;
  readonly #file: string;
  readonly #parser = new SaxesParser();
  /** Offset of the first character of each line. */
  readonly #lineStarts: number[] = [0];
  readonly #open: OpenElement[] = [];
  #closedLast: OpenElement | undefined;
  #root: DocumentEntry | undefined;
  /** Offset after the last part of a tag that was read. */
  #tagOffset = 0;

  readonly #onProgress: (offset: number) => void;
  #elementCount = 0;

  constructor(text: string, file: string, onProgress: (offset: number) => void) {
    this.#text = text;
    this.#file = file;
    this.#onProgress = onProgress;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      this.#lineStarts.push(at + 1);
    }
  }

  read(): DocumentEntry | undefined {
    const parser = this.#parser;
    parser.on('error', (error) => this.#onError(error.message));
    parser.on('opentagstart', ({ name }) => this.#onTagStart(name));
    parser.on('attribute', ({ name, value }) => this.#onAttribute(name, value));
    parser.on('text', (text) => this.#onText(text));
    parser.on('cdata', (text) => this.#onText(text));
    parser.on('closetag', () => this.#onTagEnd());
    try {
      parser.write(this.#text).close();
    } catch (error) {
      if (!(error instanceof UnreadableXml)) throw error;
    }
    return this.problems.count === 0 ? this.#root : undefined;
  }

  /** Reports only the first fault: later ones are mostly its consequences. */
  #onError(message: string): never {
    const ampersand = this.#text.indexOf('&', this.#tagOffset);
    if (ampersand >= 0 && !/^&#?\w+;/.test(this.#text.slice(ampersand, ampersand + ENTITY_MAX))) {
      this.#complain(this.#placeOf(ampersand), 'an & that does not start an entity; write &amp;');
    }
    const open = message.includes('unclosed tag') ? this.#open.at(-1) : undefined;
    if (open !== undefined) this.#complainOfUnclosed(open);
    // The parser closes the element before it detects that the end tag belongs to another.
    const closed = message.includes('unexpected close tag') ? this.#closedLast : undefined;
    if (closed !== undefined) {
      const start = this.#text.lastIndexOf('</', this.#parser.position - 1);
      const found = this.#text.slice(start, this.#parser.position);
      this.#complainOfUnclosed(closed, found, this.#placeOf(start));
    }
    const reason = message.replace(/^.*?\d+:\d+: /, '').replace(/\.$/, '');
    this.#complain(this.#placeOf(this.#parser.position - 1), reason);
  }

  /** Reports an element that is not closed. `found`: the end tag at `at` that was read instead. */
  #complainOfUnclosed({ name, at: start }: OpenElement, found?: string, at = start): never {
    const element = shortened(name);
    const place = found === undefined ? '' : ` of ${start.line}:${start.column}`;
    const instead = shortened(found ?? 'the end of the file');
    this.#complain(at, `${instead} in place of </${element}>: <${element}>${place} is not closed`);
  }

  #complain(at: Place, reason: string): never {
    this.problems.add(at, () => `Cannot read XML: ${reason}`);
    throw new UnreadableXml();
  }

  #onTagStart(name: string): void {
    const start = this.#text.lastIndexOf('<', this.#parser.position - 1);
    this.#tagOffset = start + 1 + name.length;
    const at = this.#placeOf(start);
    if (this.#open.length === DEPTH_MAX) this.#complain(at, `more than ${DEPTH_MAX} elements deep`);
    this.#open.push({ name, at, entries: [], text: '', textAt: undefined });
  }

  #onAttribute(name: string, value: string): void {
    const at = this.#placeOf(this.#text.indexOf(name, this.#tagOffset));
    this.#tagOffset = this.#parser.position;
    this.#open
      .at(-1)
      ?.entries.push({ name: `@${name}`, at, node: { at, entries: [], text: value } });
  }

  #onText(text: string): void {
    const element = this.#open.at(-1);
    if (element === undefined || text.trim() === '') return;
    element.textAt ??= this.#placeOf(this.#startOfText(text));
    element.text += text;
  }

  /** Returns the offset of the text that has just ended, without leading white space. */
  #startOfText(text: string): number {
    const lead = text.trimStart().slice(0, 1);
    const end = this.#text.lastIndexOf('<', this.#parser.position - 1);
    const begin = this.#text.lastIndexOf('>', end - 1) + 1;
    // A text that starts with an entity starts with its character, which the source may contain
    // only after the element; so the search ends at the element.
    const found = this.#text.slice(begin, end).indexOf(lead);
    return begin + Math.max(found, 0);
  }

  #onTagEnd(): void {
    this.#tagOffset = this.#parser.position;
    this.#elementCount += 1;
    if ((this.#elementCount & 0x3fff) === 0) this.#onProgress(this.#tagOffset);
    const element = this.#open.pop();
    if (element === undefined) return;
    this.#closedLast = element;
    const { name, at, entries, textAt } = element;
    const text = element.text.trim();
    const isText = text !== '' || entries.every((entry) => entry.name.startsWith('@'));
    const node: DocumentNode = isText ? { at: textAt ?? at, entries, text } : { at, entries };
    const parent = this.#open.at(-1);
    if (parent === undefined) this.#root = { name, at, node };
    else parent.entries.push({ name, at, node });
  }

  #placeOf(offset: number): Place {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const column = Math.max(offset, 0) - (this.#lineStarts[low] ?? 0) + 1;
    return { file: this.#file, line: low + 1, column };
  }
}

/** Ends reading at the first fault, which has been added to the problems. */
class UnreadableXml extends Error {}
