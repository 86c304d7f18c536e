/**
 * Assigns processors to the servers and the load. `pinned` gives the servers the first one and the
 * load the others, so that they do not compete; `all` gives both all processors. With one processor
 * or without taskset, a Linux program, nothing is pinned.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Command } from './peer.ts';

export type Placement = 'pinned' | 'all';

const allowed = allowedProcessors();
export const canPin = allowed.length > 1 && spawnSync('taskset', ['--version']).error === undefined;

/** The processors of the servers, in the format of taskset. */
export function serversOn(placement: Placement): string {
  return placement === 'pinned' ? String(allowed[0]) : allowed.join();
}

export function onProcessors(processors: string, command: Command): Command {
  return canPin ? ['taskset', '-c', processors, ...command] : command;
}

/** Moves this process, and so any process that it starts later, to the processors of the load. */
export function moveLoad(placement: Placement): void {
  if (!canPin) return;
  const processors = (placement === 'pinned' ? allowed.slice(1) : allowed).join();
  spawnSync('taskset', ['-acp', processors, String(process.pid)]);
}

/** Returns the processors that this process may use, from `Cpus_allowed_list: 0-3,6`. */
function allowedProcessors(): number[] {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    const list = /^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? '';
    return list.split(',').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    });
  } catch {
    // A system without /proc has no taskset either.
    return [];
  }
}
