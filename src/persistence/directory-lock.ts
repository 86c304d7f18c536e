/**
 * Keeps a second process out of a directory: the owner listens on a socket named `lock` in it as long as it
 * lives. The system closes the socket when the process ends, for whatever reason, so a socket that does not
 * answer is left over. That is also so between containers that share the directory, where process numbers
 * mean nothing.
 *
 * The socket is made under a name of its own and then linked to `lock`, in which only one process succeeds. A
 * socket that is left over is renamed, then tried again, as a new owner may have taken the name meanwhile. An
 * owner that ends removes the name, unless that names another socket by then.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { link, lstat, rename, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';

const NAME = 'lock';
/** Random bytes in the name under which a socket is made, in hexadecimal digits. */
const OWN_BYTES = 8;
const OWN_NAME = new RegExp(`^${NAME}\\.[0-9a-f]{${2 * OWN_BYTES}}$`);
/** The longest path that fits into a socket's address, in bytes. */
const SOCKET_PATH_BYTES_MAX = 100;
const ATTEMPTS_MAX = 10;

export class DirectoryLock {
  readonly #directory: string;
  #server: Server | undefined;
  /** The inode of the socket, once it has the name. The system gives no other file that number meanwhile. */
  #inode: bigint | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Rejects with GridError DATA_DIRECTORY_LOCKED, or with the system's error. */
  async take(): Promise<void> {
    const own = ownName();
    // A longer path is replaced with one through the descriptor of the opened directory.
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

  /** Whether a process has the lock, this one or another. Changes nothing. */
  async isTaken(): Promise<boolean> {
    const path = join(this.#directory, NAME);
    if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return await isAnswered(path);
    let descriptor: number;
    try {
      descriptor = openSync(this.#directory, 'r');
    } catch {
      return false;
    }
    try {
      return await isAnswered(`/proc/self/fd/${descriptor}/${NAME}`);
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
      // A socket that stays is one that is left over.
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
      if (!(await isAnswered(path))) await removeLeftOver(at, path);
      else break;
    }
    throw new GridError('DATA_DIRECTORY_LOCKED', { directory: this.#directory });
  }
}

/** Whether the name is that of a lock, or of a socket that is made for one. */
export function isOfLock(name: string): boolean {
  return name === NAME || OWN_NAME.test(name);
}

/** A name that no other socket has. */
function ownName(): string {
  return `${NAME}.${randomBytes(OWN_BYTES).toString('hex')}`;
}

/** Removes the socket; puts it back if a process answers on it after all. */
async function removeLeftOver(at: string, path: string): Promise<void> {
  const aside = join(at, ownName());
  try {
    await rename(path, aside);
    if (await isAnswered(aside)) await link(aside, path);
  } catch (error) {
    // Another process was faster: the next attempt sees the result.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Undefined where nothing has that name. */
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

function isAnswered(path: string): Promise<boolean> {
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
