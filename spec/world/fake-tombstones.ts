/** The tombstones of a partition, as the scripts of fake servers use them; see tombstone-functions.ts. */
import { nowOf, originIn, packed, type ScriptRun, versionIn } from './script-run.ts';

const REPLACED_MAX = 64;

export class FakeTombstones {
  readonly #run: ScriptRun;
  readonly #hash: string;
  readonly #order: string;
  readonly #seconds: number;

  constructor(run: ScriptRun, [hash = '', order = '']: readonly string[]) {
    this.#run = run;
    this.#hash = hash;
    this.#order = order;
    this.#seconds = Math.floor(nowOf(run) / 1000);
  }

  get(field: string): { version: bigint; letter: string } {
    const held = this.#run.text('HGET', this.#hash, field);
    if (held === undefined) return { version: 0n, letter: '' };
    return { version: versionIn(held), letter: held.slice(12, 13) };
  }

  get isEmpty(): boolean {
    return this.#run.count('HLEN', this.#hash) === 0;
  }

  set(field: string, version: bigint, letter: string, origin: string): void {
    const seconds = Buffer.alloc(4);
    seconds.writeUInt32BE(this.#seconds);
    const value = packed(version) + seconds.toString('latin1') + letter + origin;
    this.#run.call('HSET', this.#hash, field, value);
  }

  bury(field: string, version: bigint, letter: string, origin: string): void {
    this.set(field, version, letter, origin);
    this.#run.call('RPUSH', this.#order, packed(version) + field);
  }

  /** Returns the number of tombstones dropped early, and that of elements removed from the order. */
  trim(
    steps: number,
    retention: number,
    limit: number,
    isKept = (_field: string): boolean => false,
  ): [number, number] {
    const { call, count, text } = this.#run;
    let [dropped, removed] = [0, 0];
    for (let left = steps; left > 0; left--) {
      const item = text('LINDEX', this.#order, 0);
      if (item === undefined) break;
      const field = item.slice(8);
      const held = text('HGET', this.#hash, field);
      const total = count('HLEN', this.#hash);
      if (held?.slice(0, 8) !== item.slice(0, 8)) {
        call('LPOP', this.#order);
        removed++;
        continue;
      }
      const since = Buffer.from(held.slice(8, 12), 'latin1').readUInt32BE();
      const isOld = since + retention <= this.#seconds;
      const isSurplus = total > limit;
      const isDone = held[12] !== 'C';
      if ((isOld || (isSurplus && isDone)) && !isKept(field)) {
        call('LPOP', this.#order);
        call('HDEL', this.#hash, field);
        removed++;
        if (!isOld) dropped++;
      } else if (isOld || isSurplus || count('LLEN', this.#order) > 2 * total + REPLACED_MAX) {
        call('LPOP', this.#order);
        call('RPUSH', this.#order, item);
      } else break;
    }
    return [dropped, removed];
  }

  /** Leaves the tombstone of an expired entry. Returns the version of the field's tombstone. */
  buryExpired(field: string, value: string, ofKey = this.get(field).version): bigint {
    const gone = versionIn(value, 1) - 1n;
    if (gone <= ofKey) return ofKey;
    this.bury(field, gone, 'e', originIn(value));
    return gone;
  }
}
