/**
 * The settings that each place of a document may have: those of the original's member file, from
 * original-settings-yaml.txt and original-settings-xml.txt, and those that only gridnode has, from
 * the table of settings. There is one tree for each form. A form's file is read when a document or
 * variables need it.
 *
 * The notation: `#` starts a comment. A line is a setting, `:` and its content. Lines indented
 * below it also belong to its content. A line with `+` continues the line above. `=` gives types
 * (setting.ts), separated by commas. `{}` is any name, `[]` an item of a list, `...` allows
 * other names, `*` is the root. `&shape` is the content of the shape of that name, `%words` are the
 * words of that name. In XML `@` is an attribute, `map{}` an element that its attribute `name`
 * names, and `a>b` an element `a` whose content is that of `b` in YAML. Every element may be
 * repeated.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getOrCreate } from '../base/get-or-create.ts';
import { readValueType, type ValueType } from './setting.ts';

/** The content that a setting may have. */
export interface SectionSchema {
  readonly children: Map<string, SettingSchema>;
  /** The setting for any other name. */
  named?: SettingSchema;
  item?: SettingSchema;
  /** Whether unknown names are allowed. */
  isOpen: boolean;
}

export interface SettingSchema {
  /** Types of the value; empty if no value is allowed. */
  readonly types: readonly ValueType[];
  readonly content: SectionSchema;
  /** Steps of the path in YAML from the enclosing setting to this one. */
  readonly steps: readonly string[];
}

/** The form of a document. */
export type Form = 'yaml' | 'xml';

interface BuiltSchema {
  readonly ownPaths: readonly string[];
  readonly root: WeakRef<SectionSchema>;
}

/** The schema of each form that was built last. All files and variables of a load share it. */
const recent = new Map<Form, BuiltSchema>();

/** Returns the content that a file of the form may have below its root. */
export function documentSchema(form: Form, ownPaths: readonly string[]): SectionSchema {
  const built = recent.get(form);
  const known = built?.ownPaths === ownPaths ? built.root.deref() : undefined;
  const root = known ?? newSchema(form, ownPaths);
  if (known === undefined) recent.set(form, { ownPaths, root: new WeakRef(root) });
  return root;
}

function newSchema(form: Form, ownPaths: readonly string[]): SectionSchema {
  const file = join(import.meta.dirname, `original-settings-${form}.txt`);
  const root = readNotation(readFileSync(file, 'utf8'), form);
  for (const path of ownPaths) addOwn(root, path, form);
  return root;
}

/** Returns the content that a text in the notation describes. */
export function readNotation(notation: string, form: Form): SectionSchema {
  return new NotationReader(form, notation).read();
}

/** A line of the notation with the lines indented below it. */
interface Block {
  readonly head: string;
  /** The rest of the line, after the head. */
  readonly rest: string;
  readonly below: readonly string[];
}

/** Reads a section or shape when it is first used, because a file uses few of them. */
class NotationReader {
  readonly #form: Form;
  readonly #blocks = new Map<string, Block>();
  readonly #shapes = new Map<string, SectionSchema>();
  readonly #types = new Map<string, ValueType>();

  constructor(form: Form, notation: string) {
    this.#form = form;
    for (const block of blocksOf(joinedLines(notation))) this.#blocks.set(block.head, block);
  }

  read(): SectionSchema {
    const root = emptyContent();
    for (const block of this.#blocks.values()) {
      const { head, rest } = block;
      if (head === '*') this.#addTokens(root, rest);
      else if (!/^[%&]/.test(head)) this.#add(root, head, () => this.#contentOf(block));
    }
    return root;
  }

  /** Returns the content of a setting, from its shape, or from its line and the lines below it. */
  #contentOf({ rest, below }: Block): SectionSchema {
    if (rest.startsWith('&')) return this.#shape(rest);
    const content = emptyContent();
    this.#fill(content, rest, below);
    return content;
  }

  #fill(content: SectionSchema, rest: string, below: readonly string[]): void {
    this.#addTokens(content, rest);
    for (const block of blocksOf(below))
      this.#add(content, block.head, () => this.#contentOf(block));
  }

  #addTokens(content: SectionSchema, tokens: string): void {
    for (const token of tokens.split(' ')) {
      if (token === '...') content.isOpen = true;
      else if (token !== '') {
        // The types `a` and `o` allow any content.
        this.#add(content, token, () => ({ children: new Map(), isOpen: /=[ao]$/.test(token) }));
      }
    }
  }

  /** Adds a setting. `token`: its name with types, free names and items. */
  #add(around: SectionSchema, token: string, contentOf: () => SectionSchema): void {
    const [key = '', typeText = ''] = token.split('=');
    const types = typeText === '' ? [] : typeText.split(',').map((type) => this.#typeOf(type));
    if (this.#form === 'xml') {
      const [name = '', steps = name.replace('@', '')] = key.split('>');
      around.children.set(name.replace('{}', ''), new LateNode(types, stepsOf(steps), contentOf));
      return;
    }
    const steps = stepsOf(key);
    let parent = around;
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      const between = emptyContent();
      const node = new LateNode(isLast ? types : [], [step], isLast ? contentOf : () => between);
      const existing = parent.children.get(step);
      if (step === '{}') parent.named = node;
      else if (step === '[]') parent.item = node;
      else if (isLast || existing === undefined) parent.children.set(step, node);
      parent = isLast ? parent : (existing?.content ?? between);
    }
  }

  #typeOf(notation: string): ValueType {
    return getOrCreate(this.#types, notation, () =>
      readValueType(notation.startsWith('%') ? this.#wordsOf(notation) : notation),
    );
  }

  #wordsOf(name: string): string {
    const found = [...this.#blocks.keys()].find((head) => head.startsWith(`${name}=`));
    return found?.slice(name.length + 1) ?? '';
  }

  #shape(name: string): SectionSchema {
    let shape = this.#shapes.get(name);
    if (shape === undefined) {
      const block = this.#blocks.get(name);
      shape = emptyContent();
      this.#shapes.set(name, shape);
      this.#fill(shape, block?.rest ?? '', block?.below ?? []);
    }
    return shape;
  }
}

