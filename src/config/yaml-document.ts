/**
 * Reads YAML 1.2 (and JSON, which is a part of it) as a document with places. Texts remain as
 * written: `007` is not a number until a setting parses it. Aliases and merge keys are followed, up
 * to a limit of nodes, so that a small file cannot expand to a large one. The time taken is linear
 * in the text. The parser searches for equal keys and for the nodes of aliases in more than linear
 * time, so both are done here. Tested by broken-files.spec.ts.
 */
import {
  type Alias,
  Composer,
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type Document as YamlDocument,
} from 'yaml';
import type { DocumentEntry, DocumentNode, ParsedDocument } from './document.ts';
import { FindingList, quoted } from './finding-list.ts';
import type { Place } from './source.ts';

/** Maximum number of nodes that aliases repeat, counted for every repetition. */
const REPEATED_NODES_MAX = 10_000;
/** Maximum depth of nested collections. */
const DEPTH_MAX = 100;

/** Parses the text. `onProgress` is called now and then with the offset reached. */
export function parseYaml(
  text: string,
  file: string,
  onProgress: (offset: number) => void = () => {},
): ParsedDocument {
  const lines = new LineCounter();
  const reader = new YamlReader(file, lines);
  const document = composed(text, lines, reader, onProgress);
  const isReadable = document !== undefined && reader.problems.count === 0;
  return { root: isReadable ? reader.readRoot(document) : undefined, problems: reader.problems };
}

/** Composes the only document of the text; its problems are added to the reader's. */
function composed(
  text: string,
  lines: LineCounter,
  reader: YamlReader,
  onProgress: (offset: number) => void,
): YamlDocument | undefined {
  const composer = new Composer({ uniqueKeys: false });
  const documents: YamlDocument[] = [];
  let count = 0;
  let second: number | undefined;
  const addNewLine = (offset: number): void => {
    lines.addNewLine(offset);
    if ((lines.lineStarts.length & 0x3fff) === 0) onProgress(offset);
  };
  for (const token of new Parser(addNewLine).parse(text)) {
    if (token.type === 'document') {
      const deep = tooDeep(token, DEPTH_MAX);
      if (deep !== undefined) {
        reader.complain(deep, () => `Cannot read YAML: more than ${DEPTH_MAX} collections deep`);
        return undefined;
      }
      count += 1;
      if (count === 2) {
        second = token.offset;
        break;
      }
    }
    documents.push(...composer.next(token));
  }
  documents.push(...composer.end());
  for (const { errors } of [...documents, composer.streamInfo()]) {
    for (const { message, pos } of errors) {
      reader.complain(pos[0], () => `Cannot read YAML: ${message.split('\n', 1)[0]}`);
    }
  }
  if (second !== undefined) {
    reader.complain(second, () => 'Cannot read YAML: more than one document in a file');
  }
  const [document] = documents;
  if (document === undefined) reader.complain(0, () => 'Cannot read YAML: nothing in the file');
  return document;
}

class YamlReader {
  readonly problems = new FindingList();
  readonly #file: string;
  readonly #lines: LineCounter;
  #targets: Targets = new Map();
  /** The nodes that enclose the current one, including through aliases. */
  readonly #within = new Set<Node>();
  #repeatedCount = 0;

  constructor(file: string, lines: LineCounter) {
    this.#file = file;
    this.#lines = lines;
  }

