/**
 * How many files this process may have open, connections included, and how many it has. Node raises its
 * limit to the hard one when it starts.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface OpenFiles {
  /** Infinity if there is no limit. */
  readonly limit: number;
  readonly count: number;
}

/** What Node itself has open, where the system does not list it: about 20, and some more. */
const COUNT_UNLISTED = 32;

/** On Linux from /proc; elsewhere from Node's report, which takes 6 ms or more. */
export function openFiles(): OpenFiles {
  const [, limit] = /^Max open files +(\d+|unlimited)/m.exec(read(LIMITS)) ?? [];
  return { limit: numberOf(limit ?? reportedLimit()), count: list(DESCRIPTORS) };
}

function reportedLimit(): unknown {
  const { userLimits } = process.report.getReport() as unknown as NodeReport;
  return userLimits?.open_files?.soft;
}

interface NodeReport {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
}

/** The report's limit is a number, or a word if there is none; Windows has none. */
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

function list(path: string): number {
  try {
    return readdirSync(path).length;
  } catch {
    return COUNT_UNLISTED;
  }
}

const LIMITS = '/proc/self/limits';
const DESCRIPTORS = '/proc/self/fd';
