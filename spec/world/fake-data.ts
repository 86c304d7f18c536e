/**
 * The keys of a fake server and the commands on them, as far as the engine uses them. Keys, fields
 * and values are strings with a character per byte, so that their order is that of the bytes.
 */

import { scanTable } from './fake-scan.ts';

/** A reply, or an element of one. A Status is `+OK`. */
export type Value = string | number | null | Status | readonly Value[];

export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error reply; the message begins with its code. */
export class ErrorReply extends Error {}

interface Kinds {
  /** An array of one element. */
  readonly string: string[];
  readonly hash: Map<string, string>;
  readonly list: string[];
  readonly zset: Map<string, number>;
}

interface Key {
  readonly kind: keyof Kinds;
  readonly value: Kinds[keyof Kinds];
  /** Time at which the key expires, by the server; undefined for never. */
  expiresAt?: number | undefined;
}

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
/** Size up to which ZSCAN and HSCAN return all elements, as Redis does. */
const COMPACT_MAX = 128;

type Command = (data: FakeData, words: readonly string[]) => Value;

interface CommandRow {
  /** The least number of words, including the name; negative for an exact number. */
  readonly arity: number;
  readonly isWrite: boolean;
  /** Whether a server without memory refuses it. */
  readonly needsMemory: boolean;
  /** Whether all arguments are keys; otherwise only the first is. */
  readonly hasManyKeys: boolean;
  readonly run: Command;
}

export class FakeData {
  readonly #keys = new Map<string, Key>();
  readonly #now: () => number;
  readonly #run: () => string;

  /** `now`: the server's time, in ms. `run` returns the name of the server's run. */
  constructor(now: () => number, run = () => '') {
    this.#now = now;
    this.#run = run;
  }

  /** The name of the server's run, on which the order of scans depends. */
  get runName(): string {
    return this.#run();
  }

  /** Executes a command of DATA_COMMANDS. Throws ErrorReply. */
  run(words: readonly string[]): Value {
    return DATA_COMMANDS[words[0] ?? '']!.run(this, words);
  }

