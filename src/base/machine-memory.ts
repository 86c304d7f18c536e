/**
 * The memory that this process may use: the machine's, or the least limit of the control groups
 * (cgroups v1 and v2) around it, from its own up to the root. `mountinfo` has the place where the
 * groups are mounted, and the part of their tree that is mounted there. In a container the upper groups
 * are often not visible.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';

export interface MachineMemory {
  readonly bytes: number;
  /** Whether a control group has less than the machine. */
  readonly isContainer: boolean;
}

let ofProcess: MachineMemory | undefined;

/** The memory, read by the first call and then kept. */
export function machineMemory(): MachineMemory {
  ofProcess ??= memoryBelow('/', totalmem());
  return ofProcess;
}

/**
 * `root`: the folder that has `proc` and the paths of `mountinfo`; `total`: the machine's memory, in
 * bytes.
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
  /** The group's path from the mount on. */
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

/** The path and all paths above it. */
function upwards(path: string): string[] {
  const steps = path.split('/').filter((step) => step !== '' && step !== '..');
  return [...steps.map((_, index) => steps.slice(0, steps.length - index).join('/')), '/'];
}

/** The number in the file; Infinity for "max" and for a missing file. */
function limit(text: string): number {
  return /^\d+$/.test(text.trim()) ? Number(text) : Number.POSITIVE_INFINITY;
}

/** Empty where the file cannot be read: outside Linux, or without permission. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
