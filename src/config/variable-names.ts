/**
 * Finds the setting that the name of a variable stands for. The name's parts are matched with the
 * steps of the known settings, ignoring case and `-`. Free names (of maps, queues, groups) are
 * matched with known ones: the endpoint groups, the properties in use, and the names in the file.
 * Tested by environment.spec.ts.
 */

import { getOrCreate } from '../base/get-or-create.ts';
import type { SectionSchema, SettingSchema } from './document-schema.ts';
import { ENDPOINT_GROUP_NAMES } from './endpoint-group.ts';
import { PROPERTY_NAMES } from './property-names.ts';
import type { NamedBlock, Statement } from './statements.ts';

/** Endpoint groups, including the old name of one. */
const GROUPS: readonly string[] = [...ENDPOINT_GROUP_NAMES, 'HOT_RESTART'];

/** The setting that a variable names. */
export interface Target extends Pick<Statement, 'path' | 'pattern' | 'types'> {
  /** Free names in the path that are not in the file. */
  readonly added?: readonly Omit<NamedBlock, 'at'>[];
  /** A name in the file that differs from the one in the path only by case, `-`, `_` and `.`. */
  readonly similar?: string;
}

interface Draft {
  readonly path: readonly string[];
  readonly pattern: readonly string[];
  readonly added: readonly Omit<NamedBlock, 'at'>[];
  readonly similar: string | undefined;
}

const START: Draft = { path: [], pattern: [], added: [], similar: undefined };

/** Returns a name without case and separators, which comparisons ignore. */
export function bare(name: string): string {
  return name.replace(/[-_. ]/g, '').toLowerCase();
}

export class VariableNames {
  readonly #schema: SectionSchema;
  readonly #blocks: readonly NamedBlock[];
  /** The children of a section by their bare names. */
  readonly #children = new WeakMap<SectionSchema, ReadonlyMap<string, [string, SettingSchema]>>();
  /** Names in the file, by the path of their section and then by their bare names. */
  readonly #names = new Map<string, ReadonlyMap<string, readonly string[]>>();

  constructor(schema: SectionSchema, blocks: readonly NamedBlock[]) {
    this.#schema = schema;
    this.#blocks = blocks;
  }

  /**
   * Returns the settings that a variable may stand for. `isOriginal`: it is an `HZ_` variable, for
   * which the rules of the original apply.
   */
  targets(name: string, isOriginal: boolean): readonly Target[] {
    const parts = name.replaceAll(' ', '').toLowerCase().split(/[_.]/);
    while (parts.length > 1 && parts.at(-1) === '') parts.pop();
    const search = new Search(isOriginal, parts, this);
    search.below(this.#schema, 0, START);
    return search.found;
  }

  childOf(content: SectionSchema, part: string): [string, SettingSchema] | undefined {
    const children = getOrCreate(
      this.#children,
      content,
      () => new Map([...content.children].map((child) => [bare(child[0]), child])),
    );
    return children.get(part.replaceAll('-', ''));
  }

  /** Returns the names in the file at this place that are equal without `-`, `_`, `.` and case. */
  namesLike(path: readonly string[], pattern: string, name: string): readonly string[] {
    const names = getOrCreate(this.#names, path.join('\0'), () => this.#namesIn(path, pattern));
    return names.get(bare(name)) ?? [];
  }

  #namesIn(path: readonly string[], pattern: string): ReadonlyMap<string, readonly string[]> {
    const names = new Map<string, string[]>();
    for (const block of this.#blocks) {
      if (block.pattern !== pattern || !isBelow(block.path, path)) continue;
      const same = getOrCreate(names, bare(block.name), () => []);
      if (!same.includes(block.name)) same.push(block.name);
    }
    return names;
  }
}

/** The search for the settings that the parts of a name stand for. */
class Search {
  readonly found: Target[] = [];
  readonly #isOriginal: boolean;
  readonly #parts: readonly string[];
  readonly #names: VariableNames;

  constructor(isOriginal: boolean, parts: readonly string[], names: VariableNames) {
    this.#isOriginal = isOriginal;
    this.#parts = parts;
    this.#names = names;
  }

