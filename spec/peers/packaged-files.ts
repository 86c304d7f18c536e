/** The files of packaging/. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './tools.ts';

/** Returns a file of packaging/. */
export function packaged(name: string): string {
  return readFileSync(join(ROOT, 'packaging', name), 'utf8');
}
