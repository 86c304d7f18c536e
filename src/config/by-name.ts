/**
 * What is configured for a map or queue, by its name: configured names may hold `*` for any text. The
 * exact name goes first, then the pattern with the most literal bytes, then the one given last, then
 * what is configured for `default`. Names are bytes here as everywhere: configured ones are taken as
 * UTF-8, and both are compared as strings of one character a byte. Asked once a name, so patterns
 * are simply tried in turn.
 */

/** A name with wildcards: the literal texts around each `*`. */
interface Pattern<Value> {
  readonly parts: readonly string[];
  readonly literalLength: number;
  readonly value: Value;
}

/** What is configured for a name; undefined where nothing is. */
export function byName<Value>(
  values: ReadonlyMap<string, Value>,
): (name: Buffer) => Value | undefined {
  const exact = new Map<string, Value>();
  const patterns: Pattern<Value>[] = [];
  for (const [name, value] of values) {
    const bytes = Buffer.from(name, 'utf8').toString('latin1');
    const parts = bytes.split('*');
    if (parts.length === 1) exact.set(bytes, value);
    else patterns.unshift({ parts, literalLength: bytes.length - parts.length + 1, value });
  }
  patterns.sort((a, b) => b.literalLength - a.literalLength);
  return (bytes) => {
    const name = bytes.toString('latin1');
    if (exact.has(name)) return exact.get(name);
    const pattern = patterns.find(({ parts }) => matches(parts, name));
    return pattern === undefined ? exact.get('default') : pattern.value;
  };
}

/** Whether the name is the parts in order with any text between them. Linear in the name's length. */
function matches(parts: readonly string[], name: string): boolean {
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
