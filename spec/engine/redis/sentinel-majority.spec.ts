/**
 * A majority of Sentinels determines the primary: each counts once, and isolated ones are not a
 * majority.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SystemClock } from '../../../src/base/clock.ts';
import type { ServerAddress } from '../../../src/base/server-address.ts';
import { ControlConnection } from '../../../src/engine/redis/control-connection.ts';
import { SentinelMajority } from '../../../src/engine/redis/sentinel-majority.ts';
import { array, bulk, FakeServer, SILENCE } from './fake-server.ts';
import { DEADLINE_MS } from './fake-store.ts';

const OLD = { host: '10.0.0.1', port: 6379 };
const NEW = { host: '10.0.0.2', port: 6379 };

let sentinels: FakeServer[] = [];
/** The primary that each Sentinel names; undefined if it does not reply. */
let named: (ServerAddress | undefined)[] = [];

before(async () => {
  for (let index = 0; index < 3; index++) {
    sentinels.push(await FakeServer.start((words) => answerOf(index, words)));
  }
});

after(async () => {
  await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
  sentinels = [];
});

function answerOf(index: number, [name, call]: readonly string[]): string | undefined {
  const primary = named[index];
  if (name !== 'SENTINEL') return undefined;
  if (primary === undefined) return SILENCE;
  if (call === 'MYID') return bulk(`id ${index}`);
  if (call !== 'SENTINELS') return array([primary.host, `${primary.port}`].map(bulk));
  const others = sentinels.filter((_, other) => other !== index);
  return array(
    others.map(({ port }) => array(['name', 'n', 'ip', '127.0.0.1', 'port', `${port}`].map(bulk))),
  );
}

/** Whether a majority names the primary. `asked` are the addresses of the Sentinels in the URL. */
async function isNamed(primary: ServerAddress, ...asked: readonly ServerAddress[]) {
  const majority = new SentinelMajority('grid', asked, {
    connect: (address) =>
      new ControlConnection(address, {
        clock: new SystemClock(),
        login: { user: undefined, password: undefined },
        tls: undefined,
        mayChange: () => true,
        deadlineMs: DEADLINE_MS,
        counter: { count: 0 },
      }),
    onFailed: () => {},
  });
  // The first check discovers the others.
  await majority.names(primary);
  const answer = await majority.names(primary);
  majority.end();
  return answer;
}

function at(index: number, host = '127.0.0.1'): ServerAddress {
  return { host, port: sentinels[index]!.port };
}

test('a majority names a primary, even if the URL lists only one Sentinel', async () => {
  named = [OLD, OLD, NEW];
  for (const asked of [[at(0)], [at(2)], [at(0), at(1), at(2)]]) {
    assert.deepEqual([await isNamed(OLD, ...asked), await isNamed(NEW, ...asked)], [true, false]);
  }
});

test('an isolated Sentinel counts the others, and is not a majority', async () => {
  named = [OLD, undefined, undefined];
  assert.equal(await isNamed(OLD, at(0)), false);
  named = [undefined, NEW, NEW];
  assert.deepEqual([await isNamed(OLD, at(1)), await isNamed(NEW, at(1))], [false, true]);
});

test('a Sentinel with two addresses counts once', async () => {
  named = [OLD, NEW, NEW];
  assert.equal(await isNamed(OLD, at(0), at(0, 'localhost')), false);
});
