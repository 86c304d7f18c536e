/** Random commands and scripts, on a fake server and on a real one. */
import assert from 'node:assert/strict';
import type { Random } from '../../bench/harness.ts';
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
  ADD_MARKED,
  CONFIRM_READ,
  DELETE_MARKED,
  END_CLEAR,
  NOTE_CLEAR,
  READ_WAITING,
  SET_MARKED,
  SET_MARKED_IF,
  SET_MARKED_ONCE,
  SWEEP_MARKED,
} from '../../src/engine/redis/marked-scripts.ts';
import { CLEAR_MAP, TRIM_TOMBSTONES } from '../../src/engine/redis/merge-scripts.ts';
import { setVersion } from '../../src/engine/redis/partition-clock.ts';
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
import type { Script } from '../../src/engine/redis/scripts.ts';
import { Version } from '../../src/engine/version.ts';
import { shaOf } from '../world/fake-scripts.ts';
import type { FakeServer } from '../world/fake-server.ts';
import { CommandPair, type PlainReply } from './command-pair.ts';

const SCRIPTS = [
  ...[SET_WITH_END, SET_IF, ADD, DELETE_IF, SWEEP, PURGE, TOUCH],
  ...[OFFER, PEEK, COUNT, TAKE, REMOVE, GIVE_BACK, PUT_OUT],
  LIST_ENTRIES,
  ...[SET_MARKED_ONCE, SET_MARKED, SET_MARKED_IF, ADD_MARKED, DELETE_MARKED, SWEEP_MARKED],
  ...[NOTE_CLEAR, CLEAR_MAP, END_CLEAR, TRIM_TOMBSTONES, READ_WAITING, CONFIRM_READ],
];
/** Number of names of each kind: few, so that commands meet the data of others. */
const NAMES = 3;
const FIELDS = 9;
const HOLDS = 30;
const PAST_MS = 1_000_000_000_000;
const FUTURE_MS = 200_000_000_000_000;
/** A time in microseconds, as the clock of a partition counts it. */
const CLOCK_MICROS = 1_700_000_000_000_000;
const [READING, CLEARING] = [READ_WAITING, CLEAR_MAP].map(({ source }) => shaOf(source));
/** Commands whose replies have no order. */
const UNORDERED = ['HKEYS', shaOf(PUT_OUT.source)];

/** Returns the number of commands. */
export async function commandRound(
  fake: FakeServer,
  port: number,
  random: Random,
  count: number,
): Promise<number> {
  const pair = new CommandPair(fake, port);
  try {
    for (const { source } of SCRIPTS) await pair.send(['SCRIPT', 'LOAD', source]);
    const commands = new RandomCommands(random);
    for (let left = count; left > 0; left--) {
      for (const words of commands.next()) {
        const [, sha = ''] = words;
        const isOrdered = !UNORDERED.some((name) => name === words[0] || name === sha);
        const [own, real] = await pair.send(words);
        const replies = [own, real].map((reply) => {
          if (sha === READING && Array.isArray(reply)) return reply.map(withoutTime);
          // The name of the server's run follows the cursor.
          if (sha === CLEARING && Array.isArray(reply)) return reply.toSpliced(1, 1);
          return isOrdered || !Array.isArray(reply) ? reply : [...reply].sort();
        });
        assert.deepEqual(replies[0], replies[1], JSON.stringify(words));
      }
    }
  } finally {
    pair.end();
  }
  return pair.count;
}

/** Returns an entry, or a tombstone without the time at which it was made. */
function withoutTime(value: PlainReply, index: number): PlainReply {
  if (index % 2 === 0 || typeof value !== 'string') return value;
  return value.slice(0, 8) + value.slice(12);
}

class RandomCommands {
  readonly #random: Random;
  /** The last number that an item may have. */
  #number = 1_000_000;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns a command, or several that belong together. */
  next(): string[][] {
    const kind = this.#random.below(13);
    if (kind < 3) return [this.#plain()];
    if (kind < 6) return [this.#ofMap()];
    if (kind < 9) return this.#ofQueue();
    return kind < 10 ? this.#ofList() : this.#ofMarks();
  }

  #chosen<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)]!;
  }

  #name(kind: string): string {
    return `${kind}${this.#random.below(NAMES)}`;
  }

