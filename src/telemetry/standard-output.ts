/**
 * Standard output with writes that do not block the event loop, for every kind of descriptor:
 *
 * - A regular file, or a file that a service manager opened, has no reader to wait for. Its writes
 *   use descriptor 1, whose position standard error may share.
 * - A pipe or a terminal is opened again through /proc/self/fd/1, with O_NONBLOCK. That flag
 *   belongs to the open file description, not to the descriptor: set on descriptor 1, it would also
 *   affect the other processes that have inherited the same pipe or terminal and may not expect it,
 *   and each of them could clear it.
 * - A socket (systemd's journal) cannot be opened, nor can a pipe or terminal of another user
 *   (`su`), nor anything without /proc. Then the flag is set on descriptor 1, through the handle
 *   that Node has of it. Node sets it on pipes and sockets anyway, and restores the state at the
 *   end of the process. Another Node process that shares the descriptor may do so earlier, so it is
 *   set before every write.
 *
 * A thread that blocks in write(2) is no alternative: nothing cancels the call, and Node joins its
 * threads when the process ends, both workers and the thread pool. Neither is the stream
 * `process.stdout`: it blocks on terminals, buffers any number of lines, and drops the waiting ones
 * when the process ends. Nothing polls the descriptor: the writer retries (line-writer.ts), in the
 * same way for all kinds. Tested by integration/paused-output.spec.ts.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { WriteBytes } from './line-writer.ts';

const STANDARD_OUTPUT = 1;
const ITS_PATH = '/proc/self/fd/1';
const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;

export function openStandardOutput(): WriteBytes {
  const kind = fstatSync(STANDARD_OUTPUT);
  if (kind.isFile()) return writerOf(STANDARD_OUTPUT);
  const reopened = kind.isSocket() ? undefined : openAgain();
  if (reopened !== undefined) return writerOf(reopened);
  const { _handle: handle } = process.stdout as unknown as { readonly _handle?: StreamHandle };
  const write = writerOf(STANDARD_OUTPUT);
  return (bytes, start) => {
    handle?.setBlocking?.(false);
    return write(bytes, start);
  };
}

/** Node's handle of a pipe, socket or terminal. */
interface StreamHandle {
  setBlocking?(isBlocking: boolean): number;
}

function writerOf(descriptor: number): WriteBytes {
  return (bytes, start) => writeSync(descriptor, bytes, start);
}

/** Returns undefined if the system does not permit it. */
function openAgain(): number | undefined {
  try {
    return openSync(ITS_PATH, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return undefined;
  }
}
