/**
 * How many items a queue may hold, by its name: from settings whose names may hold `*` for any text.
 * The exact name goes first, then the pattern with the most literal bytes, then the one given last.
 * Names are bytes here as everywhere: the settings' names are taken as UTF-8, and both are compared
 * as strings of one character a byte. Asked once a queue, so patterns are simply tried in turn.
 */

/** A name with wildcards: the literal texts around each `*`. */
interface Pattern {
  readonly parts: readonly string[];
  readonly literalLength: number;
  readonly capacity: number;
}

/** Items by name, 0 for no limit; returns a positive number of items, or Infinity. */
export function queueCapacity(maxSizes: ReadonlyMap<string, number>): (queue: Buffer) => number {
  const exact = new Map<string, number>();
  const patterns: Pattern[] = [];
  for (const [name, maxSize] of maxSizes) {
    const bytes = Buffer.from(name, 'utf8').toString('latin1');
    const capacity = maxSize === 0 ? Number.POSITIVE_INFINITY : maxSize;
    const parts = bytes.split('*');
    if (parts.length === 1) exact.set(bytes, capacity);
    else patterns.unshift({ parts, literalLength: bytes.length - parts.length + 1, capacity });
  }
  patterns.sort((a, b) => b.literalLength - a.literalLength);
  return (queue) => {
    const name = queue.toString('latin1');
    return (
      exact.get(name) ??
      patterns.find((pattern) => matches(pattern.parts, name))?.capacity ??
      Number.POSITIVE_INFINITY
    );
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
