/** Whether standard output and standard error end at the same place, where people would read all twice. */
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';

const [OUTPUT, ERROR] = [1, 2];

export function areSameTerminal(): boolean {
  return isatty(OUTPUT) && isatty(ERROR) && fstatSync(OUTPUT).rdev === fstatSync(ERROR).rdev;
}
