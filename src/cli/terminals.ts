/** Whether standard output and standard error end at the same place, where people would read all twice. */
import { fstatSync } from 'node:fs';

export function areSameTerminal(): boolean {
  const { stdout, stderr } = process;
  return stdout.isTTY && stderr.isTTY && fstatSync(stdout.fd).rdev === fstatSync(stderr.fd).rdev;
}
