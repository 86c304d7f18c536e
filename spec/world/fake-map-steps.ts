/** Steps that several scripts of maps on fake servers share; see fake-scripts.ts. */
import { endOf, headLength, nowOf, originAt, type ScriptRun } from './script-run.ts';

const DECIMAL = /^-?\d{1,19}$/;

/** The result of an addition: the header of the entry, the sum, the expiry time or 0. */
interface Sum {
  readonly head: string;
  readonly text: string;
  readonly end: number;
}

/** Returns the sum for the arguments of ADD; undefined if there is none. */
export function sumOf(
  run: ScriptRun,
  held: string | undefined,
  [, by = '', version = '', , newHead = '', newEnd = '']: readonly string[],
): Sum | undefined {
  let [head, old, end] = [newHead, '0', Number(newEnd)];
  if (held !== undefined) {
    const length = headLength(held);
    old = held.slice(length);
    if (!DECIMAL.test(old)) return undefined;
    end = 0;
    let life = '';
    if ((held.charCodeAt(0) & 8) !== 0) {
      const bytes = Buffer.from(held, 'latin1');
      const last = bytes.readUIntBE(19, 6);
      end = nowOf(run) + bytes.readUInt32BE(15) * 1000;
      if (last > 0) end = Math.min(end, last);
      const text = Buffer.alloc(6);
      text.writeUIntBE(end, 0, 6);
      life = text.toString('latin1');
    }
    const flags = String.fromCharCode(16 + (held.charCodeAt(0) % 16));
    head = `${flags}${version}${life}${held.slice(9 + life.length, originAt(held))}`;
  }
  const numbers = [BigInt(old), BigInt(old) + BigInt(by)];
  if (numbers.some((each) => BigInt.asIntN(64, each) !== each)) return undefined;
  return { head, text: `${numbers[1]}`, end };
}

/** Sets the entry of an addition. Returns the sum. */
export function setSum(
  { call }: ScriptRun,
  [hash = '', expiries = '', maps = '']: readonly string[],
  [field = '', , , map = '']: readonly string[],
  { head, text, end }: Sum,
): string {
  call('HSET', hash, field, head + text);
  if (end > 0) {
    call('ZADD', expiries, end, field);
    call('ZADD', maps, 'LT', end, map);
  }
  return text;
}

/** Does what SWEEP does; `onExpired` is called before an expired entry is removed. */
export function sweepMap(
  run: ScriptRun,
  [hash = '', ends = '', maps = '']: readonly string[],
  [limit = '', map = '']: readonly string[],
  onExpired: (field: string, value: string) => void,
): number {
  const { call, count, text, texts } = run;
  const time = nowOf(run);
  for (const field of texts('ZRANGEBYSCORE', ends, '-inf', time, 'LIMIT', 0, limit)) {
    const value = text('HGET', hash, field);
    const end = value === undefined ? undefined : endOf(value);
    if (end !== undefined && end > time) call('ZADD', ends, end, field);
    else {
      if (end !== undefined) {
        onExpired(field, value!);
        call('HDEL', hash, field);
      }
      call('ZREM', ends, field);
    }
  }
  const [, first] = texts('ZRANGE', ends, 0, 0, 'WITHSCORES');
  if (first === undefined) call('ZREM', maps, map);
  else call('ZADD', maps, first, map);
  return count('ZCOUNT', ends, '-inf', time);
}
