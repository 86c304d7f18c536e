/**
 * The checked file `manifest` names the files of a data directory. It is written after all files that it
 * names, so these are there and whole. Files that it does not name do not count.
 */
import { InTurn } from '../base/in-turn.ts';
import { readCheckedFile, writeCheckedFile } from './checked-file.ts';
import type { LogPlace } from './log-place.ts';
import type { Storage } from './storage.ts';

export const MANIFEST = 'manifest';

export interface Manifest {
  /** Fixed for the life of the data, as the partition of a key depends on it. */
  readonly partitionCount: number;
  /** Number of the first segment of the log that recovery reads. */
  readonly firstSegment: number;
  /** A place in the log that was durable when this was written. */
  readonly synced: LogPlace;
  /** The memory for data that the last member had, in bytes: the stored data fits into it. */
  readonly memoryBytesMax?: number;
  /** When the last member stopped, in ms since 1970; counts with `isStopped`. */
  readonly stoppedMs?: number;
  /** The run of the machine in which `synced` was written, where that is known. */
  readonly bootId?: string;
  /** Whether the log ends exactly at `synced`: its process has stopped, and none has begun since. */
  readonly isStopped?: boolean;
  /** Whether there is a file `log-end` (log-end-file.ts). */
  readonly hasEndRecord?: boolean;
  /** Whether there is a file `member`. */
  readonly hasMember?: boolean;
  /** Whether there is a file `wan-marks` that counts (marks-file.ts). */
  readonly hasMarks?: boolean;
  /** The snapshot that the log continues. */
  readonly snapshot?: SnapshotFiles;
  /** The files that a forced start moves (forced-start.ts). */
  readonly aside?: Aside;
}

export interface Aside {
  /** The directory of the old files. */
  readonly directory: string;
  /** Segments with numbers before this one move there. */
  readonly before: number;
  /** New segments from that number up to this one take their places. */
  readonly last: number;
}

export interface SnapshotFiles {
  readonly number: number;
  readonly parts: number;
  /** Bytes of all parts. */
  readonly bytes: number;
  /** Whether there is a file of what waited in queues (waiting-file.ts). */
  readonly hasWaiting?: boolean;
}

export async function readManifest(storage: Storage): Promise<Manifest> {
  return (await readCheckedFile(storage, MANIFEST)) as Manifest;
}

/** The manifest of a directory that is written to. Changes are made one after the other. */
export class ManifestFile {
  readonly #storage: Storage;
  #content: Manifest | undefined;
  readonly #changes = new InTurn();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get isThere(): boolean {
    return this.#content !== undefined;
  }

  /** The content of the file; only once it has been read or written. */
  get content(): Manifest {
    if (this.#content === undefined) throw new Error('There is no manifest yet');
    return this.#content;
  }

  /** `content`: as an earlier process has left it. */
  hasRead(content: Manifest | undefined): void {
    this.#content = content;
  }

  /** Resolves once the change is durable. Rejects as writeWhole does. */
  change(change: Partial<Manifest>): Promise<void> {
    return this.#changes.run(async () => {
      const { bootId } = this.#storage;
      // A log that no start of this run has continued may end in writes that were lost with another run.
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
