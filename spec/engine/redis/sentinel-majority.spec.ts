/**
 * A majority of Sentinels determines the primary: each counts once, and isolated ones are not a
 * majority.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerAddress } from '../../../src/base/server-address.ts';
import { ControlConnection } from '../../../src/engine/redis/control-connection.ts';
import { SentinelMajority } from '../../../src/engine/redis/sentinel-majority.ts';
import { FakeSentinels } from '../../world/fake-sentinels.ts';
import { World } from '../../world/world.ts';
import { DEADLINE_MS } from '../../world/world-engines.ts';

const OLD = { host: '10.0.0.1', port: 6379 };
const NEW = { host: '10.0.0.2', port: 6379 };

const world = new World();
const sentinels = new FakeSentinels(world, 3);

/** `asked` are the addresses of the Sentinels in the URL. */
function majorityOf(...asked: readonly ServerAddress[]): SentinelMajority {
  return new SentinelMajority('grid', asked, {
    connect: (address) =>
      new ControlConnection(address, {
        clock: world.clock,
        connectTcp: world.network.connect,
        login: { user: undefined, password: undefined },
        tls: undefined,
        mayChange: () => true,
        deadlineMs: DEADLINE_MS,
        counter: { count: 0 },
      }),
    onFailed: () => {},
  });
}

/** Whether a majority names the primary. */
async function isNamed(primary: ServerAddress, ...asked: readonly ServerAddress[]) {
  const majority = majorityOf(...asked);
  // The first check discovers the others.
  await world.during(majority.names(primary));
  const answer = await world.during(majority.names(primary));
  majority.end();
  return answer;
}

function at(index: number, host = '127.0.0.1'): ServerAddress {
  return { host, port: sentinels.servers[index]!.port };
}

test('a majority names a primary, even if the URL lists only one Sentinel', async () => {
  sentinels.named = [OLD, OLD, NEW];
  for (const asked of [[at(0)], [at(2)], [at(0), at(1), at(2)]]) {
    assert.deepEqual([await isNamed(OLD, ...asked), await isNamed(NEW, ...asked)], [true, false]);
  }
});

test('an isolated Sentinel counts the others, and is not a majority', async () => {
  sentinels.named = [OLD, undefined, undefined];
  assert.equal(await isNamed(OLD, at(0)), false);
  sentinels.named = [undefined, NEW, NEW];
  assert.deepEqual([await isNamed(OLD, at(1)), await isNamed(NEW, at(1))], [false, true]);
});

test('a Sentinel with two addresses counts once', async () => {
  sentinels.named = [OLD, NEW, NEW];
  assert.equal(await isNamed(OLD, at(0), at(0, 'localhost')), false);
});

test('the discovered Sentinels are asked again after none has replied', async () => {
  sentinels.named = [NEW, NEW, NEW];
  const majority = majorityOf(at(0));
  await world.during(majority.names(NEW));
  for (const server of sentinels.servers) server.stop();
  assert.equal(await world.during(majority.names(NEW)), false);
  for (const server of sentinels.servers.slice(1)) server.listen();
  assert.equal(await world.during(majority.names(NEW)), true);
  majority.end();
  sentinels.servers[0]!.listen();
});
