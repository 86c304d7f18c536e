/**
 * The statements of a document: each value with its path, which is that of YAML for both forms. A
 * name or shape that is unknown at its place is a problem. If other names are allowed, a name that
 * nearly equals a known one is also a problem. In a section that has no effect, unknown names are
 * collected separately. Tested by document-schema.spec.ts.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import type { DocumentEntry, DocumentNode } from './document.ts';
import type { Form, SectionSchema, SettingSchema } from './document-schema.ts';
import { FindingList, pathText, quoted } from './finding-list.ts';
import { hintOf, slippedNames } from './nearest-name.ts';
import { PROPERTY_NAMES } from './property-names.ts';
import { MASK, type ValueType } from './setting.ts';
import type { Place } from './source.ts';
import { slippedName, unknownName, unknownNaming } from './unknown-names.ts';

/**
 * Elements that may lack a name: publishers without an `endpoint` use that one, as in the original.
 */
const MAY_HAVE_NO_NAME: ReadonlySet<string> = new Set(['advanced-network.wan-endpoint-config']);
/** The problem of an empty name. */
export const EMPTY_NAME = 'Cannot use "" as a name: it is empty';
/** Start of a message about a setting that has no effect. */
const NO_MEANING = 'Ignored';
/** Sections whose empty settings are also reported to their readers. */
const WRITTEN: ReadonlySet<string | undefined> = new Set(['security', 'wan-replication']);

export interface Statement {
  /** Steps from the root; an item of a list is `[n]`, counted over all files. */
  readonly path: readonly string[];
  /** The path with `{name}` for free names and `[]` for items, joined by dots. */
  readonly pattern: string;
  readonly text: string;
  readonly at: Place;
  /** Types that the text may have; empty if they are not known. */
  readonly types: readonly ValueType[];
}

/** A setting or section of `security` or `wan-replication`, even an empty one. */
export interface WrittenSection extends Pick<Statement, 'path' | 'pattern' | 'at'> {
  readonly isEmpty: boolean;
}

/** A free name, at its place: the pattern `map.{name}`, and the name. */
export interface NamedBlock extends WrittenSection {
  readonly name: string;
}

export class StatementReader {
  readonly statements: Statement[] = [];
  readonly blocks: NamedBlock[] = [];
  readonly problems = new FindingList();
  /** Unknown names in sections that have no effect; the content below such a name is not read. */
  readonly unknown = new FindingList('warning');
  readonly written: WrittenSection[] = [];
  /** Number of items of each list so far: by the path around the list, then by the steps from there. */
  readonly #itemCounts = new Map<string, Map<string, number>>();
  /**
   * The maps of #itemCounts by the array of their path, while it is read: the path may be long and
   * have many items.
   */
  readonly #itemCountsBelow = new WeakMap<readonly string[], Map<string, number>>();
  /** The patterns one step below each pattern. */
  readonly #patterns = new Map<string, Map<string, string>>();
  /** Patterns of the sections in which settings have an effect. */
  readonly #sections: ReadonlySet<string>;

  /**
   * The place of each value in the document, by its path; undefined if no value can occur twice.
   */
  #places: Map<string, Place> | undefined;

  /** Patterns of the XML elements that are repeated because they are items of a list. */
  readonly #lists: ReadonlySet<string>;

  constructor(sections: ReadonlySet<string>, lists: ReadonlySet<string> = new Set()) {
    this.#sections = sections;
    this.#lists = lists;
  }

  /** Reads the content below the root of a document; names in YAML are already unique. */
  read(root: DocumentNode, schema: SectionSchema, form: Form): void {
    this.#places = form === 'xml' ? new Map() : undefined;
    this.#readEntries(root, schema, [], '');
  }

