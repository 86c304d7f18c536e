/**
 * The WebAssembly module of llhttp that undici carries, and its memory: it is made to begin with more of
 * it than it knows of, as memory that grows slows all typed arrays down (llhttp.ts). What is assumed of
 * the module is checked here and by Llhttp.checkLayout; another module is refused with what differs.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { GridError } from '../base/errors.ts';

export const PAGE_BYTES = 65536;
/** Memory that the module begins with by itself, and the memory it is made to begin with, in pages. */
export const PAGES_KNOWN = 2;
export const PAGES = 64;
/** The module whose layout the tests check, by its SHA-256. */
const KNOWN_MODULE = '2434215e1f7fa0163f22ce895ddbeb83984fa0aa51e123164e053213e5aca028';

export function readModule(): Buffer {
  const require = createRequire(import.meta.url);
  return Buffer.from(require('undici/lib/llhttp/llhttp_simd-wasm.js') as Buffer);
}

/** Whether the module, which must be as read, is the one that the tests have checked. */
export function isKnownModule(module: Buffer): boolean {
  return createHash('sha256').update(module).digest('hex') === KNOWN_MODULE;
}

/** Makes the module begin with PAGES. Throws GridError PARSER_UNUSABLE where its memory is another one. */
export function enlargeMemory(module: Buffer): void {
  // The section has: one memory, without a maximum, of so many pages.
  const at = contentsOf(module, MEMORY_SECTION);
  const [count, limits, pages] = module.subarray(at, at + 3);
  check(count === 1 && limits === 0, 'its memory is not one without a maximum');
  check(pages === PAGES_KNOWN, `its memory begins with ${pages} pages instead of ${PAGES_KNOWN}`);
  module[at + 2] = PAGES;
}

/** Throws GridError PARSER_UNUSABLE with what differs, unless it is so. */
export function check(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new GridError('PARSER_UNUSABLE', { what });
}

/** The beginning of the contents of the section with that number in a module. */
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
  throw new GridError('PARSER_UNUSABLE', { what: 'it has no memory of its own' });
}

const MODULE_HEADER_BYTES = 8;
const MEMORY_SECTION = 5;
