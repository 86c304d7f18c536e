/** Members of one process, started and stopped one after the other, and the resources that they leave. */
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MemberOptions, startMember } from '../../src/index.ts';
import { RawClient } from '../integration/client.ts';
import { countTimers } from '../timer-count.ts';

/** One member in this many keeps its data on the disk, and has a health listener. */
const STORED_SHARE = 25;
/** In this time closed handles leave the list, and a thread frees the collected buffers. */
const SETTLING_MS = 100;
const MIB = 1_048_576;

export interface LeftBehind {
  /** Kinds of resources that keep the process running, without those from before. */
  readonly handles: readonly string[];
  /** Timers that have neither come due nor been cancelled, those without a reference, too. */
  readonly timers: number;
  /** Growth of the resident memory from the end of the first tenth of the members to the last. */
  readonly residentMib: number;
}

export async function comeAndGone(count: number): Promise<LeftBehind> {
  const directory = mkdtempSync(join(tmpdir(), 'grid-come-and-gone-'));
  const before = process.getActiveResourcesInfo();
  const timers = countTimers();
  let resident = 0;
  try {
    for (let number = 1; number <= count; number++) {
      const isStored = number % STORED_SHARE === 0;
      await comeAndGo(isStored ? { dataDir: join(directory, 'data'), healthPort: 0 } : {});
      if (number === Math.ceil(count / 10)) resident = await settledBytes();
    }
    const timersLeft = await timers.count();
    const residentMib = ((await settledBytes()) - resident) / MIB;
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
  if (String(body) !== 'value') throw new Error(`Cannot find what was set: ${body}`);
  client.destroy();
  await member.drain();
}

/**
 * Resident memory without what V8 has at hand for what comes next. A usual collection is not enough for
 * that: array buffers are freed by a thread after it, among them up to 128 MiB that recovery has read
 * into, and the young generation stays as large as it was under load, about 20 MiB. So V8 is told that
 * memory is low, as a browser's tools do.
 */
async function settledBytes(): Promise<number> {
  const session = new Session();
  session.connect();
  for (let collection = 0; collection < 4; collection++) {
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    await session.post('HeapProfiler.collectGarbage');
  }
  session.disconnect();
  return process.memoryUsage.rss();
}
