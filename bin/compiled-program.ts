/**
 * The program as built by `make build`, one file, and the code that V8 compiled for it, which a start
 * keeps for the next ones. With that code, a start parses and compiles nothing again, which saves a
 * fifth of the time to the first response. Code is of one version of Node and of one kind of start, as
 * a member and a command run other functions. It is kept beside the program, or in the user's cache
 * folder if that cannot be written. V8 refuses code under other flags. It does not check the bytes of
 * the code, and only the length of the source, so a digest of both precedes the code. Code that other
 * users could have written is not used. If anything does not match, the program is compiled in the
 * usual way.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import nodeModule from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';
import { Script } from 'node:vm';

const DIGEST_BYTES = 32;
/** Permissions of the group and of others to write a file. */
const OTHERS_WRITE = 0o022;

interface CompiledProgram {
  /** Whether kept code is used. */
  readonly isCached: boolean;
  /** Runs the program with the arguments that Node passes to every module; returns its exports. */
  run(): unknown;
  /** Keeps the code of the functions that have run so far, unless some is kept or none can be. */
  keep(): void;
}

/**
 * Loads the program. `file`: its absolute path; `kind`: that of the start. V8's flags (v8-flags.ts)
 * must be set before.
 */
export function compileProgram(
  file: string,
  kind: 'serve' | 'command',
  environment: NodeJS.ProcessEnv = process.env,
): CompiledProgram {
  const bytes = readFileSync(file);
  const name = `program-${process.version}-${process.arch}-${kind}.cache`;
  const folders = [dirname(file), ...userFolder(environment)];
  const cachedData = readCode(folders, name, bytes);
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
      // Code that V8 refuses is of a start with other flags.
      if (cachedData !== undefined) return;
      const codeOf = () => {
        const code = script.createCachedData();
        return Buffer.concat([digest(bytes, code), code]);
      };
      folders.some((folder) => isWritten(folder, name, codeOf));
    },
  };
}

/** Returns the folder for the user's files that can be made anew, if there is one. */
function userFolder(environment: NodeJS.ProcessEnv): string[] {
  const home = environment.HOME;
  const folder = environment.XDG_CACHE_HOME || (home && join(home, '.cache'));
  return folder && isAbsolute(folder) ? [join(folder, 'gridnode')] : [];
}

function readCode(folders: readonly string[], name: string, bytes: Buffer): Buffer | undefined {
  const files = folders.map((folder) => readTrusted(join(folder, name)));
  const kept = files.find((each) => {
    return each?.subarray(0, DIGEST_BYTES).equals(digest(bytes, each.subarray(DIGEST_BYTES)));
  });
  return kept?.subarray(DIGEST_BYTES);
}

/** Reads a file that only this user or root can change; undefined if there is none. */
function readTrusted(file: string): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    // A pipe, which others could have made in a shared folder, would wait for a writer.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    return stats.isFile() && isTrusted(stats) ? readFileSync(descriptor) : undefined;
  } catch {
    return undefined; // The program is compiled, which only takes longer.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Whether only this user or root can change a file or a folder. */
function isTrusted(stats: Stats): boolean {
  const own = process.geteuid?.();
  const isOwn = stats.uid === own || stats.uid === 0;
  return own === undefined || (isOwn && (stats.mode & OTHERS_WRITE) === 0);
}

/**
 * Writes a file as a whole, in a folder that only this user or root can change, and that is made if
 * only it is missing. Returns whether it could; it throws nothing, as the member may run already.
 */
function isWritten(folder: string, name: string, content: () => Buffer): boolean {
  const temporary = join(folder, `${name}.${process.pid}`);
  try {
    [dirname(folder), folder].forEach(makeFolder);
    if (!isTrusted(statSync(folder))) return false;
    // An earlier process with this number may have been killed before it could rename its file.
    remove(temporary);
    // Opened before the code is made, which takes longer.
    const descriptor = openSync(temporary, 'wx', 0o644);
    try {
      writeFileSync(descriptor, content());
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, join(folder, name));
    return true;
  } catch {
    remove(temporary);
    return false;
  }
}

function remove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It remains, and is used by nobody.
  }
}

function makeFolder(folder: string): void {
  try {
    // A folder of root in the home of another user would keep that user from writing there.
    if (process.geteuid?.() === 0 && statSync(dirname(folder)).uid !== 0) return;
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It exists, or the file cannot be written.
  }
}

function digest(bytes: Buffer, code: Buffer): Buffer {
  return createHash('sha256').update(bytes).update(code).digest();
}