  complain(offset: number, message: () => string): void {
    this.problems.add(this.#placeOf(offset), message);
  }

  readRoot(document: YamlDocument): DocumentEntry | undefined {
    const contents = document.contents as Node | null;
    this.#targets = resolveAliases(contents, (offset, message) => this.complain(offset, message));
    if (this.problems.count > 0) return undefined;
    const root = this.#read(contents, 0, false);
    const [first, ...more] = root.entries;
    for (const { name, at } of more) {
      this.problems.add(at, () => `Cannot read ${quoted(name)}: a file has one root`);
    }
    if (first === undefined) {
      this.problems.add(root.at, () => 'Cannot read YAML: no mapping at the root');
    }
    return first;
  }

  #read(node: Node | null, offset: number, isRepeated: boolean): DocumentNode {
    const at = this.#placeOf(node?.range?.[0] ?? offset);
    if (isRepeated) {
      this.#repeatedCount += 1;
      if (this.#repeatedCount > REPEATED_NODES_MAX) {
        if (this.#repeatedCount === REPEATED_NODES_MAX + 1) {
          const message = `Cannot read YAML: more than ${REPEATED_NODES_MAX} nodes repeated by aliases`;
          this.problems.add(at, () => message);
        }
        return { at, entries: [] };
      }
    }
    if (node === null || this.#repeatedCount > REPEATED_NODES_MAX) return { at, entries: [] };
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target !== undefined && !this.#within.has(target) && this.#within.size < DEPTH_MAX) {
        return this.#read(target, offset, true);
      }
      const reason =
        this.#within.size < DEPTH_MAX ? 'no such anchor before it' : `more than ${DEPTH_MAX} deep`;
      this.problems.add(at, () => `Cannot use alias ${quoted(node.source)}: ${reason}`);
      return { at, entries: [] };
    }
    if (isScalar(node)) {
      const text = textOf(node.value, node.source);
      return text === undefined ? { at, entries: [] } : { at, entries: [], text };
    }
    this.#within.add(node);
    const content = this.#contentOf(node, isRepeated);
    this.#within.delete(node);
    return { at, ...content };
  }

  #contentOf(node: Node, isRepeated: boolean): Pick<DocumentNode, 'entries' | 'items'> {
    if (isMap<Node, Node | null>(node)) return { entries: this.#entriesOf(node.items, isRepeated) };
    if (!isSeq<Node | null>(node)) return { entries: [] };
    const offset = node.range?.[0] ?? 0;
    return { entries: [], items: node.items.map((item) => this.#read(item, offset, isRepeated)) };
  }

  /** Returns the entries of the mapping, then the entries of merged mappings with other names. */
  #entriesOf(pairs: readonly Pair<Node, Node | null>[], isRepeated: boolean): DocumentEntry[] {
    const entries: DocumentEntry[] = [];
    const merged: DocumentEntry[] = [];
    for (const { key, value } of pairs) {
      const offset = key.range?.[0] ?? 0;
      const node = this.#read(value, key.range?.[1] ?? offset, isRepeated);
      const name = isScalar(key) ? textOf(key.value, key.source) : undefined;
      if (name === '<<') this.#merge(node, merged);
      else if (name !== undefined) entries.push({ name, at: this.#placeOf(offset), node });
      else this.complain(offset, () => 'Cannot read YAML: the name of a setting must be a text');
    }
    const names = new Set(entries.map(({ name }) => name));
    for (const entry of merged) {
      if (!names.has(entry.name)) entries.push(entry);
      names.add(entry.name);
    }
    return entries;
  }

  /** Adds the entries that a merge key names, of one mapping or of a list of mappings. */
  #merge(node: DocumentNode, merged: DocumentEntry[]): void {
    for (const each of node.items ?? [node]) {
      if (each.entries.length === 0 && this.#repeatedCount <= REPEATED_NODES_MAX) {
        this.problems.add(
          each.at,
          () => 'Cannot merge this with "<<": it is not a mapping with names',
        );
      }
      for (const entry of each.entries) merged.push(entry);
    }
  }

  #placeOf(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

/**
 * Returns the offset of the first collection that is too deep, or undefined. This is checked before
 * the document is composed, because composing takes at least one stack frame for each nested
 * collection. So this function is not recursive.
 */
function tooDeep(document: CST.Document, depthMax: number): number | undefined {
  const open: { readonly token: CST.Token; readonly depth: number }[] = [];
  if (document.value !== undefined) open.push({ token: document.value, depth: 1 });
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (!('items' in token)) continue;
    if (depth > depthMax) return token.offset;
    for (const item of token.items) {
      if (item.key) open.push({ token: item.key, depth: depth + 1 });
      if (item.value) open.push({ token: item.value, depth: depth + 1 });
    }
  }
  return undefined;
}

/** The node of each alias; an alias without an anchor before it is missing. */
type Targets = ReadonlyMap<Alias, Node>;

/** Tags that do not change a text or collection, as any other would. */
const TAGS: ReadonlySet<string> = new Set([
  '!',
  ...['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map(
    (name) => `tag:yaml.org,2002:${name}`,
  ),
]);

/**
 * Visits the nodes of a YAML document once, in order, and finds the node of each alias: the last
 * one before it with that anchor. It also reports duplicate names in a mapping, and unknown tags.
 * `complain` gets the offset of a problem in the text. The caller limits the depth of the document.
 */
function resolveAliases(
  root: Node | null,
  complain: (offset: number, message: () => string) => void,
): Targets {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  const visit = (node: Node | null): void => {
    if (node === null) return;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) targets.set(node, target);
      return;
    }
    const { tag } = node as { readonly tag?: string };
    if (tag !== undefined && !TAGS.has(tag)) {
      complain(node.range?.[0] ?? 0, () => `Cannot read YAML: unknown tag ${quoted(tag)}`);
    }
    if ('anchor' in node && typeof node.anchor === 'string') anchors.set(node.anchor, node);
    if (isSeq<Node | null>(node)) for (const item of node.items) visit(item);
    if (!isMap<Node | null, Node | null>(node)) return;
    const names = new Set<string>();
    for (const { key, value } of node.items) {
      visit(key);
      visit(value);
      const name = isScalar(key) ? textOf(key.value, key.source) : undefined;
      if (key === null || name === undefined) continue;
      if (names.has(name)) {
        complain(
          key.range?.[0] ?? 0,
          () => `Cannot read YAML: ${quoted(name)} occurs twice; names in a mapping must be unique`,
        );
      }
      names.add(name);
    }
  };
  visit(root);
  return targets;
}

/** Returns the text of a scalar as written, or undefined for null. */
function textOf(value: unknown, source: string | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? undefined : (source ?? String(value));
}
