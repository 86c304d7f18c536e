/**
 * Writes a tree of known names in the notation that src/config/document-schema.ts reads. Content
 * that occurs at several places is written once, as a shape; words that several settings share are
 * also written once.
 */
import type { Form } from '../../../src/config/document-schema.ts';
import type { SchemaTree } from './schema-tree.ts';

const LINE_LENGTH_MAX = 100;
/** Smallest length of a text that a shape replaces, also within another shape, in characters. */
const SHAPE_LENGTH_MIN = 40;
const WORDS_LENGTH_MIN = 30;

export interface Notation {
  /** The words and shapes that the settings refer to. */
  readonly shapes: string;
  readonly settings: string;
}

export function notationOf(tree: SchemaTree, form: Form): Notation {
  const writer = new NotationWriter(form);
  writer.count(tree, 'settings');
  const settings = writer.root(tree);
  return { shapes: writer.shared(), settings };
}

interface Shape {
  readonly name: string;
  readonly tree: SchemaTree;
  uses: number;
}

class NotationWriter {
  readonly #form: Form;
  /** Shapes by the text of a setting's content. */
  readonly #shapes = new Map<string, Shape>();
  readonly #words = new Map<string, Shape>();
  readonly #texts = new Map<SchemaTree, string>();
  readonly #names = new Set<string>();

  constructor(form: Form) {
    this.#form = form;
  }

  /** Counts the occurrences of equal content. Content within a shape counts once. */
  count(tree: SchemaTree, name: string): void {
    for (const type of tree.types) {
      if (type.length >= WORDS_LENGTH_MIN) this.#note(this.#words, type, name, tree);
    }
    if (isLeaf(tree)) return;
    // Free names and lists are written after the name, because they are not a section.
    if (this.#form === 'yaml' && tree.types.size === 0 && isHolder(tree)) {
      return this.count(tree.named ?? tree.item ?? tree, name);
    }
    const isFirst = this.#note(this.#shapes, this.#textOf(tree), name, tree);
    if (!isFirst) return;
    for (const [child, below] of tree.children) this.count(below, child.replace('@', ''));
    if (tree.named !== undefined) this.count(tree.named, name);
    if (tree.item !== undefined) this.count(tree.item, name);
  }