  /** Searches the content. `at`: index of the first part that belongs below it. */
  below(content: SectionSchema, at: number, draft: Draft): void {
    const part = this.#parts[at];
    if (part === undefined) return;
    const child = this.#names.childOf(content, part);
    if (child !== undefined) this.#node(child[1], at + 1, stepped(draft, child[0], child[0]));
    else if (content.named !== undefined) this.#named(content.named, at, draft);
    else if (content.item !== undefined) {
      if (/^\d+$/.test(part)) {
        this.#node(content.item, at + 1, stepped(draft, `[${Number(part)}]`, '[]'));
      }
    } else if (content.isOpen) this.#property(at, draft);
  }

  #node(node: SettingSchema, at: number, draft: Draft): void {
    const { content, types } = node;
    if (at < this.#parts.length) return this.below(content, at, draft);
    const { children, named, item } = content;
    const isLeaf = children.size === 0 && named === undefined && item === undefined;
    if (types.length > 0 && (isLeaf || !this.#isOriginal)) this.#find(draft, types);
    else if (!this.#isOriginal && item !== undefined && item.content.children.size === 0) {
      this.#find(stepped(draft, '[0]', '[]'), item.types);
    }
  }

  #named(node: SettingSchema, at: number, draft: Draft): void {
    const section = draft.path.at(-1);
    if (section === 'endpoint-groups') return this.#group(node, at, draft);
    const pattern = [...draft.pattern, '{name}'].join('.');
    const first = this.#parts[at] ?? '';
    if (this.#isOriginal) {
      const names = this.#names.namesLike(draft.path, pattern, first);
      return this.#name(node, at + 1, draft, first, names);
    }
    const before = this.found.length;
    for (let end = at + 1; end <= this.#parts.length; end++) {
      const name = this.#parts.slice(at, end).join('');
      for (const similar of this.#names.namesLike(draft.path, pattern, name)) {
        this.#node(node, end, stepped(draft, similar, '{name}'));
      }
    }
    if (this.found.length === before) this.#name(node, at + 1, draft, first, []);
  }

  /** Adds a free name to the draft. `names`: similar names in the file. */
  #name(
    node: SettingSchema,
    at: number,
    draft: Draft,
    name: string,
    names: readonly string[],
  ): void {
    const next = stepped(draft, name, '{name}');
    if (names.includes(name)) return this.#node(node, at, next);
    const { path } = next;
    const block = { path, pattern: next.pattern.join('.'), name, isEmpty: false };
    this.#node(node, at, { ...next, added: [...draft.added, block], similar: names[0] });
  }

  /** Matches an endpoint group, whose name has one part or two. */
  #group(node: SettingSchema, at: number, draft: Draft): void {
    for (const end of [at + 1, at + 2]) {
      const name = bare(this.#parts.slice(at, end).join(''));
      const group = GROUPS.find((each) => bare(each) === name);
      if (group !== undefined) this.#node(node, end, stepped(draft, group, '{name}'));
    }
  }

  /** Matches a property: one that has an effect, or else the parts joined by dots. */
  #property(at: number, draft: Draft): void {
    const rest = this.#parts.slice(at);
    const names = PROPERTY_NAMES[draft.pattern.join('.')] ?? [];
    const property = names.find((name) => bare(name) === bare(rest.join('')));
    this.#find(stepped(draft, property ?? rest.join('.'), '{name}'), []);
  }

  #find({ path, pattern, added, similar }: Draft, types: Target['types']): void {
    const target = { path, pattern: pattern.join('.'), types, added };
    this.found.push(similar === undefined ? target : { ...target, similar });
  }
}

function stepped({ path, pattern, ...rest }: Draft, step: string, patternStep: string): Draft {
  return { ...rest, path: [...path, step], pattern: [...pattern, patternStep] };
}

/** Whether the path starts with the steps. */
export function isBelow(path: readonly string[], around: readonly string[]): boolean {
  return around.every((step, index) => path[index] === step);
}

/**
 * Returns the names of settings without free names in their paths, in the form of variables.
 * `isOriginal`: a section has no value itself,
 * and a list only has items.
 */
export function fixedNames(schema: SectionSchema, isOriginal: boolean, around = ''): string[] {
  return [...schema.children].flatMap(([step, { types, content }]) => {
    const name = around + step.replaceAll('-', '').toUpperCase();
    const hasContent = content.children.size > 0 || content.named !== undefined;
    const isList = content.item !== undefined;
    const isItself = types.length > 0 && !(isOriginal && (hasContent || isList));
    const below = fixedNames(content, isOriginal, `${name}_`);
    if (isOriginal && isList) below.push(`${name}_0`);
    return isItself || (isList && !isOriginal) ? [name, ...below] : below;
  });
}
