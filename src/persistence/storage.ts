/**
 * The contract of a member's file storage: named files in one directory, on a disk or, in the tests, in
 * memory that can crash or fail. It promises what POSIX promises and no more:
 *
 * - Written bytes survive a crash once a `sync` of the file that was called after the write has resolved. Of
 *   other bytes any part may survive.
 * - The creation, removal or renaming of a file survives a crash once a `syncDirectory` that was called
 *   afterwards has resolved.
 *
 * Every method rejects or throws with the system's error (`code` ENOSPC, EIO, EROFS, ...). A method whose
 * name ends in `Now` has done its work when it returns, and blocks meanwhile.
 */
export interface Storage {
  /** Path of the directory, for messages. */
  readonly place: string;
  /** Identifies the run of the machine, where it is known: written bytes are lost only at its end. */
  readonly bootId: string | undefined;
  /** Keeps other processes out until close, or rejects with GridError DATA_DIRECTORY_LOCKED. */
  lock(): Promise<void>;
  /** Whether there is anything of that name, file or not. */
  existsNow(name: string): boolean;
  /** Names of all files, in no order. Where files are only read, a link to a file is one. */
  list(): Promise<readonly string[]>;
  /** All else in the directory: links, directories, sockets and the like, in no order. */
  listOthers(): Promise<readonly OtherEntry[]>;
  /** Opens an existing file. */
  open(name: string): Promise<StoredFile>;
  /** Makes an empty file; an existing file of that name loses its content. */
  create(name: string): Promise<StoredFile>;
  createNow(name: string): StoredFile;
  /** Replaces a file that has the new name. */
  rename(from: string, to: string): Promise<void>;
  renameNow(from: string, to: string): void;
  /** Resolves also when there is no such file. */
  remove(name: string): Promise<void>;
  removeNow(name: string): void;
  /**
   * Makes a directory. Its files are named `directory/file`, and `list` leaves them out. False where
   * there is such a directory with files in it.
   */
  makeDirectory(name: string): Promise<boolean>;
  /** Syncs the directory of all files, or the named one from makeDirectory. */
  syncDirectory(name?: string): Promise<void>;
  syncDirectoryNow(): void;
  /** Free space and size of the disk, in bytes. */
  space(): Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
  /** Releases the lock. */
  close(): Promise<void>;
}

/** What lies in a directory and is no file. */
export interface OtherEntry {
  readonly name: string;
  readonly kind: 'symbolic link' | 'directory' | 'special file';
}

/** Whether the error says that the disk, or the user's quota of it, is full. */
export function isFullDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Identifies a file for as long as it exists: its copy, and a file that replaces it, are others. */
export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

export interface StoredFile {
  readonly name: string;
  /** Offset behind the last byte. */
  readonly length: number;
  identityNow(): FileIdentity;
  /** Writes the bytes from `start` to `end` at `position`, all of them. */
  writeNow(bytes: Buffer, start: number, end: number, position: number): void;
  write(bytes: Buffer, start: number, end: number, position: number): Promise<void>;
  /** Fills the buffer as far as there are bytes at `position`. Resolves with their count. */
  read(into: Buffer, position: number): Promise<number>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  syncNow(): void;
  /** Called once; no method is called afterwards. Frees the handle also where it rejects. */
  close(): Promise<void>;
  /** The same, while no other call is under way. */
  closeNow(): void;
}
