/**
 * Finds the place where a YAML document is too deep. This is checked before the document is
 * composed, because composing takes at least one stack frame for each nested collection. So no
 * function here is recursive. Tested by bounds.spec.ts.
 */
import type { CST } from 'yaml';

/** Returns the offset of the first collection that is too deep, or undefined. */
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
