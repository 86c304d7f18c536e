/**
 * Scripts: what must happen in one step of the server. Each stays in one slot and checks before it
 * writes. They are called by the SHA-1 of their source, which every connection has told its server.
 */
import { createHash } from 'node:crypto';
import { header } from './command-buffer.ts';

export interface Script {
  readonly source: string;
  /** The beginning of a call, before the keys. */
  readonly header: Buffer;
}

/** `argumentCount`: of the arguments behind the keys. */
export function script(source: string, keyCount: number, argumentCount: number): Script {
  const sha = createHash('sha1').update(source).digest('hex');
  const count = 3 + keyCount + argumentCount;
  return { source, header: header(count, 'EVALSHA', sha, String(keyCount)) };
}
