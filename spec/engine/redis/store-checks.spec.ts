/**
 * Covers src/engine/redis/server*.ts and src/engine/redis/topology.ts. The checks of an engine that
 * is opened: unusable servers are refused with a clear reason.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { beforeEach, test } from 'node:test';
import { APPLIED, UNREACHABLE } from '../../../src/engine/engine.ts';
import type { RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import { StoreUnusable } from '../../../src/engine/redis/servers.ts';
import { CUT, FakeServer, replying } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { DEADLINE_MS, fakeStore, set, withStore } from '../../world/world-engines.ts';

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

async function refused(
  message: RegExp,
  { url = server.url, ...options }: Partial<RedisEngineOptions> & { url?: string } = {},
): Promise<void> {
  const { engine } = fakeStore(world, url, options);
  try {
    await assert.rejects(world.during(engine.open()), (error: Error) => {
      assert.ok(error instanceof StoreUnusable, error.stack);
      assert.match(error.message, message);
      return true;
    });
  } finally {
    await world.during(engine.close());
  }
}

test('a wrong password is refused, and not shown', async () => {
  const login = { user: undefined, password: 'secret' };
  server.script = replying('AUTH', '-WRONGPASS invalid username-password pair\r\n');
  await refused(/^Cannot log in to the server 127\.0\.0\.1:\d+: WRONGPASS (?!.*secret)/, { login });
  server.script = replying(
    'AUTH',
    '-ERR AUTH <password> called without any password configured\r\n',
  );
  await refused(/Cannot log in .*: ERR AUTH/, { login });
  server.script = () => '-NOAUTH Authentication required.\r\n';
  await refused(/Cannot log in .*: NOAUTH/);
});

test('a user without a password logs in as that user', async () => {
  const logins: string[] = [];
  server.script = ([name, ...words]) => {
    if (name === 'AUTH') logins.push(words.join(' '));
    return undefined;
  };
  for (const login of [
    { user: 'grid', password: undefined },
    { user: 'grid', password: 'word' },
    { user: undefined, password: 'word' },
  ]) {
    await withStore(world, server.url, { login }, async () => {});
  }
  assert.deepEqual([...new Set(logins)], ['grid ', 'grid word', 'word']);
});

test('Redis before 7.0 is refused by its version, and every Valkey is accepted', async () => {
  server.version = '6.2.6';
  await refused(/^Cannot use the server 127\.0\.0\.1:\d+: it is Redis 6\.2\.6, .*7\.0.*7\.2/);
  for (const version of [
    '7.0.0',
    '10.1.2',
    '7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0',
  ]) {
    server.version = version;
    await withStore(world, server.url, {}, async ({ engine }) => {
      assert.equal(await set(engine, 'key', '1'), APPLIED);
    });
  }
});

test('a server that the user may not query is refused', async () => {
  server.script = replying('INFO', "-NOPERM this user has no permissions to run 'info'\r\n");
  await refused(/Cannot use the server 127\.0\.0\.1:\d+: it refuses the default user: NOPERM/);
});

for (const [command, name] of [
  ['SCRIPT', 'SCRIPT LOAD'],
  ['ROLE', 'ROLE'],
] as const) {
  test(`a server that does not permit ${name} is refused`, async () => {
    server.script = replying(command, '-NOPERM this user has no permissions to run it\r\n');
    await refused(
      new RegExp(`^Cannot use the server .* not permitted to use the commands ${name}$`),
    );
  });
}

test('a Sentinel without a name, and several servers that are not a cluster, are refused', async () => {
  server.mode = 'sentinel';
  await refused(/is a Sentinel; add \?sentinel=NAME/);
  server.mode = 'standalone';
  const url = `${server.url},127.0.0.1:1`;
  await refused(/it names several servers, but 127\.0\.0\.1:\d+ is not part of a cluster/, { url });
});

test('a name that no Sentinel monitors is refused with a message that includes it', async () => {
  server.mode = 'sentinel';
  server.script = replying('SENTINEL', '*-1\r\n');
  await refused(/"other" .* monitors no primary of that name/, {
    url: `${server.url}?sentinel=other`,
  });
});

test('open tries until the servers reply, and reports each that does not', () =>
  world.during(
    (async () => {
      server.stop();
      const { engine, lost } = fakeStore(world, server.url);
      const opening = engine.open();
      await world.until(() => lost.length > 1);
      assert.match(lost[0] ?? '', /ECONNREFUSED/);
      assert.equal(engine.isReachable, false);
      server.listen();
      const start = world.clock.now();
      await opening;
      // It does not wait for the deadline of 10 s, at which some of the servers are enough.
      assert(world.clock.now() - start < 5000);
      assert.equal(engine.isReachable, true);
      await engine.close();
    })(),
  ));

test('close ends a pending open', () =>
  world.during(
    (async () => {
      server.stop();
      const { engine, lost } = fakeStore(world, server.url, { deadlineMs: DEADLINE_MS });
      const opening = assert.rejects(engine.open(), /closed before it was open/);
      await world.until(() => lost.length > 0);
      assert.equal(await set(engine, 'key', '1'), UNREACHABLE);
      await engine.close();
      await opening;
    })(),
  ));

test('a server that has too many connections, or loads its data, is tried again', async () => {
  for (const error of ['ERR max number of clients reached', 'LOADING Redis is loading']) {
    let left = 3;
    server.script = () => (left-- > 0 ? `-${error}\r\n` : undefined);
    await withStore(world, server.url, {}, async ({ engine }) => {
      assert.equal(await set(engine, 'key', '1'), APPLIED);
    });
  }
});

test('weak settings of a server cause warnings', async () => {
  const GOOD = { appendonly: 'yes', 'min-replicas-to-write': '1' };
  const BAD = { appendonly: 'no', 'min-replicas-to-write': '0' };
  const cases: [FakeServer['settings'], number | undefined, number, RegExp[]][] = [
    [
      GOOD,
      undefined,
      0,
      [/is a single server without replicas: confirmed changes are lost with it/],
    ],
    [GOOD, 1, 1, []],
    [GOOD, 1, 0, [/has 0 replicas, and changes need 1: changes/]],
    [GOOD, 2, 2, [/min-replicas-to-write is 1: at 2 or more/]],
    [BAD, 1, 1, [/min-replicas-to-write is 0/, /appendonly is no/]],
  ];
  for (const [settings, replicaCountMax, replicaCount, expected] of cases) {
    Object.assign(server, { settings, replicaCount });
    const options = { replicaCountMax: () => replicaCountMax };
    await withStore(world, server.url, options, async ({ warnings }) => {
      assert.equal(warnings.length, expected.length, warnings.join('\n'));
      for (const [index, pattern] of expected.entries())
        assert.match(warnings[index] ?? '', pattern);
    });
  }
});

for (const [isTls, hint] of [
  [false, /; the port may require TLS: use an engine URL with rediss:\/\//],
  [true, /; the port may not use TLS: use an engine URL with redis:\/\//],
] as const) {
  test(`a port that does not answer with${isTls ? '' : 'out'} TLS is reported as such`, async () => {
    server.script = () => CUT;
    // TLS needs a real socket.
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const url = isTls ? `redis://127.0.0.1:${port}` : server.url;
    const { engine, lost } = fakeStore(world, url, { tls: isTls ? {} : undefined });
    const opening = assert.rejects(engine.open(), /closed/);
    if (isTls) await once(silent, 'connection');
    await world.during(world.until(() => lost.length > 0));
    assert.match(lost[0] ?? '', hint);
    await world.during(Promise.all([engine.close(), opening]));
    silent.close();
  });
}

test('a server that drops stored data is refused unless a setting allows it', async () => {
  server.maxMemory = 1024;
  server.policy = 'allkeys-lru';
  await refused(
    /^Cannot use the server 127.*maxmemory-policy is allkeys-lru; .*engine\.allow-eviction/,
  );
  const replicaCountMax = () => 1;
  server.replicaCount = 1;
  await withStore(world, server.url, { allowsEviction: true, replicaCountMax }, async (store) => {
    assert.match(store.warnings[0] ?? '', /maxmemory-policy is allkeys-lru: .* drops stored data/);
    assert(store.engine.isDataSafe);
  });
  for (const [maxMemory, policy, why] of [
    [0, 'allkeys-lru', /if maxmemory were set/],
    [1024, 'volatile-lru', /no expiry/],
  ] as const) {
    Object.assign(server, { maxMemory, policy });
    await withStore(world, server.url, { replicaCountMax }, async (store) => {
      assert.match(store.warnings[0] ?? '', why);
      assert(store.engine.isDataSafe);
    });
  }
});

test('a server that begins to drop data is not safe, with a warning every minute', async () => {
  await withStore(world, server.url, { replicaCountMax: () => 0 }, async ({ engine, warnings }) => {
    const count = () => warnings.filter((text) => /allkeys-lfu/.test(text)).length;
    assert(engine.isDataSafe);
    server.maxMemory = 1024;
    server.policy = 'allkeys-lfu';
    for (const expected of [1, 2]) {
      await world.sleep(61_000);
      assert.equal(count(), expected);
      assert(!engine.isDataSafe);
    }
    server.policy = 'noeviction';
    await world.sleep(61_000);
    assert(engine.isDataSafe);
  });
});

test('settings that cannot be read cause a warning', async () => {
  server.script = replying('CONFIG', '-NOPERM no permissions\r\n');
  await withStore(world, server.url, { replicaCountMax: () => 0 }, async ({ warnings }) => {
    assert.match(
      warnings[1] ?? '',
      /min-replicas-to-write, appendonly.* could not be read: NOPERM/,
    );
  });
});

test('isDataSafe returns whether each primary has the replicas that changes need', async () => {
  server.replicaCount = 1;
  await withStore(world, server.url, { replicaCountMax: () => 1 }, async ({ engine }) => {
    assert.equal(engine.isDataSafe, true);
    server.replicaCount = 0;
    await world.until(() => !engine.isDataSafe);
    server.replicaCount = 2;
    await world.until(() => engine.isDataSafe);
  });
});
