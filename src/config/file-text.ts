/**
 * Decodes a configuration file by the encoding that it declares: UTF-8, unless the declaration of
 * an XML file names another. A byte that is invalid in the encoding is a problem: decoded as
 * another character it could change a name or password.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import type { Form } from './document-schema.ts';
import { type FindingList, quoted } from './finding-list.ts';
import type { Place } from './place.ts';

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