  #complain(at: Place, message: () => string): void {
    this.problems.add(at, message);
  }

  /**
   * Reports an unknown name: an error in a section that has an effect, else a warning. In security
   * every unknown name is an error.
   */
  #noteUnknown(section: string, at: Place, message: () => string): void {
    if (this.#hasMeaning(section)) this.#complain(at, () => `Cannot use ${message()}`);
    else this.unknown.add(at, () => `${NO_MEANING}: ${message()}`);
  }

  #hasMeaning(section: string): boolean {
    return /^security(\.|$)/.test(section) || this.#sections.has(section);
  }

  /** Returns the pattern with one more step: one string for all equal patterns, which are few. */
  #patternBelow(pattern: string, step: string): string {
    const below = getOrCreate(this.#patterns, pattern, () => new Map<string, string>());
    return getOrCreate(below, step, () => (pattern === '' ? step : `${pattern}.${step}`));
  }

  #readNode(node: DocumentNode, schema: SettingSchema, path: string[], pattern: string): void {
    const { content, types } = schema;
    if (hasTextBeside(node)) return this.#complainOfText(node, path);
    if (node.items !== undefined) {
      const { item } = content;
      if (item !== undefined) return this.#readItems(node.items, item, path, pattern);
      if (content.isOpen) return this.#readOpen(node, path, pattern);
      return this.problems.refuse({ path, at: node.at }, () => `a list, not ${expected(schema)}`);
    }
    const isSection = !isLeaf(content);
    if (node.text !== undefined && (node.text !== '' || node.entries.length === 0)) {
      if (types.length > 0) this.#state(path, pattern, node.text, node.at, types);
      else if (content.isOpen && !isSection) this.#state(path, pattern, node.text, node.at, []);
      else if (node.text !== '') {
        const seen = node.text;
        this.problems.refuseText(
          { path, at: node.at, text: seen },
          () => `not ${expected(schema)}`,
        );
      }
    } else if (node.entries.length === 0 && types.length > 0 && !isSection && !content.isOpen) {
      this.problems.refuse({ path, at: node.at }, () => `no value; expected ${expected(schema)}`);
    }
    if (node.entries.length === 0) return;
    if (isSection || content.isOpen) this.#readEntries(node, content, path, pattern);
    else {
      this.problems.refuse({ path, at: node.at }, () => `a section, not ${expected(schema)}`);
    }
  }

  #complainOfText({ at, text = '' }: DocumentNode, path: readonly string[]): void {
    this.problems.refuseText({ path, at, text }, () => 'a text next to elements');
  }

  #readEntries(node: DocumentNode, schema: SectionSchema, path: string[], pattern: string): void {
    for (const entry of node.entries) {
      const child = schema.children.get(entry.name);
      if (child !== undefined) this.#readChild(entry, child, path, pattern);
      else if (!isNamespace(entry.name)) this.#readOther(entry, schema, path, pattern);
    }
  }

  #readChild(entry: DocumentEntry, child: SettingSchema, path: string[], pattern: string): void {
    let { node } = entry;
    const steps = [...path];
    let patternSteps = pattern;
    for (const step of child.steps) {
      if (step === '{}') {
        const name = node.entries.find((each) => each.name === '@name');
        if (name?.node.text === undefined || name.node.text === '') {
          if (name === undefined && MAY_HAVE_NO_NAME.has(patternSteps)) {
            steps.push('');
            patternSteps = this.#patternBelow(patternSteps, '{name}');
            node = this.#withoutSlip(entry, child.content);
            continue;
          }
          if (this.#hasMeaning(patternSteps)) {
            if (name?.node.text === '') return this.#complain(name.at, () => EMPTY_NAME);
            return this.#complainOfNoName(entry, child.content);
          }
          node = this.#withoutSlip(entry, child.content);
          continue;
        }
        node = { ...node, entries: node.entries.filter((each) => each !== name) };
        if (!this.#checkProperty(pattern, name.node.text, name.at)) return;
        patternSteps = this.#addName(steps, patternSteps, name.node.text, name.at, node);
      } else {
        if (step === '[]') this.#addItem(steps, path);
        else steps.push(step);
        patternSteps = this.#patternBelow(patternSteps, step);
      }
    }
    if (WRITTEN.has(steps[0])) this.#noteWritten(steps, patternSteps, entry.at, node);
    this.#readNode(node, child, steps, patternSteps);
  }

  #noteWritten(path: string[], pattern: string, at: Place, node: DocumentNode): void {
    const isEmpty = node.entries.length === 0 && (node.items ?? []).length === 0 && !node.text;
    this.written.push({ path, pattern, at, isEmpty });
  }

  /** Reports an element without the attribute `name` that it needs. */
  #complainOfNoName(entry: DocumentEntry, schema: SectionSchema): void {
    const slip = slippedName(entry, schema);
    if (slip !== undefined) {
      return this.#complain(slip.at, () => `Cannot use ${unknownNaming(slip, entry)}`);
    }
    this.#complain(entry.at, () => `Cannot use ${quoted(entry.name)}: no attribute name`);
  }

  /**
   * Returns the content of an element that needs no name, because it has no effect, without a
   * misspelt `name`.
   */
  #withoutSlip(entry: DocumentEntry, schema: SectionSchema): DocumentNode {
    const slip = slippedName(entry, schema);
    if (slip === undefined) return entry.node;
    this.unknown.add(slip.at, () => `${NO_MEANING}: ${unknownNaming(slip, entry)}`);
    return { ...entry.node, entries: entry.node.entries.filter((each) => each !== slip) };
  }

  /** Reads an entry with an unknown name. */
  #readOther(entry: DocumentEntry, schema: SectionSchema, path: string[], pattern: string): void {
    const { name, at, node } = entry;
    const isFree = schema.named !== undefined || schema.isOpen;
    if (!isFree || slippedNames(name, schema.children.keys()).length > 0) {
      return this.#noteUnknown(pattern, at, () => unknownName(name, schema, sectionText(path)));
    }
    if (schema.named !== undefined) {
      if (isWithoutName(entry, schema.named)) {
        return this.#complain(at, () => unnamedText(entry, path));
      }
      const steps = [...path];
      const patternSteps = this.#addName(steps, pattern, name, at, node);
      this.#readNode(node, schema.named, steps, patternSteps);
    } else if (this.#checkProperty(pattern, name, at)) {
      this.#readOpen(node, [...path, name], this.#patternBelow(pattern, '{name}'));
    }
  }

  #readItems(
    items: readonly DocumentNode[],
    item: SettingSchema,
    path: string[],
    pattern: string,
  ): void {
    for (const node of items) {
      const steps = [...path];
      this.#addItem(steps, path);
      this.#readNode(node, item, steps, this.#patternBelow(pattern, '[]'));
    }
  }

  /** Reads everything below a node with unknown content. */
  #readOpen(node: DocumentNode, path: string[], pattern: string): void {
    if (hasTextBeside(node)) return this.#complainOfText(node, path);
    if (node.text !== undefined) this.#state(path, pattern, node.text, node.at, []);
    for (const { name, node: below } of node.entries) {
      this.#readOpen(below, [...path, name], this.#patternBelow(pattern, '{name}'));
    }
    for (const [index, below] of (node.items ?? []).entries()) {
      this.#readOpen(below, [...path, `[${index}]`], this.#patternBelow(pattern, '[]'));
    }
  }

  /** Reports a misspelt name of a property that has an effect, and then returns false. */
  #checkProperty(pattern: string, name: string, at: Place): boolean {
    const names = PROPERTY_NAMES[pattern] ?? [];
    if (names.includes(name)) return true;
    const nearest = slippedNames(name, names);
    if (nearest.length === 0) return true;
    const where = pattern.replaceAll('.[', '[');
    this.#complain(at, () => `Cannot use ${quoted(name)} in ${where}: unknown${hintOf(nearest)}`);
    return false;
  }

  /** Adds the name to the path, and returns the pattern with it. */
  #addName(path: string[], pattern: string, name: string, at: Place, node: DocumentNode): string {
    path.push(name);
    const named = this.#patternBelow(pattern, '{name}');
    const isEmpty = node.entries.length === 0 && node.items === undefined && !node.text;
    this.blocks.push({ path: [...path], pattern: named, name, at, isEmpty });
    return named;
  }

  /**
   * Adds the next item to the path. `around`: the first steps of the path, which lists below it
   * share.
   */
  #addItem(path: string[], around: readonly string[]): void {
    const counts = getOrCreate(this.#itemCountsBelow, around, () =>
      getOrCreate(this.#itemCounts, around.join('\0'), () => new Map<string, number>()),
    );
    const list = path.slice(around.length).join('\0');
    const index = counts.get(list) ?? 0;
    counts.set(list, index + 1);
    path.push(`[${index}]`);
  }

  #state(
    path: string[],
    pattern: string,
    text: string,
    at: Place,
    types: readonly ValueType[],
  ): void {
    this.statements.push({ path, pattern, text, at, types });
    if (this.#places === undefined || this.#lists.has(pattern)) return;
    const place = path.join('\0');
    const first = this.#places.get(place);
    if (first === undefined) this.#places.set(place, at);
    else if (this.#hasMeaning(pattern.slice(0, Math.max(pattern.lastIndexOf('.'), 0)))) {
      const other = `${first.line}:${first.column}`;
      this.problems.refuse({ path, at }, () => `it occurs twice; the first is at ${other}`);
    }
  }
}

