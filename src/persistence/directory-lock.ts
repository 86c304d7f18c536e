/**
 * Ensures that only one process uses a directory: the owner listens on a socket named `lock` in it
 * until it ends. The system closes the socket when the process ends, for any reason, so a socket
 * that refuses connections is stale. This also works between containers that share the directory,
 * where process IDs have no meaning.
 *
 * The socket is created under a unique name and then linked to `lock`, in which only one process
 * can succeed. A stale socket is renamed, then tested again, as a new owner may have created `lock`
 * in the meantime. An owner that ends removes the name, unless it now belongs to another socket.
 * Tested by cli/backup-commands.spec.ts.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { link, lstat, rename, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';

const NAME = 'lock';
/** Number of random bytes in the temporary name of a socket, written as hexadecimal digits. */
const TEMPORARY_NAME_BYTES = 8;
const TEMPORARY_NAME = new RegExp(`^${NAME}\\.[0-9a-f]{${2 * TEMPORARY_NAME_BYTES}}$`);
/** Maximum length of the path in a socket address, in bytes. */
const SOCKET_PATH_BYTES_MAX = 100;
const ATTEMPTS_MAX = 10;

export class DirectoryLock {
  readonly #directory: string;
  #server: Server | undefined;
  /**
   * The inode of the socket, once it is linked. The system does not reuse the number while it
   * exists.
   */
  #inode: bigint | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Acquires the lock. Rejects with GridError DATA_DIRECTORY_LOCKED, or with the system's error.
   */
  async acquire(): Promise<void> {
    const own = temporaryName();
    // A path that is too long is replaced with a path through the descriptor of the opened
    // directory.
    const isLong = Buffer.byteLength(join(this.#directory, own)) > SOCKET_PATH_BYTES_MAX;
    const descriptor = isLong ? openSync(this.#directory, 'r') : undefined;
    const at = descriptor === undefined ? this.#directory : `/proc/self/fd/${descriptor}`;
    try {
      this.#server = await listenOn(join(at, own));
      await this.#link(at, own);
      this.#inode = await inodeAt(join(at, own));
    } catch (error) {
      await this.release();
      throw error;
    } finally {
      await rm(join(at, own), { force: true });
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  /** Whether any process, including this one, has the lock. Changes nothing. */
  async isHeld(): Promise<boolean> {
    const path = join(this.#directory, NAME);
    if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return await acceptsConnections(path);
    let descriptor: number;
    try {
      descriptor = openSync(this.#directory, 'r');
    } catch {
      return false;
    }
    try {
      return await acceptsConnections(`/proc/self/fd/${descriptor}/${NAME}`);
    } finally {
      closeSync(descriptor);
    }
  }

  async release(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const path = join(this.#directory, NAME);
    if (this.#inode !== undefined && (await inodeAt(path)) === this.#inode) {
      // A socket that cannot be removed is stale.
      await rm(path, { force: true }).catch(ignored);
    }
    this.#inode = undefined;
    await new Promise((resolve) => server.close(resolve));
  }

  async #link(at: string, own: string): Promise<void> {
    const path = join(at, NAME);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      try {
        await link(join(at, own), path);
        return;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
      if (!(await acceptsConnections(path))) await removeStaleSocket(at, path);
      else break;
    }
    throw new GridError('DATA_DIRECTORY_LOCKED', { directory: this.#directory });
  }
}

/** Whether the name belongs to a lock or to a socket created for one. */
export function isLockName(name: string): boolean {
  return name === NAME || TEMPORARY_NAME.test(name);
}

/** Returns a unique temporary name for a socket. */
function temporaryName(): string {
  return `${NAME}.${randomBytes(TEMPORARY_NAME_BYTES).toString('hex')}`;
}

/** Removes the socket; restores it if a process turns out to accept connections on it. */
async function removeStaleSocket(at: string, path: string): Promise<void> {
  const aside = join(at, temporaryName());
  try {
    await rename(path, aside);
    if (await acceptsConnections(aside)) await link(aside, path);
  } catch (error) {
    // Another process was faster: the next attempt handles the result.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Returns the inode of the file, or undefined if it does not exist. */
async function inodeAt(path: string): Promise<bigint | undefined> {
  const found = await lstat(path, { bigint: true }).catch(ignored);
  return found?.ino;
}

function ignored(): undefined {}

function listenOn(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(path, () => resolve(server.unref()));
  });
}

function acceptsConnections(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
