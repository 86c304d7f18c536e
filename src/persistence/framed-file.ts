/**
 * A small file that is written and read as a whole: a frame (../base/frame.ts) with the content.
 * Tested by recovery.spec.ts.
 */
import { type Viewed, ViewedBytes } from '../base/copy-bytes.ts';
import { FRAME_BYTES, writeFrame } from '../base/frame.ts';
import { DamagedData } from './damage.ts';
import { DATA_FORMAT, fileFault } from './data-format.ts';
import type { Storage } from './storage.ts';

/**
 * Maximum length of a file, in bytes. The list of a backup of a million segments is shorter, as are the
 * marks of a thousand queues with the maximum number of partitions: a longer file is damaged.
 */
const FILE_BYTES_MAX = 536_870_912;

/** Returns the bytes of a file with this content. `magic`: eight Latin-1 characters. */
export function framed(magic: string, pieces: readonly Buffer[]): Viewed {
  const length = pieces.reduce((sum, piece) => sum + piece.length, FRAME_BYTES);
  const file = new ViewedBytes(length);
  let at = FRAME_BYTES;
  for (const piece of pieces) at += piece.copy(file.bytes, at);
  writeFrame(file, length, magic, DATA_FORMAT);
  return file;
}

/**
 * Reads the file and resolves with its bytes. Rejects with DamagedData, as fileFault throws, or with the
 * system's error.
 */
export async function readFramed(storage: Storage, name: string, magic: string): Promise<Viewed> {
  const file = await storage.open(name);
  try {
    const { length } = file;
    const head = new ViewedBytes(FRAME_BYTES);
    await file.read(head.bytes, 0);
    // A file that continues after its stated end is not read.
    const mayRead = length <= head.view.getUint32(16, true);
    if (mayRead && length > FILE_BYTES_MAX) {
      const what = `has ${length} bytes, more than ${FILE_BYTES_MAX}`;
      throw new DamagedData(storage, name, FILE_BYTES_MAX, what);
    }
    const read = mayRead ? new ViewedBytes(length) : head;
    if (mayRead) await file.read(read.bytes, 0);
    const bytesRead = Math.min(length, read.length);
    const fault = fileFault(storage, name, read, bytesRead, magic, length);
    if (fault !== undefined) throw new DamagedData(storage, name, fault.offset, fault.what);
    return read;
  } finally {
    await file.close();
  }
}
