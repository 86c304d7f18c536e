/**
 * Checks whether standard output and standard error are the same terminal, on which people would see a
 * line twice. Tested by peers/paused-terminal.peers.ts.
 */
import { fstatSync } from 'node:fs';

export function areSameTerminal(): boolean {
  const { stdout, stderr } = process;
  return stdout.isTTY && stderr.isTTY && fstatSync(stdout.fd).rdev === fstatSync(stderr.fd).rdev;
}
