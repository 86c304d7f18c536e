/**
 * What a data directory consists of, in the checked file `manifest`. It is written last of all that it
 * names, so what it names is there and whole; what it does not name counts for nothing.
 */
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
  /** When the last member stopped, in ms since 1970, where it did and was not cut off. */
  readonly stoppedMs?: number;
  /** The run of the machine in which this was written, where that is known. */
  readonly bootId?: string;
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

export async function writeManifest(storage: Storage, manifest: Manifest): Promise<void> {
  await writeCheckedFile(storage, MANIFEST, manifest);
}
