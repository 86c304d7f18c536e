/**
 * Scripts: operations that the server must execute in one step. Each uses one slot and checks
 * before it writes. Scripts are called by the SHA-1 of their source; every connection loads them
 * into its server. Tested by rights.spec.ts.
 */
import { createHash } from 'node:crypto';
import type { ViewedBytes } from '../../base/copy-bytes.ts';
import { header } from './command-buffer.ts';

/** Commands that write, and the functions that do. Moving a partition's clock changes nothing. */
const WRITE =
  /\bp?call\('(?:SET|HSET|HDEL|HINCRBY|ZADD|ZREM|ZPOPMIN|LPOP|RPUSH|UNLINK)'|\b(?:wake|drop|bury|buryExpired|trim|addMarks)\(/;
/** How an error reports the line of a script. Redis also names the script; Valkey 9 does not. */
const FAILED_AT = / script: .*on @user_script:(\d+)/;

export interface Script {
  readonly source: string;
  /** The beginning of a call, before the keys. */
  readonly header: ViewedBytes;
  /**
   * Returns the beginning of a call with `more` arguments, and `moreKeys` keys, beyond those that
   * `script` declared.
   */
  headerWith(more: number, moreKeys?: number): ViewedBytes;
}

/** Returns, by the SHA-1 of each script, the lines before which it has not written anything. */
export function unwrittenLines(
  sources: readonly string[],
): ReadonlyMap<string, ReadonlySet<number>> {
  return new Map(sources.map((source) => [shaOf(source), linesTillWrite(source)]));
}

/**
 * Whether the error of a command or script shows that nothing was written before it. `words`: the
 * first two words of the command.
 */
export function isUnwritten(
  text: string,
  [, sha = '']: readonly string[],
  lines: ReadonlyMap<string, ReadonlySet<number>>,
): boolean {
  if (!text.includes(' script: ')) return true;
  const [, line] = FAILED_AT.exec(text) ?? [];
  return lines.get(sha)?.has(Number(line)) ?? false;
}

/**
 * Returns the lines up to the first that writes, except those within functions, which are called
 * from anywhere; all lines of a script that writes nothing.
 */
function linesTillWrite(source: string): ReadonlySet<number> {
  const lines = new Set<number>();
  const isRead = !WRITE.test(source);
  let isInFunction = false;
  for (const [index, line] of source.split('\n').entries()) {
    if (isRead) lines.add(index + 1);
    else if (line.startsWith('local function')) isInFunction = !/\bend$/.test(line);
    else if (isInFunction) isInFunction = line !== 'end';
    else {
      lines.add(index + 1);
      if (WRITE.test(line)) break;
    }
  }
  return lines;
}

function shaOf(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}

/** Defines a script. `argumentCount`: the number of arguments after the keys. */
export function script(source: string, keyCount: number, argumentCount: number): Script {
  const sha = shaOf(source);
  const headers: ViewedBytes[] = [];
  /** By the number of keys that are added, if there are as many arguments more. */
  const headersWithKeys: ViewedBytes[] = [];
  const made = (more: number, keys: number): ViewedBytes =>
    header(3 + keys + argumentCount + more, 'EVALSHA', sha, `${keys}`);
  const headerWith = (more: number, moreKeys = 0): ViewedBytes => {
    if (moreKeys > 0 && moreKeys !== more) return made(more, keyCount + moreKeys);
    const known = moreKeys > 0 ? headersWithKeys : headers;
    known[more] ??= made(more, keyCount + moreKeys);
    return known[more];
  };
  return { source, header: headerWith(0), headerWith };
}
