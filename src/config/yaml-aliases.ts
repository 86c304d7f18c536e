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
    const names = new Set<unknown>();
    for (const { key, value } of node.items) {
      visit(key);
      visit(value);
      if (!isScalar(key)) continue;
      if (names.has(key.value)) {
        const name = String(key.source ?? key.value);
        complain(
          key.range?.[0] ?? 0,
          () =>
            `Cannot read YAML: ${quoted(name)} is there twice; names in a mapping must be unique`,
        );
      }
      names.add(key.value);
    }
  };
  visit(root);
  return targets;
}
