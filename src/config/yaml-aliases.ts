/**
 * Visits the nodes of a YAML document once, in order, and finds the node of each alias: the last
 * one before it with that anchor. It also reports duplicate names in a mapping, and unknown tags.
 * Tested by bounds.spec.ts.
 */
import { type Alias, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { quoted } from './finding-list.ts';

/** The node of each alias; an alias without an anchor before it is missing. */
export type Targets = ReadonlyMap<Alias, Node>;

/** Tags that do not change a text or collection, as any other would. */
const TAGS: ReadonlySet<string> = new Set([
  '!',
  ...['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map(
    (name) => `tag:yaml.org,2002:${name}`,
  ),
]);

/**
 * Returns the node of each alias. `complain` gets the offset of a problem in the text. The caller
 * limits the depth of the document.
 */
export function resolveAliases(
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
export function textOf(value: unknown, source: string | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? undefined : (source ?? String(value));
}
