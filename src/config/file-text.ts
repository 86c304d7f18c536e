/**
 * Reads the bytes of a configuration file, and decodes them. An imported file must be a regular
 * file. At start the first file may also be a pipe: reading it waits for its writer, without a time
 * limit. Nothing else is opened, because opening a device may already have an effect. A reload does
 * not open a pipe either, because its content has been read.
 *
 * A file is decoded by the encoding that it declares: UTF-8, unless the declaration of
 * an XML file names another. A byte that is invalid in the encoding is a problem: decoded as
 * another character it could change a name or password.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Form } from './document-schema.ts';
import { type FindingList, quoted } from './finding-list.ts';
import type { Place } from './source.ts';

/** Number of bytes at the start that are searched for an XML declaration. */
const HEAD_BYTES = 4096;

export interface FileText {
  readonly form: Form;
  readonly text: string;
}

/** Returns the text, or undefined if it cannot be read; the reason is added to `problems`. */
export function fileText(
  file: string,
  content: Uint8Array,
  problems: FindingList,
): FileText | undefined {
  const whole = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const foreign = FOREIGN.find(({ marks }) => marks.some((mark) => startsWith(whole, mark)));
  if (foreign !== undefined) {
    const message = `Cannot read text: it is ${foreign.name}; write it as UTF-8`;
    problems.add({ file, line: 1, column: 1 }, () => message);
    return undefined;
  }
  const isMarked = startsWith(whole, UTF_8_MARK);
  const bytes = isMarked ? whole.subarray(UTF_8_MARK.length) : whole;
  if (isMarked && startsWith(bytes, UTF_8_MARK)) {
    problems.add({ file, line: 1, column: 2 }, () => 'Cannot read text: a second byte order mark');
    return undefined;
  }
  const head = bytes.toString('latin1', 0, HEAD_BYTES);
  const form = formOf(file, head);
  const declared = form === 'xml' ? DECLARATION.exec(head) : null;
  const name = declared?.[2] ?? 'UTF-8';
  const encoding = ENCODINGS.get(name.toUpperCase());
  if (encoding === undefined || (isMarked && encoding.name !== 'UTF-8')) {
    const wanted = isMarked ? 'UTF-8, which the byte order mark of the file indicates' : NAMES;
    const at = placeOf(file, bytes, (declared?.[0].length ?? 0) - name.length - 1);
    problems.add(at, () => `Cannot use encoding ${quoted(name)}: not ${wanted}`);
    return undefined;
  }
  if (encoding.isWhole(bytes)) return { form, text: encoding.decode(bytes) };
  const offset = firstFault(bytes, encoding.isWhole);
  problems.add(placeOf(file, bytes, offset), () => {
    const byte = (bytes[offset] as number).toString(16).toUpperCase();
    const inFile = offset + whole.length - bytes.length;
    const hint = form === 'xml' && declared === null ? HINT : '';
    return `Cannot read text: byte 0x${byte} at offset ${inFile} is not valid ${encoding.name}${hint}`;
  });
  return undefined;
}

/** Returns the form, decided by the file's name, or else by the start of its text. */
export function formOf(file: string, head: string): Form {
  if (/\.(ya?ml|json)$/i.test(file)) return 'yaml';
  return /\.xml$/i.test(file) || /^\s*</.test(head) ? 'xml' : 'yaml';
}

interface Encoding {
  readonly name: string;
  isWhole(bytes: Uint8Array): boolean;
  decode(bytes: Buffer): string;
}

const KNOWN: readonly Encoding[] = [
  { name: 'UTF-8', isWhole: isUtf8, decode: (bytes) => bytes.toString('utf8') },
  { name: 'ISO-8859-1', isWhole: () => true, decode: (bytes) => bytes.toString('latin1') },
  { name: 'US-ASCII', isWhole: isAscii, decode: (bytes) => bytes.toString('latin1') },
];
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map(KNOWN.map((each) => [each.name, each]));
const NAMES = 'UTF-8, ISO-8859-1 or US-ASCII';
const HINT = '; in XML, <?xml version="1.0" encoding="ISO-8859-1"?> names another encoding';

/** The XML declaration up to the closing quote of the encoding (XML 1.0, 2.8 and 4.3.3). */
const DECLARATION =
  /^<\?xml\s+version\s*=\s*(?:"[^"]*"|'[^']*')\s+encoding\s*=\s*(["'])([A-Za-z][\w.-]*)\1/;

const UTF_8_MARK = [0xef, 0xbb, 0xbf];

/** First bytes of files in other encodings: the byte order mark, or `<`. */
const FOREIGN: readonly { readonly name: string; readonly marks: readonly number[][] }[] = [
  {
    name: 'UTF-32',
    marks: [
      [0xff, 0xfe, 0, 0],
      [0, 0, 0xfe, 0xff],
    ],
  },
  {
    name: 'UTF-16',
    marks: [
      [0xff, 0xfe],
      [0xfe, 0xff],
      [0x3c, 0],
      [0, 0x3c],
    ],
  },
];

