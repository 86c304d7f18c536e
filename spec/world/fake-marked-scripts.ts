/** The scripts of marked changes for a fake server; see fake-scripts.ts. */
import {
  ADD_MARKED,
  CONFIRM_READ,
  DELETE_MARKED,
  END_CLEAR,
  NOTE_CLEAR,
  READ_WAITING,
  REPLICATION_REFUSED,
  SET_MARKED,
  SET_MARKED_IF,
  SET_MARKED_ONCE,
  SWEEP_MARKED,
} from '../../src/engine/redis/marked-scripts.ts';
import { setVersion } from '../../src/engine/redis/partition-clock.ts';
import type { Script } from '../../src/engine/redis/scripts.ts';
import { Version } from '../../src/engine/version.ts';
import type { Value } from './fake-data.ts';
import { setSum, sumOf, sweepMap } from './fake-map-steps.ts';
import { FakeTombstones } from './fake-tombstones.ts';
import {
  isMet,
  packed,
  present,
  type ScriptFunction,
  type ScriptRun,
  versionIn,
} from './script-run.ts';

const TRIM_STEPS = 4;
const TOMBSTONE_BYTES = 13;

/** The marks of publishers in a run of a script. */
class FakeMarks {
  readonly #run: ScriptRun;
  readonly #keys: readonly string[];
  readonly #limits: readonly string[];
  readonly #withoutRoom = new Set<number>();
  /** The version of the change if the clock has passed that of the member, otherwise empty. */
  later = '';
  /** The number of the change. */
  number = '';

  constructor(run: ScriptRun, keys: readonly string[], limits: readonly string[]) {
    this.#run = run;
    this.#keys = keys;
    this.#limits = limits;
  }

