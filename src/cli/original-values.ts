/**
 * Keys and values in the serialization format of the original: a hash for partitions and the id of the
 * type, of four bytes each, then the content. Integers are big endian. A value becomes what the
 * original's REST interface returns for it. An object of a class has only a description.
 * Tested by migrate.spec.ts.
 */

/** A value as REST returns it. */
export interface RestValue {
  readonly bytes: Buffer;
  /** Undefined if there is none. */
  readonly contentType: Buffer | undefined;
}

const CONTENT = 8;
/** Longest name of a class in a description, in bytes. */
const NAME_BYTES_MAX = 200;

/** The names of the types from 0 down. */
const TYPES = (
  'null Portable DataSerializable Byte Boolean Character Short Integer Long Float Double String ' +
  'byte[] boolean[] char[] short[] int[] long[] float[] double[] String[] UUID SimpleEntry ' +
  'SimpleImmutableEntry Class Date BigInteger BigDecimal Object[] ArrayList LinkedList ' +
  'CopyOnWriteArrayList HashMap ConcurrentSkipListMap ConcurrentHashMap LinkedHashMap TreeMap HashSet ' +
  'TreeSet LinkedHashSet CopyOnWriteArraySet ConcurrentSkipListSet ArrayDeque LinkedBlockingQueue ' +
  'ArrayBlockingQueue PriorityBlockingQueue DelayQueue SynchronousQueue LinkedTransferQueue ' +
  'PriorityQueue Optional LocalDate LocalTime LocalDateTime OffsetDateTime Compact Compact'
).split(' ');
const [PORTABLE, DATA_SERIALIZABLE, STRING, BYTE_ARRAY] = [-1, -2, -11, -12];
const [BIG_INTEGER, BIG_DECIMAL, COMPACT, JSON_VALUE] = [-26, -27, -55, -130];
const [JAVA_SERIALIZABLE, JAVA_EXTERNALIZABLE] = [-100, -101];
/** The ranges of types that REST returns in the serialization format: no classes, no collections. */
const SERIALIZED = [
  [-3, -10],
  [-13, -21],
  [-25, -27],
  [-51, -54],
] as const;
/** The factory and the class of a value that REST has written. */
const REST_CLASS = '-25:1';
/** The beginning of an object in Java's own format, before the length of the name of its class. */
const JAVA_OBJECT = Buffer.from('aced00057372', 'hex');

/** Returns the bytes of a key; a description if it is not a string. */
export function keyIn(data: Buffer): Buffer | string {
  if (typeOf(data) !== STRING) return nameOf(data);
  return wholeText(data) ?? UNREADABLE;
}

/** Returns the value that REST returns; a description if it is an object of a class. */
export function valueIn(data: Buffer): RestValue | string {
  const type = typeOf(data);
  if (type === STRING || type === BYTE_ARRAY || type === JSON_VALUE) {
    const bytes = wholeText(data);
    return bytes === undefined ? UNREADABLE : { bytes, contentType: CONTENT_TYPES[type] };
  }
  if (type === DATA_SERIALIZABLE && classIn(data) === REST_CLASS) return restValueIn(data);
  if (SERIALIZED.some(([first, last]) => type <= first && type >= last)) return serialized(data);
  return nameOf(data);
}

const UNREADABLE = 'a value that cannot be read';
const BINARY = Buffer.from('application/binary');
const CONTENT_TYPES: Readonly<Record<number, Buffer>> = {
  [STRING]: Buffer.from('text/plain'),
  [BYTE_ARRAY]: BINARY,
  [JSON_VALUE]: Buffer.from('application/json'),
};

function typeOf(data: Buffer): number {
  return data.length < CONTENT ? 0 : data.readInt32BE(4);
}

/** A value and a content type, each an array of bytes or null. */
function restValueIn(data: Buffer): RestValue | string {
  const value = arrayAt(data, CONTENT + 9);
  const type = value && arrayAt(data, value.end);
  if (type?.end !== data.length) return UNREADABLE;
  return { bytes: value?.bytes ?? Buffer.alloc(0), contentType: type.bytes };
}

