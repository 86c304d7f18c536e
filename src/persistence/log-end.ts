/** What becomes of the log of an earlier process. */
import { NOTE_BYTES, Page, SEAL, SURE, writeNote } from './record-codec.ts';
import type { Recovered } from './recovery.ts';
import { LOG, parseSegmentName, segmentName, segmentSeed } from './segment.ts';
import type { Storage } from './storage.ts';
import type { LogPlace } from './write-ahead-log.ts';

/**
 * What was written before the end of the process may be there without being durable: records that are
 * shown from now on, and the manifest, without which files that it does not name still count.
 */
export async function syncRecovered(
  storage: Storage,
  { end, manifest }: Pick<Recovered, 'end' | 'manifest'>,
): Promise<void> {
  await storage.syncDirectory();
  if (end === undefined || manifest === undefined) return;
  for (const name of await storage.list()) {
    const id = parseSegmentName(name);
    if (id?.kind !== LOG || id.number > end.segment || id.number < manifest.firstSegment) continue;
    const file = await storage.open(name);
    await file.sync();
    await file.close();
  }
}

/** Cuts off what is not whole behind the log's last record, and leads from there to the segment. */
export async function sealEnd(storage: Storage, end: LogPlace, next: number): Promise<void> {
  const id = { kind: LOG, number: end.segment, part: 0 } as const;
  const page = new Page(NOTE_BYTES);
  writeNote(page, 0, SEAL, 0, next, SURE, segmentSeed(id));
  const file = await storage.open(segmentName(id));
  await file.truncate(end.offset);
  await file.write(page.bytes, 0, NOTE_BYTES, end.offset);
  await file.sync();
  await file.close();
}
