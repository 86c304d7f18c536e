/**
 * Reads YAML 1.2 (and JSON, which is part of it) as a document with places. Texts stay as written:
 * `007` is no number until a setting says so. Anchors and merge keys are followed, up to a limit of
 * nodes, so that a small file cannot stand for a large one.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type Document as YamlDocument,
} from 'yaml';
import type { DocumentEntry, DocumentNode, ParsedDocument, Place, Problem } from './document.ts';

/** Nodes of a document, those behind anchors counted each time. */
const NODES_MAX = 100_000;

export function parseYaml(text: string, file: string): ParsedDocument {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const all = 'empty' in documents ? [] : documents;
  const reader = new YamlReader(file, lines);
  for (const { errors } of all) {
    for (const { message, pos } of errors) reader.complain(pos[0], `Cannot read YAML: ${message}`);
  }
  const [document, second] = all;
  if (second !== undefined) {
    reader.complain(second.range[0], 'Cannot read YAML: more than one document in a file');
  }
  if (document === undefined) reader.complain(0, 'Cannot read YAML: nothing in the file');
  const root = document && reader.problems.length === 0 ? reader.readRoot(document) : undefined;
  return { root, problems: reader.problems };
}

class YamlReader {
  readonly problems: Problem[] = [];
  readonly #file: string;
  readonly #lines: LineCounter;
  #document: YamlDocument | undefined;
  #count = 0;

  constructor(file: string, lines: LineCounter) {
    this.#file = file;
    this.#lines = lines;
  }

  complain(offset: number, message: string): void {
    this.problems.push({ at: this.#placeOf(offset), message: firstLine(message) });
  }

  readRoot(document: YamlDocument.Parsed): DocumentEntry | undefined {
    this.#document = document;
    const root = this.#read(document.contents, 0, []);
    const [first, ...more] = root.entries;
    for (const { name, at } of more) {
      this.problems.push({ at, message: `Cannot read "${name}": a file has one root` });
    }
    if (first === undefined) {
      this.problems.push({ at: root.at, message: 'Cannot read YAML: no mapping at the root' });
    }
    return first;
  }

  /** `within`: the nodes that this one is in, through aliases, too. */
  #read(node: Node | null, offset: number, within: readonly Node[]): DocumentNode {
    const at = this.#placeOf(node?.range?.[0] ?? offset);
    this.#count += 1;
    if (this.#count > NODES_MAX) {
      if (this.#count === NODES_MAX + 1) {
        this.problems.push({
          at,
          message: `Cannot read YAML: more than ${NODES_MAX} nodes with what its aliases stand for`,
        });
      }
      return { at, entries: [] };
    }
    if (isAlias(node)) {
      const target = this.#document && node.resolve(this.#document);
      if (target !== undefined && !within.includes(target))
        return this.#read(target, offset, within);
      this.problems.push({
        at,
        message: `Cannot use alias "${node.source}": no such anchor before it`,
      });
      return { at, entries: [] };
    }
    if (isMap<Node, Node | null>(node))
      return { at, entries: this.#entriesOf(node.items, [...within, node]) };
    if (isSeq<Node | null>(node)) {
      const items = node.items.map((item) =>
        this.#read(item, node.range?.[0] ?? 0, [...within, node]),
      );
      return { at, entries: [], items };
    }
    const text = isScalar(node) ? textOf(node.value, node.source) : undefined;
    return text === undefined ? { at, entries: [] } : { at, entries: [], text };
  }

  /** Those of the mapping, and of merged ones those that it does not have itself. */
  #entriesOf(pairs: readonly Pair<Node, Node | null>[], within: readonly Node[]): DocumentEntry[] {
    const entries: DocumentEntry[] = [];
    const merged: DocumentEntry[] = [];
    for (const { key, value } of pairs) {
      const offset = key.range?.[0] ?? 0;
      const node = this.#read(value, key.range?.[1] ?? offset, within);
      const name = isScalar(key) ? textOf(key.value, key.source) : undefined;
      if (name === '<<') merged.push(...(node.items ?? [node]).flatMap((each) => each.entries));
      else if (name !== undefined) entries.push({ name, at: this.#placeOf(offset), node });
      else this.complain(offset, 'Cannot read YAML: the name of a setting has to be a text');
    }
    const names = new Set(entries.map(({ name }) => name));
    for (const entry of merged) {
      if (!names.has(entry.name)) entries.push(entry);
      names.add(entry.name);
    }
    return entries;
  }

  #placeOf(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

/** A scalar as it was written; undefined for null. */
function textOf(value: unknown, source: string | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? undefined : (source ?? String(value));
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? '';
}
