/**
 * Runs a garbage collection of V8 now. It is called after large buffers have become garbage, at
 * start or by an administrative request. Otherwise they remain resident until the next full
 * collection, which may be minutes away in an idle process. Takes some ms, longer with a large
 * heap. Tested by http/held-bytes.spec.ts.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collect();
}
