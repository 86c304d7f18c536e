/** Typed arrays that grow by being copied into longer ones; they double, so a copy is paid for. */
type Numbers = Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** The array itself if it has `length` elements, else its content in a longer one, zero behind. */
export function grown<Kind extends Numbers>(numbers: Kind, length: number): Kind {
  if (length <= numbers.length) return numbers;
  const longerLength = Math.max(length, numbers.length * 2);
  const longer = new (numbers.constructor as new (length: number) => Kind)(longerLength);
  longer.set(numbers);
  return longer;
}