/** Returns the serialization format, as REST makes it again from the object. */
function serialized(data: Buffer): RestValue {
  const type = typeOf(data);
  const bytes = Buffer.from(data);
  bytes.writeInt32BE(0);
  if (type !== BIG_INTEGER && type !== BIG_DECIMAL) return { bytes, contentType: BINARY };
  // Other clients may write more bytes than a number needs.
  const number = arrayAt(data, CONTENT);
  if (number?.bytes === undefined) return { bytes, contentType: BINARY };
  let digits = number.bytes;
  while (digits.length > 1 && isSign(digits[0], digits[1])) digits = digits.subarray(1);
  const length = Buffer.alloc(4);
  length.writeInt32BE(digits.length);
  const parts = [bytes.subarray(0, CONTENT), length, digits, data.subarray(number.end)];
  return { bytes: Buffer.concat(parts), contentType: BINARY };
}

/** Whether the first byte of a number only repeats the sign of the next one. */
function isSign(first = 0, next = 0): boolean {
  return first === (next & 0x80 ? 0xff : 0);
}

/** Returns the content of an array of bytes or a text that is the whole value. */
function wholeText(data: Buffer): Buffer | undefined {
  const text = arrayAt(data, CONTENT);
  return text?.end === data.length ? text.bytes : undefined;
}

/** Reads a length and bytes; the length -1 is null. Returns undefined if they are not whole. */
function arrayAt(
  data: Buffer,
  at: number,
): { readonly bytes: Buffer | undefined; readonly end: number } | undefined {
  const start = at + 4;
  if (start > data.length) return undefined;
  const length = data.readInt32BE(at);
  if (length === -1) return { bytes: undefined, end: start };
  const end = start + length;
  if (length < 0 || end > data.length) return undefined;
  return { bytes: data.subarray(start, end), end };
}

/** Returns the name of the type or the class, for people. */
function nameOf(data: Buffer): string {
  const type = typeOf(data);
  switch (type) {
    case PORTABLE:
      return data.length < CONTENT + 8 ? 'Portable' : `Portable ${idsAt(data, CONTENT)}`;
    case DATA_SERIALIZABLE:
      return classIn(data) ?? 'DataSerializable';
    case COMPACT:
      return data.length < CONTENT + 8
        ? 'Compact'
        : `Compact, schema ${data.toString('hex', CONTENT, CONTENT + 8)}`;
    case JAVA_SERIALIZABLE: {
      const name = CONTENT + JAVA_OBJECT.length;
      const isObject = data.subarray(CONTENT, name).equals(JAVA_OBJECT) && data.length >= name + 2;
      if (!isObject) return 'Serializable';
      return shown(data.subarray(name + 2, name + 2 + data.readUInt16BE(name)));
    }
    case JAVA_EXTERNALIZABLE:
      return shown(arrayAt(data, CONTENT)?.bytes) || 'Externalizable';
    default:
      return TYPES[-type] ?? `type ${type}`;
  }
}

/** Returns the ids, or the name, of the class of a DataSerializable. */
function classIn(data: Buffer): string | undefined {
  const isIdentified = ((data[CONTENT] ?? 0) & 1) !== 0;
  if (!isIdentified) return shown(arrayAt(data, CONTENT + 1)?.bytes) || undefined;
  return data.length < CONTENT + 9 ? undefined : idsAt(data, CONTENT + 1);
}

/** Returns the ids of a factory and of its class. */
function idsAt(data: Buffer, at: number): string {
  return `${data.readInt32BE(at)}:${data.readInt32BE(at + 4)}`;
}

function shown(name: Buffer = Buffer.alloc(0)): string {
  return name.toString('utf8', 0, NAME_BYTES_MAX).replace(/[^!-~]/g, '?');
}
