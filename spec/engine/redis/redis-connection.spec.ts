/**
 * The commands of a connection to a server are sent at the end of their turn, or of the next one.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SystemClock } from '../../../src/base/clock.ts';
import { header } from '../../../src/engine/redis/command-buffer.ts';
import { RedisConnection } from '../../../src/engine/redis/redis-connection.ts';
import { ANY_KIND } from '../../../src/engine/redis/reply.ts';
import { FakeServer, SILENCE } from './fake-server.ts';

const HGET = header(3, 'HGET', 'map', 'key');
const RECEIVER = { replyKinds: ANY_KIND, onReply() {}, onLost() {} };

/** A clock whose turns end when the test ends them. */
class TurnClock extends SystemClock {
  #ends: (() => void)[] = [];

  override endOfTurn(run: () => void): void {
    this.#ends.push(run);
  }

  endTurn(): void {
    const ends = this.#ends;
    this.#ends = [];
    for (const end of ends) end();
  }
}

let server: FakeServer;
let clock: TurnClock;
let connection: RedisConnection;

before(async () => {
  server = await FakeServer.start(([name]) => (name === 'HGET' ? SILENCE : undefined));
});
beforeEach(async () => {
  clock = new TurnClock();
  const options = {
    ...{ clock, deadlineMs: 10_000, tls: undefined, counter: { count: 0 } },
    login: { user: undefined, password: undefined },
    mayChange: () => true,
  };
  const address = { host: '127.0.0.1', port: server.port };
  connection = new RedisConnection(address, options, { onReady() {}, onEnded() {} });
  while (!connection.isReady) {
    clock.endTurn();
    await sleep(1);
  }
});
afterEach(() => connection.end());
after(() => server.stop());

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
