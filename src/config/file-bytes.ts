/**
 * Reads the bytes of a configuration file. An imported file must be a regular file. At start the
 * first file may also be a pipe: reading it waits for its writer, without a time limit. Nothing
 * else is opened, because opening a device may already have an effect. A reload does not open a
 * pipe either, because its content has been read.
 */
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

/** The first file, read from a pipe, which can be read only once. */
export interface PipedFile extends FileBytes {
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
export function readPipe(file: string): PipedFile | undefined {
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
