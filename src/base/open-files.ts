/**
 * The limit of this process for open files, connections included, and the number open now. Node
 * raises its soft limit to the hard limit when it starts. Tested by servers/descriptors.spec.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';

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
  return { limit: numberOf(limit ?? reportedLimit()), count: list(DESCRIPTORS) };
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

function list(path: string): number {
  try {
    return readdirSync(path).length;
  } catch {
    return COUNT_UNLISTED;
  }
}

const LIMITS = '/proc/self/limits';
const DESCRIPTORS = '/proc/self/fd';
