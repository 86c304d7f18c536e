/**
 * The program as built by `make build`: one file, and next to it the code that V8 compiled for the
 * program's first requests. With that code, a start parses and compiles nothing again, which saves
 * a fifth of the time to the first response. V8 refuses code cached by another version of itself or
 * under other flags. It does not check the bytes of the code, and only the length of the source, so
 * a digest of both precedes the code. If anything does not match, the program is compiled in the
 * usual way.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import nodeModule from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

const DIGEST_BYTES = 32;

interface CompiledProgram {
  /** Whether the cached code was used. */
  readonly isCached: boolean;
  /** Runs the program with the arguments that Node passes to every module; returns its exports. */
  run(): unknown;
  /** Stores the code of the functions that have run so far. */
  keep(): void;
}

/** Loads the program. `file`: its absolute path. V8's flags (v8-flags.ts) must be set before. */
export function compileProgram(file: string): CompiledProgram {
  const bytes = readFileSync(file);
  const cachedData = readCache(file, bytes);
  // Latin-1 is the fastest encoding to decode; the output of esbuild is ASCII.
  const source = nodeModule.wrap(bytes.toString('latin1'));
  const script = new Script(source, { filename: file, ...(cachedData && { cachedData }) });
  return {
    isCached: script.cachedDataRejected === false,
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

function readCache(file: string, bytes: Buffer): Buffer | undefined {
  let cached: Buffer;
  try {
    cached = readFileSync(`${file}.cache`);
  } catch {
    return undefined; // The program is compiled, which only takes longer.
  }
  const code = cached.subarray(DIGEST_BYTES);
  return cached.subarray(0, DIGEST_BYTES).equals(digest(bytes, code)) ? code : undefined;
}

function digest(bytes: Buffer, code: Buffer): Buffer {
  return createHash('sha256').update(bytes).update(code).digest();
}
