/**
 * A storage in a directory on the disk (storage.ts). The directory is created if it is missing. All
 * methods except those whose names end in `Now` run in Node's thread pool, so that the event loop
 * continues.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DirectoryLock } from './directory-lock.ts';
import type { FileIdentity, NonFileEntry, Storage, StoredFile } from './storage.ts';

/** Mode of the files. They contain all data, so only the member's user may read them. */
const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;

const open = promisify(fs.open);
const close = promisify(fs.close);
const fstat = promisify(fs.fstat);
const read = promisify(fs.read);
const write = promisify(fs.write);
const ftruncate = promisify(fs.ftruncate);
const fsync = promisify(fs.fsync);
const fdatasync = promisify(fs.fdatasync);

export class FileStorage implements Storage {
  readonly path: string;
  readonly bootId = readBootId();
  readonly #lock: DirectoryLock;

  readonly #isReadOnly: boolean;
  /** Paths of the directories that this storage has created, outermost first. */
  readonly #createdPaths: readonly string[];

  /**
   * Throws the system's error if the directory cannot be created, or with `isReadOnly` is missing.
   */
  constructor(directory: string, isReadOnly = false) {
    this.path = resolve(directory);
    this.#isReadOnly = isReadOnly;
    this.#lock = new DirectoryLock(this.path);
    if (isReadOnly) fs.readdirSync(this.path);
    this.#createdPaths = isReadOnly ? [] : makeDirectories(this.path);
  }

  lock(): Promise<void> {
    return this.#lock.acquire();
  }

