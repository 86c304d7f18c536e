/** Members of one process, started and stopped one after the other, and the resources that they leave. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectGarbage } from '../../src/base/garbage.ts';
import { startMember } from '../../src/index.ts';
import { RawClient } from '../integration/client.ts';

/** One member in this many keeps its data on the disk. */
const STORED_SHARE = 25;
const MIB = 1_048_576;

export interface LeftBehind {
  /** Kinds of resources that keep the process running, without those from before. */
  readonly handles: readonly string[];
  /** Growth of the resident memory from the end of the first tenth of the members to the last. */
  readonly residentMib: number;
}

export async function comeAndGone(count: number): Promise<LeftBehind> {
  const directory = mkdtempSync(join(tmpdir(), 'grid-come-and-gone-'));
  const before = process.getActiveResourcesInfo();
  let resident = 0;
  try {
    for (let number = 1; number <= count; number++) {
      const dataDir = number % STORED_SHARE === 0 ? { dataDir: join(directory, 'data') } : {};
      const member = await startMember({ port: 0, groups: ['DATA'], ...dataDir });
      await member.map('m').set('k', 'value');
      const client = new RawClient(member.port);
      const { body } = await client.request('GET', 'maps/m/k');
      if (String(body) !== 'value') throw new Error(`Cannot find what was set: ${body}`);
      client.destroy();
      await member.drain();
      if (number === Math.ceil(count / 10)) resident = settledBytes();
    }
    // A closed resource leaves the list in a later turn.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const residentMib = (settledBytes() - resident) / MIB;
    const left = process.getActiveResourcesInfo();
    for (const each of before) {
      const at = left.indexOf(each);
      if (at >= 0) left.splice(at, 1);
    }
    return { handles: left, residentMib };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Resident memory after a collection. */
function settledBytes(): number {
  collectGarbage();
  return process.memoryUsage.rss();
}
