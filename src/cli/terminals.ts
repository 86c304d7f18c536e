/** Properties of the terminals that a command writes to. */
import { fstatSync } from 'node:fs';

/**
 * Whether lines on a terminal have colours. NO_COLOR overrides FORCE_COLOR, which overrides TERM. By
 * default they have.
 */
export function hasColours(environment: NodeJS.ProcessEnv): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '', TERM } = environment;
  if (NO_COLOR !== '') return false;
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return TERM !== 'dumb';
}

/**
 * Whether standard output and standard error are the same terminal, on which people would see a line
 * twice.
 */
export function areSameTerminal(): boolean {
  const { stdout, stderr } = process;
  return stdout.isTTY && stderr.isTTY && fstatSync(stdout.fd).rdev === fstatSync(stderr.fd).rdev;
}
