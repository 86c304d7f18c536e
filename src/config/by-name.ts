/**
 * What is configured for a map or queue, by its name: configured names may hold `*` for any text. The
 * exact name goes first, then the pattern with the most literal bytes, then the one given last, then
 * what is configured for `default`. Asked once a name, so patterns are simply tried in turn.
 */
import { NamePattern } from '../base/name-pattern.ts';

/** What is configured for a name; undefined where nothing is. */
export function byName<Value>(
  values: ReadonlyMap<string, Value>,
): (name: Buffer) => Value | undefined {
  const rules: { readonly pattern: NamePattern; readonly value: Value }[] = [];
  for (const [name, value] of values) rules.unshift({ pattern: new NamePattern(name), value });
  rules.sort(({ pattern: a }, { pattern: b }) => {
    return Number(b.isExact) - Number(a.isExact) || b.literalLength - a.literalLength;
  });
  return (bytes) => {
    const name = bytes.toString('latin1');
    const rule = rules.find(({ pattern }) => pattern.matches(name));
    return rule === undefined ? values.get('default') : rule.value;
  };
}