  existsNow(name: string): boolean {
    return fs.lstatSync(this.#path(name), { throwIfNoEntry: false }) !== undefined;
  }

  async list(): Promise<readonly string[]> {
    const names: string[] = [];
    for (const entry of await readdir(this.path, { withFileTypes: true })) {
      if (entry.isFile() || (this.#isReadOnly && this.#isLinkToFile(entry))) names.push(entry.name);
    }
    return names;
  }

  /**
   * Whether the entry is a symbolic link to a file. A dangling link counts too: opening it reports
   * the error.
   */
  #isLinkToFile(entry: fs.Dirent): boolean {
    if (!entry.isSymbolicLink()) return false;
    return fs.statSync(this.#path(entry.name), { throwIfNoEntry: false })?.isFile() ?? true;
  }

  async listNonFiles(): Promise<readonly NonFileEntry[]> {
    const entries = await readdir(this.path, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isFile())
      .map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
  }

  async modifiedMs(name: string): Promise<number> {
    return (await stat(this.#path(name))).mtimeMs;
  }

  async open(name: string): Promise<StoredFile> {
    const descriptor = await open(this.#path(name), this.#isReadOnly ? 'r' : 'r+');
    try {
      const { size } = await fstat(descriptor);
      return new DiskFile(name, descriptor, size);
    } catch (error) {
      await close(descriptor);
      throw error;
    }
  }

  async create(name: string): Promise<StoredFile> {
    return new DiskFile(name, await open(this.#path(name), 'w+', FILE_MODE), 0);
  }

  createNow(name: string): StoredFile {
    return new DiskFile(name, fs.openSync(this.#path(name), 'w+', FILE_MODE), 0);
  }

  async rename(from: string, to: string): Promise<void> {
    await rename(this.#path(from), this.#path(to));
  }

  renameNow(from: string, to: string): void {
    fs.renameSync(this.#path(from), this.#path(to));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  removeNow(name: string): void {
    fs.rmSync(this.#path(name), { force: true });
  }

  async makeDirectory(name: string): Promise<boolean> {
    makeDirectories(this.#path(name));
    return (await readdir(this.#path(name))).length === 0;
  }

  async syncDirectory(name = ''): Promise<void> {
    const descriptor = await open(this.#path(name), 'r');
    try {
      await fsync(descriptor);
    } finally {
      await close(descriptor);
    }
  }

  syncDirectoryNow(): void {
    syncDirectoryAt(this.path);
  }

  async space(): Promise<{ readonly freeBytes: number; readonly totalBytes: number }> {
    const { bavail, blocks, bsize } = await statfs(this.path);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  }

  async close(): Promise<void> {
    await this.#lock.release();
  }

  /** Removes those directories created by this storage that are empty. Called after `close`. */
  removeCreatedDirectories(): void {
    removeDirectories(this.#createdPaths);
  }

  #path(name: string): string {
    return join(this.path, name);
  }
}

function kindOf(entry: fs.Dirent): NonFileEntry['kind'] {
  if (entry.isSymbolicLink()) return 'symbolic link';
  return entry.isDirectory() ? 'directory' : 'special file';
}

/** The descriptor of a closed file. */
const CLOSED = -1;

/**
 * A file on the disk. Its descriptor is never used after it is closed, because the system reuses
 * the number for the next file or socket. `close` closes it after the last running call has ended.
 */
class DiskFile implements StoredFile {
  readonly name: string;
  #descriptor: number;
  #length: number;
  /** Number of calls that are running in the thread pool. */
  #callCount = 0;
  /** Called when the last running call ends. */
  #onIdle: (() => void) | undefined;

  constructor(name: string, descriptor: number, length: number) {
    this.name = name;
    this.#descriptor = descriptor;
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  identityNow(): FileIdentity {
    const { dev: device, ino: inode } = fs.fstatSync(this.#opened(), { bigint: true });
    return { device, inode };
  }

  writeNow(bytes: Buffer, start: number, end: number, position: number): void {
    const descriptor = this.#opened();
    for (let from = start; from < end; ) {
      const at = position + from - start;
      from += fs.writeSync(descriptor, bytes, from, end - from, at);
      this.#length = Math.max(this.#length, position + from - start);
    }
  }

  write(bytes: Buffer, start: number, end: number, position: number): Promise<void> {
    return this.#call(async (descriptor) => {
      for (let from = start; from < end; ) {
        const at = position + from - start;
        from += (await write(descriptor, bytes, from, end - from, at)).bytesWritten;
        this.#length = Math.max(this.#length, position + from - start);
      }
    });
  }

  read(into: Buffer, position: number): Promise<number> {
    return this.#call(async (descriptor) => {
      let count = 0;
      while (count < into.length) {
        const at = position + count;
        const { bytesRead } = await read(descriptor, into, count, into.length - count, at);
        if (bytesRead === 0) break;
        count += bytesRead;
      }
      return count;
    });
  }

  truncate(length: number): Promise<void> {
    return this.#call(async (descriptor) => {
      await ftruncate(descriptor, length);
      this.#length = length;
    });
  }

  sync(): Promise<void> {
    return this.#call((descriptor) => fdatasync(descriptor));
  }

  syncNow(): void {
    fs.fdatasyncSync(this.#opened());
  }

  async close(): Promise<void> {
    const descriptor = this.#opened();
    this.#descriptor = CLOSED;
    if (this.#callCount > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await close(descriptor);
  }

  closeNow(): void {
    const descriptor = this.#opened();
    if (this.#callCount > 0) assert.fail(`"${this.name}" is in use`);
    this.#descriptor = CLOSED;
    fs.closeSync(descriptor);
  }

  /** Runs a call with the descriptor, which stays open until the call has ended. */
  async #call<Result>(run: (descriptor: number) => Promise<Result>): Promise<Result> {
    const descriptor = this.#opened();
    this.#callCount++;
    try {
      return await run(descriptor);
    } finally {
      this.#callCount--;
      if (this.#callCount === 0) this.#onIdle?.();
    }
  }

  #opened(): number {
    if (this.#descriptor === CLOSED) assert.fail(`"${this.name}" is closed`);
    return this.#descriptor;
  }
}

/**
 * Creates the directory and its missing parents, durably. `path` is absolute. Returns the paths of
 * the created directories, outermost first. Throws the system's error after removing them. Each
 * directory is created by a separate call, because Node's option `recursive` never returns if no
 * directory can be created, as in /proc.
 */
export function makeDirectories(path: string): readonly string[] {
  const above = dirname(path);
  let made: readonly string[] = [];
  let fault = tryMakeDirectory(path);
  if (fault?.code === 'ENOENT' && above !== path) {
    made = makeDirectories(above);
    fault = tryMakeDirectory(path);
  }
  if (fault === undefined) {
    syncDirectoryAt(above);
    return [...made, path];
  }
  if (fault.code === 'EEXIST' && fs.statSync(path).isDirectory()) return made;
  removeDirectories(made);
  throw fault;
}

/** Removes those directories created by makeDirectories that are empty. */
function removeDirectories(made: readonly string[]): void {
  try {
    for (const path of [...made].reverse()) fs.rmdirSync(path);
  } catch {
    // The directory is in use and stays.
  }
}

function tryMakeDirectory(path: string): NodeJS.ErrnoException | undefined {
  try {
    fs.mkdirSync(path, DIRECTORY_MODE);
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

function syncDirectoryAt(path: string): void {
  const descriptor = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Returns the boot ID, which only Linux has. */
function readBootId(): string | undefined {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return undefined;
  }
}
