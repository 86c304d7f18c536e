/**
 * Preserves obsolete segments if the configuration does not permit removing them.
 * Tested by member/start.spec.ts.
 */
import { checkRecord } from './record-codec.ts';
import { HEADER_BYTES, parseSegmentName, type SegmentId } from './segment.ts';
import { SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';

/**
 * Moves the segments that have a record into a directory `stale-<n>`. Resolves with the names of
 * the others.
 */
export async function moveStaleSegments(
  storage: Storage,
  names: readonly string[],
): Promise<readonly string[]> {
  const reader = new SegmentReader(storage);
  const blank: string[] = [];
  let directory: string | undefined;
  for (const name of names) {
    const id = parseSegmentName(name);
    if (id === undefined || !(await hasRecord(reader, name, id))) {
      blank.push(name);
      continue;
    }
    directory ??= await makeNumberedDirectory(storage, 'stale');
    await storage.rename(name, `${directory}/${name}`);
  }
  if (directory !== undefined) await storage.syncDirectory(directory);
  return blank;
}

async function hasRecord(reader: SegmentReader, name: string, id: SegmentId): Promise<boolean> {
  const { page, length, seed } = await reader.readFile(name, id);
  return checkRecord(page, HEADER_BYTES, length, seed) !== 0;
}

/** Creates an empty directory `<name>-<n>` and resolves with its name. */
export async function makeNumberedDirectory(storage: Storage, name: string): Promise<string> {
  for (let number = 1; ; number++) {
    if (await storage.makeDirectory(`${name}-${number}`)) return `${name}-${number}`;
  }
}
