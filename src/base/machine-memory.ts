/** How much memory this process has to do with. */
import { totalmem } from 'node:os';

/**
 * Bytes of the container's limit (cgroup v1 or v2), or of the machine without one. `constrained` is
 * the system's limit, 0 or undefined or more than `total` for none.
 */
export function machineMemoryBytes(
  constrained: number | undefined = process.constrainedMemory(),
  total: number = totalmem(),
): number {
  return constrained === undefined || constrained <= 0 ? total : Math.min(constrained, total);
}
