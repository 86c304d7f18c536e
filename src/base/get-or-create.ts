/** Looks up a value in a map. Tested by wan/wan-reading.spec.ts. */

/** Returns the key's value, which is created and stored if it is missing. */
export function getOrCreate<Key, Value>(
  values: {
    get(key: Key): Value | undefined;
    set(key: Key, value: Value): unknown;
  },
  key: Key,
  create: () => Value,
): Value {
  const existing = values.get(key);
  if (existing !== undefined) return existing;
  const created = create();
  values.set(key, created);
  return created;
}
