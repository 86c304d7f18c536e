/**
 * Starts on a damaged data directory at an operator's request, either empty or with the readable
 * data. The old files are moved, unchanged, into a directory `damaged-<n>` within the data
 * directory.
 *
 *     manifest, member, log-end and wan-marks are copied there → new segments are written, with the
 *     suffix `.new` and higher numbers than all others → the manifest names the new segments and the
 *     directory for the old ones → the old segments are moved there → the new ones lose the suffix
 *
 * The manifest is replaced in one step: before it the old files are complete, after it the new ones
 * are. The next start moves any segments that have not been moved by then.
 */

import { copyFile, NEW_SUFFIX } from './atomic-file.ts';
import { writeCheckedFile } from './checked-file.ts';
import type { Finding } from './findings.ts';
import { LOG_END } from './log-end-file.ts';
import { type Aside, MANIFEST, type Manifest, readManifest, writeManifest } from './manifest.ts';
import { MARKS } from './marks-file.ts';
import { MEMBER, MEMBER_LOSS, readMember } from './member-file.ts';
import type { Pace } from './record-scan.ts';
import { RESERVE } from './reserve.ts';
import { Salvage } from './salvage.ts';
import { SalvagedLog, type SalvageTarget } from './salvaged-segments.ts';
import { parseSegmentName, type SegmentId, segmentIn } from './segment.ts';
import { makeNumberedDirectory } from './stale-data.ts';
import type { Storage } from './storage.ts';
import { parseQueueFileName } from './wan-queue-file.ts';

/** Maximum number of segments that a start creates: this many consecutive numbers must be free. */
const NEW_SEGMENTS_MAX = 2 ** 20;

interface ForcedStartOptions extends Pace {
  readonly storage: Storage;
  readonly partitionCount: number;
  /** Receives each fault found in the data. */
  onFinding(finding: Finding): void;
}

export interface ForcedStart {
  /** The directory of the old files, within the data directory. */
  readonly aside: string;
  /** The number of records that were saved, and their total length in bytes. */
  readonly records: number;
  readonly bytes: number;
}

type NewData = Pick<ForcedStart, 'records' | 'bytes'> & { readonly manifest: Manifest };
type Maker = (target: SalvageTarget, firstNumber: number) => Promise<NewData>;

/** Starts without data. If it rejects with the system's error, the old files remain valid. */
export async function startEmpty(options: ForcedStartOptions): Promise<ForcedStart> {
  return await start(options.storage, async (target, firstNumber) => {
    if ((await readMember(options.storage)) === undefined) {
      const what = `is damaged or missing: ${MEMBER_LOSS}`;
      options.onFinding({ file: MEMBER, what, isDamage: true });
    }
    const log = await new SalvagedLog(target, firstNumber).end();
    const manifest = { partitionCount: options.partitionCount, hasMember: true, ...log };
    return { manifest, records: 0, bytes: 0 };
  });
}

/**
 * Starts with the readable data. If it rejects, as Salvage.run does, the old files remain valid.
 */
export async function startPartial(options: ForcedStartOptions): Promise<ForcedStart> {
  return await start(options.storage, async (target, firstNumber) => {
    const salvage = new Salvage({ ...options, source: options.storage });
    return await salvage.run(target, firstNumber);
  });
}

/** Completes an earlier forced start and resolves with the manifest, if one can be read. */
export async function finishForcedStart(storage: Storage): Promise<Manifest | undefined> {
  if (!(await storage.list()).includes(MANIFEST)) return undefined;
  const manifest = await readManifest(storage).catch(() => undefined);
  if (manifest?.aside !== undefined) await moveSegments(storage, manifest.aside);
  return manifest;
}

async function start(storage: Storage, make: Maker): Promise<ForcedStart> {
  await finishForcedStart(storage);
  // The reserve contains no data; its removal makes room on a full disk.
  await storage.remove(RESERVE);
  await removeNewSegments(storage);
  const names = await storage.list();
  const before = await firstOfFreeNumbers(storage, names);
  const directory = await makeNumberedDirectory(storage, 'damaged');
  const small = [MANIFEST, MEMBER, LOG_END, MARKS].filter((name) => names.includes(name));
  try {
    for (const name of small) await copyFile(storage, name, storage, `${directory}/${name}`);
    await storage.syncDirectory();
    const { manifest, records, bytes } = await make({ storage, suffix: NEW_SUFFIX }, before);
    const aside = { directory, before, last: manifest.synced.segment };
    await writeManifest(storage, { ...manifest, aside });
    await moveSegments(storage, aside);
    await replaceLostMember(storage);
    return { aside: directory, records, bytes };
  } catch (error) {
    const { aside } = (await readManifest(storage).catch(() => undefined)) ?? {};
    if (aside?.before !== before) {
      await removeNewSegments(storage);
      for (const name of small) await storage.remove(`${directory}/${name}`);
    }
    throw error;
  }
}

/**
 * Returns the first of NEW_SEGMENTS_MAX unused numbers that are greater than the number of every
 * segment. A segment with a damaged header has a number close to the others; a file that is not a
 * segment may have any.
 */
async function firstOfFreeNumbers(storage: Storage, names: readonly string[]): Promise<number> {
  let first = 1;
  for (const name of names)
    first = Math.max(first, ((await segmentIn(storage, name))?.number ?? 0) + 1);
  const named = names.map(
    (name) => parseSegmentName(name)?.number ?? parseQueueFileName(name) ?? 0,
  );
  for (const number of named.sort((a, b) => a - b)) {
    if (number >= first && number < first + NEW_SEGMENTS_MAX) first = number + 1;
  }
  return first;
}

async function moveSegments(storage: Storage, aside: Aside): Promise<void> {
  const { directory, before, last } = aside;
  const names = await storage.list();
  const old = names.filter((name) => {
    const waiting = parseQueueFileName(name);
    return waiting === undefined
      ? isWithin(parseSegmentName(name), 0, before - 1)
      : waiting < before;
  });
  if (old.length > 0) await storage.makeDirectory(directory);
  for (const name of old) await storage.rename(name, `${directory}/${name}`);
  for (const name of names.filter(hasNewSuffix)) {
    const proper = name.slice(0, -NEW_SUFFIX.length);
    if (isWithin(parseSegmentName(proper), before, last)) await storage.rename(name, proper);
  }
  if (old.length > 0) await storage.syncDirectory(directory);
  await storage.syncDirectory();
}

/** Writes an empty file `member` if it was lost, so that the defaults apply. */
async function replaceLostMember(storage: Storage): Promise<void> {
  if ((await readMember(storage)) === undefined) await writeCheckedFile(storage, MEMBER, {});
}

/** Removes the segments of a failed attempt. */
async function removeNewSegments(storage: Storage): Promise<void> {
  for (const name of await storage.list()) if (hasNewSuffix(name)) await storage.remove(name);
}

function hasNewSuffix(name: string): boolean {
  return name.endsWith(NEW_SUFFIX);
}

function isWithin(id: SegmentId | undefined, first: number, last: number): boolean {
  return id !== undefined && id.number >= first && id.number <= last;
}
