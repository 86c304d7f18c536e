/**
 * A name in which `*` stands for any text, also an empty one. Names are bytes: a pattern is taken as
 * UTF-8 and compared as a string of one character a byte.
 */
export class NamePattern {
  /** The literal texts around each `*`. */
  readonly #parts: readonly string[];
  /** Bytes that are not `*`: the more of them, the closer the pattern. */
  readonly literalLength: number;

  constructor(text: string) {
    const bytes = Buffer.from(text).toString('latin1');
    this.#parts = bytes.split('*');
    this.literalLength = bytes.length - this.#parts.length + 1;
  }

  /** Whether it matches only the name equal to it. */
  get isExact(): boolean {
    return this.#parts.length === 1;
  }

  /** `name` has one character a byte. Takes time linear in the length of the name. */
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
