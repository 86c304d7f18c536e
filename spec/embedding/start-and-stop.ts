/**
 * Starts and stops members in one process, one after another, and counts the remaining resources.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MemberOptions, startMember } from '../../src/index.ts';
import { RawClient } from '../integration/client.ts';
import { countTimers } from '../timer-count.ts';

/** One member in this many stores its data on disk and has a health listener. */
const STORED_SHARE = 25;
/**
 * Time in which closed handles are removed from the list and a thread frees the collected buffers,
 * in ms.
 */
const SETTLING_MS = 100;
const MIB = 1_048_576;

export interface LeftBehind {
  /** Kinds of resources that keep the process running, except those that existed before. */
  readonly handles: readonly string[];
  /**
   * Number of timers that have neither fired nor been cancelled, including those without a
   * reference.
   */
  readonly timers: number;
  /**
   * Growth of the resident memory from the end of the first tenth of the members to the last
   * member.
   */
  readonly residentMib: number;
}

/** `collections`: number of collections before the memory is measured, fewer if it does not matter. */
export async function comeAndGone(count: number, collections = 4): Promise<LeftBehind> {
  const directory = mkdtempSync(join(tmpdir(), 'grid-start-and-stop-'));
  const before = process.getActiveResourcesInfo();
  const timers = countTimers();
  let resident = 0;
  try {
    for (let number = 1; number <= count; number++) {
      const isStored = number % STORED_SHARE === 0;
      await comeAndGo(isStored ? { dataDir: join(directory, 'data'), healthPort: 0 } : {});
      if (number === Math.ceil(count / 10)) resident = await settledBytes(collections);
    }
    const timersLeft = await timers.count();
    const residentMib = ((await settledBytes(collections)) - resident) / MIB;
    const left = process.getActiveResourcesInfo();
    for (const each of before) {
      const at = left.indexOf(each);
      if (at >= 0) left.splice(at, 1);
    }
    return { handles: left, timers: timersLeft, residentMib };
  } finally {
    timers.end();
    rmSync(directory, { recursive: true });
  }
}

async function comeAndGo(options: MemberOptions): Promise<void> {
  const member = await startMember({ port: 0, groups: ['DATA'], ...options });
  await member.map('m').set('k', 'value');
  const client = new RawClient(member.port);
  const { body } = await client.request('GET', 'maps/m/k');
  if (String(body) !== 'value') throw new Error(`Cannot find the stored value: ${body}`);
  client.destroy();
  await member.drain();
}

/**
 * Returns the resident memory without V8's reserves. A normal collection is not enough: array
 * buffers, among them up to 128 MiB that recovery has read into, are freed by a thread after it,
 * and the young generation keeps its size under load, about 20 MiB. So V8 is notified of memory
 * pressure, as a browser's tools do.
 */
async function settledBytes(collections: number): Promise<number> {
  const session = new Session();
  session.connect();
  for (let collection = 0; collection < collections; collection++) {
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    await session.post('HeapProfiler.collectGarbage');
  }
  session.disconnect();
  return process.memoryUsage.rss();
}
