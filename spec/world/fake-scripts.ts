/**
 * The scripts of the engine for a fake server: beside each script a function that does the same,
 * command by command. `spec/peers/fake-store.peers.ts` compares them on real servers.
 */
import { createHash } from 'node:crypto';
import {
  ADD,
  DELETE_IF,
  PURGE,
  SET_IF,
  SET_WITH_END,
  SWEEP,
  TOUCH,
} from '../../src/engine/redis/map-scripts.ts';
import {
  COUNT,
  GIVE_BACK,
  HOLD_DIGITS,
  OFFER,
  PEEK,
  PUT_OUT,
  REMOVE,
  TAKE,
} from '../../src/engine/redis/queue-scripts.ts';
import { LIST_ENTRIES } from '../../src/engine/redis/scan-script.ts';
import { ErrorReply, type Value } from './fake-data.ts';
import { listEntries } from './fake-list-script.ts';
import { setSum, sumOf, sweepMap } from './fake-map-steps.ts';
import { MARKED_FUNCTIONS } from './fake-marked-scripts.ts';
import { MEMBER_FUNCTIONS } from './fake-member-scripts.ts';
import { MERGE_FUNCTIONS } from './fake-merge-scripts.ts';
import { isMet, present, type ScriptFunction, type ScriptRun } from './script-run.ts';

const WAITING_SECONDS = 86400;
const TAKEN_BYTES_MAX = 1024 * 1024;
/** SHA-1 by text: each server loads the same scripts, for each connection. */
const SHAS = new Map<string, string>();

const setWithEnd: ScriptFunction = (
  { call, count },
  [hash = '', ends = '', maps = ''],
  [field = '', value = '', end = '', map = ''],
) => {
  const made = count('HSET', hash, field, value);
  call('ZADD', ends, end, field);
  call('ZADD', maps, 'LT', end, map);
  return made;
};

const setIf: ScriptFunction = (
  run,
  [hash = '', ends = '', maps = ''],
  [field = '', value = '', end = '', ...more],
) => {
  const version = present(run, run.text('HGET', hash, field))?.slice(1, 9) ?? '';
  if (!isMet(version, more)) return version;
  const [, , , map = ''] = more;
  const made = run.count('HSET', hash, field, value);
  if (end !== '0') {
    run.call('ZADD', ends, end, field);
    run.call('ZADD', maps, 'LT', end, map);
  }
  return made;
};

const add: ScriptFunction = (run, keys, args) => {
  const sum = sumOf(run, present(run, run.text('HGET', keys[0]!, args[0]!)), args);
  return sum === undefined ? 0 : setSum(run, keys, args, sum);
};

const deleteIf: ScriptFunction = (run, [hash = ''], [field = '', ...condition]) => {
  const version = present(run, run.text('HGET', hash, field))?.slice(1, 9) ?? '';
  if (!isMet(version, condition)) return version;
  run.call('HDEL', hash, field);
  return 1;
};

const sweep: ScriptFunction = (run, keys, args) => sweepMap(run, keys, args, () => {});

const purge: ScriptFunction = (
  { call, count },
  [hash = '', ends = '', maps = ''],
  [from = '', limit = '', map = ''],
) => {
  let cursor = 0;
  if (count('EXISTS', hash) === 0) call('UNLINK', ends);
  else {
    const [next, found] = call('ZSCAN', ends, from, 'COUNT', limit) as [string, string[]];
    cursor = Number(next);
    for (let at = 0; at < found.length; at += 2) {
      if (count('HEXISTS', hash, found[at]!) === 0) call('ZREM', ends, found[at]!);
    }
  }
  if (count('EXISTS', ends) === 0) call('ZREM', maps, map);
  return cursor;
};

const touch: ScriptFunction = (
  run,
  [hash = '', ends = ''],
  [field = '', version = '', end = '', endMs = ''],
) => {
  const held = present(run, run.text('HGET', hash, field));
  if (held?.slice(1, 9) !== version) return 0;
  run.call('HSET', hash, field, held.slice(0, 9) + end + held.slice(15));
  run.call('ZADD', ends, endMs, field);
  return 1;
};

