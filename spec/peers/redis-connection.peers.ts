/** The connection to Redis or Valkey compared with ioredis: random commands, values and errors. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { type ControlConnection, ServerError } from '../../src/engine/redis/control-connection.ts';
import { EngineServer } from './engine-server.ts';
import { controlTo } from './server-group.ts';
import { toolFolder } from './tools.ts';

const RUNS = Number(process.env.SOAK_CASES ?? 300);
const COMMANDS_MAX = 40;
const DEADLINE_MS = 20_000;

/** The part of ioredis that the test uses. */
interface Client {
  callBuffer(...words: readonly (string | Buffer)[]): Promise<unknown>;
  disconnect(): void;
}
type ClientClass = new (options: object) => Client;

let server: EngineServer;
let control: ControlConnection;
let ioredis: Client;

before(async () => {
  const folder = toolFolder('ioredis');
  server = await EngineServer.start();
  control = controlTo(server.port, DEADLINE_MS);
  const Redis = createRequire(join(folder, 'package.json'))(folder) as ClientClass;
  ioredis = new Redis({ port: server.port, host: '127.0.0.1', db: 1, protocol: 2 });
});
after(async () => {
  control.end();
  ioredis.disconnect();
  await server.stop();
});

type Command = readonly (string | Buffer)[];

const key = fc.constantFrom('a', 'b', '{c}', 'd\r\n').map((name) => Buffer.from(name));
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
  fc
    .constantFrom('', '0', '-1', '1e3', '\r\n', '+OK\r\n', '$-1\r\n')
    .map((each) => Buffer.from(each)),
  fc.nat({ max: 200_000 }).map((length) => Buffer.alloc(length, 'x')),
);
const number = fc.integer().map(String);

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.tuple(fc.constantFrom('SET', 'APPEND', 'RPUSH', 'LPUSH', 'SADD', 'HGET', 'HDEL'), key, bytes),
  fc.tuple(
    fc.constantFrom('GET', 'LPOP', 'HLEN', 'HGETALL', 'UNLINK', 'TYPE', 'INCR', 'LLEN'),
    key,
  ),
  fc.tuple(fc.constant('HSET'), key, bytes, bytes),
  fc.tuple(fc.constant('INCRBY'), key, number),
  fc.tuple(fc.constant('ZADD'), key, number, bytes),
  fc.tuple(
    fc.constant('ZRANGE'),
    key,
    fc.constant('0'),
    fc.constant('-1'),
    fc.constant('WITHSCORES'),
  ),
  fc.tuple(fc.constant('LRANGE'), key, number, number),
  fc.tuple(fc.constant('SET'), key, bytes, fc.constant('NX'), fc.constant('GET')),
  fc.tuple(fc.constantFrom('MGET', 'EXISTS', 'LMPOP', 'HSET', 'NOTHING', 'EVALSHA'), bytes, key),
  fc.tuple(
    fc.constant('EVAL'),
    fc.constantFrom(
      "return {1, 'two', {3, false, {}}, redis.status_reply('done')}",
      "return redis.error_reply('OWN error of a script')",
      'return redis.call("GET", KEYS[1])',
      'return {redis.pcall("INCR", KEYS[1])}',
      'this is no script',
    ),
    fc.constant('1'),
    key,
  ),
);

test('ControlConnection gets the same replies to random commands as ioredis', async () => {
  await control.ask('SELECT', '2');
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 1, maxLength: COMMANDS_MAX }),
      async (commands) => {
        await Promise.all([control.ask('FLUSHDB'), ioredis.callBuffer('FLUSHDB')]);
        // All commands in one turn, so that they are pipelined.
        const [ours, theirs] = await Promise.all([
          Promise.all(commands.map((words) => settled(control.ask(...words)))),
          Promise.all(commands.map((words) => settled(ioredis.callBuffer(...words)))),
        ]);
        assert.deepEqual(ours, theirs);
      },
    ),
    { numRuns: RUNS },
  );
});

/** Resolves with a comparable form of the reply, or of the error if it rejects. */
async function settled(reply: Promise<unknown>): Promise<unknown> {
  try {
    return plain(await reply);
  } catch (error) {
    return plain(error);
  }
}

/** A comparable form: ServerError has a character for each byte, ioredis decodes UTF-8. */
function plain(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  if (value instanceof ServerError) {
    return { error: Buffer.from(value.message, 'latin1').toString() };
  }
  if (value instanceof Error) return { error: value.message };
  return Array.isArray(value) ? value.map(plain) : value;
}
