/** The scripts of merges for a fake server; see fake-scripts.ts. */
import { createHash } from 'node:crypto';
import { APPLIED, KNOWN, OUTDATED } from '../../src/engine/engine.ts';
import { LATEST_UPDATE, PASS_THROUGH, PUT_IF_ABSENT } from '../../src/engine/merge-policy.ts';
import { DELETE } from '../../src/engine/mutation.ts';
import {
  CLEAR_MAP,
  EQUAL_VERSIONS,
  FOREIGN_ENTRY,
  LATER_EPOCH,
  MERGE,
  MERGE_DELETES,
  NUMBERS_BYTES,
  NUMBERS_PASSED,
  TRIM_TOMBSTONES,
} from '../../src/engine/redis/merge-scripts.ts';
import type { Script } from '../../src/engine/redis/scripts.ts';
import type { Value } from './fake-data.ts';
import { FakeTombstones } from './fake-tombstones.ts';
import {
  headLength,
  nowOf,
  originAt,
  originIn,
  packed,
  type ScriptFunction,
  type ScriptRun,
  versionIn,
} from './script-run.ts';

/** The code of MERGE if every event is merged. */
const MERGED = 0;
const OWN = '\0\0\0\0';

function doubles(...numbers: readonly number[]): string {
  const bytes = Buffer.alloc(8 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeDoubleBE(number, 8 * index);
  return bytes.toString('latin1');
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

  /** Moves to the next number, or to this one if it is later. */
  next(number: number): void {
    this.#latest = Math.max(this.#latest + 1, number);
  }

  /** Whether it was before the number when the script began. */
  isBefore(number: number): boolean {
    return this.#before < number;
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

/** The part of a header that two changes with the same version and content share. */
function stable(value: string): string {
  const flags = value.charCodeAt(0) % 16;
  return String.fromCharCode(flags) + value.slice((flags & 8) === 0 ? 9 : 15, originAt(value));
}

function isSame(held: string, head: string, value: string): boolean {
  return stable(held) === stable(head) && held.slice(headLength(held)) === value;
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
  /** The publishers that forward it, a character for each. */
  readonly publishers: string;
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
    publishers: numbers.slice(NUMBERS_BYTES),
  };
}

/** A run of MERGE. */
class Merging {
  readonly #run: ScriptRun;
  readonly #keys: readonly string[];
  readonly #args: readonly string[];
  readonly #tombstones: FakeTombstones;
  readonly #clock: FakePartitionClock;
  readonly #syncBegan: bigint;
  readonly #withoutRoom: number[];
  readonly #mapCount: number;
  #isMarked = false;
  #hasTombstones: boolean;
  buriedCount = 0;
  /** The entry that the member has to compare. */
  entry = '';

  constructor(run: ScriptRun, keys: readonly string[], args: readonly string[]) {
    this.#run = run;
    this.#keys = keys;
    this.#args = args;
    this.#tombstones = new FakeTombstones(run, keys);
    this.#clock = new FakePartitionClock(run, keys[2]!);
    this.#syncBegan = versionIn(args[2]!);
    this.#withoutRoom = new Array<number>(Number(args[8])).fill(0);
    this.#mapCount = (keys.length - 5 - Number(args[8])) / 2;
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
    const start = 9 + this.#mapCount + this.#withoutRoom.length;
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
        if (outcome === APPLIED && event.publishers !== '') this.#mark(event);
        if (outcome === OUTDATED && this.#syncBegan > 0n) notTaken++;
        last = event.number;
      }
      outcomes += String.fromCharCode(outcome);
    }
    this.#clock.save();
    call('SET', this.#keys[3]!, doubles(epoch, began, last, notTaken), 'EX', 86400);
    const steps = 2 + 2 * this.buriedCount;
    const [dropped] = this.#tombstones.trim(steps, Number(retention), Number(limit));
    const end = [this.#isMarked ? 1 : 0, ...this.#withoutRoom];
    return [code, notTaken, dropped, this.#clock.text, outcomes, this.entry, ...end];
  }

  #mark({ key, map, publishers }: Event): void {
    const { call, count, text } = this.#run;
    const name = this.#args[8 + map]!;
    const mark = `${name.length}:${name}${key}`;
    this.#clock.next(Number(this.#args[7]));
    for (const each of publishers) {
      const publisher = each.charCodeAt(0);
      const marks = this.#keys[4 + 2 * this.#mapCount + publisher]!;
      const room = Number(this.#args[8 + this.#mapCount + publisher]);
      if (count('ZCARD', marks) >= room && text('ZSCORE', marks, mark) === undefined) {
        this.#withoutRoom[publisher - 1]!++;
      } else {
        call('ZADD', marks, this.#clock.text, mark);
        this.#isMarked = true;
      }
    }
  }

  #merge(event: Event, isFirst: boolean): number {
    const { call, text } = this.#run;
    const { key, version, map } = event;
    const hash = this.#keys[3 + 2 * map]!;
    const name = this.#args[8 + map]!;
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
        ofKey = this.#tombstones.buryExpired(prefix + key, held, ofKey);
        this.#hasTombstones = true;
        this.buriedCount++;
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
    this.#tombstones.bury(prefix + key, version, 'd', event.head);
    this.#hasTombstones = true;
    this.buriedCount++;
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
      let origin = originIn(head);
      origin = origin.length > 5 ? OWN + origin.slice(4) : '';
      const flags = String.fromCharCode((origin === '' ? 16 : 32) + (head.charCodeAt(0) % 16));
      own = flags + packed(replaced + 1n) + head.slice(9, originAt(head)) + origin;
    }
    call('HSET', this.#keys[3 + 2 * map]!, key, own + value);
    if (ends > 0) {
      call('ZADD', this.#keys[4 + 2 * map]!, ends, key);
      call('ZADD', this.#keys[4]!, 'LT', ends, this.#args[8 + map]!);
    }
    return APPLIED;
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

const clearMap: ScriptFunction = (
  run,
  keys,
  [map = '', versionText = '', origin = '', number = '', ...place],
) => {
  const { call, text } = run;
  const [, , , hash = ''] = keys;
  const tombstones = new FakeTombstones(run, keys);
  const clock = new FakePartitionClock(run, keys[2]!);
  const field = `${map.length}:${map}`;
  const version = versionIn(versionText);
  const held = tombstones.get(field);
  const isBegun = version === held.version;
  if (isBegun && held.letter === 'c') return ['0', '', KNOWN, clock.text];
  if (held.version > version) return ['0', '', OUTDATED, clock.text];
  const server = /run_id:(\w{8})/.exec(text('INFO', 'server') ?? '')?.[1] ?? '';
  let cursor = isBegun && place[1] === server ? place[0]! : '0';
  if (!isBegun) tombstones.bury(field, version, 'C', origin);
  const isLatest = clock.isBefore(Number(number));
  clock.raise(version);
  clock.save();
  let [count, bytes] = [0, 0];
  if (isLatest) call('UNLINK', hash);
  else
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
  if (cursor === '0') tombstones.set(field, version, 'c', origin);
  return [cursor, server, APPLIED, clock.text];
};

const trimTombstones: ScriptFunction = (
  run,
  [hash = '', order = '', clears = '', ...sets],
  [steps, retention, limit],
) => {
  const waiting = sets.reduce((sum, marks) => sum + run.count('ZCARD', marks), 0);
  const isKept = (field: string): boolean => {
    if (sets.some((marks) => run.text('ZSCORE', marks, field) !== undefined)) return true;
    const [length = ''] = field.split(':', 1);
    const name = field.slice(length.length + 1);
    return name.length === Number(length) && run.text('HGET', clears, name) !== undefined;
  };
  const tombstones = new FakeTombstones(run, [hash, order]);
  return tombstones.trim(Number(steps), Number(retention), Number(limit) + waiting, isKept);
};

/** The functions beside their scripts. */
export const MERGE_FUNCTIONS: readonly (readonly [Script, ScriptFunction])[] = [
  [MERGE, merge],
  [MERGE_DELETES, merge],
  [CLEAR_MAP, clearMap],
  [TRIM_TOMBSTONES, trimTombstones],
];