function wake({ call, count, texts }: ScriptRun, waiting: string, channel: string, queue: string) {
  for (;;) {
    const [first] = texts('ZRANGE', waiting, 0, 0);
    if (first === undefined) return false;
    let listeners: number;
    try {
      listeners = count('SPUBLISH', channel + first, queue);
    } catch (error) {
      if (error instanceof ErrorReply) return false;
      throw error;
    }
    call('ZREM', waiting, first);
    if (listeners > 0) return true;
  }
}

function numberBytes(number: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(number));
  return bytes.toString('latin1');
}

const offer: ScriptFunction = (
  run,
  [items = '', returned = '', numbers = '', waiting = ''],
  [limit = '', channel = '', queue = '', takesNext = '', turn = '', ...parts],
) => {
  const { call, count, text, texts } = run;
  const capacity = Number(limit);
  let added = parts.length / 2;
  if (capacity > 0) {
    const used = count('LLEN', items) + count('ZCARD', returned);
    added = Math.min(added, capacity - used - Number(text('HGET', numbers, 'h') ?? 0));
    if (added <= 0) return 0;
  }
  let last = count('HINCRBY', numbers, 'n', added);
  if (last === added) {
    const [seconds, micros] = texts('TIME');
    last = Number(seconds) * 1_000_000 + Number(micros) + added;
    call('HSET', numbers, 'n', last);
  }
  if (turn !== '') call('HSET', numbers, turn, last - added);
  const made = Array.from({ length: added }, (_, at) => {
    return parts[2 * at]! + numberBytes(last - added + at + 1) + parts[2 * at + 1]!;
  });
  call('RPUSH', items, ...made);
  if (takesNext === '') {
    for (let left = added; left > 0 && wake(run, waiting, channel, queue); ) left--;
  }
  return added;
};

const peek: ScriptFunction = ({ call, texts }, [items = '', returned = '']) =>
  texts('ZRANGE', returned, 0, 0)[0] ?? call('LINDEX', items, 0);

const sizeOfQueue: ScriptFunction = ({ count }, [items = '', returned = '']) =>
  count('LLEN', items) + count('ZCARD', returned);

function splitHolds(holds: string): string[] {
  return holds.match(new RegExp(`.{1,${HOLD_DIGITS}}`, 'gs')) ?? [];
}

function drop({ call }: ScriptRun, marks: string, holds: string, queue: string): void {
  for (const hold of splitHolds(holds)) call('HDEL', marks, hold + queue);
}

const take: ScriptFunction = (
  run,
  [items = '', returned = '', numbers = '', waiting = '', held = '', marks = ''],
  [
    queue = '',
    holds = '',
    drops = '',
    member = '',
    more = '',
    channel = '',
    turn = '',
    before = '',
  ],
) => {
  const { call, count, text, texts } = run;
  const fields = splitHolds(holds).map((hold) => hold + queue);
  const [out, ...marked] = call('HMGET', marks, '', ...fields) as (string | null)[];
  if (out !== null) return -1;
  const reply: Value[] = [0];
  let taken = 0;
  let bytes = 0;
  let room = Number.POSITIVE_INFINITY;
  let open: string | undefined;
  const ends = turn === '' ? [] : (call('HMGET', numbers, turn, 'n') as (string | null)[]);
  const [first = null, last = null] = ends;
  if (first !== null) {
    room = count('LLEN', items) + count('ZCARD', returned) - Number(last) + Number(first);
  }
  for (const [at, field] of fields.entries()) {
    let item = marked[at] ?? text('HGET', held, field);
    const mayTake = room + Number(before.slice(2 * at, 2 * at + 2)) > 0;
    if (item === undefined && mayTake && bytes < TAKEN_BYTES_MAX) {
      item = texts('ZPOPMIN', returned)[0];
      try {
        item ??= text('LPOP', items);
      } catch (error) {
        if (!(error instanceof ErrorReply) || taken === 0) throw error;
      }
      if (item !== undefined) {
        call('HSET', held, field, item);
        taken++;
        room--;
      }
    }
    if (item === undefined && mayTake) {
      open = field.slice(0, HOLD_DIGITS);
      break;
    }
    bytes += item?.length ?? 0;
    reply.push(item ?? 0);
  }
  if (first !== null) call('HDEL', numbers, turn);
  if (taken > 0) call('HINCRBY', numbers, 'h', taken);
  if (drops !== '') drop(run, marks, drops, queue);
  if (member === '') {
    if (bytes >= TAKEN_BYTES_MAX) reply[0] = 1;
    return reply;
  }
  if (count('EXISTS', items, returned) > 0) {
    reply[0] = 1;
    if (open === undefined && more !== '1') wake(run, waiting, channel, queue);
  } else if (open !== undefined || more === '1') {
    call('ZADD', waiting, open ?? holds.slice(-HOLD_DIGITS), member);
    call('EXPIRE', waiting, WAITING_SECONDS);
  } else call('ZREM', waiting, member);
  return reply;
};

