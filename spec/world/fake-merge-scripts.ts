/** The scripts of merges for a fake server; see fake-scripts.ts. */
import { createHash } from 'node:crypto';
import { APPLIED, KNOWN, OUTDATED } from '../../src/engine/engine.ts';
import { LATEST_UPDATE, PASS_THROUGH, PUT_IF_ABSENT } from '../../src/engine/merge-policy.ts';
import { DELETE } from '../../src/engine/mutation.ts';
import {
  EQUAL_VERSIONS,
  FOREIGN_ENTRY,
  LATER_EPOCH,
  MERGE,
  MERGE_CLEAR,
  MERGE_DELETES,
  NUMBERS_PASSED,
  TRIM_TOMBSTONES,
} from '../../src/engine/redis/merge-scripts.ts';
import type { Script } from '../../src/engine/redis/scripts.ts';
import type { Value } from './fake-data.ts';
import { nowOf, originAt, type ScriptFunction, type ScriptRun } from './script-run.ts';

/** The code of MERGE if every event is merged. */
const MERGED = 0;
const REPLACED_MAX = 64;
const OWN = '\0\0\0\0';

/** A version as one number. */
function versionIn(text: string, at = 0): bigint {
  return Buffer.from(text.slice(at, at + 8), 'latin1').readBigUInt64BE();
}

function packed(version: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(version);
  return bytes.toString('latin1');
}