/** Whether the text is of a type that it may have. */
export function isOfType({ types, text }: Statement): boolean {
  return types.length === 0 || types.some((type) => type.accepts(text));
}

/** Returns the text of a path: names joined by dots, items directly after their list. */
export function textOfSteps(path: readonly string[]): string {
  return path.join('.').replaceAll('.[', '[');
}

/** Whether the entry is a setting that belongs below a name but is written without one. */
function isWithoutName({ name, node }: DocumentEntry, named: SettingSchema): boolean {
  const setting = named.content.children.get(name);
  const isValue = (node.text ?? '') !== '' && node.entries.length === 0;
  return isValue && named.types.length === 0 && (setting?.types.length ?? 0) > 0;
}

function unnamedText({ name, node }: DocumentEntry, path: readonly string[]): string {
  const section = pathText(path.slice(-1));
  const text = node.text ?? '';
  // An address may contain a password.
  const isSecret = text.includes('@') || /password/i.test(name);
  const right = `${section}: {NAME: {${name}: ${isSecret ? MASK : quoted(text)}}}`;
  return `Cannot use ${pathText([...path, name])}: it belongs below a name; write ${right}`;
}

/** Returns the location of a section, for a message. */
function sectionText(path: readonly string[]): string {
  return path.length === 0 ? 'at the root' : `in ${pathText(path)}`;
}

function isLeaf({ children, named, item }: SectionSchema): boolean {
  return children.size === 0 && named === undefined && item === undefined;
}

function expected({ types, content }: SettingSchema): string {
  if (types.length > 0) return types.map(({ expects }) => expects).join(' or ');
  return content.item !== undefined ? 'a list' : 'a section';
}

/** Whether the element has both a text and other elements. */
function hasTextBeside({ text, entries }: DocumentNode): boolean {
  return text !== undefined && text !== '' && entries.some(({ name }) => !name.startsWith('@'));
}

/** Whether the attribute declares an XML namespace or schema. */
function isNamespace(name: string): boolean {
  return /^@(xmlns|xsi)(:|$)/.test(name);
}
