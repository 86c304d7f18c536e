/**
 * A small file that is written and read as a whole: a header, followed by JSON. It is replaced in
 * one step, so that a crash leaves the old file or the new one. Numbers are little-endian.
 *
 *     0  "gridfile"
 *     8  CRC-32C of all that follows
 *    12  format (data-format.ts)
 *    16  length of the content in bytes
 *    20  content: JSON, padded with spaces to a multiple of 4 bytes. Its field `file` is the file's
 *        name, so that a misplaced file is detected (an earlier version did not write this field)
 *
 * Tested by recovery.spec.ts.
 */
import { Slices } from '../base/slices.ts';
import { writeAtomically } from './atomic-file.ts';
import { checksum } from './checksum.ts';
import { DamagedData } from './damage.ts';
import { checkFormat, DATA_FORMAT } from './data-format.ts';
import { Page } from './page.ts';
import type { Storage, StoredFile } from './storage.ts';

const MAGIC = 'gridfile';
const HEADER_BYTES = 20;
/**
 * Maximum length of a file, in bytes. The list of a backup of a million segments is shorter, so a
 * longer file is damaged.
 */
const FILE_BYTES_MAX = 134_217_728;

/**
 * Writes a checked file. Long content is serialized in slices, so that requests are served
 * meanwhile. Rejects as writeAtomically does.
 */
export async function writeCheckedFile(
  storage: Storage,
  name: string,
  content: object,
): Promise<void> {
  const slices = new Slices();
  const pieces: Buffer[] = [];
  for (const text of jsonPieces({ ...content, file: name })) {
    pieces.push(Buffer.from(text));
    const pause = slices.pause();
    if (pause !== undefined) await pause;
  }
  const bytes = assembled(pieces);
  await writeAtomically(storage, name, (file) => file.write(bytes, 0, bytes.length, 0));
}

/** Returns the bytes of a checked file. */
export function checkedBytes(content: object, format = DATA_FORMAT): Buffer {
  return assembled([Buffer.from(JSON.stringify(content))], format);
}

/** Yields the output of JSON.stringify in pieces: each item of an array is a piece. */
function* jsonPieces(content: object): Generator<string> {
  let before = '{';
  for (const [key, value] of Object.entries(content)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    before = ',';
    if (!Array.isArray(value)) {
      yield JSON.stringify(value);
      continue;
    }
    yield '[';
    for (const [at, item] of value.entries()) yield (at > 0 ? ',' : '') + JSON.stringify(item);
    yield ']';
  }
  yield before === '{' ? '{}' : '}';
}

function assembled(json: readonly Buffer[], format = DATA_FORMAT): Buffer {
  const length = json.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = Buffer.alloc(HEADER_BYTES + length + (-length & 3), ' ');
  bytes.write(MAGIC, 'latin1');
  bytes.writeUInt32LE(format, 12);
  bytes.writeUInt32LE(bytes.length - HEADER_BYTES, 16);
  let at = HEADER_BYTES;
  for (const piece of json) at += piece.copy(bytes, at);
  bytes.writeInt32LE(contentSum(bytes), 8);
  return bytes;
}

/**
 * Reads a checked file. Rejects with DamagedData, or as checkFormat throws. The content is read
 * only if the length of the file is the one in its header.
 */
export async function readCheckedFile(storage: Storage, name: string): Promise<unknown> {
  const file = await storage.open(name);
  let bytes: Buffer;
  try {
    bytes = await readBytes(storage, file);
  } finally {
    await file.close();
  }
  const json = bytes.subarray(HEADER_BYTES);
  if (contentSum(bytes) !== bytes.readInt32LE(8)) {
    throw new DamagedData(storage, name, HEADER_BYTES, 'has a wrong checksum');
  }
  checkFormat(storage, name, bytes.readUInt32LE(12));
  const { file: ownName = name, ...content } = JSON.parse(json.toString()) as { file?: string };
  if (ownName !== name) throw new DamagedData(storage, name, 0, `has the content of "${ownName}"`);
  return content;
}

async function readBytes(storage: Storage, file: StoredFile): Promise<Buffer> {
  const { name, length } = file;
  const header = Buffer.alloc(HEADER_BYTES);
  await file.read(header, 0);
  const hasHeader = length >= HEADER_BYTES && header.toString('latin1', 0, 8) === MAGIC;
  if (!hasHeader) throw new DamagedData(storage, name, 0, 'has no valid header');
  if (length - HEADER_BYTES !== header.readUInt32LE(16) || length > FILE_BYTES_MAX) {
    throw new DamagedData(storage, name, 16, `has a wrong length of ${length} bytes`);
  }
  const bytes = Buffer.alloc(length);
  await file.read(bytes, 0);
  return bytes;
}

/**
 * Computes the checksum of all bytes after the checksum field. A file whose length is not a
 * multiple of 4 is damaged in any case.
 */
function contentSum(bytes: Buffer): number {
  const page = new Page((bytes.length + 7) & ~7);
  bytes.copy(page.bytes);
  return checksum(page, 3, bytes.length >> 2, 0);
}
