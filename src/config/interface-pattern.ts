/**
 * Patterns of addresses, as in the original's files. A part of an address may be `*` for any value or
 * `4-18` for a range, in IPv4 (`10.3.10.*`) and in IPv6. A host name matches only itself.
 */

export function isInterfacePattern(text: string): boolean {
  return /^[\w.:*-]+$/.test(text);
}

/**
 * Whether the pattern can match a client's address, which is always numeric: a pattern of IPv4 or IPv6,
 * or `*` for any address.
 */
export function isAddressPattern(text: string): boolean {
  if (text === '*') return true;
  if (!text.includes(':')) {
    const parts = text.split('.');
    return parts.length === 4 && parts.every((part) => isPart(part, /^\d{1,3}$/, 10, 255));
  }
  const halves = text.split('::');
  const parts = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const isWhole =
    halves.length === 1 ? parts.length === 8 : halves.length === 2 && parts.length < 8;
  return isWhole && parts.every((part) => isPart(part, /^[0-9a-f]{1,4}$/i, 16, 0xffff));
}

function isPart(part: string, form: RegExp, base: number, max: number): boolean {
  if (part === '*') return true;
  const bounds = part.split('-');
  const [low = 0, high = low] = bounds.map((bound) => Number.parseInt(bound, base));
  return (
    bounds.length <= 2 && bounds.every((bound) => form.test(bound)) && low <= high && high <= max
  );
}

/**
 * Returns the first address that matches the first pattern that has one; undefined if no pattern
 * matches.
 */
export function matchingAddress(
  patterns: readonly string[],
  addresses: readonly string[],
): string | undefined {
  for (const pattern of patterns) {
    const found = addresses.find((address) => matches(pattern, address));
    if (found !== undefined) return found;
  }
  return undefined;
}

function matches(pattern: string, address: string): boolean {
  if (pattern === address) return true;
  const separator = address.includes(':') ? ':' : '.';
  const base = separator === ':' ? 16 : 10;
  const wanted = partsOfAddress(pattern, separator);
  const parts = partsOfAddress(address, separator);
  if (wanted.length !== parts.length) return false;
  return parts.every((part, index) => partMatches(wanted[index] ?? '', part, base));
}

function partMatches(wanted: string, part: string, base: number): boolean {
  if (wanted === '*') return true;
  const value = Number.parseInt(part, base);
  const [low = '', high = low] = wanted.split('-');
  const isNumber = /^[0-9a-f]+$/i.test(low) && /^[0-9a-f]+$/i.test(high);
  return isNumber && value >= Number.parseInt(low, base) && value <= Number.parseInt(high, base);
}

/** Returns the parts of an address; in IPv6 with the zeros that `::` stands for. */
export function partsOfAddress(address: string, separator: string): string[] {
  if (separator === '.') return address.split('.');
  const [head = '', tail] = address.split('::');
  const front = head.split(':').filter((part) => part !== '');
  if (tail === undefined) return front;
  const back = tail.split(':').filter((part) => part !== '');
  return [...front, ...Array(Math.max(0, 8 - front.length - back.length)).fill('0'), ...back];
}