function startsWith(bytes: Buffer, mark: readonly number[]): boolean {
  return mark.every((byte, index) => bytes[index] === byte);
}

/** Returns the offset of the first byte that is invalid in the encoding; linear in the bytes. */
function firstFault(bytes: Buffer, isWhole: (bytes: Uint8Array) => boolean): number {
  // All bytes before `low` are valid and end with a whole character; the fault is before `high`.
  let low = 0;
  let high = bytes.length;
  for (;;) {
    let middle = (low + high) >> 1;
    while (middle > low && isWithinLetter(bytes[middle] as number)) middle--;
    if (middle > low) {
      if (isWhole(bytes.subarray(low, middle))) low = middle;
      else high = middle;
      continue;
    }
    const length = LETTER_LENGTHS.find(
      (each) => low + each < high && isWhole(bytes.subarray(low, low + each)),
    );
    if (length === undefined) return low;
    low += length;
  }
}

/** Possible lengths of a character in UTF-8, in bytes. */
const LETTER_LENGTHS = [1, 2, 3, 4];

function isWithinLetter(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}

/**
 * Returns the place of the byte at `offset`; all bytes before it are valid. Columns count UTF-16
 * units, as elsewhere.
 */
function placeOf(file: string, bytes: Buffer, offset: number): Place {
  let line = 1;
  let start = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < offset; at = bytes.indexOf(0x0a, start)) {
    line += 1;
    start = at + 1;
  }
  return { file, line, column: bytes.toString('utf8', start, offset).length + 1 };
}

/** Maximum size of a file, in bytes. People write configurations, so no larger file is expected. */
const FILE_BYTES_MAX = 16_777_216;
const PIPE_BYTES_FIRST = 65_536;

/** The place of a file in the file system. */
export interface FilePlace {
  /** The directory of relative imports. */
  readonly folder: string;
  /** Distinct for every two files, whatever their names. */
  readonly identity: string;
}

export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly place: FilePlace;
}

/** A file by its name, such as the first one, read from a pipe, which can be read only once. */
export interface NamedFile extends FileBytes {
  readonly name: string;
}

/** The file cannot be read; the message gives the reason. */
export class FileFault extends Error {}

/** Reads a regular file. Throws FileFault or the system's error. */
export function readRegularFile(file: string): FileBytes {
  const kind = kindOf(statSync(file, { bigint: true }));
  if (kind !== REGULAR) throw new FileFault(`${kind}, not a file`);
  // The file may have been replaced by a pipe since; opening that must not wait.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    if (kindOf(stats) !== REGULAR) throw new FileFault(`${kindOf(stats)}, not a file`);
    // With one extra byte, the end of the file is found without a larger buffer.
    const bytes = readToEnd(descriptor, Number(stats.size) + 1);
    const identity = `${stats.dev}:${stats.ino}`;
    return { bytes, place: { folder: folderOf(file), identity } };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads a pipe, or returns undefined if the file is not one. Throws FileFault or the system's
 * error.
 */
export function readPipe(file: string): NamedFile | undefined {
  const kind = kindOf(statSync(file, { bigint: true }));
  const inherited = kind === SOCKET ? INHERITED.exec(file)?.[1] : undefined;
  if (kind !== PIPE && inherited === undefined) return undefined;
  const descriptor = inherited === undefined ? openSync(file, 'r') : descriptorOf(inherited);
  try {
    const bytes = readToEnd(descriptor, PIPE_BYTES_FIRST);
    return { name: file, bytes, place: { folder: folderOf(file), identity: file } };
  } finally {
    if (inherited === undefined) closeSync(descriptor);
  }
}

const REGULAR = 'a file';
const PIPE = 'a pipe';
const SOCKET = 'a socket';

/** Names of inherited file descriptors. A socket cannot be opened by such a name. */
const INHERITED = /^\/(?:dev|proc\/self)\/(stdin|fd\/\d+)$/;

/**
 * Returns the directory of a file. A descriptor has none; most were opened in the working
 * directory, which is used instead.
 */
function folderOf(file: string): string {
  return INHERITED.test(file) ? '.' : dirname(file);
}

function descriptorOf(inherited: string): number {
  return inherited === 'stdin' ? 0 : Number(inherited.slice('fd/'.length));
}

function kindOf(stats: BigIntStats): string {
  if (stats.isFile()) return REGULAR;
  if (stats.isFIFO()) return PIPE;
  if (stats.isSocket()) return SOCKET;
  return stats.isDirectory() ? 'a directory' : 'a device';
}

/** Reads to the end: `sizeFirst` bytes first, then the rest in growing pieces. */
function readToEnd(descriptor: number, sizeFirst: number): Uint8Array {
  let bytes = Buffer.allocUnsafeSlow(Math.min(sizeFirst, FILE_BYTES_MAX + 1));
  let length = 0;
  for (;;) {
    if (length > FILE_BYTES_MAX) throw new FileFault(`more than ${FILE_BYTES_MAX} bytes`);
    if (length === bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(length * 2, FILE_BYTES_MAX + 1));
      bytes.copy(grown);
      bytes = grown;
    }
    const count = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
  }
}
