/**
 * The program as `make build` leaves it: one file, and beside it what V8 made of it when it served a
 * first time. With that, nothing of what a start runs is parsed or compiled again, which is a fifth
 * of the time to the first answer. V8 refuses what was kept by another version of itself or under
 * other flags, but believes the bytes and asks of the source only its length: so a digest of both
 * stands before them. Where anything does not fit, the program is compiled as any other.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import nodeModule from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

const DIGEST_BYTES = 32;

export interface CompiledProgram {
  /** Whether kept code was used. */
  readonly isKept: boolean;
  /** Runs it, with what Node gives every module; returns what it exports. */
  run(): unknown;
  /** Keeps the code of what has run so far. */
  keep(): void;
}

/** `file` is the program's, absolute; V8's flags (v8-flags.ts) are set before. */
export function compileProgram(file: string): CompiledProgram {
  const bytes = readFileSync(file);
  const cachedData = readKept(file, bytes);
  // Latin-1 is decoded fastest; esbuild leaves nothing but ASCII.
  const source = nodeModule.wrap(bytes.toString('latin1'));
  const script = new Script(source, { filename: file, ...(cachedData && { cachedData }) });
  return {
    isKept: script.cachedDataRejected === false,
    run() {
      const program = { exports: {} };
      const require = nodeModule.createRequire(file);
      script.runInThisContext()(program.exports, require, program, file, dirname(file));
      return program.exports;
    },
    keep() {
      const code = script.createCachedData();
      writeFileSync(`${file}.cache`, Buffer.concat([digest(bytes, code), code]));
    },
  };
}

function readKept(file: string, bytes: Buffer): Buffer | undefined {
  let kept: Buffer;
  try {
    kept = readFileSync(`${file}.cache`);
  } catch {
    return undefined; // Compiling takes longer, and that is all.
  }
  const code = kept.subarray(DIGEST_BYTES);
  return kept.subarray(0, DIGEST_BYTES).equals(digest(bytes, code)) ? code : undefined;
}

function digest(bytes: Buffer, code: Buffer): Buffer {
  return createHash('sha256').update(bytes).update(code).digest();
}
