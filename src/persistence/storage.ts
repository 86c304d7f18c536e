/**
 * The contract of where a member keeps its files: named files in one directory, that of a disk or one
 * in memory that can crash or fail (in the tests). It promises what POSIX promises and no more:
 *
 * - Bytes written are sure to be there after a crash once `sync` of that file has resolved that was
 *   called after the write. Of others any part may be there.
 * - That a file has come, gone or changed its name is sure once `syncDirectory` has resolved that was
 *   called afterwards.
 *
 * Everything rejects or throws with the system's error (`code` ENOSPC, EIO, EROFS, ...). What ends in
 * `Now` is done when it returns, and blocks meanwhile.
 */
export interface Storage {
  /** Where that is, for messages. */
  readonly place: string;
  /** Names the run of the machine, where that is known: what is written is lost only at its end. */
  readonly bootId: string | undefined;
  /** Keeps other processes out until close, or rejects with GridError DATA_DIRECTORY_LOCKED. */
  lock(): Promise<void>;
  /** Names of all files, in no order. */
  list(): Promise<readonly string[]>;
  /** A file that is there. */
  open(name: string): Promise<StoredFile>;
  /** A new, empty file; one of that name loses its content. */
  create(name: string): Promise<StoredFile>;
  createNow(name: string): StoredFile;
  /** A file that had the new name is gone. */
  rename(from: string, to: string): Promise<void>;
  /** Also when there is no such file. */
  remove(name: string): Promise<void>;
  /**
   * Makes a directory for files that are then named `directory/file`, which `list` leaves out. False
   * where there is one with files in it.
   */
  makeDirectory(name: string): Promise<boolean>;
  /** That of all files, or the one made here. */
  syncDirectory(name?: string): Promise<void>;
  syncDirectoryNow(): void;
  /** What could still be written, and all there is, in bytes. */
  space(): Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
  /** Gives up the lock. */
  close(): Promise<void>;
}

/** Whether that is an error of a disk, or of somebody's share of it, that is full. */
export function isFullDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

export interface StoredFile {
  readonly name: string;
  /** Offset behind the last byte. */
  readonly length: number;
  /** Writes the bytes from `start` to `end` at `position`, all of them. */
  writeNow(bytes: Buffer, start: number, end: number, position: number): void;
  write(bytes: Buffer, start: number, end: number, position: number): Promise<void>;
  /** Fills the buffer as far as there are bytes at `position`; how many that were. */
  read(into: Buffer, position: number): Promise<number>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}
