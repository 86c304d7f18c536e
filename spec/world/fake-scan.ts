/**
 * Scans of a hash table as by Redis: the cursor counts in the reversed bits of a bucket's number, so
 * that it stays right when the number of buckets changes. The order of the elements depends on the
 * run of the server. A table has one to two buckets per element.
 */

/** Returns the next cursor and the elements of the buckets from the cursor on. */
export function scanTable(
  names: readonly string[],
  run: string,
  cursor: number,
  count: number,
): [string, string[]] {
  let size = 4;
  while (size < names.length) size *= 2;
  const mask = size - 1;
  const buckets = new Map<number, string[]>();
  for (const name of names) {
    const bucket = hashOf(run + name) & mask;
    const others = buckets.get(bucket);
    if (others === undefined) buckets.set(bucket, [name]);
    else others.push(name);
  }
  const found: string[] = [];
  let at = cursor;
  for (let left = 10 * count; left > 0 && found.length < count; left--) {
    found.push(...(buckets.get(at & mask) ?? []));
    at = reversed((reversed((at | ~mask) >>> 0) + 1) >>> 0);
    if (at === 0) break;
  }
  return [`${at}`, found];
}

/** The 32 bits in reverse order. */
function reversed(bits: number): number {
  let [rest, result] = [bits, 0];
  for (let left = 32; left > 0; left--) {
    result = ((result << 1) | (rest & 1)) >>> 0;
    rest >>>= 1;
  }
  return result;
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}
