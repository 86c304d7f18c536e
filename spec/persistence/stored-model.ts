/**
 * The content after a sequence of recorded mutations, computed in the simplest way: the reference
 * for a recovery.
 */
import { crc32 } from 'node:zlib';
import { CLEAR, DELETE, EXPIRE, type Mutation, OFFER, REMOVE } from '../../src/engine/mutation.ts';
import type { StoredEngine } from '../../src/engine/stored-engine.ts';
import { visited } from '../engine/stored-engine.case.ts';

/**
 * Returns the greatest number of mutations, counted from the first, that result in exactly this
 * content (see contentOf), or -1 if no number does.
 */
export function countThatLeaves(history: readonly Mutation[], content: readonly string[]): number {
  const stored = new Map<string, string>();
  const wanted = content.join('\n');
  let found = content.length === 0 ? 0 : -1;
  history.forEach((mutation, index) => {
    apply(stored, mutation);
    if (stored.size !== content.length) return;
    if ([...stored.values()].sort().join('\n') === wanted) found = index + 1;
  });
  return found;
}

/** Returns the content after the mutations, in the form of contentOf. */
export function contentLeftBy(history: readonly Mutation[]): string[] {
  const stored = new Map<string, string>();
  for (const mutation of history) apply(stored, mutation);
  return [...stored.values()].sort();
}

/** Returns all stored data as sorted strings. */
export function contentOf(engine: StoredEngine): string[] {
  return visited(engine).map(described).sort();
}

function placeOf({ operation, name, key, item }: Mutation): string {
  const isItem = operation >= OFFER;
  return isItem ? `q ${text(name)}/${item}` : `m ${text(name)}/${text(key)}`;
}

export function described(mutation: Mutation): string {
  const { value, contentType, version, expiryMs, maxIdleSeconds } = mutation;
  const place = placeOf(mutation);
  const lifetime = `${expiryMs} ${maxIdleSeconds}`;
  const bytes = `${value.length} bytes, ${crc32(value.toBuffer())}`;
  return `${place} = ${bytes} (${text(contentType)}) ${version.high}.${version.low} ${lifetime}`;
}

function text(span: { toBuffer(): Buffer }): string {
  return span.toBuffer().toString('latin1');
}

function apply(stored: Map<string, string>, mutation: Mutation): void {
  const { operation, name } = mutation;
  if (operation === CLEAR) {
    const map = `m ${text(name)}/`;
    for (const place of [...stored.keys()]) if (place.startsWith(map)) stored.delete(place);
  } else if (operation === DELETE || operation === EXPIRE || operation === REMOVE) {
    stored.delete(placeOf(mutation));
  } else stored.set(placeOf(mutation), described(mutation));
}
