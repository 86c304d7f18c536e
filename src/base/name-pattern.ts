/**
 * A name pattern in which `*` matches any text, including none. Names are bytes: the pattern is
 * encoded as UTF-8 and compared as a string with one character per byte.
 * Tested by engine/queue-capacity.spec.ts.
 */
export class NamePattern {
  /** The literal texts around each `*`. */
  readonly #parts: readonly string[];
  /** Number of bytes that are not `*`; a pattern with more of them is more specific. */
  readonly literalLength: number;

  constructor(text: string) {
    const bytes = Buffer.from(text).toString('latin1');
    this.#parts = bytes.split('*');
    this.literalLength = bytes.length - this.#parts.length + 1;
  }

  /** Whether the name matches; it has one character per byte. Takes time linear in its length. */
  matches(name: string): boolean {
    const parts = this.#parts;
    const first = parts[0] ?? '';
    if (parts.length === 1) return name === first;
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
}