  isRefused(mark: string): boolean {
    const { count, text } = this.#run;
    for (const [index, key] of this.#keys.entries()) {
      const limit = Number(this.#limits[index]);
      if (count('ZCARD', key) < Math.abs(limit)) continue;
      if (text('ZSCORE', key, mark) !== undefined) continue;
      if (limit < 0) return true;
      this.#withoutRoom.add(index);
    }
    return false;
  }

  tick(clock: string, number: string): void {
    const { call, text } = this.#run;
    const last = Number(text('SET', clock, number, 'GET') ?? 0);
    this.number = number;
    if (last < Number(number)) return;
    this.number = `${last + 1}`;
    call('SET', clock, this.number);
    const { high, low } = setVersion(new Version(), last + 1);
    const bytes = Buffer.alloc(8);
    bytes.writeInt32BE(high, 0);
    bytes.writeInt32BE(low, 4);
    this.later = bytes.toString('latin1');
  }

  /** Replaces the version in a stored value, or its header, if the change has another one. */
  versioned(value: string): string {
    return this.later === '' ? value : value[0] + this.later + value.slice(9);
  }

  add(mark: string): void {
    for (const [index, key] of this.#keys.entries()) {
      if (!this.#withoutRoom.has(index)) this.#run.call('ZADD', key, this.number, mark);
    }
  }

  reply(reply: Value, later: string, dropped: number): Value {
    if (later === '' && this.#withoutRoom.size === 0 && dropped === 0) return reply;
    const places = [...this.#withoutRoom].map((index) => String.fromCharCode(index + 1));
    return [reply, later, places.join(''), dropped];
  }
}

const setMarkedOnce: ScriptFunction = (
  run,
  [hash = '', clock = '', set = ''],
  [field = '', value = '', prefix = '', number = '', limit = ''],
) => {
  const { call, count } = run;
  const marks = new FakeMarks(run, [set], [limit]);
  marks.tick(clock, number);
  const isNew = count('ZADD', set, marks.number, prefix + field) === 1;
  const isFull = isNew && count('ZCARD', set) > Math.abs(Number(limit));
  if (isFull) call('ZREM', set, prefix + field);
  if (isFull && Number(limit) < 0) return REPLICATION_REFUSED;
  const made = count('HSET', hash, field, marks.versioned(value));
  return isFull || marks.later !== '' ? [made, marks.later, isFull ? '\x01' : '', 0] : made;
};

const setMarked: ScriptFunction = (
  run,
  [hash = '', clock = '', ...sets],
  [field = '', value = '', prefix = '', number = '', ...limits],
) => {
  const marks = new FakeMarks(run, sets, limits);
  if (marks.isRefused(prefix + field)) return REPLICATION_REFUSED;
  marks.tick(clock, number);
  const made = run.count('HSET', hash, field, marks.versioned(value));
  marks.add(prefix + field);
  return marks.reply(made, marks.later, 0);
};

/** Removes an expired entry. Returns the number of tombstones that were dropped early. */
function buryStored(
  run: ScriptRun,
  [hash, tombstones, order]: readonly [string, string, string],
  field: string,
  mark: string,
  stored: string,
  [retention = '', limit = '']: readonly string[],
): number {
  const buried = new FakeTombstones(run, [tombstones, order]);
  buried.buryExpired(mark, stored);
  run.call('HDEL', hash, field);
  return buried.trim(TRIM_STEPS, Number(retention), Number(limit))[0];
}

const setMarkedIf: ScriptFunction = (
  run,
  [hash = '', ends = '', maps = '', clock = '', tombstones = '', order = '', ...sets],
  [field = '', value = '', end = '', ...more],
) => {
  const { call, count, text } = run;
  const stored = text('HGET', hash, field);
  const held = present(run, stored);
  const version = held?.slice(1, 9) ?? '';
  if (!isMet(version, more)) return version;
  const [, , , map = '', number = '', ...limits] = more;
  const marks = new FakeMarks(run, sets, limits.slice(2));
  const mark = `${map.length}:${map}${field}`;
  if (marks.isRefused(mark)) return REPLICATION_REFUSED;
  marks.tick(clock, number);
  let dropped = 0;
  if (stored !== undefined && held === undefined) {
    dropped = buryStored(run, [hash, tombstones, order], field, mark, stored, limits);
  }
  const made = count('HSET', hash, field, marks.versioned(value));
  if (end !== '0') {
    call('ZADD', ends, end, field);
    call('ZADD', maps, 'LT', end, map);
  }
  marks.add(mark);
  return marks.reply(made, marks.later, dropped);
};

const addMarked: ScriptFunction = (run, keys, args) => {
  const [hash = '', , , , clock = '', tombstones = '', order = '', ...sets] = keys;
  const [field = '', , , map = '', , , number = '', ...limits] = args;
  const stored = run.text('HGET', hash, field);
  const held = present(run, stored);
  const sum = sumOf(run, held, args);
  if (sum === undefined) return 0;
  const marks = new FakeMarks(run, sets, limits.slice(2));
  const mark = `${map.length}:${map}${field}`;
  if (marks.isRefused(mark)) return REPLICATION_REFUSED;
  marks.tick(clock, number);
  let dropped = 0;
  if (stored !== undefined && held === undefined) {
    dropped = buryStored(run, [hash, tombstones, order], field, mark, stored, limits);
  }
  setSum(run, keys, args, { ...sum, head: marks.versioned(sum.head) });
  marks.add(mark);
  return marks.reply(sum.text, marks.later, dropped);
};

const deleteMarked: ScriptFunction = (
  run,
  [hash = '', clock = '', tombstones = '', order = '', ...sets],
  [field = '', presence = '', oneOf = '', noneOf = '', version = '', prefix = '', ...more],
) => {
  const stored = run.text('HGET', hash, field);
  const held = present(run, stored);
  const current = held?.slice(1, 9) ?? '';
  if (!isMet(current, [presence, oneOf, noneOf])) return current;
  if (stored === undefined) return 0;
  const [number = '', ...limits] = more;
  const marks = new FakeMarks(run, sets, limits.slice(2));
  const mark = prefix + field;
  if (held === undefined) {
    const dropped = buryStored(run, [hash, tombstones, order], field, mark, stored, limits);
    return marks.reply(0, '', dropped);
  }
  if (marks.isRefused(mark)) return REPLICATION_REFUSED;
  marks.tick(clock, number);
  const buried = new FakeTombstones(run, [tombstones, order]);
  buried.bury(mark, versionIn(marks.later || version), 'd', '');
  run.call('HDEL', hash, field);
  marks.add(mark);
  return marks.reply(1, '', buried.trim(TRIM_STEPS, Number(limits[0]), Number(limits[1]))[0]);
};

const sweepMarked: ScriptFunction = (run, keys, args) => {
  const buried = new FakeTombstones(run, keys.slice(3));
  const [, map = '', retention, limit] = args;
  let count = 0;
  const left = sweepMap(run, keys, args, (field, value) => {
    buried.buryExpired(`${map.length}:${map}${field}`, value);
    count++;
  });
  return [left, buried.trim(2 + 2 * count, Number(retention), Number(limit))[0]];
};

const noteClear: ScriptFunction = (
  run,
  [notes = '', tombstones = '', order = '', ...sets],
  [map = '', version = '', origin = '', ...limits],
) => {
  const mark = `${map.length}:${map}`;
  const note = run.text('HGET', notes, map);
  const held = new FakeTombstones(run, [tombstones, order]).get(mark).version;
  const before = note === undefined ? held : versionIn(note);
  if (versionIn(version) <= before) return note === undefined ? '' : packed(before);
  if (new FakeMarks(run, sets, limits).isRefused(mark)) return REPLICATION_REFUSED;
  run.call('HSET', notes, map, version + origin);
  return 1;
};

const endClear: ScriptFunction = (
  run,
  [notes = '', clock = '', ...sets],
  [map = '', version = '', number = '', ...limits],
) => {
  if (run.text('HGET', notes, map)?.slice(0, 8) !== version) return 0;
  const mark = `${map.length}:${map}`;
  const marks = new FakeMarks(run, sets, limits);
  marks.isRefused(mark);
  marks.tick(clock, number);
  run.call('HDEL', notes, map);
  marks.add(mark);
  return marks.reply(1, '', 0);
};

/** Returns the tombstone of a mark, or that of its map if an entry was set after that clear. */
function removalOf(
  { text }: ScriptRun,
  tombstones: string,
  mark: string,
  map: string,
  entry: string,
) {
  const removal = text('HGET', tombstones, mark) ?? '';
  const ofMap = entry.length < 9 ? '' : (text('HGET', tombstones, map) ?? '');
  if (ofMap.length < TOMBSTONE_BYTES || versionIn(entry, 1) <= versionIn(ofMap)) return removal;
  if (removal.length < TOMBSTONE_BYTES) return ofMap;
  return versionIn(ofMap) > versionIn(removal) ? ofMap : removal;
}

const readWaiting: ScriptFunction = (
  run,
  [tombstones = '', ...hashes],
  [limit = '', longest = '', ...marks],
) => {
  const reply: string[] = [];
  let bytes = 0;
  for (let at = 0; at < marks.length; at += 3) {
    const [hash, prefix, mark = ''] = marks.slice(at, at + 3);
    const key = mark.slice(Number(prefix));
    const entry = key === '' ? '' : (run.text('HGET', hashes[Number(hash) - 1]!, key) ?? '');
    bytes += mark.length + entry.length;
    const isLong = entry.length > Number(longest);
    if (reply.length > 0 && (isLong || bytes > Number(limit))) break;
    reply.push(entry, removalOf(run, tombstones, mark, mark.slice(0, Number(prefix)), entry));
    if (isLong) break;
  }
  return reply;
};

const confirmRead: ScriptFunction = ({ call, text }, [key = '']) => {
  const clock = text('GET', key);
  if (clock !== undefined) call('SET', key, clock);
  return 1;
};

/** The functions beside their scripts. */
export const MARKED_FUNCTIONS: readonly (readonly [Script, ScriptFunction])[] = [
  [SET_MARKED_ONCE, setMarkedOnce],
  [SET_MARKED, setMarked],
  [SET_MARKED_IF, setMarkedIf],
  [ADD_MARKED, addMarked],
  [DELETE_MARKED, deleteMarked],
  [SWEEP_MARKED, sweepMarked],
  [NOTE_CLEAR, noteClear],
  [END_CLEAR, endClear],
  [READ_WAITING, readWaiting],
  [CONFIRM_READ, confirmRead],
];
