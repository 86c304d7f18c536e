/**
 * The WebAssembly module of llhttp that undici includes; the build writes it beside the program. Its
 * initial memory is enlarged, because memory that grows slows down all typed arrays (llhttp.ts); the
 * module itself uses only MODULE_PAGES. The assumptions about the module are checked here and by
 * Llhttp.checkLayout. A module that differs is refused, and the error names the difference.
 * Tested by llhttp.spec.ts.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';

/** Name of the module's file beside the built program. */
export const LLHTTP_FILE = 'llhttp.wasm';
export const PAGE_BYTES = 65536;
/** Initial memory as declared in the module, and after it is enlarged, in pages. */
export const MODULE_PAGES = 2;
export const PAGES = 64;
/** SHA-256 of the module whose layout the specs check. */
const CHECKED_MODULE = '2434215e1f7fa0163f22ce895ddbeb83984fa0aa51e123164e053213e5aca028';

/** Returns the module: the file beside the program, or in the sources the one of undici. */
export function readModule(): Buffer {
  const built = join(import.meta.dirname, LLHTTP_FILE);
  if (existsSync(built)) return readFileSync(built);
  const require = createRequire(import.meta.url);
  try {
    return Buffer.from(require('undici/lib/llhttp/llhttp_simd-wasm.js') as Buffer);
  } catch {
    throw new GridError('PARSER_UNUSABLE', { what: `"${built}" does not exist` });
  }
}

/** Whether the module, before any change, is the one that the specs check. */
export function isCheckedModule(module: Buffer): boolean {
  return createHash('sha256').update(module).digest('hex') === CHECKED_MODULE;
}

/** Sets the module's initial memory to PAGES. Throws GridError PARSER_UNUSABLE if it is not as expected. */
export function enlargeMemory(module: Buffer): void {
  // The section contains the number of memories, 0 for no maximum, and the number of pages.
  const at = contentsOf(module, MEMORY_SECTION);
  const [count, limits, pages] = module.subarray(at, at + 3);
  check(count === 1 && limits === 0, 'it does not have one memory without a maximum');
  check(pages === MODULE_PAGES, `its initial memory has ${pages} pages instead of ${MODULE_PAGES}`);
  module[at + 2] = PAGES;
}

/** Throws GridError PARSER_UNUSABLE with the difference, unless the condition holds. */
export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new GridError('PARSER_UNUSABLE', { what });
}

/** Returns the offset of the contents of a section. */
function contentsOf(module: Buffer, section: number): number {
  let at = MODULE_HEADER_BYTES;
  while (at < module.length) {
    const number = module[at++];
    let bytes = 0;
    let byte = 0x80;
    for (let shift = 0; byte >= 0x80; shift += 7) {
      byte = module[at++] ?? 0;
      bytes |= (byte & 0x7f) << shift;
    }
    if (number === section) return at;
    at += bytes;
  }
  throw new GridError('PARSER_UNUSABLE', { what: 'it does not define a memory' });
}

const MODULE_HEADER_BYTES = 8;
const MEMORY_SECTION = 5;
