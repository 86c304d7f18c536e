/**
 * The limit of this process for open files, connections included, and the number open now. Node
 * raises its soft limit to the hard limit when it starts. Tested by servers/descriptors.spec.ts.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { release } from 'node:os';

export interface OpenFiles {
  /** Infinity if there is no limit. */
  readonly limit: number;
  readonly count: number;
}

/** Estimate of the files that Node itself has open, about 20, if the system does not list them. */
const COUNT_UNLISTED = 32;

/**
 * Returns both numbers: on Linux from /proc, elsewhere from Node's report, which takes 6 ms or
 * more.
 */
export function openFiles(): OpenFiles {
  const [, limit] = /^Max open files +(\d+|unlimited)/m.exec(read(LIMITS)) ?? [];
  return { limit: numberOf(limit ?? reportedLimit()), count: openFileCount() };
}

function reportedLimit(): unknown {
  const { userLimits } = process.report.getReport() as unknown as NodeReport;
  return userLimits?.open_files?.soft;
}

interface NodeReport {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
}

/** Parses the limit: a number, or a word if there is no limit; on Windows it is missing. */
function numberOf(limit: unknown): number {
  const number = Number(limit);
  return Number.isNaN(number) ? Number.POSITIVE_INFINITY : number;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Returns the number of open files, without a list of them if the system has their number. */
export function openFileCount(): number {
  try {
    if (HAS_NUMBER) return statSync(DESCRIPTORS).size;
    return readdirSync(DESCRIPTORS).length;
  } catch {
    return COUNT_UNLISTED;
  }
}

const LIMITS = '/proc/self/limits';
const DESCRIPTORS = '/proc/self/fd';
/** From Linux 6.2 on, the size of the directory is the number of its files (proc_pid_fd(5)). */
const [MAJOR = 0, MINOR = 0] = release().split('.', 2).map(Number);
const HAS_NUMBER = process.platform === 'linux' && (MAJOR > 6 || (MAJOR === 6 && MINOR >= 2));
