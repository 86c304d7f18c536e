/**
 * The checked file `manifest` names the files of a data directory. It is written after all files
 * that it names, so these exist and are complete. Files that it does not name are ignored.
 * Tested by compaction.spec.ts.
 */
import { SerialQueue } from '../base/serial-queue.ts';
import { readCheckedFile, writeCheckedFile } from './checked-file.ts';
import type { LogPosition } from './segment.ts';
import type { Storage } from './storage.ts';

export const MANIFEST = 'manifest';

export interface Manifest {
  /** Number of partitions. It never changes, because the partition of a key depends on it. */
  readonly partitionCount: number;
  /** Number of the first segment of the log that recovery reads. */
  readonly firstSegment: number;
  /** A position in the log that was durable when the manifest was written. */
  readonly synced: LogPosition;
  /** Memory for data of the last member, in bytes: the stored data fits into it. */
  readonly memoryBytesMax?: number;
  /** Time when the last member stopped, in ms since 1970; valid only with `isStopped`. */
  readonly stoppedMs?: number;
  /** Boot ID of the machine when `synced` was written, if available. */
  readonly bootId?: string;
  /**
   * Whether the log ends exactly at `synced`: the process has stopped, and none has started since.
   */
  readonly isStopped?: boolean;
  /** Whether the file `log-end` exists (log-end-file.ts). */
  readonly hasEndRecord?: boolean;
  /** Whether the file `member` exists. */
  readonly hasMember?: boolean;
  /** Whether the file `wan-marks` exists and is valid (marks-file.ts). */
  readonly hasMarks?: boolean;
  /** The snapshot on which the log is based. */
  readonly snapshot?: SnapshotFiles;
  /** The files that a forced start moves (forced-start.ts). */
  readonly aside?: Aside;
}

export interface Aside {
  /** The directory of the old files. */
  readonly directory: string;
  /** Segments with lower numbers than this are moved there. */
  readonly before: number;
  /** The new segments have the numbers from `before` to this one. */
  readonly last: number;
}

export interface SnapshotFiles {
  readonly number: number;
  readonly parts: number;
  /** Total length of all parts, in bytes. */
  readonly bytes: number;
  /** Whether the snapshot has a WAN queue file (wan-queue-file.ts). */
  readonly hasWaiting?: boolean;
}

export async function readManifest(storage: Storage): Promise<Manifest> {
  return await readCheckedFile(storage, MANIFEST, isManifest);
}

function isManifest({ partitionCount, firstSegment, synced, snapshot }: Manifest): boolean {
  const { number, parts, bytes } = snapshot ?? { number: 1, parts: 0, bytes: 0 };
  return (
    isCount(partitionCount, 1) &&
    isCount(firstSegment, 1) &&
    isCount(synced?.segment, 0) &&
    isCount(synced.offset, 0) &&
    isCount(number, 1) &&
    isCount(parts, 0) &&
    isCount(bytes, 0)
  );
}

function isCount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

/** The manifest of a directory that is in use. Changes are made one after another. */
export class ManifestFile {
  readonly #storage: Storage;
  #content: Manifest | undefined;
  readonly #changes = new SerialQueue();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get exists(): boolean {
    return this.#content !== undefined;
  }

  /** The content of the file. Throws unless the file has been read or written. */
  get content(): Manifest {
    if (this.#content === undefined) throw new Error('the manifest has not been read or written');
    return this.#content;
  }

  /** Sets the content that an earlier process has written. */
  setContent(content: Manifest | undefined): void {
    this.#content = content;
  }

  /** Writes the changed manifest. Resolves once it is durable. Rejects as writeAtomically does. */
  change(change: Partial<Manifest>): Promise<void> {
    return this.#changes.run(async () => {
      const { bootId } = this.#storage;
      // The log may end in writes that were lost at a reboot, unless a start of this boot has
      // continued it.
      const run = bootId === undefined || change.synced === undefined ? {} : { bootId };
      const content = { ...(this.#content as Manifest), ...change, ...run };
      await writeManifest(this.#storage, content);
      this.#content = content;
    });
  }
}

export async function writeManifest(storage: Storage, manifest: Manifest): Promise<void> {
  await writeCheckedFile(storage, MANIFEST, manifest);
}
