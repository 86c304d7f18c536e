/**
 * Makes V8 collect its garbage at once. It is called when large buffers have become garbage, at a start or at
 * a call of administration: otherwise they stay resident until the next collection of the whole heap, which
 * may take minutes to come in an idle process. Takes some ms, more with a large heap.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collect();
}