function doubles(...numbers: readonly number[]): string {
  const bytes = Buffer.alloc(8 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeDoubleBE(number, 8 * index);
  return bytes.toString('latin1');
}

class Tombstones {
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
    return { version: versionIn(held), letter: held.slice(12) };
  }

  get isEmpty(): boolean {
    return this.#run.count('HLEN', this.#hash) === 0;
  }

  set(field: string, version: bigint, letter: string): void {
    const seconds = Buffer.alloc(4);
    seconds.writeUInt32BE(this.#seconds);
    const value = packed(version) + seconds.toString('latin1') + letter;
    this.#run.call('HSET', this.#hash, field, value);
  }

  bury(field: string, version: bigint, letter: string): void {
    this.set(field, version, letter);
    this.#run.call('RPUSH', this.#order, packed(version) + field);
  }

  trim(steps: number, retention: number, limit: number): number {
    const { call, count, text } = this.#run;
    let dropped = 0;
    for (let left = steps; left > 0; left--) {
      const item = text('LINDEX', this.#order, 0);
      if (item === undefined) break;
      const field = item.slice(8);
      const held = text('HGET', this.#hash, field);
      const total = count('HLEN', this.#hash);
      if (held?.slice(0, 8) !== item.slice(0, 8)) {
        call('LPOP', this.#order);
        continue;
      }
      const since = Buffer.from(held.slice(8, 12), 'latin1').readUInt32BE();
      const isOld = since + retention <= this.#seconds;
      if (isOld || total > limit) {
        call('LPOP', this.#order);
        call('HDEL', this.#hash, field);
        if (!isOld) dropped++;
      } else if (count('LLEN', this.#order) > 2 * total + REPLACED_MAX) {
        call('LPOP', this.#order);
        call('RPUSH', this.#order, item);
      } else break;
    }
    return dropped;
  }
}

class FakePartitionClock {
  readonly #run: ScriptRun;
  readonly #key: string;
  readonly #before: number;
  #latest: number;

  constructor(run: ScriptRun, key: string) {
    this.#run = run;
    this.#key = key;
    this.#before = Number(run.text('GET', key) ?? 0);
    this.#latest = this.#before;
  }

  raise(version: bigint): void {
    const counter = Number(version & 0xffffn);
    const number = Number(version >> 16n) * 1000 + Math.floor((counter * 1000) / 65536);
    this.#latest = Math.max(this.#latest, number);
  }

  save(): void {
    if (this.#latest > this.#before) this.#run.call('SET', this.#key, this.text);
  }

  get text(): string {
    return `${this.#latest}`;
  }
}

function makerOf(value: string): string {
  if (value.charCodeAt(0) < 32) return OWN;
  const at = originAt(value);
  return value.slice(at, at + 4);
}

/** The end of the time to live; 0 for never. */
function lastOf(value: string): number {
  const flags = value.charCodeAt(0);
  if ((flags & 4) === 0) return 0;
  const from = (flags & 8) === 0 ? 9 : 19;
  return Buffer.from(value.slice(from, from + 6), 'latin1').readUIntBE(0, 6);
}

function isSame(held: string, head: string, value: string): boolean {
  if ((head.charCodeAt(0) & 8) === 0) return held === head + value;
  return held.slice(0, 9) + held.slice(15) === head.slice(0, 9) + head.slice(15) + value;
}

function wins(policy: number, order: number, expiry: number, held: string): boolean {
  if (policy === PASS_THROUGH) return true;
  if (policy === PUT_IF_ABSENT) return false;
  if (policy === LATEST_UPDATE) return order > 0;
  const other = lastOf(held);
  return expiry === 0 || (other !== 0 && expiry >= other);
}

interface Event {
  readonly key: string;
  readonly head: string;
  readonly value: string;
  readonly version: bigint;
  readonly maker: string;
  readonly operation: number;
  readonly policy: number;
  readonly map: number;
  readonly number: number;
  readonly ends: number;
  readonly expiry: number;
}

function eventOf([key = '', head = '', value = '', numbers = '']: readonly string[]): Event {
  const bytes = Buffer.from(numbers, 'latin1');
  return {
    key,
    head,
    value,
    version: bytes.readBigUInt64BE(),
    maker: numbers.slice(8, 12),
    operation: bytes[12]!,
    policy: bytes[13]!,
    map: bytes.readUInt16BE(14),
    number: bytes.readDoubleBE(16),
    ends: bytes.readDoubleBE(24),
    expiry: bytes.readDoubleBE(32),
  };
}

/** A run of MERGE. */
class Merging {
  readonly #run: ScriptRun;
  readonly #keys: readonly string[];
  readonly #args: readonly string[];
  readonly #tombstones: Tombstones;
  readonly #clock: FakePartitionClock;
  readonly #syncBegan: bigint;
  #hasTombstones: boolean;
  buriedCount = 0;
  /** The entry that the member has to compare. */
  entry = '';

  constructor(run: ScriptRun, keys: readonly string[], args: readonly string[]) {
    this.#run = run;
    this.#keys = keys;
    this.#args = args;
    this.#tombstones = new Tombstones(run, keys);
    this.#clock = new FakePartitionClock(run, keys[2]!);
    this.#syncBegan = versionIn(args[2]!);
    this.#hasTombstones = !this.#tombstones.isEmpty;
  }

  run(): Value {
    const { call, text } = this.#run;
    const [epochText, beganText, , retention, limit] = this.#args;
    const [epoch, began] = [Number(epochText), Number(beganText)];
    const mark = text('GET', this.#keys[3]!);
    const numbers = [0, 0, 0, 0];
    if (mark !== undefined) {
      const bytes = Buffer.from(mark, 'latin1');
      for (const index of numbers.keys()) numbers[index] = bytes.readDoubleBE(8 * index);
    }
    let [lastEpoch = 0, first = 0, last = 0, notTaken = 0] = numbers;
    if (epoch < lastEpoch) return [LATER_EPOCH, lastEpoch];
    if (epoch > lastEpoch) [first, last, notTaken] = [0, 0, 0];
    if (began < first) return [NUMBERS_PASSED, first];
    if (began > first) notTaken = 0;
    let code = MERGED;
    let outcomes = '';
    const start = 7 + (this.#keys.length - 5) / 2;
    for (let at = start; at < this.#args.length; at += 4) {
      const event = eventOf(this.#args.slice(at, at + 4));
      let outcome = 0;
      if (event.number > last) {
        const found = this.#merge(event, at === start);
        if (found === EQUAL || found === FOREIGN) {
          code = found === EQUAL ? EQUAL_VERSIONS : FOREIGN_ENTRY;
          break;
        }
        outcome = found;
        this.#clock.raise(event.version);
        if (outcome === OUTDATED && this.#syncBegan > 0n) notTaken++;
        last = event.number;
      }
      outcomes += String.fromCharCode(outcome);
    }
    this.#clock.save();
    call('SET', this.#keys[3]!, doubles(epoch, began, last, notTaken), 'EX', 86400);
    const steps = 2 + 2 * this.buriedCount;
    const dropped = this.#tombstones.trim(steps, Number(retention), Number(limit));
    return [code, notTaken, dropped, this.#clock.text, outcomes, this.entry];
  }

  #merge(event: Event, isFirst: boolean): number {
    const { call, text } = this.#run;
    const { key, version, map } = event;
    const hash = this.#keys[3 + 2 * map]!;
    const name = this.#args[6 + map]!;
    const prefix = `${name.length}:${name}`;
    let [ofMap, ofKey] = [0n, 0n];
    if (this.#hasTombstones) {
      ofMap = this.#tombstones.get(prefix).version;
      ofKey = this.#tombstones.get(prefix + key).version;
    }
    let held = text('HGET', hash, key);
    if (held !== undefined) {
      const format = held.length < 9 ? 0 : held.charCodeAt(0) >> 4;
      if (format < 1 || format > 2) return FOREIGN;
      const isPresent = (held.charCodeAt(0) & 4) === 0 || endOf(held) > nowOf(this.#run);
      if (!isPresent) {
        const gone = versionIn(held, 1) - 1n;
        if (gone > ofKey) {
          this.#bury(prefix + key, gone, 'e');
          ofKey = gone;
        }
        call('HDEL', hash, key);
        held = undefined;
      }
    }
    const removed = ofMap > ofKey ? ofMap : ofKey;
    if (event.operation !== DELETE) return this.#set(event, isFirst, held, ofMap, removed);
    if (version === ofKey) return KNOWN;
    if (version <= removed) return OUTDATED;
    const stored = held === undefined ? 0n : versionIn(held, 1);
    const isEarlier = stored > version;
    if (isEarlier && (event.policy !== PASS_THROUGH || makerOf(held!) === event.maker)) {
      return OUTDATED;
    }
    this.#bury(prefix + key, version, 'd');
    if (held !== undefined) call('HDEL', hash, key);
    if (isEarlier) this.#clock.raise(stored + 1n);
    return APPLIED;
  }

  #set(
    { key, head, value, version, maker, policy, map, ends, expiry }: Event,
    isFirst: boolean,
    held: string | undefined,
    ofMap: bigint,
    removed: bigint,
  ): number {
    const { call } = this.#run;
    const isRemoved = version <= removed;
    if (isRemoved && (policy === LATEST_UPDATE || removed > this.#syncBegan)) return OUTDATED;
    let isLater = !isRemoved;
    let replaced = removed;
    if (held !== undefined && versionIn(held, 1) > ofMap) {
      const stored = versionIn(held, 1);
      let order = version > stored ? 1 : -1;
      if (version === stored) {
        if (isSame(held, head, value)) order = 0;
        else if (isFirst && this.#args[6] === sha1(held)) order = Number(this.#args[5]);
        else {
          this.entry = held;
          return EQUAL;
        }
      }
      if (order === 0) return KNOWN;
      if (order < 0 && makerOf(held) === maker && stored > this.#syncBegan) return OUTDATED;
      if (!wins(policy, order, expiry, held)) return OUTDATED;
      isLater &&= order > 0;
      if (stored > replaced) replaced = stored;
    }
    let own = head;
    if (!isLater) {
      this.#clock.raise(replaced + 1n);
      const flags = String.fromCharCode(16 + (head.charCodeAt(0) % 16));
      own = flags + packed(replaced + 1n) + head.slice(9, originAt(head));
    }
    call('HSET', this.#keys[3 + 2 * map]!, key, own + value);
    if (ends > 0) {
      call('ZADD', this.#keys[4 + 2 * map]!, ends, key);
      call('ZADD', this.#keys[4]!, 'LT', ends, this.#args[6 + map]!);
    }
    return APPLIED;
  }

  #bury(field: string, version: bigint, letter: string): void {
    this.#tombstones.bury(field, version, letter);
    this.#hasTombstones = true;
    this.buriedCount++;
  }
}

/** Outcomes of Merging besides those of the engine. */
const EQUAL = -1;
const FOREIGN = -2;

function endOf(value: string): number {
  return Buffer.from(value.slice(9, 15), 'latin1').readUIntBE(0, 6);
}

function sha1(text: string): string {
  return createHash('sha1').update(text, 'latin1').digest('hex');
}

const merge: ScriptFunction = (run, keys, args) => new Merging(run, keys, args).run();

const mergeClear: ScriptFunction = (
  run,
  keys,
  [map = '', versionText = '', retention = '', limit = '', place = '', placeRun = ''],
) => {
  const { call, text } = run;
  const [, , , hash = ''] = keys;
  const tombstones = new Tombstones(run, keys);
  const clock = new FakePartitionClock(run, keys[2]!);
  const field = `${map.length}:${map}`;
  const version = versionIn(versionText);
  const held = tombstones.get(field);
  const isBegun = version === held.version;
  if (isBegun && held.letter === 'c') return ['0', '', KNOWN, 0, clock.text];
  if (held.version > version) return ['0', '', OUTDATED, 0, clock.text];
  const server = /run_id:(\w{8})/.exec(text('INFO', 'server') ?? '')?.[1] ?? '';
  let cursor = isBegun && placeRun === server ? place : '0';
  if (!isBegun) tombstones.bury(field, version, 'C');
  clock.raise(version);
  clock.save();
  let [count, bytes] = [0, 0];
  do {
    const [next, found] = call('HSCAN', hash, cursor, 'COUNT', 4) as [string, string[]];
    cursor = next;
    for (let at = 0; at < found.length; at += 2) {
      const [key, value] = [found[at]!, found[at + 1]!];
      count++;
      bytes += key.length + value.length;
      if (value.length >= 9 && versionIn(value, 1) <= version) call('HDEL', hash, key);
    }
  } while (cursor !== '0' && count < 512 && bytes < 1_048_576);
  if (cursor === '0') tombstones.set(field, version, 'c');
  const dropped = tombstones.trim(4, Number(retention), Number(limit));
  return [cursor, server, APPLIED, dropped, clock.text];
};

const trimTombstones: ScriptFunction = (run, keys, [steps, retention, limit]) =>
  new Tombstones(run, keys).trim(Number(steps), Number(retention), Number(limit));

/** The functions beside their scripts. */
export const MERGE_FUNCTIONS: readonly (readonly [Script, ScriptFunction])[] = [
  [MERGE, merge],
  [MERGE_DELETES, merge],
  [MERGE_CLEAR, mergeClear],
  [TRIM_TOMBSTONES, trimTombstones],
];
