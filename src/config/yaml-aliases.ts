/**
 * Goes once through a YAML document, in its order, and finds which node each alias names: the last one
 * before it with that anchor. Names that stand twice in a mapping are told on the way.
 */
import { type Alias, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { quoted } from './problems.ts';

/** What each alias stands for; one that names no anchor before it is not in it. */
export type Targets = ReadonlyMap<Alias, Node>;

/** `complain` is told of an offset in the text. The depth of the document is bounded by the caller. */
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
          () =>
            `Cannot read YAML: ${quoted(name)} is there twice; names in a mapping must be unique`,
        );
      }
      names.add(name);
    }
  };
  visit(root);
  return targets;
}

/** A scalar as it was written; undefined for null. */
export function textOf(value: unknown, source: string | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? undefined : (source ?? String(value));
}