  #field(): string {
    return `field ${this.#random.below(FIELDS)}\xff`;
  }

  #hold(): string {
    return `${this.#random.below(HOLDS)}`.padStart(HOLD_DIGITS, '0');
  }

  #holds(most: number): string {
    const first = this.#random.below(HOLDS);
    const count = 1 + this.#random.below(most);
    return Array.from({ length: count }, (_, at) =>
      `${first + at}`.padStart(HOLD_DIGITS, '0'),
    ).join('');
  }

  #version(): string {
    return `version${this.#random.below(3)}`;
  }

  /** A version near those of the clock. */
  #ofClock(): string {
    const { high, low } = setVersion(new Version(), CLOCK_MICROS + this.#random.below(2000));
    const bytes = Buffer.alloc(8);
    bytes.writeInt32BE(high, 0);
    bytes.writeInt32BE(low, 4);
    return bytes.toString('latin1');
  }

  /** A time in the past or in the future, in ms. */
  #time(): number {
    return this.#chosen([PAST_MS, FUTURE_MS]) + this.#random.below(5);
  }

  /** A value in its stored form, with or without an expiry time. */
  #value(endMs = this.#chosen([0, this.#time()])): string {
    const end = Buffer.alloc(6);
    end.writeUIntBE(endMs, 0, 6);
    const flags = endMs === 0 ? '\x10' : '\x14';
    const text = 'x'.repeat(this.#random.below(100));
    return `${flags}${this.#version()}${endMs === 0 ? '' : end.toString('latin1')}${text}`;
  }

  #plain(): string[] {
    const field = this.#field();
    const hash = this.#name('hash');
    const set = this.#name('ends');
    const list = this.#name('items');
    const anyKey = this.#chosen([hash, set, list, this.#name('returned'), this.#name('numbers')]);
    const range = [
      this.#chosen(['-inf', `${PAST_MS}`, `${this.#time()}`]),
      this.#chosen(['+inf', `${this.#time()}`]),
    ];
    return this.#chosen([
      ['EXISTS', anyKey, hash],
      ['UNLINK', anyKey],
      ['HGET', anyKey, field],
      ['HMGET', hash, field, this.#field(), ''],
      ['HEXISTS', hash, field],
      ['HLEN', anyKey],
      ['HKEYS', hash],
      ['HSET', hash, field, this.#value(), this.#field(), this.#value()],
      ['HDEL', anyKey, field, this.#field()],
      ['HINCRBY', this.#name('counts'), field, `${this.#random.below(9) - 4}`],
      ['HINCRBY', hash, field, '1'],
      ['LLEN', anyKey],
      ['LINDEX', anyKey, `${this.#random.below(6) - 3}`],
      ['LPOP', list],
      ['RPUSH', list, this.#item(), this.#item()],
      // A key of another type.
      ['RPUSH', anyKey, this.#item()],
      ['ZCARD', anyKey],
      ['ZSCORE', set, field],
      ['ZREMRANGEBYSCORE', set, `${PAST_MS}`, `${this.#time()}`],
      ['ZRANGEBYSCORE', set, `(${this.#time()}`, '+inf', 'WITHSCORES', 'LIMIT', '0', '3'],
      ['SET', this.#chosen(['clock', anyKey]), `${CLOCK_MICROS}`, 'GET'],
      ['ZADD', set, `${this.#time()}`, field, `${this.#time()}`, this.#field()],
      ['ZADD', set, 'LT', `${this.#time()}`, field],
      ['ZADD', set, 'x', field],
      ['ZREM', set, field, this.#field()],
      ['ZPOPMIN', this.#chosen([set, list])],
      ['ZCOUNT', set, ...range],
      ['ZRANGE', set, '0', `${this.#random.below(4) - 1}`, 'WITHSCORES'],
      ['ZRANGE', set, '-2', '-1'],
      ['ZRANGEBYSCORE', set, ...range],
      ['ZRANGEBYSCORE', set, ...range, 'LIMIT', `${this.#random.below(3)}`, '2'],
      ['ZSCAN', set, '0', 'COUNT', '5'],
      ['HSET', hash, field],
      ['HLEN', hash, field],
      ['EXPIRE', anyKey, this.#chosen(['1000', '-1', 'x'])],
    ]);
  }

  #call({ source }: Script, keys: readonly string[], ...args: readonly string[]): string[] {
    return ['EVALSHA', shaOf(source), `${keys.length}`, ...keys, ...args];
  }

  #ofMap(): string[] {
    const name = this.#random.below(NAMES);
    const keys = [`hash${name}`, `ends${name}`, 'maps'];
    const field = this.#field();
    const endMs = this.#time();
    const versions = `${this.#version()}${this.#version()}`;
    const condition = [
      this.#chosen(['', '', '0', '1']),
      this.#chosen(['*', versions]),
      this.#chosen(['', versions]),
    ];
    const limit = `${1 + this.#random.below(FIELDS)}`;
    const end = Buffer.alloc(6);
    end.writeUIntBE(endMs, 0, 6);
    const touched = [field, this.#version(), end.toString('latin1'), `${endMs}`];
    return this.#chosen([
      this.#call(SET_WITH_END, keys, field, this.#value(endMs), `${endMs}`, `${name}`),
      this.#call(SET_IF, keys, field, this.#value(0), '0', ...condition, `${name}`),
      this.#call(SET_IF, keys, field, this.#value(endMs), `${endMs}`, ...condition, `${name}`),
      this.#call(SET_IF, keys, field, this.#numeric(), '0', '', '*', '', `${name}`),
      this.#call(ADD, [...keys, 'sums'], field, ...this.#addition(endMs), `${endMs}`),
      this.#call(ADD, [...keys, 'sums'], field, ...this.#addition(0), '0'),
      this.#call(DELETE_IF, keys.slice(0, 1), field, ...condition),
      this.#call(SWEEP, keys, limit, `${name}`),
      this.#call(PURGE, keys, '0', limit, `${name}`),
      this.#call(TOUCH, keys.slice(0, 2), ...touched),
    ]);
  }

  /** Commands of changes that are marked, on keys of their own. */
  #ofMarks(): string[][] {
    const map = `${this.#random.below(2)}`;
    const mapKeys = [`own${map}`, `own ends${map}`, 'own maps'];
    const [hash = ''] = mapKeys;
    const tombstones = ['tombstones', 'order'];
    const field = this.#field();
    const endMs = this.#time();
    const time = `${CLOCK_MICROS + this.#random.below(2000)}`;
    const sets = ['marks0', 'marks1', 'marks2'].slice(this.#random.below(3));
    const rooms = sets.map(() => this.#chosen(['3', '-3', '100', '100']));
    const versions = `${this.#ofClock()}${this.#ofClock()}`;
    const condition = [this.#chosen(['', '', '0', '1']), this.#chosen(['*', versions]), ''];
    const limits = ['86400', this.#chosen(['2', '100'])];
    const value = `${this.#value(endMs)[0]}${this.#ofClock()}${this.#value(endMs).slice(9)}`;
    const [by = ''] = this.#addition(0);
    const prefix = `1:${map}`;
    const origin = this.#chosen(['', 'makr\0', `makr\x01${'i'.repeat(16)}`]);
    const cursor = ['0', ''];
    const clearing = [map, this.#ofClock(), origin];
    const read = [this.#field(), this.#field(), ''].flatMap((key) => ['1', '3', `${prefix}${key}`]);
    const setIf = [field, value, `${endMs}`, ...condition, map, time, ...limits, ...rooms];
    const marked = ['clock', ...tombstones, ...sets];
    return [
      this.#chosen([
        this.#call(
          SET_MARKED_ONCE,
          [hash, 'clock', 'marks2'],
          ...[field, value, prefix, time, rooms[0] ?? '3'],
        ),
        this.#call(SET_MARKED, [hash, 'clock', ...sets], field, value, prefix, time, ...rooms),
        this.#call(SET_MARKED_IF, [...mapKeys, ...marked], ...setIf),
        this.#call(
          ADD_MARKED,
          [...mapKeys, 'sums', ...marked],
          ...[
            field,
            by,
            this.#ofClock(),
            map,
            `\x11${this.#ofClock()}\x01`,
            '0',
            time,
            ...limits,
            ...rooms,
          ],
        ),
        this.#call(
          DELETE_MARKED,
          [hash, ...marked],
          ...[field, ...condition, this.#ofClock(), prefix, time, ...limits, ...rooms],
        ),
        this.#call(SWEEP_MARKED, [...mapKeys, ...tombstones], '2', map, ...limits),
        ['HSET', hash, field, `\x20${this.#ofClock()}makr\x01${'i'.repeat(16)}7`],
        ['HSET', hash, field, `\x10${this.#ofClock()}${this.#numeric().slice(9)}`],
      ]),
      this.#chosen([
        this.#call(
          NOTE_CLEAR,
          ['notes', ...tombstones, ...sets],
          map,
          this.#ofClock(),
          origin,
          ...rooms,
        ),
        this.#call(CLEAR_MAP, [...tombstones, 'clock', hash], ...clearing, '0', ...cursor),
        this.#call(CLEAR_MAP, [...tombstones, 'clock', hash], ...clearing, time, ...cursor),
        this.#call(END_CLEAR, ['notes', 'clock', ...sets], map, this.#ofClock(), time, ...rooms),
        this.#call(TRIM_TOMBSTONES, [...tombstones, 'notes', ...sets], '20', ...limits),
        this.#call(READ_WAITING, ['tombstones', hash], this.#chosen(['20', '500']), '60', ...read),
        this.#call(CONFIRM_READ, ['clock']),
        ['ZRANGE', this.#chosen(['marks0', 'marks1', 'marks2']), '0', '-1', 'WITHSCORES'],
        ['GET', 'clock'],
        ['HKEYS', 'tombstones'],
        ['LLEN', 'order'],
        ['UNLINK', this.#chosen(['clock', 'marks0', 'marks1', 'marks2', 'notes', 'clock'])],
      ]),
    ];
  }

  /** Commands on a compact hash, which any server returns as a whole and in the same order. */
  #ofList(): string[][] {
    const hash = this.#name('compact');
    const value = () => `\x10${this.#version()}${'x'.repeat(this.#random.below(40))}`;
    const hashes = ['', '4000000000000000', '8000000000000000', 'f000000000000000'];
    const place = this.#chosen([
      ['0', '', '0', this.#chosen(hashes)],
      ['0', '', `${1 + this.#random.below(3)}`, this.#chosen(hashes)],
      ['7', 'ffffffff', '0', ''],
    ]);
    const limits = [`${1 + this.#random.below(6)}`, this.#chosen(['1', '50', '32768'])];
    const valueMax = this.#chosen(['-1', '20', '1048576']);
    const more = [...limits, '10', '10000', this.#chosen(['0', '1']), valueMax];
    const prefix = this.#chosen(['', '', 'field', this.#field().slice(0, 7), 'x']);
    return [
      ['HSET', hash, this.#field(), value(), this.#field(), value()],
      ['HDEL', hash, this.#field()],
      ['HSCAN', hash, '0', 'COUNT', '5'],
      this.#call(LIST_ENTRIES, [hash], prefix, ...place, ...more),
    ];
  }

  /** A stored value that is mostly a number, without a max idle: it depends on the time. */
  #numeric(): string {
    const type = this.#chosen(['\x10', '\x11', '\x12']);
    const name = { '\x10': '', '\x11': '\x01', '\x12': '\x00\x06a/type' }[type];
    const values = ['7', '-007', '-0', '9223372036854775807', '-9223372036854775808', '', '1.5'];
    return `${type}${this.#version()}${name}${this.#chosen(values)}`;
  }

  /** The arguments of an addition up to the head of a new entry. */
  #addition(endMs: number): string[] {
    const by = this.#chosen(['1', '-1', '9223372036854775807', '-9223372036854775808']);
    const end = Buffer.alloc(6);
    end.writeUIntBE(endMs, 0, 6);
    const version = this.#version();
    const head = endMs === 0 ? `\x11${version}` : `\x15${version}${end.toString('latin1')}`;
    return [by, version, '0', `${head}\x01`];
  }

  /** Numbers of up to 4 in two digits each. */
  #digits(count: number): string {
    return Array.from({ length: count }, () => `0${this.#random.below(5)}`).join('');
  }

  #item(): string {
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(BigInt(this.#random.below(1000)));
    return `\x10${number.toString('latin1')}item`;
  }

  #nextNumber(): number {
    this.#number += 10;
    return this.#number;
  }

  #ofQueue(): string[][] {
    const queue = this.#name('');
    const [items, returned, numbers, waiting] = ['items', 'returned', 'numbers', 'waiting'].map(
      (kind) => kind + queue,
    ) as [string, string, string, string];
    const member = this.#name('member');
    const [held, marks] = [`held ${member}`, `marks ${member}`];
    const channel = 'channel:';
    const holds = this.#holds(5);
    const drops = this.#chosen(['', '', this.#holds(2)]);
    const flag = this.#chosen(['', '1']);
    const turn = this.#chosen(['', 'turn']);
    const before = this.#digits(5);
    const takes = [queue, holds, drops, this.#chosen(['', member]), flag, channel, turn, before];
    const offered = Array.from({ length: 1 + this.#random.below(4) }, () => [
      '\x10',
      'item',
    ]).flat();
    const capacity = this.#chosen(['0', '3', '10']);
    const given = [queue, this.#hold(), this.#chosen(['', this.#item()]), channel, flag];
    return this.#chosen([
      // The numbers of items depend on the time if the queue has none.
      [
        ['HSET', numbers, 'n', `${this.#nextNumber()}`],
        this.#call(
          OFFER,
          [items, returned, numbers, waiting],
          capacity,
          channel,
          queue,
          flag,
          turn,
          ...offered,
        ),
      ],
      [this.#call(TAKE, [items, returned, numbers, waiting, held, marks], ...takes)],
      [this.#call(REMOVE, [items, returned, numbers, held, marks], queue, holds, drops)],
      [this.#call(GIVE_BACK, [returned, numbers, waiting, held, marks], ...given)],
      [this.#call(PEEK, [items, returned])],
      [this.#call(COUNT, [items, returned])],
      // A removed member holds nothing any more, so this is rare.
      this.#random.below(10) > 0
        ? [['HKEYS', held]]
        : [this.#call(PUT_OUT, [held, marks], '3600'), ['HDEL', marks, '']],
      [['HGET', numbers, this.#chosen(['n', 'h'])]],
      [['ZRANGE', this.#chosen([returned, waiting]), '0', '-1', 'WITHSCORES']],
      [['UNLINK', this.#chosen([items, returned, waiting, held])]],
    ]);
  }
}
