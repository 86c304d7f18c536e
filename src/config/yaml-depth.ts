/**
 * Where a YAML document goes deeper than it may. Asked before the document is composed, as that takes
 * a stack frame or several for each collection; so nothing here calls itself.
 */
import type { CST } from 'yaml';

/** The offset of the first collection that is too deep; undefined where none is. */
export function tooDeep(document: CST.Document, depthMax: number): number | undefined {
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
