/**
 * The bytes of a configuration file. What a file imports is a regular file. The first file may be a
 * pipe, too, at a start: that waits for its writer, who has all the time it takes. Nothing else is
 * opened, as opening a device may already do something, nor a pipe at a reload: it has been read.
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

/** A configuration is written by people. */
export const FILE_BYTES_MAX = 16_777_216;
const PIPE_BYTES_FIRST = 65_536;

/** Where a file lies. */
export interface FilePlace {
  /** What it imports lies beside it. */
  readonly folder: string;
  /** What tells the file from all others, whatever its name. */
  readonly identity: string;
}

export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly place: FilePlace;
}

/** The first file, as it was read from a pipe, which gives it once. */
export interface PipedFile extends FileBytes {
  readonly name: string;
}

/** The file cannot be read, for the reason that the message tells. */
export class FileFault extends Error {}

/** Throws FileFault or the system's error. */
export function readRegularFile(file: string): FileBytes {
  const kind = kindOf(statSync(file, { bigint: true }));
  if (kind !== REGULAR) throw new FileFault(`${kind}, not a file`);
  // It may have been replaced since: what is opened must not make anybody wait.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    if (kindOf(stats) !== REGULAR) throw new FileFault(`${kindOf(stats)}, not a file`);
    // A byte more than it has shows its end.
    const bytes = readToEnd(descriptor, Number(stats.size) + 1);
    const identity = `${stats.dev}:${stats.ino}`;
    return { bytes, place: { folder: folderOf(file), identity } };
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined where the file is no pipe. Throws FileFault or the system's error. */
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

/** Names of what the process was started with. A socket among it cannot be opened by its name. */
const INHERITED = /^\/(?:dev|proc\/self)\/(stdin|fd\/\d+)$/;

/** Beside a descriptor nothing lies; it was made in the working directory, mostly. */
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

/** Reads `sizeFirst` bytes at once, and more if there are more. */
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