const remove: ScriptFunction = (
  run,
  [items = '', returned = '', numbers = '', held = '', marks = ''],
  [queue = '', holds = '', drops = ''],
) => {
  const { call, count } = run;
  let removed = 0;
  const digits = splitHolds(holds).map((hold) => {
    const field = hold + queue;
    const isHeld = count('HDEL', held, field) === 1;
    if (isHeld) removed++;
    else if (count('HDEL', marks, field) === 0) return '0';
    call('HSET', marks, field, '');
    return '1';
  });
  if (removed > 0 && count('HINCRBY', numbers, 'h', -removed) <= 0) {
    if (count('EXISTS', items, returned) === 0) call('UNLINK', numbers);
  }
  if (drops !== '') drop(run, marks, drops, queue);
  return digits.join('');
};

const giveBack: ScriptFunction = (
  run,
  [returned = '', numbers = '', waiting = '', held = '', marks = ''],
  [queue = '', hold = '', removed = '', channel = '', takesNext = ''],
) => {
  const { call, count, text } = run;
  const field = hold + queue;
  let item = text('HGET', held, field);
  if (item !== undefined) {
    call('HDEL', held, field);
    call('HINCRBY', numbers, 'h', -1);
  } else if (removed !== '' && count('HDEL', marks, field) === 1) item = removed;
  else return 0;
  const number = Buffer.from(item.slice(1, 9), 'latin1').readBigUInt64BE();
  call('ZADD', returned, Number(number), item);
  if (takesNext === '') wake(run, waiting, channel, queue);
  return 1;
};

const putOut: ScriptFunction = (
  { call, count, texts },
  [held = '', marks = ''],
  [seconds = ''],
) => {
  const fields = texts('HKEYS', held);
  if (fields.length > 0 || count('EXISTS', marks) === 1) {
    call('HSET', marks, '', '');
    call('EXPIRE', marks, seconds);
  }
  return fields;
};

/** The functions by the SHA-1 of their scripts. */
export const SCRIPT_FUNCTIONS: ReadonlyMap<string, ScriptFunction> = new Map(
  (
    [
      [SET_WITH_END, setWithEnd],
      [SET_IF, setIf],
      [ADD, add],
      [DELETE_IF, deleteIf],
      [SWEEP, sweep],
      [PURGE, purge],
      [TOUCH, touch],
      [OFFER, offer],
      [PEEK, peek],
      [COUNT, sizeOfQueue],
      [TAKE, take],
      [REMOVE, remove],
      [GIVE_BACK, giveBack],
      [PUT_OUT, putOut],
      [LIST_ENTRIES, listEntries],
      ...MEMBER_FUNCTIONS,
      ...MERGE_FUNCTIONS,
      ...MARKED_FUNCTIONS,
    ] as const
  ).map(([{ source }, run]) => [shaOf(source), run]),
);

/** Returns the SHA-1 of a script, or of an address. */
export function shaOf(source: string): string {
  let sha = SHAS.get(source);
  if (sha === undefined) {
    sha = createHash('sha1').update(source, 'latin1').digest('hex');
    SHAS.set(source, sha);
  }
  return sha;
}