  /** The names of all keys. */
  get names(): string[] {
    return [...this.#keys.keys()].filter((key) => this.has(key));
  }

  has(key: string): boolean {
    return this.#found(key) !== undefined;
  }

  /** Returns the value of the key; undefined if there is none. */
  get<Kind extends keyof Kinds>(key: string, kind: Kind): Kinds[Kind] | undefined {
    const found = this.#found(key);
    if (found !== undefined && found.kind !== kind) throw new ErrorReply(WRONG_TYPE);
    return found?.value as Kinds[Kind] | undefined;
  }

  /** Returns the value of the key; adds an empty one if there is none. */
  make<Kind extends keyof Kinds>(key: string, kind: Kind): Kinds[Kind] {
    const found = this.get(key, kind);
    if (found !== undefined) return found;
    const value = (kind === 'list' || kind === 'string' ? [] : new Map()) as Kinds[Kind];
    this.#keys.set(key, { kind, value });
    return value;
  }

  delete(key: string): boolean {
    return this.has(key) && this.#keys.delete(key);
  }

  expire(key: string, seconds: number): boolean {
    const found = this.#found(key);
    if (found !== undefined) found.expiresAt = this.#now() + 1000 * seconds;
    return found !== undefined;
  }

  /** Removes the key if its value is empty. */
  trim(key: string): void {
    const found = this.#keys.get(key);
    if (found === undefined) return;
    const { value } = found;
    if ((Array.isArray(value) ? value.length : value.size) === 0) this.#keys.delete(key);
  }

  /** Replaces all keys by copies of those of another server. */
  copyFrom(other: FakeData): void {
    this.#keys.clear();
    for (const [key, { value, ...more }] of other.#keys) this.#keys.set(key, copyOf(more, value));
  }

  /** Moves the keys that `isMoved` selects to another server. Returns their number. */
  moveTo(other: FakeData, isMoved: (key: string) => boolean): number {
    const moved = [...this.#keys].filter(([key]) => isMoved(key));
    for (const [key, value] of moved) {
      this.#keys.delete(key);
      other.#keys.set(key, value);
    }
    return moved.length;
  }

  clear(): void {
    this.#keys.clear();
  }

  #found(key: string): Key | undefined {
    const found = this.#keys.get(key);
    if (found?.expiresAt === undefined || found.expiresAt > this.#now()) return found;
    this.#keys.delete(key);
    return undefined;
  }
}

function copyOf(more: Omit<Key, 'value'>, value: Key['value']): Key {
  return {
    ...more,
    value: Array.isArray(value) ? [...value] : new Map<string, never>(value as Map<string, never>),
  };
}

/** Members and scores in order, from the lowest. */
function ordered(set: ReadonlyMap<string, number> | undefined): [string, number][] {
  return [...(set ?? [])].sort(([a, first], [b, second]) =>
    first === second ? (a < b ? -1 : 1) : first - second,
  );
}

function lowest(set: ReadonlyMap<string, number>): string | undefined {
  let found: string | undefined;
  let least = 0;
  for (const [member, score] of set) {
    if (found !== undefined && (score > least || (score === least && member > found))) continue;
    found = member;
    least = score;
  }
  return found;
}

/**
 * Returns whether a score is in the range of a command: numbers, `-inf` or `+inf`; `min` may begin with
 * `(`, which excludes it.
 */
function inRange(min: string, max: string): (score: number) => boolean {
  const isOpen = min.startsWith('(');
  const [from, to] = [
    scoreOf(isOpen ? min.slice(1) : min, 'ERR min or max is not a float'),
    scoreOf(max, 'ERR min or max is not a float'),
  ];
  return (score) => (isOpen ? score > from : score >= from) && score <= to;
}

function scoreOf(text: string, fault = 'ERR value is not a valid float'): number {
  if (/^[+-]?inf$/.test(text))
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (text === '' || Number.isNaN(Number(text))) throw new ErrorReply(fault);
  return Number(text);
}

function integerOf(text: string, fault = 'ERR value is not an integer or out of range'): number {
  if (!/^(0|-?[1-9]\d*)$/.test(text)) throw new ErrorReply(fault);
  return Number(text);
}

/** The index in a list or set of `length` elements; -1 is the last. */
function indexOf(text: string, length: number): number {
  const index = integerOf(text);
  return index < 0 ? length + index : index;
}

function row(arity: number, run: Command, more: Partial<CommandRow> = {}): CommandRow {
  return { arity, run, isWrite: false, needsMemory: false, hasManyKeys: false, ...more };
}

const WRITES = { isWrite: true };
const GROWS = { isWrite: true, needsMemory: true };

/** The commands on data, by name. */
export const DATA_COMMANDS: Readonly<Record<string, CommandRow>> = {
  EXISTS: row(2, (data, [, ...keys]) => keys.filter((key) => data.has(key)).length, {
    hasManyKeys: true,
  }),
  UNLINK: row(2, (data, [, ...keys]) => keys.filter((key) => data.delete(key)).length, {
    ...WRITES,
    hasManyKeys: true,
  }),
  EXPIRE: row(
    -3,
    (data, [, key = '', seconds = '']) => (data.expire(key, integerOf(seconds)) ? 1 : 0),
    WRITES,
  ),
  GET: row(-2, (data, [, key = '']) => data.get(key, 'string')?.[0] ?? null),
  SET: row(3, set, GROWS),
  HGET: row(-3, (data, [, key = '', field = '']) => data.get(key, 'hash')?.get(field) ?? null),
  HMGET: row(3, (data, [, key = '', ...fields]) => {
    const hash = data.get(key, 'hash');
    return fields.map((field) => hash?.get(field) ?? null);
  }),
  HEXISTS: row(-3, (data, [, key = '', field = '']) => (data.get(key, 'hash')?.has(field) ? 1 : 0)),
  HLEN: row(-2, (data, [, key = '']) => data.get(key, 'hash')?.size ?? 0),
  HKEYS: row(-2, (data, [, key = '']) => [...(data.get(key, 'hash')?.keys() ?? [])]),
  HSET: row(4, hset, GROWS),
  HDEL: row(
    3,
    (data, [, key = '', ...fields]) => {
      const hash = data.get(key, 'hash');
      const count = fields.filter((field) => hash?.delete(field)).length;
      data.trim(key);
      return count;
    },
    WRITES,
  ),
  HSCAN: row(3, hscan),
  HINCRBY: row(
    -4,
    (data, [, key = '', field = '', by = '']) => {
      const change = integerOf(by);
      const value = data.get(key, 'hash')?.get(field) ?? '0';
      const sum = integerOf(value, 'ERR hash value is not an integer') + change;
      data.make(key, 'hash').set(field, `${sum}`);
      return sum;
    },
    GROWS,
  ),
  LLEN: row(-2, (data, [, key = '']) => data.get(key, 'list')?.length ?? 0),
  LINDEX: row(-3, (data, [, key = '', index = '']) => {
    const list = data.get(key, 'list') ?? [];
    return list[indexOf(index, list.length)] ?? null;
  }),
  LPOP: row(
    2,
    (data, [, key = '']) => {
      const item = data.get(key, 'list')?.shift() ?? null;
      data.trim(key);
      return item;
    },
    WRITES,
  ),
  RPUSH: row(
    3,
    (data, [, key = '', ...items]) => {
      const list = data.make(key, 'list');
      for (const item of items) list.push(item);
      return list.length;
    },
    GROWS,
  ),
  ZSCORE: row(-3, (data, [, key = '', member = '']) => {
    const score = data.get(key, 'zset')?.get(member);
    return score === undefined ? null : `${score}`;
  }),
  ZREMRANGEBYSCORE: row(
    -4,
    (data, [, key = '', min = '', max = '']) => {
      const set = data.get(key, 'zset');
      const isIn = inRange(min, max);
      const found = [...(set ?? [])].filter(([, score]) => isIn(score));
      for (const [member] of found) set!.delete(member);
      data.trim(key);
      return found.length;
    },
    WRITES,
  ),
  ZCARD: row(-2, (data, [, key = '']) => data.get(key, 'zset')?.size ?? 0),
  ZADD: row(4, zadd, GROWS),
  ZREM: row(
    3,
    (data, [, key = '', ...members]) => {
      const set = data.get(key, 'zset');
      const count = members.filter((member) => set?.delete(member)).length;
      data.trim(key);
      return count;
    },
    WRITES,
  ),
  ZPOPMIN: row(
    2,
    (data, [, key = '']) => {
      const set = data.get(key, 'zset');
      const member = set && lowest(set);
      if (set === undefined || member === undefined) return [];
      const score = set.get(member);
      set.delete(member);
      data.trim(key);
      return [member, `${score}`];
    },
    WRITES,
  ),
  ZCOUNT: row(-4, (data, [, key = '', min = '', max = '']) => {
    const isIn = inRange(min, max);
    return [...(data.get(key, 'zset')?.values() ?? [])].filter(isIn).length;
  }),
  ZRANGE: row(4, (data, [, key = '', first = '', last = '', ...options]) => {
    const all = ordered(data.get(key, 'zset'));
    const from = Math.max(0, indexOf(first, all.length));
    const found = all.slice(from, indexOf(last, all.length) + 1);
    return options.length > 0 ? withScores(found) : found.map(([member]) => member);
  }),
  ZRANGEBYSCORE: row(4, (data, [, key = '', min = '', max = '', ...options]) => {
    const isIn = inRange(min, max);
    const found = ordered(data.get(key, 'zset')).filter(([, score]) => isIn(score));
    const limitAt = options.indexOf('LIMIT');
    const [from = '0', count = '-1'] = limitAt < 0 ? [] : options.slice(limitAt + 1);
    const start = integerOf(from);
    const end = integerOf(count) < 0 ? undefined : start + integerOf(count);
    const part = found.slice(start, end);
    return options[0] === 'WITHSCORES' ? withScores(part) : part.map(([member]) => member);
  }),
  ZSCAN: row(3, (data, [, key = '', cursor = '', , count = '10']) => {
    const all = ordered(data.get(key, 'zset'));
    if (all.length <= COMPACT_MAX) return ['0', withScores(all)];
    const from = integerOf(cursor, 'ERR invalid cursor');
    const end = from + integerOf(count);
    return [`${end >= all.length ? 0 : end}`, withScores(all.slice(from, end))];
  }),
};

/** Of the options only EX or GET. */
function set(data: FakeData, [, key = '', text = '', option, seconds]: readonly string[]): Value {
  if (option === 'GET' && seconds === undefined) {
    const [old = null] = data.get(key, 'string') ?? [];
    data.delete(key);
    data.make(key, 'string').push(text);
    return old;
  }
  if (option !== undefined && (option !== 'EX' || seconds === undefined)) {
    throw new ErrorReply('ERR syntax error');
  }
  const lifetime = seconds === undefined ? undefined : integerOf(seconds);
  if (lifetime !== undefined && lifetime <= 0) {
    throw new ErrorReply("ERR invalid expire time in 'set' command");
  }
  data.delete(key);
  data.make(key, 'string').push(text);
  if (lifetime !== undefined) data.expire(key, lifetime);
  return new Status('OK');
}

function hset(data: FakeData, [, key = '', ...pairs]: readonly string[]): Value {
  if (pairs.length % 2 === 1) throw wrongCount('hset');
  const hash = data.make(key, 'hash');
  const { size } = hash;
  for (let at = 0; at < pairs.length; at += 2) hash.set(pairs[at]!, pairs[at + 1]!);
  return hash.size - size;
}

function hscan(
  data: FakeData,
  [, key = '', cursor = '', , count = '10']: readonly string[],
): Value {
  const from = Number(cursor);
  if (!/^\d+$/.test(cursor)) throw new ErrorReply('ERR invalid cursor');
  const hash = data.get(key, 'hash') ?? new Map<string, string>();
  const names = [...hash.keys()];
  const [next, found] =
    names.length <= COMPACT_MAX
      ? ['0', names]
      : scanTable(names, data.runName, from % 2 ** 32, integerOf(count));
  return [next, found.flatMap((name) => [name, hash.get(name)!])];
}

/** Of the options only LT. */
function zadd(data: FakeData, [, key = '', ...words]: readonly string[]): Value {
  const isLess = words[0] === 'LT';
  const pairs = isLess ? words.slice(1) : words;
  if (pairs.length % 2 === 1 || pairs.length === 0) throw new ErrorReply('ERR syntax error');
  const scores = pairs.filter((_, at) => at % 2 === 0).map((text) => scoreOf(text));
  const set = data.make(key, 'zset');
  const { size } = set;
  scores.forEach((score, at) => {
    const member = pairs[2 * at + 1]!;
    if (!isLess || score < (set.get(member) ?? Number.POSITIVE_INFINITY)) set.set(member, score);
  });
  return set.size - size;
}

function withScores(found: readonly (readonly [string, number])[]): string[] {
  return found.flatMap(([member, score]) => [member, `${score}`]);
}

export function wrongCount(name: string): ErrorReply {
  return new ErrorReply(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
}

/** Returns the keys of a command on data. */
export function keysOf(words: readonly string[]): readonly string[] {
  const { hasManyKeys } = DATA_COMMANDS[words[0] ?? '']!;
  return hasManyKeys ? words.slice(1) : words.slice(1, 2);
}

/** Whether the command has as many words as it needs. */
export function hasRightCount(words: readonly string[]): boolean {
  const { arity } = DATA_COMMANDS[words[0] ?? '']!;
  return arity < 0 ? words.length === -arity : words.length >= arity;
}