  #note(among: Map<string, Shape>, text: string, name: string, tree: SchemaTree): boolean {
    const known = among.get(text);
    if (known !== undefined) known.uses += 1;
    else among.set(text, { name, tree, uses: 1 });
    return known === undefined;
  }

  /** Returns the sections, after the settings of the root itself. */
  root(tree: SchemaTree): string {
    const lines: string[] = [];
    const leaves: string[] = [];
    for (const [name, child] of tree.children) {
      const block = this.#block(name, child, '');
      if (block.length === 1 && !block[0]?.includes(':')) leaves.push(block[0] ?? '');
      else lines.push(...block);
    }
    const first = leaves.length === 0 ? [] : wrapped(`*: ${leaves.join(' ')}`, '');
    return [...first, ...lines].join('\n');
  }

  /** Returns the shapes and words that are used more than once. */
  shared(): string {
    const words = [...this.#words]
      .filter(([, shape]) => isShared(shape))
      .map(([text, shape]) => wordLines(`%${this.#nameOf(shape)}`, text));
    const shapes = [...this.#shapes]
      .filter(([text, shape]) => isShared(shape) && this.#isLong(text))
      .map(([, shape]) => this.#body(`&${this.#nameOf(shape)}`, shape.tree, ''));
    return [...words.flat(), ...shapes.flat()].join('\n');
  }

  /** Returns a setting with all settings below it. */
  #block(key: string, tree: SchemaTree, indent: string): string[] {
    const isNamed = tree.steps === `${key}{}`;
    let head = tree.steps === undefined ? key : isNamed ? tree.steps : `${key}>${tree.steps}`;
    let inner = tree;
    // A section of only free names, or a list, is written after the name.
    while (this.#form === 'yaml' && inner.types.size === 0 && isHolder(inner)) {
      head += inner.named === undefined ? '[]' : '{}';
      inner = inner.named ?? inner.item ?? inner;
    }
    return this.#body(head + this.#typesOf(inner), inner, indent, tree);
  }

  /**
   * Returns the lines of a setting or shape. `around` is the setting of this head; undefined for a
   * shape.
   */
  #body(head: string, tree: SchemaTree, indent: string, around?: SchemaTree): string[] {
    const isShape = around === undefined;
    if (isLeaf(tree)) return [indent + head + (tree.isOpen && !/=[ao]$/.test(head) ? ': ...' : '')];
    const shape = this.#shapes.get(this.#textOf(tree));
    if (!isShape && shape !== undefined && isShared(shape) && this.#isLong(this.#textOf(tree))) {
      return [`${indent}${head}: &${this.#nameOf(shape)}`];
    }
    const leaves: string[] = [];
    const below: string[] = [];
    const all = new Map(tree.children);
    if (tree.item !== undefined) all.set('[]', tree.item);
    if (tree.named !== undefined) all.set('{}', tree.named);
    for (const [name, child] of all) {
      const block = this.#block(name, child, `${indent} `);
      if (block.length === 1 && !block[0]?.includes(':')) leaves.push(block[0]?.trim() ?? '');
      else below.push(...block);
    }
    if (tree.isOpen || tree.types.has('o')) leaves.push('...');
    return [...wrapped(`${indent}${head}: ${leaves.join(' ')}`.trimEnd(), indent), ...below];
  }

  #typesOf({ types, ...tree }: SchemaTree): string {
    const isSection = !isLeaf({ types, ...tree });
    const texts = [...types]
      .filter((type) => !isSection || type !== 'o')
      .map((type) => {
        const shape = this.#words.get(type);
        return shape !== undefined && isShared(shape) ? `%${this.#nameOf(shape)}` : type;
      });
    return texts.length === 0 ? '' : `=${texts.join(',')}`;
  }

  #isLong(text: string): boolean {
    return text.length >= SHAPE_LENGTH_MIN;
  }

  /** Returns the name of a shape. A number distinguishes shapes of equal names. */
  #nameOf(shape: Shape & { unique?: string }): string {
    if (shape.unique === undefined) {
      let name = shape.name;
      for (let number = 2; this.#names.has(name); number++) name = `${shape.name}-${number}`;
      this.#names.add(name);
      shape.unique = name;
    }
    return shape.unique;
  }

  /** Returns the text of a setting's content, without the setting's own types. */
  #textOf(tree: SchemaTree): string {
    let text = this.#texts.get(tree);
    if (text === undefined) {
      const parts = [...tree.children].map(
        ([name, child]) =>
          `${name}>${child.steps ?? ''}=${[...child.types]}(${this.#textOf(child)})`,
      );
      for (const [kind, child] of [
        ['{}', tree.named],
        ['[]', tree.item],
      ] as const) {
        if (child !== undefined) parts.push(`${kind}=${[...child.types]}(${this.#textOf(child)})`);
      }
      if (tree.isOpen) parts.push('...');
      text = parts.join(' ');
      this.#texts.set(tree, text);
    }
    return text;
  }
}

function isShared({ uses }: Shape): boolean {
  return uses > 1;
}

function isLeaf({ children, named, item }: SchemaTree): boolean {
  return children.size === 0 && named === undefined && item === undefined;
}

/** Whether the tree has only free names, or only items. */
function isHolder({ children, named, item, isOpen }: SchemaTree): boolean {
  return children.size === 0 && !isOpen && (named === undefined) !== (item === undefined);
}

/** Breaks a line between its words. */
function wrapped(line: string, indent: string): string[] {
  const lines: string[] = [];
  let rest = line;
  const more = `${indent} + `;
  while (rest.length > LINE_LENGTH_MAX) {
    let at = rest.lastIndexOf(' ', LINE_LENGTH_MAX);
    if (at <= more.length) at = rest.indexOf(' ', LINE_LENGTH_MAX);
    if (at < 0) break;
    lines.push(...brokenWords(rest.slice(0, at), more));
    rest = more + rest.slice(at + 1);
  }
  return [...lines, ...brokenWords(rest, more)];
}

function wordLines(name: string, words: string): string[] {
  return brokenWords(`${name}=${words}`, ' + ');
}

/** Breaks a line that is still too long between the words of a type. */
function brokenWords(line: string, more: string): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > LINE_LENGTH_MAX) {
    const at = rest.lastIndexOf('|', LINE_LENGTH_MAX);
    if (at <= more.length) break;
    lines.push(rest.slice(0, at));
    rest = more + rest.slice(at);
  }
  return [...lines, rest];
}
