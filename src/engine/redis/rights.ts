/**
 * The rights that the engine's user needs on a server: commands, and the keys and channels that
 * they are used with. Each is tried before the member joins: a missing right ends the start rather
 * than failing requests.
 *
 * A trial changes nothing. Commands with keys are called within a script that must not write: the
 * server checks the rights first, and then refuses the command if it writes or publishes. The
 * others have arguments that match nothing. Any other error, such as MOVED or OOM, does not concern
 * rights.
 */
import { addressText } from '../../base/server-address.ts';
import { type ControlConnection, type ReplyValue, ServerError } from './control-connection.ts';
import { errorKind, NO_RIGHT } from './error-reply.ts';
import {
  CLEARS,
  CLOCK,
  EXPIRIES,
  EXPIRING,
  HELD,
  ITEMS,
  type KeyKind,
  type Layout,
  MAP,
  MARKED,
  MARKS,
  QUEUE,
  RETURNED,
  SOURCE,
  SUM,
  TOMBSTONE_ORDER,
  TOMBSTONES,
  WAITING,
  WAKE_UPS,
} from './layout.ts';
import { userText } from './server-info.ts';
import { StoreUnusable } from './servers.ts';

/** A command, with the words of a call that changes nothing. */
export interface Trial {
  /** The name, including the subcommand. */
  readonly command: string;
  readonly words: readonly (string | Buffer)[];
  /** The pattern of the keys, or of the channels, that the command is used with. */
  readonly pattern?: string;
}

/** Returns the trial of a command without keys and channels. */
export function trial(command: string, ...words: readonly string[]): Trial {
  return { command, words: [...command.split(' '), ...words] };
}

/** The name of the map, queue or member in the keys and channels that are tried. */
const NAME = Buffer.from('rights');
const PARTITION = 0;

/** The commands that are used with each kind of key, in scripts or directly. */
const OF_KEYS: readonly (readonly [KeyKind, string])[] = [
  [MAP, 'EXISTS HDEL HEXISTS HGET HLEN HSCAN HSET UNLINK'],
  [EXPIRIES, 'EXISTS UNLINK ZADD ZCOUNT ZRANGE ZRANGEBYSCORE ZREM ZSCAN'],
  [EXPIRING, 'ZADD ZRANGEBYSCORE ZREM'],
  [ITEMS, 'EXISTS LINDEX LLEN LPOP RPUSH'],
  [RETURNED, 'EXISTS ZADD ZCARD ZPOPMIN ZRANGE'],
  [QUEUE, 'HDEL HGET HINCRBY HMGET HSET UNLINK'],
  [WAITING, 'EXPIRE ZADD ZRANGE ZREM'],
  [HELD, 'HDEL HGET HKEYS HSET'],
  [MARKS, 'EXISTS EXPIRE HDEL HMGET HSET'],
  [SUM, 'HGET HINCRBY HSET UNLINK'],
  [CLOCK, 'GET SET'],
  [TOMBSTONES, 'HDEL HGET HLEN HSET'],
  [TOMBSTONE_ORDER, 'LINDEX LLEN LPOP RPUSH'],
  [SOURCE, 'GET SET'],
  [MARKED, 'UNLINK ZADD ZCARD ZRANGEBYSCORE ZREM ZREMRANGEBYSCORE ZSCORE'],
  [CLEARS, 'HDEL HGET HKEYS HSET'],
];
const OF_RECORD = 'HDEL HGET HINCRBY HSET';

/** Minimum number of arguments after the key; 1 for a command that is not listed. */
const ARGUMENT_COUNTS: Readonly<Record<string, number>> = {
  EXISTS: 0,
  GET: 0,
  HKEYS: 0,
  HLEN: 0,
  LLEN: 0,
  LPOP: 0,
  UNLINK: 0,
  ZCARD: 0,
  ZPOPMIN: 0,
  HINCRBY: 2,
  HSET: 2,
  ZADD: 2,
  ZCOUNT: 2,
  ZRANGE: 2,
  ZRANGEBYSCORE: 2,
  ZREMRANGEBYSCORE: 2,
};

/**
 * Arguments: for each trial the number of its words, and the words. Returns for each an error or an
 * empty string.
 */
const SCRIPT = `#!lua flags=no-writes,allow-oom
local replies, at = {}, 1
while at <= #ARGV do
  local last = at + ARGV[at]
  local reply = redis.pcall(unpack(ARGV, at + 1, last))
  replies[#replies + 1] = type(reply) == 'table' and reply.err or ''
  at = last + 1
end
return replies`;

