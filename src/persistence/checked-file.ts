/**
 * A framed file (framed-file.ts) that contains JSON: "gridJSON". It is replaced in one step, so that a
 * crash leaves the old file or the new one. Its field `file` is the file's name, so that a misplaced
 * file is detected. Tested by recovery.spec.ts.
 */
import { FRAME_BYTES } from '../base/frame.ts';
import { Slices } from '../base/slices.ts';
import { replaceFile } from './atomic-file.ts';
import { DamagedData } from './damage.ts';
import { framed, readFramed } from './framed-file.ts';
import type { Storage } from './storage.ts';

const MAGIC = 'gridJSON';

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
  const { bytes } = framed(MAGIC, pieces);
  await replaceFile(storage, name, bytes);
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

/**
 * Reads a checked file. `isValid` checks the types and ranges of its fields. Rejects as readFramed
 * does.
 */
export async function readCheckedFile<Content extends object>(
  storage: Storage,
  name: string,
  isValid: (content: Content) => boolean,
): Promise<Content> {
  const { bytes } = await readFramed(storage, name, MAGIC);
  const { file, ...fields } = parsed(bytes.toString('utf8', FRAME_BYTES));
  if (typeof file === 'string' && file !== name) {
    throw new DamagedData(storage, name, FRAME_BYTES, `has the content of "${file}"`);
  }
  const content = fields as Content;
  if (file === name && isValid(content)) return content;
  throw new DamagedData(storage, name, FRAME_BYTES, 'has wrong fields');
}

function parsed(json: string): { readonly file?: unknown } {
  try {
    return Object(JSON.parse(json)) as object;
  } catch {
    return {};
  }
}
