/**
 * Measures the engine on servers without a server: a socket in memory replies at once, with bytes
 * that were made beforehand. So only the engine's own work counts: commands, replies, results.
 *
 * - Reads and changes of a map, also of one whose changes are marked, a turn of them at a time. Their
 *   operations are used again, which the allocated bytes show.
 * - Alternating offers and polls of a turn. On one queue they are two scripts, on as many queues as
 *   pairs each is a script of its own. A server also needs half the time for the two scripts.
 */
import type { Clock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { FOREVER, FOUND, NOBODY, type OperationResult } from '../src/engine/engine.ts';
import type { MapReference } from '../src/engine/marked-changes.ts';
import { SET_MARKED_ONCE } from '../src/engine/redis/marked-scripts.ts';
import { OFFER, REMOVE, TAKE } from '../src/engine/redis/queue-scripts.ts';
import { RedisConnection } from '../src/engine/redis/redis-connection.ts';
import { RedisEngine } from '../src/engine/redis/redis-engine.ts';
import type { Script } from '../src/engine/redis/scripts.ts';
import type { Servers } from '../src/engine/redis/servers.ts';
import type { Bench, Harness } from './harness.ts';

type EngineOptions = ConstructorParameters<typeof RedisEngine>[0];
type ConnectOptions = Parameters<EngineOptions['connect']>[0];
type SocketOptions = Parameters<NonNullable<EngineOptions['connectTcp']>>[0];

const TURN_CALLS = 64;
const VALUE_BYTES = 100;
const ITEM = `\x11${'\0'.repeat(8)}\x01${'x'.repeat(VALUE_BYTES)}`;
const ADDRESS = { host: 'memory', port: 1 };
const HOLD_DIGITS = 16;
/** Words of an OFFER besides its items. */
const OFFER_WORDS = 3 + 4 + 5;
/** Place of the holds among the words of TAKE and of REMOVE: after the keys and the queue. */
const HOLDS_AT = { take: 3 + 6 + 1, remove: 3 + 5 + 1 };

/** A reference to one publisher. */
const REFERENCE: MapReference = {
  publishers: [
    {
      name: Buffer.alloc(16),
      partitionCapacity: 1000,
      isMarking: true,
      refusesWhenFull: false,
      targetDataSet: undefined,
    },
  ],
  republishing: true,
  keepsEarlier: false,
  accepts: () => true,
};

export const bench: Bench = {
  name: 'redis-operations',
  about: 'operations of the engine on servers, with ready replies; polls of one queue or of many',
  run,
};

async function run(harness: Harness): Promise<void> {
  const clock = new TurnClock();
  const server = new ReadyServer();
  const engine = newEngine(clock, server);
  await engine.open();
  const keys = spans(TURN_CALLS, 'key');
  const map = spans(1, 'map')[0]!;
  const marked = spans(1, 'marked')[0]!;
  engine.setReferences((name) => (marked.is(name) ? REFERENCE : undefined));
  const value = new Span().set(Buffer.alloc(VALUE_BYTES, 'x'), 0, VALUE_BYTES);
  const type = new Span().set(Buffer.from('text/plain'), 0, 10);
  const taker = {
    onResult({ outcome, hold }: OperationResult) {
      if (outcome === FOUND) engine.acknowledge(hold, true, NOBODY);
    },
  };
  const pair = (queue: Span): void => {
    engine.offer(queue, value, type, NOBODY);
    engine.take(queue, 0, taker);
  };
  const pairsMax = TURN_CALLS / 2;
  const scenarios: [string, (turn: number) => void][] = [
    ['get', (at) => engine.get(map, keys[at]!, NOBODY)],
    ['set', (at) => engine.set(map, keys[at]!, value, type, FOREVER, undefined, NOBODY)],
    ['set, marked', (at) => engine.set(marked, keys[at]!, value, type, FOREVER, undefined, NOBODY)],
    ...[1, pairsMax].map((queueCount): [string, (at: number) => void] => [
      `offer and poll, ${queueCount === 1 ? 'one queue' : `${queueCount} queues`}`,
      (at) => {
        if (at % 2 === 0) pair(keys[(at / 2) % queueCount]!);
      },
    ]),
  ];
  const operations = harness.pick(TURN_CALLS, 200_000 - (200_000 % TURN_CALLS));
  for (const [name, call] of scenarios) {
    harness.measure({
      name,
      operations,
      batch: TURN_CALLS,
      before: () => server.forget(),
      run: () => {
        for (let at = 0; at < TURN_CALLS; at++) call(at);
        clock.endTurns();
      },
    });
  }
}

function spans(count: number, text: string): Span[] {
  return Array.from({ length: count }, (_, index) => {
    const bytes = Buffer.from(`${text} ${String(index).padStart(8, '0')}`);
    return new Span().set(bytes, 0, bytes.length);
  });
}

/** A clock whose turns end when it is told to. Its timers never run. */
class TurnClock implements Clock {
  #ends: (() => void)[] = [];
  readonly now = () => 0;
  readonly turn = () => 0;
  readonly wall = () => 1_700_000_000_000;
  readonly after = () => ({ cancel() {} });

  endOfTurn(run: () => void): void {
    this.#ends.push(run);
  }

  /** Ends turns until none has anything to do. */
  endTurns(): void {
    while (this.#ends.length > 0) {
      const ends = this.#ends;
      this.#ends = [];
      for (const run of ends) run();
    }
  }
}

/** Replies to what is written to it, within the call. */
class ReadyServer {
  readonly #shas = new Map<string, Script>(
    [OFFER, TAKE, REMOVE, SET_MARKED_ONCE].map((script) => [
      `${script.header.bytes}`.split('\r\n')[4]!,
      script,
    ]),
  );
  /** Replies by the length of the commands: the turns of a scenario are all alike. */
  readonly #replies = new Map<number, Buffer>();

  forget(): void {
    this.#replies.clear();
  }

  connect({ onread }: SocketOptions) {
    const { buffer, callback } = onread;
    return {
      connecting: false,
      setNoDelay() {},
      on() {},
      destroy() {},
      resetAndDestroy() {},
      write: (bytes: Buffer) => {
        const reply = this.#replies.get(bytes.length) ?? this.#replyTo(bytes);
        this.#replies.set(bytes.length, reply);
        for (let at = 0; at < reply.length; at += buffer.length) {
          callback(reply.copy(buffer, 0, at), buffer);
        }
      },
    };
  }

  #replyTo(bytes: Buffer): Buffer {
    const lines = bytes.toString('latin1').split('\r\n');
    let text = '';
    for (let at = 0; at < lines.length - 1; ) {
      const count = Number(lines[at]!.slice(1));
      const words = Array.from({ length: count }, (_, index) => lines[at + 2 + 2 * index]!);
      at += 1 + 2 * count;
      text += this.#replyOf(words);
    }
    return Buffer.from(text, 'latin1');
  }

  #replyOf(words: readonly string[]): string {
    const [name = '', sha = ''] = words;
    if (name === 'PING') return '+PONG\r\n';
    const item = `$${ITEM.length}\r\n${ITEM}\r\n`;
    if (name === 'HGET') return item;
    if (name === 'HSET') return ':0\r\n';
    const script = this.#shas.get(sha);
    if (script === SET_MARKED_ONCE) return ':0\r\n';
    if (script === OFFER) return `:${Math.floor((words.length - OFFER_WORDS) / 2)}\r\n`;
    const holds = words[script === TAKE ? HOLDS_AT.take : HOLDS_AT.remove] ?? '';
    const count = holds.length / HOLD_DIGITS;
    if (script === TAKE) return `*${count + 1}\r\n:0\r\n${item.repeat(count)}`;
    if (script === REMOVE) return `$${count}\r\n${'1'.repeat(count)}\r\n`;
    throw new Error(`Cannot reply to ${name}`);
  }
}

