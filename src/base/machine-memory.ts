/**
 * The memory that this process may use: the machine's, or the lowest limit of its control groups
 * (cgroups v1 and v2), from its own group up to the root. `mountinfo` contains the mount points of
 * the groups and which part of their tree is mounted. In a container the upper groups are often not
 * visible.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';

/** Bytes of a MiB. */
export const MIB = 1_048_576;

export interface MachineMemory {
  readonly bytes: number;
  /** Whether a control group limits the memory to less than the machine's. */
  readonly isContainer: boolean;
}

let ofProcess: MachineMemory | undefined;

/** Returns the memory; only the first call reads it. */
export function machineMemory(): MachineMemory {
  ofProcess ??= memoryBelow('/', totalmem());
  return ofProcess;
}

/**
 * Returns the memory available under `root`, the folder that contains `proc` and the paths of
 * `mountinfo`. `total`: the machine's memory, in bytes.
 */
export function memoryBelow(root: string, total: number): MachineMemory {
  const groups = read(join(root, 'proc/self/cgroup')).split('\n');
  const mounts = read(join(root, 'proc/self/mountinfo')).split('\n');
  let bytes = total;
  for (const mount of mounts) {
    const tree = treeOf(mount);
    const group = groups.find((line) => tree?.names(line));
    if (tree === undefined || group === undefined) continue;
    const path = group.slice(group.indexOf(':', group.indexOf(':') + 1) + 1);
    for (const within of upwards(tree.below(path))) {
      bytes = Math.min(bytes, limit(read(join(root, tree.place, within, tree.file))));
    }
  }
  return { bytes, isContainer: bytes < total };
}

/** A mounted tree of groups that limit memory. */
interface Tree {
  readonly place: string;
  /** The file with the limit, in the folder of each group. */
  readonly file: string;
  /** Whether a line of `proc/self/cgroup` belongs to this tree. */
  names(line: string): boolean;
  /** The group's path relative to the mount point. */
  below(path: string): string;
}

/** A line is `id parent device root place options ... - type source options`; see proc(5). */
function treeOf(line: string): Tree | undefined {
  const [before = '', after = ''] = line.split(' - ');
  const [, , , top = '/', place = ''] = before.split(' ');
  const [type, , options = ''] = after.split(' ');
  const below = (path: string): string =>
    top === '/' || path.startsWith(`${top}/`) ? path.slice(top === '/' ? 0 : top.length) : '/';
  if (type === 'cgroup2') {
    return { place, file: 'memory.max', names: (each) => each.startsWith('0::'), below };
  }
  if (type !== 'cgroup' || !options.split(',').includes('memory')) return undefined;
  const names = (each: string): boolean => (each.split(':')[1] ?? '').split(',').includes('memory');
  return { place, file: 'memory.limit_in_bytes', names, below };
}

/** Returns the path and all its parents. */
function upwards(path: string): string[] {
  const steps = path.split('/').filter((step) => step !== '' && step !== '..');
  return [...steps.map((_, index) => steps.slice(0, steps.length - index).join('/')), '/'];
}

/** Returns the limit in the file's text; Infinity for "max" and for a missing file. */
function limit(text: string): number {
  return /^\d+$/.test(text.trim()) ? Number(text) : Number.POSITIVE_INFINITY;
}

/**
 * Returns the file's text, or an empty string if it cannot be read: outside Linux, or without
 * permission.
 */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
