/**
 * What is configured for a map or queue, by its name: configured names may hold `*` for any text. The
 * exact name goes first, then the pattern with the most literal bytes, then the one given last, then
 * what is configured for `default`. Asked once a name, so patterns are simply tried in turn; of them
 * there are PATTERNS_MAX at most.
 */
import { NamePattern } from '../base/name-pattern.ts';

/** Names with `*`, of maps or of queues. */
export const PATTERNS_MAX = 10_000;

/** Whether the configured name stands for others, too. */
export function isPattern(name: string): boolean {
  return name.includes('*');
}

/** What is configured for a name; undefined where nothing is. The values must not change. */
export function byName<Value>(
  values: ReadonlyMap<string, Value>,
): (name: Buffer) => Value | undefined {
  const nameFor = nameAmong(values);
  return (bytes) => {
    const name = nameFor(bytes);
    return name === undefined ? undefined : values.get(name);
  };
}

/** The one of the configured names, in any of the maps, that counts for a name. */
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
  return (bytes) => {
    const exact = bytes.toString();
    // Bytes that are no UTF-8 are read as other ones.
    if (has(exact) && Buffer.from(exact).equals(bytes)) return exact;
    const text = bytes.toString('latin1');
    const [name] = inOrder.find(([, pattern]) => pattern.matches(text)) ?? [];
    return name ?? (has('default') ? 'default' : undefined);
  };
}
