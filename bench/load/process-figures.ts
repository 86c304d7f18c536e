/**
 * Figures from Linux's /proc, summed over a running process, its threads and its descendants. They
 * are undefined on other systems and once the process has ended.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick. */
const TICKS_PER_SECOND = 100;

/** Returns the CPU time used so far, in microseconds. */
export function cpuUsOf(pid: number | undefined): number | undefined {
  return sumOf(pid, (each) => {
    const stat = readFileSync(`/proc/${each}/stat`, 'utf8');
    // The command's name is in parentheses and may contain spaces; the fields after it do not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return (ticks / TICKS_PER_SECOND) * 1e6;
  });
}

/** Resident memory, in MiB. */
export function residentMibOf(pid: number | undefined): number | undefined {
  return sumOf(pid, (each) => {
    const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1];
    return Number(kib) / 1024;
  });
}

function sumOf(pid: number | undefined, read: (pid: number) => number): number | undefined {
  if (pid === undefined) return undefined;
  try {
    return treeOf(pid).reduce((sum, each) => sum + read(each), 0);
  } catch {
    // There is no /proc, or a process has ended: the figure is unknown.
    return undefined;
  }
}

/** The process and its descendants. */
function treeOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
}
