/**
 * The commands of a connection to a server are sent at the end of their turn, or of the next one.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import { CommandBuffer, header } from '../../../src/engine/redis/command-buffer.ts';
import { RedisConnection } from '../../../src/engine/redis/redis-connection.ts';
import { ANY_KIND } from '../../../src/engine/redis/reply.ts';
import { FakeClock } from '../../fake-clock.ts';
import { FakeServer, replying, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';

const HGET = header(3, 'HGET', 'map', 'key');
const RECEIVER = { replyKinds: ANY_KIND, onReply() {}, onLost() {} };

const world = new World();
const server = new FakeServer(world, replying('HGET', SILENCE));
/** Its turns end when the test ends them. */
let clock: FakeClock;
let connection: RedisConnection;

beforeEach(async () => {
  clock = new FakeClock();
  const options = {
    ...{ clock, deadlineMs: 10_000, tls: undefined, counter: { count: 0 } },
    login: { user: undefined, password: undefined },
    connectTcp: world.network.connect,
    mayChange: () => true,
  };
  connection = new RedisConnection(server.address, options, { onReady() {}, onEnded() {} });
  clock.endTurn();
  await world.settled();
});
afterEach(() => connection.end());

function give(count: number): void {
  for (let left = count; left > 0; left--) {
    const start = connection.commands.length;
    connection.commands.begin(HGET);
    connection.expect(start, RECEIVER);
  }
}

/** Whether the commands are sent at the end of the turn. */
function haveLeft(): boolean {
  clock.endTurn();
  return connection.commands.length === 0;
}

test('commands are sent at the end of their turn if the server owes no reply', () => {
  give(1);
  assert(haveLeft());
});

test('few commands wait for others if the server owes replies, but only for one turn', () => {
  give(1);
  clock.endTurn();
  give(2);
  assert(!haveLeft());
  give(3);
  assert(haveLeft());
  assert.equal(connection.pendingCount, 6);
  give(1);
  assert(!haveLeft());
  assert(haveLeft());
});

test('many commands do not wait', () => {
  give(1);
  clock.endTurn();
  give(32);
  assert(haveLeft());
  give(31);
  assert(!haveLeft());
});

test('commands that wait when the connection ends were certainly not written', () => {
  give(1);
  clock.endTurn();
  const written: boolean[] = [];
  const start = connection.commands.length;
  connection.commands.begin(HGET);
  connection.expect(start, { ...RECEIVER, onLost: (wasWritten) => written.push(wasWritten) });
  assert(!haveLeft());
  connection.end();
  clock.endTurn();
  assert.deepEqual(written, [false]);
});

test('integers of any size are written in decimal digits', () => {
  const commands = new CommandBuffer();
  const random = new Random(1);
  const numbers = [0, 7, -5, 2 ** 31, 1e15 - 1, 1e15, 1e15 + 1e8 - 1, 1e15 + 1e8];
  numbers.push(1_700_000_000_000_009, 9e15, Number.MAX_SAFE_INTEGER);
  for (let left = 1000; left > 0; left--) {
    numbers.push(1e15 + random.below(2 ** 31) * 1_000_003 + random.below(1_000_000));
  }
  for (const number of numbers) {
    commands.clear();
    commands.number(number);
    const text = `${number}`;
    assert.equal(`${commands.copy(0, commands.length)}`, `$${text.length}\r\n${text}\r\n`);
  }
});
