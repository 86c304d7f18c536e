/**
 * The system's limit for the connections of a listener that wait to be accepted. It silently lowers the
 * backlog that a server requests. Tested by servers/backlog-limit.spec.ts.
 */
import { readFileSync } from 'node:fs';
import { BACKLOG_MAX } from '../http/server.ts';

const SOMAXCONN = '/proc/sys/net/core/somaxconn';

/**
 * Returns a sentence about the limit if it is below the backlog of the servers. Returns undefined if it is
 * not, or if the system has no such file.
 */
export function backlogWarning(file = SOMAXCONN): string | undefined {
  const limit = readLimit(file);
  if (!(limit < BACKLOG_MAX)) return undefined;
  return (
    `net.core.somaxconn is ${limit}, which is below ${BACKLOG_MAX}: ` +
    'some connections of a larger burst wait for a second or longer'
  );
}

/** Returns NaN if the file cannot be read or is not a number. */
function readLimit(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, 'latin1'), 10);
  } catch {
    // Other systems have no such file, and a container may hide it.
    return Number.NaN;
  }
}
