/**
 * The settings of a member file of the original, according to its schemas: a tree of names and
 * types.
 */

/** A setting or section. Trees may share parts. */
export interface SchemaTree {
  /** Types of the setting's value, in the notation of setting.ts; empty: no value is allowed. */
  readonly types: Set<string>;
  readonly children: Map<string, SchemaTree>;
  /** The tree of any other name. */
  named?: SchemaTree | undefined;
  item?: SchemaTree | undefined;
  /** Whether unknown names are also allowed. */
  isOpen: boolean;
  /** In XML: whether the element may occur more than once. */
  repeats: boolean;
  /** In XML: the steps of the YAML path, if they are not the element's name. */
  steps?: string;
}

export interface SchemaTrees {
  readonly yaml: SchemaTree;
  readonly xml: SchemaTree;
}

export function emptyTree(): SchemaTree {
  return { types: new Set(), children: new Map(), isOpen: false, repeats: false };
}

/** Returns a setting of this type; with the types `a` and `o`, it may have any content. */
export function leafTree(type: string): SchemaTree {
  return { ...emptyTree(), types: new Set([type]) };
}

/** A setting of which only the name is known. */
export const NAME_ONLY = leafTree('a');

/** Returns the tree that accepts the content of either tree. */
export function merged(one: SchemaTree, other: SchemaTree): SchemaTree {
  if (one === NAME_ONLY || other === NAME_ONLY) return one === NAME_ONLY ? other : one;
  const tree: SchemaTree = {
    types: mergedTypes([...one.types, ...other.types]),
    children: new Map(one.children),
    named: mergedIfBoth(one.named, other.named),
    item: mergedIfBoth(one.item, other.item),
    isOpen: one.isOpen || other.isOpen,
    repeats: one.repeats || other.repeats,
  };
  for (const [name, child] of other.children) {
    const known = tree.children.get(name);
    tree.children.set(name, known === undefined ? child : merged(known, child));
  }
  return tree;
}

function mergedIfBoth(
  one: SchemaTree | undefined,
  other: SchemaTree | undefined,
): SchemaTree | undefined {
  return one === undefined || other === undefined ? (one ?? other) : merged(one, other);
}

/** Any text includes all other types; words are joined; a range replaces those it includes. */
function mergedTypes(types: readonly string[]): Set<string> {
  if (types.includes('a')) return new Set(['a']);
  if (types.includes('s')) return new Set(types.filter((type) => type === 's' || type === 'o'));
  const words = new Set(types.filter(isWords).flatMap((type) => type.split('|')));
  const others = [...new Set(types.filter((type) => !isWords(type)))];
  const kept = others.filter(
    (type, index) =>
      !others.some((wider, at) => at !== index && isWithin(type, wider) && !isSame(type, wider)),
  );
  return new Set(words.size > 0 ? [...kept, [...words].join('|')] : kept);
}

/** Whether the notation is one of words: `READ|WRITE`, or a single word in capitals. */
function isWords(type: string): boolean {
  return type.includes('|') || /^[A-Z]/.test(type);
}

function isSame(one: string, other: string): boolean {
  return isWithin(one, other) && isWithin(other, one) && one < other;
}

function isWithin(type: string, wider: string): boolean {
  const [inner, outer] = [rangeOf(type), rangeOf(wider)];
  if (inner === undefined || outer === undefined || inner.kind !== outer.kind) return false;
  return outer.minimum <= inner.minimum && inner.maximum <= outer.maximum;
}

function rangeOf(type: string) {
  const match = /^([in])(?:(-?\d+)?\.\.(\d+)?)?$/.exec(type);
  if (match === null) return undefined;
  const [, kind, from = -Infinity, to = Infinity] = match;
  return { kind, minimum: Number(from), maximum: Number(to) };
}

/** Returns `i`, `i1..` or `i0..6`; `n` for a number that may be fractional. */
export function rangeType(kind: 'i' | 'n', minimum?: number, maximum?: number): string {
  if (minimum === undefined && maximum === undefined) return kind;
  return `${kind}${minimum ?? ''}..${maximum ?? ''}`;
}
