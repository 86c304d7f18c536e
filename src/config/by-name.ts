/**
 * Finds the configuration of a map or queue by its name. In configured names `*` stands for any text.
 * The exact name comes first, then the pattern with the most literal bytes, among equals the one given
 * last, then the configuration of `default`. A name is looked up once, so the patterns, PATTERNS_MAX at
 * most, are simply tried in turn.
 */
import { NamePattern } from '../base/name-pattern.ts';

/** Names with `*`, of maps or of queues: each kind has this limit. */
export const PATTERNS_MAX = 10_000;

/** Whether the configured name stands for other names, too. */
export function isPattern(name: string): boolean {
  return name.includes('*');
}

/** The value configured for a name; undefined where there is none. The values must not change. */
export function byName<Value>(
  values: ReadonlyMap<string, Value>,
): (name: Buffer) => Value | undefined {
  const nameFor = nameAmong(values);
  return (bytes) => {
    const name = nameFor(bytes);
    return name === undefined ? undefined : values.get(name);
  };
}

/** The configured name, of any of the maps, that applies to a name. */
export function nameAmong(
  ...configured: readonly ReadonlyMap<string, unknown>[]
): (name: Buffer) => string | undefined {
  const rules = new Map<string, NamePattern>();
  for (const names of configured) {
    for (const name of names.keys()) if (isPattern(name)) rules.set(name, new NamePattern(name));
  }
  const inOrder = [...rules].reverse();
  inOrder.sort(([, a], [, b]) => b.literalLength - a.literalLength);
  const has = (name: string) => configured.some((names) => names.has(name));
  const fallback = has('default') ? 'default' : undefined;
  const isFallback = (name: string) => name === 'default';
  // Nothing is decoded where all names have one configuration.
  if (configured.every((names) => [...names.keys()].every(isFallback))) return () => fallback;
  return (bytes) => {
    const exact = bytes.toString();
    // Decoding replaces bytes that are not UTF-8.
    if (has(exact) && Buffer.from(exact).equals(bytes)) return exact;
    const text = bytes.toString('latin1');
    const [name] = inOrder.find(([, pattern]) => pattern.matches(text)) ?? [];
    return name ?? fallback;
  };
}