/** Returns an engine with one primary, whose connections are to the server in memory. */
function newEngine(clock: Clock, server: ReadyServer): RedisEngine {
  const connectTcp = (options: SocketOptions) => server.connect(options);
  return new RedisEngine({
    clock,
    connectTcp,
    clusterName: 'bench',
    partitionCount: 271,
    login: { user: undefined, password: undefined },
    tls: undefined,
    deadlineMs: 1000,
    allowsEviction: false,
    connect: (options) => {
      const servers = serversOf(options);
      (clock as TurnClock).endTurns();
      return servers;
    },
    mapReplicaCount: () => 0,
    queueReplicaCount: () => 0,
    queueCapacity: () => Number.POSITIVE_INFINITY,
    onLost: () => {},
    onFault: () => {},
    onRefused: () => {},
    onWarning: () => {},
  });
}

function serversOf(options: ConnectOptions): Servers {
  const newLink = () => ({
    connection: new RedisConnection(ADDRESS, options, { onReady() {}, onEnded() {} }),
    awaySince: undefined,
    isForbidden: false,
  });
  const primary = {
    address: ADDRESS,
    reads: newLink(),
    changes: newLink(),
    confirmed: newLink(),
    replicaCount: 0,
  } as unknown as ReturnType<Servers['at']>;
  return {
    primaryOf: () => primary,
    at: () => primary,
    primaries: [primary],
    awaySince: undefined,
    usualReplicaCount: 0,
    agreeOn: async () => true,
    onMoved: () => {},
    lookUpSoon: () => {},
    open: async () => {},
    inspect: async () => [],
    close: () => {},
  };
}
