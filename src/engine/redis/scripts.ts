/**
 * Scripts: what must happen in one step of the server. Each stays in one slot and checks before it
 * writes. They are called by the SHA-1 of their source, which every connection has told its server.
 */
import { createHash } from 'node:crypto';
import type { ViewedBytes } from '../../base/short-copies.ts';
import { header } from './command-buffer.ts';

export interface Script {
  readonly source: string;
  /** The beginning of a call, before the keys. */
  readonly header: ViewedBytes;
  /** The same, with so many more arguments than `script` was told. */
  headerWith(more: number): ViewedBytes;
}

/** `argumentCount`: of the arguments behind the keys. */
export function script(source: string, keyCount: number, argumentCount: number): Script {
  const sha = createHash('sha1').update(source).digest('hex');
  const headers: ViewedBytes[] = [];
  const headerWith = (more: number): ViewedBytes => {
    headers[more] ??= header(3 + keyCount + argumentCount + more, 'EVALSHA', sha, `${keyCount}`);
    return headers[more];
  };
  return { source, header: headerWith(0), headerWith };
}
