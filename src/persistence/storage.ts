/**
 * The contract of a member's file storage: named files in one directory, on a disk or, in the
 * tests, in memory that can crash or fail. It has exactly the guarantees of POSIX:
 *
 * - Written bytes survive a crash once a `sync` of the file that was called after the write has
 *   resolved. Any part of other bytes may survive.
 * - The creation, removal or renaming of a file survives a crash once a `syncDirectory` that was
 *   called afterwards has resolved.
 *
 * Every method rejects or throws with the system's error (`code` ENOSPC, EIO, EROFS, …). A method
 * whose name ends in `Now` is synchronous and blocks. Tested by disk-faults.spec.ts.
 */
export interface Storage {
  /** Path of the directory, for messages. */
  readonly path: string;
  /** Boot ID of the machine, if available. Written bytes are lost only at a reboot. */
  readonly bootId: string | undefined;
  /**
   * Locks the directory until `close`. Rejects with GridError DATA_DIRECTORY_LOCKED if another
   * process has locked it.
   */
  lock(): Promise<void>;
  /** Whether anything with this name exists, file or not. */
  existsNow(name: string): boolean;
  /**
   * Lists the names of all files, in no particular order. In a read-only storage this includes
   * links to files.
   */
  list(): Promise<readonly string[]>;
  /**
   * Lists everything else in the directory, such as links, directories and sockets, in no
   * particular order.
   */
  listNonFiles(): Promise<readonly NonFileEntry[]>;
  /** Returns the time of the last change of a file, in ms since 1970. */
  modifiedMs(name: string): Promise<number>;
  /** Opens an existing file. */
  open(name: string): Promise<StoredFile>;
  /** Creates an empty file; an existing file with this name loses its content. */
  create(name: string): Promise<StoredFile>;
  createNow(name: string): StoredFile;
  /** Renames a file. A file that has the new name is replaced. */
  rename(from: string, to: string): Promise<void>;
  renameNow(from: string, to: string): void;
  /** Removes a file. Also resolves if the file does not exist. */
  remove(name: string): Promise<void>;
  removeNow(name: string): void;
  /**
   * Creates a directory. Its files are named `directory/file`, and `list` omits them. Resolves with
   * false if the directory exists and is not empty.
   */
  makeDirectory(name: string): Promise<boolean>;
  /** Syncs the storage's directory, or one created by makeDirectory. */
  syncDirectory(name?: string): Promise<void>;
  syncDirectoryNow(): void;
  /** Returns the free space and the size of the disk, in bytes. */
  space(): Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
  /** Releases the lock. */
  close(): Promise<void>;
}

/** An entry of a directory that is not a file. */
export interface NonFileEntry {
  readonly name: string;
  readonly kind: 'symbolic link' | 'directory' | 'special file';
}

/** Whether the error means that the disk, or the user's quota of it, is full. */
export function isFullDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Identifies a file while it exists: a copy, or a file that replaces it, has another identity. */
export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

export interface StoredFile {
  readonly name: string;
  /** Length of the file, in bytes. */
  readonly length: number;
  identityNow(): FileIdentity;
  /** Writes all bytes from `start` to `end` to the file at `position`. */
  writeNow(bytes: Buffer, start: number, end: number, position: number): void;
  write(bytes: Buffer, start: number, end: number, position: number): Promise<void>;
  /**
   * Reads into the buffer from `position` until it is full or the file ends. Resolves with the
   * number of bytes read.
   */
  read(into: Buffer, position: number): Promise<number>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  syncNow(): void;
  /**
   * Closes the file. Called once, after which no method may be called. Frees the handle even if it
   * rejects.
   */
  close(): Promise<void>;
  /** Closes the file synchronously, while no other call is running. */
  closeNow(): void;
}