/** A setting whose content is read when it is first used. */
class LateNode implements SettingSchema {
  readonly types: readonly ValueType[];
  readonly steps: readonly string[];
  readonly #contentOf: () => SectionSchema;
  #content: SectionSchema | undefined;

  constructor(
    types: readonly ValueType[],
    steps: readonly string[],
    contentOf: () => SectionSchema,
  ) {
    this.types = types;
    this.steps = steps;
    this.#contentOf = contentOf;
  }

  get content(): SectionSchema {
    this.#content ??= this.#contentOf();
    return this.#content;
  }
}

/** Returns the blocks of the least indented lines, each with the lines below it. */
function blocksOf(lines: readonly string[]): Block[] {
  const blocks: (Block & { below: string[] })[] = [];
  const indent = indentOf(lines[0] ?? '');
  for (const line of lines) {
    if (indentOf(line) > indent) {
      blocks.at(-1)?.below.push(line);
      continue;
    }
    const at = line.indexOf(':');
    const end = at < 0 ? line.length : at;
    blocks.push({ head: line.slice(indent, end), rest: line.slice(end + 1).trim(), below: [] });
  }
  return blocks;
}

function indentOf(line: string): number {
  let indent = 0;
  while (line[indent] === ' ') indent++;
  return indent;
}

/** Returns the notation's lines, each joined with the `+` lines that continue it. */
function joinedLines(notation: string): string[] {
  const lines: string[] = [];
  for (const line of notation.split('\n')) {
    const text = line.trimStart();
    if (text === '' || text.startsWith('#')) continue;
    if (!text.startsWith('+ ')) lines.push(line);
    else lines.push(lines.pop() + (text[2] === '|' ? text.slice(2) : text.slice(1)));
  }
  return lines;
}

/** Splits a key into steps: `users[]` is two steps, and so is `map{}`. */
function stepsOf(key: string): string[] {
  if (!/[[{]/.test(key)) return [key];
  return key.match(/\{\}|\[\]|[^{}[\]]+/g) ?? [];
}

function emptyContent(): SectionSchema {
  return { children: new Map(), isOpen: false };
}

/**
 * Adds one of gridnode's settings by its path; in XML as an element and as an attribute. In XML,
 * only the original's lists have items, below a name only the last step may be gridnode's, and a
 * setting named like the element around it is that element's text.
 */
function addOwn(root: SectionSchema, path: string, form: Form): void {
  if (form === 'xml' && /\[|\b([a-z-]+)\.\1$/.test(path)) return;
  let content = root;
  const isBelowName = path.includes('{name}');
  // In XML the name is an attribute of the element.
  const steps = path.split('.').filter((step) => form === 'yaml' || step !== '{name}');
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    const attribute = form === 'xml' && isLast ? content.children.get(`@${step}`) : undefined;
    const existing = schemaOf(content, step) ?? attribute;
    // The type of an attribute of the original also applies to an element of that name.
    if (attribute !== undefined && existing === attribute) content.children.set(step, attribute);
    if (existing !== undefined) {
      content = existing.content;
      continue;
    }
    if (form === 'xml' && isBelowName && !isLast) return;
    const node = {
      types: isLast ? [readValueType('s')] : [],
      content: emptyContent(),
      steps: [step],
    };
    if (step === '[]') content.item = node;
    else content.children.set(step, node);
    if (isLast && form === 'xml') content.children.set(`@${step}`, node);
    content = node.content;
  }
}

function schemaOf(content: SectionSchema, step: string): SettingSchema | undefined {
  if (step === '{name}') return content.named;
  if (step === '[]') return content.item;
  return content.children.get(step);
}
