/**
 * Finds the configuration of a map or queue by its name. In a configured name `*` matches any text.
 * The exact name takes precedence, then the matching pattern with the most literal bytes (of equal
 * ones the last), then `default`. A name is looked up once, so the patterns, at most PATTERNS_MAX,
 * are tried one by one. Tested by engine/queue-capacity.spec.ts.
 */
import { NamePattern } from '../base/name-pattern.ts';

/** Maximum number of configured names with `*`; maps and queues are counted separately. */
export const PATTERNS_MAX = 10_000;

/** Whether the configured name matches other names. */
export function isPattern(name: string): boolean {
  return name.includes('*');
}

/**
 * Returns a function that finds the value configured for a name, or undefined. The values must not
 * change.
 */
export function byName<Value>(
  values: ReadonlyMap<string, Value>,
): (name: Buffer) => Value | undefined {
  const nameFor = nameAmong(values);
  return (bytes) => {
    const name = nameFor(bytes);
    return name === undefined ? undefined : values.get(name);
  };
}

/**
 * Returns a function that finds the configured name, in any of the maps, that applies to a name.
 */
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
  // Names are not decoded if all of them have the same configuration.
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
