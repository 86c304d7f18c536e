/** The error where there is more data than memory for it. */
import { GridError } from '../base/errors.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Manifest } from './manifest.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';

/** Memory that a partition takes beside its content, in bytes: one extent that is not full, and an index. */
const PARTITION_BYTES = 131_072;
/** An entry takes less memory than its record in a file, but extents in memory are not always full. */
const BYTES_PER_FILE_BYTE = 2;

/** The error names memory that suffices: that of the last member; if unknown, an estimate by the files. */
export async function memoryNeeded(
  storage: Storage,
  engine: StoredEngine,
  manifest: Manifest,
): Promise<GridError> {
  const sufficient = manifest.memoryBytesMax ?? (await estimate(storage, engine.partitionCount));
  const bytes = engine.memoryBytesMax;
  return new GridError('DATA_NEEDS_MEMORY', { directory: storage.place, bytes, sufficient });
}

async function estimate(storage: Storage, partitionCount: number): Promise<number> {
  let bytes = partitionCount * PARTITION_BYTES;
  for (const name of await storage.list()) {
    if (parseSegmentName(name) === undefined) continue;
    const file = await storage.open(name);
    bytes += file.length * BYTES_PER_FILE_BYTE;
    await file.close();
  }
  return bytes;
}