const PLAIN: readonly Trial[] = [
  ...['PING', 'ROLE', 'TIME', 'CLIENT INFO'].map((command) => trial(command)),
  trial('ECHO', '0'),
  trial('INFO', 'server'),
  trial('SCAN', '0', 'COUNT', '1'),
  trial('WAIT', '0', '0'),
  trial('CLIENT SETNAME', ''),
  trial('CLIENT LIST', 'ID', '0'),
  trial('CLIENT KILL', 'ID', '0', 'ADDR', '0'),
];

/** The rights that the engine needs on a primary. */
export class Rights {
  readonly #inScript: readonly Trial[];
  readonly #subscription: Trial;

  constructor(layout: Layout) {
    const ofKeys = (key: Buffer, pattern: string, commands: string): Trial[] =>
      commands.split(' ').map((command) => {
        const values = new Array<string>(ARGUMENT_COUNTS[command] ?? 1).fill('0');
        return { command, words: [command, key, ...values], pattern };
      });
    const channel = layout.key(WAKE_UPS, PARTITION, NAME);
    const ofChannels = { pattern: layout.pattern(WAKE_UPS) };
    this.#inScript = [
      ...OF_KEYS.flatMap(([kind, commands]) =>
        ofKeys(layout.key(kind, PARTITION, NAME), layout.pattern(kind), commands),
      ),
      ...ofKeys(layout.clusterKey(NAME.toString()), layout.clusterKeyPattern, OF_RECORD),
      trial('TIME'),
      trial('INFO', 'server'),
      { command: 'SPUBLISH', words: ['SPUBLISH', channel, ''], ...ofChannels },
    ];
    this.#subscription = { command: 'SSUBSCRIBE', words: ['SSUBSCRIBE', channel], ...ofChannels };
  }

  /**
   * Rejects with StoreUnusable if the user of the connection lacks rights. Afterwards the
   * connection cannot be used for other commands, as it subscribes. `more`: commands that this kind
   * of servers needs.
   */
  async assertOn(
    control: ControlConnection,
    user: string | undefined,
    more: readonly Trial[],
  ): Promise<void> {
    const missing = new MissingRights();
    const loaded = control.ask('SCRIPT', 'LOAD', SCRIPT);
    await missing.add(trial('SCRIPT LOAD'), loaded);
    const sha = await loaded.catch(() => '');
    const words = this.#inScript.flatMap(({ words }) => [`${words.length}`, ...words]);
    const called = control.ask('EVALSHA', `${sha}`, '0', ...words);
    await missing.add(trial('EVALSHA'), called);
    const errors = await called.catch(() => []);
    if (Array.isArray(errors)) {
      for (const [at, each] of this.#inScript.entries()) missing.note(each, `${errors[at]}`);
    }
    await missing.addAll(control, [...PLAIN, ...more, this.#subscription]);
    missing.assertNone(control, user);
  }
}

/** Rejects with StoreUnusable if the user of the connection may not use one of the commands. */
export async function assertPermitted(
  control: ControlConnection,
  user: string | undefined,
  trials: readonly Trial[],
): Promise<void> {
  const missing = new MissingRights();
  await missing.addAll(control, trials);
  missing.assertNone(control, user);
}

class MissingRights {
  readonly #commands = new Set<string>();
  readonly #keys = new Set<string>();
  readonly #channels = new Set<string>();

  async addAll(control: ControlConnection, trials: readonly Trial[]): Promise<void> {
    await Promise.all(trials.map((each) => this.add(each, control.ask(...each.words))));
  }

  /** Rejects if the server does not reply. */
  async add(each: Trial, reply: Promise<ReplyValue>): Promise<void> {
    try {
      await reply;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.note(each, error.message);
    }
  }

  /** `text`: an error of the server, or any other reply. */
  note({ command, pattern }: Trial, text: string): void {
    if (errorKind(text) !== NO_RIGHT) return;
    if (pattern === undefined || OF_COMMAND.test(text)) this.#commands.add(command);
    else if (OF_CHANNEL.test(text)) this.#channels.add(pattern);
    else this.#keys.add(pattern);
  }

  assertNone({ address }: ControlConnection, user: string | undefined): void {
    const lists = Object.entries({
      commands: this.#commands,
      keys: this.#keys,
      channels: this.#channels,
    }).filter(([, names]) => names.size > 0);
    if (lists.length === 0) return;
    const what = lists.map(([kind, names]) => `the ${kind} ${[...names].join(', ')}`).join('; ');
    throw new StoreUnusable(
      `Cannot use the server ${addressText(address)}: ${userText(user)} is not permitted to use ${what}`,
    );
  }
}

/**
 * How Redis and Valkey report which right is missing; if neither matches, the right to use a key is
 * missing.
 */
const OF_COMMAND = / run /;
const OF_CHANNEL = / channels?\b/;
