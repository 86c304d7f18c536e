/**
 * What a data directory consists of, in the checked file `manifest`. It is written last of all that it
 * names, so what it names is there and whole; what it does not name counts for nothing.
 */
import { InTurn } from '../base/in-turn.ts';
import { readCheckedFile, writeCheckedFile } from './checked-file.ts';
import type { Storage } from './storage.ts';
import type { LogPlace } from './write-ahead-log.ts';

export const MANIFEST = 'manifest';

export interface Manifest {
  /** Fixed for the life of the data: keys are spread by it. */
  readonly partitionCount: number;
  /** The first of the log's segments that recovery reads. */
  readonly firstSegment: number;
  /** A place in the log that was durable when this was written. */
  readonly synced: LogPlace;
  /** The memory for data that the last member had; what it took fits into as much. */
  readonly memoryBytesMax?: number;
  /** When the last member stopped, in ms since 1970; counts with `isStopped`. */
  readonly stoppedMs?: number;
  /** The run of the machine in which this was written, where that is known. */
  readonly bootId?: string;
  /** Whether the log ends just at `synced`: its process has stopped, and none has begun since. */
  readonly isStopped?: boolean;
  /** Whether there is a file that says how far the log has come (end-record.ts). */
  readonly hasEndRecord?: boolean;
  /** Whether there is a file `member`. */
  readonly hasMember?: boolean;
  /** What the log goes on from. */
  readonly snapshot?: SnapshotFiles;
  /** What a forced start has left aside (forced-start.ts). */
  readonly aside?: Aside;
}

export interface Aside {
  readonly directory: string;
  /** Segments with numbers before this one go there. */
  readonly before: number;
  /** Those from there up to this one take their places. */
  readonly last: number;
}

export interface SnapshotFiles {
  readonly number: number;
  readonly parts: number;
  /** Of all parts. */
  readonly bytes: number;
}

export async function readManifest(storage: Storage): Promise<Manifest> {
  return (await readCheckedFile(storage, MANIFEST)) as Manifest;
}

/** The manifest of a directory that is written to: one change after the other. */
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

  /** What is in the file; after the first write. */
  get content(): Manifest {
    if (this.#content === undefined) throw new Error('There is no manifest yet');
    return this.#content;
  }

  /** What an earlier process has left. */
  hasRead(content: Manifest | undefined): void {
    this.#content = content;
  }

  /** Resolves once the change would be there after a crash. Rejects as writeWhole does. */
  change(change: Partial<Manifest>): Promise<void> {
    return this.#changes.run(async () => {
      const { bootId } = this.#storage;
      const run = bootId === undefined ? {} : { bootId };
      const content = { ...(this.#content as Manifest), ...change, ...run };
      await writeManifest(this.#storage, content);
      this.#content = content;
    });
  }
}

export async function writeManifest(storage: Storage, manifest: Manifest): Promise<void> {
  await writeCheckedFile(storage, MANIFEST, manifest);
}
