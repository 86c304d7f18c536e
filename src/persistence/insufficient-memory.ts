/** The error for data that does not fit into the configured memory. */
import { GridError } from '../base/errors.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Manifest } from './manifest.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';

/**
 * Memory that a partition uses besides its content, in bytes: one partly filled extent, and an
 * index.
 */
const PARTITION_BYTES = 131_072;
/**
 * Factor from bytes of files to bytes of memory. An entry needs less memory than its record in a
 * file, but extents in memory are not always full.
 */
const BYTES_PER_FILE_BYTE = 2;

/**
 * Returns an error that names a sufficient amount of memory: that of the last member or, if
 * unknown, an estimate based on the files.
 */
export async function insufficientMemory(
  storage: Storage,
  engine: StoredEngine,
  manifest: Manifest,
): Promise<GridError> {
  const sufficient = manifest.memoryBytesMax ?? (await estimate(storage, engine.partitionCount));
  const bytes = engine.memoryBytesMax;
  return new GridError('DATA_NEEDS_MEMORY', { directory: storage.path, bytes, sufficient });
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
