/** The rights that an engine tries on its servers before it is used. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { APPLIED, NOT_PERMITTED, UNKNOWN, UNREACHABLE } from '../../../src/engine/engine.ts';
import { OFFER } from '../../../src/engine/redis/queue-scripts.ts';
import { StoreUnusable } from '../../../src/engine/redis/servers.ts';
import { array, bulk, FakeServer, replying, type Script } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { DEADLINE_MS, fakeStore, offer, set, withStore } from '../../world/world-engines.ts';
import { Asker } from '../results.ts';

const SOURCES = new URL('../../../src/engine/redis/', import.meta.url);
const NONE: Script = () => undefined;
/** Commands that every user may use, that only warnings need, or that only Sentinels have. */
const UNTRIED = ['AUTH', 'CONFIG', 'SENTINEL', 'SUBSCRIBE'];

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

/** Returns each command that a script tries, with its key or channel. */
function triedIn(words: readonly string[]): (readonly string[])[] {
  const tried: (readonly string[])[] = [];
  for (let at = 3; at < words.length; ) {
    const end = at + 1 + Number(words[at]);
    tried.push(words.slice(at + 1, end));
    at = end;
  }
  return tried;
}

/** Replies to each command in the script with an error or an empty string. */
function inScript(errorOf: (command: string, key: string) => string | undefined): Script {
  return (words) => {
    if (words[0] !== 'EVALSHA') return undefined;
    return array(
      triedIn(words).map(([command = '', key = '']) => bulk(errorOf(command, key) ?? '')),
    );
  };
}

async function refusal(login = { user: 'grid', password: 'secret' }): Promise<string> {
  const { engine } = fakeStore(world, server.url, { login });
  try {
    await world.during(engine.open());
  } catch (error) {
    assert(error instanceof StoreUnusable, `${error}`);
    return error.message.replace(/127\.0\.0\.1:\d+/, 'SERVER');
  } finally {
    await world.during(engine.close());
  }
  assert.fail('the engine was opened');
}

test('each command in the sources is tried', async () => {
  const tried = new Set<string>();
  const note: Script = (words) => {
    tried.add(words[0] ?? '');
    for (const [command = ''] of triedIn(words[0] === 'EVALSHA' ? words : [])) tried.add(command);
    return words[0] === 'CLUSTER' && words[1] === 'INFO'
      ? bulk('cluster_state:ok\r\n')
      : words[0] === 'CLUSTER'
        ? array([array([':0\r\n', ':16383\r\n', array([bulk('?'), `:${server.port}\r\n`])])])
        : undefined;
  };
  server.script = note;
  server.rights = note;
  server.mode = 'cluster';
  await withStore(world, server.url, { replicaCountMax: () => 0 }, async () => {});
  const used = readdirSync(SOURCES).flatMap((file) => {
    const text = readFileSync(new URL(file, SOURCES), 'utf8');
    return [...text.matchAll(/(?:call\(|header\([^']*?|ask\()'([A-Z]+)'/g)].map(([, name]) => name);
  });
  assert(used.length > 60);
  assert.deepEqual(
    [...new Set(used)].filter((name) => !tried.has(name!) && !UNTRIED.includes(name!)),
    [],
  );
});

for (const [name, [ofCommand, ofKey, ofChannel]] of Object.entries({
  'Redis 7.0': [
    "ERR The user executing the script can't run this command or subcommand",
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
    "ERR The user executing the script can't publish to the channel mentioned in the command",
  ],
  Valkey: [
    "ERR ACL failure in script: User keys channel has no permissions to run the 'rpush' command",
    'ERR ACL failure in script: No permissions to access a key',
    'ERR ACL failure in script: No permissions to access a channel',
  ],
})) {
  test(`each right that ${name} does not grant is named, with the user`, async () => {
    server.rights = inScript((command, key) => {
      if (command === 'RPUSH' || command === 'ZSCAN') return ofCommand;
      if (command === 'SPUBLISH') return ofChannel;
      return key.includes('/c:') || key.includes('/h:') ? ofKey : undefined;
    });
    server.script = ([command, word]) =>
      command === 'WAIT' || word === 'KILL' ? '-NOPERM no permissions to run it\r\n' : undefined;
    assert.equal(
      await refusal(),
      'Cannot use the server SERVER: the user "grid" is not permitted to use the commands ZSCAN, ' +
        'RPUSH, WAIT, CLIENT KILL; the keys {*}4:grid/h:*, {*}4:grid/c:*; the channels {*}4:grid/u:*',
    );
  });
}

test('a subscription without permission is named', async () => {
  server.rights = replying(
    'SSUBSCRIBE',
    '-NOPERM this user has no permissions to access one of the channels used as arguments\r\n',
  );
  assert.match(await refusal(), /not permitted to use the channels \{\*\}4:grid\/u:\*$/);
  server.rights = replying(
    'SSUBSCRIBE',
    "-NOPERM this user has no permissions to run the 'ssubscribe' command\r\n",
  );
  assert.match(
    await refusal({ user: undefined as never, password: 'secret' }),
    /the default user is not permitted to use the commands SSUBSCRIBE$/,
  );
});

test('errors that do not concern rights do not end the start', async () => {
  const texts = [
    'ERR Write commands are not allowed from read-only scripts.',
    "OOM command not allowed when used memory > 'maxmemory'.",
    'NOREPLICAS Not enough good replicas to write.',
    'ERR Script attempted to access a non local key in a cluster node',
    'MISCONF Redis is configured to save RDB snapshots',
    'WRONGTYPE Operation against a key holding the wrong kind of value',
  ];
  let count = 0;
  server.rights = inScript(() => texts[count++ % texts.length]);
  await withStore(world, server.url, {}, async ({ engine }) => {
    assert.equal(await set(engine, 'key', 'value'), APPLIED);
  });
  server.rights = () => '-MOVED 1 127.0.0.1:1\r\n';
  await withStore(world, server.url, {}, async ({ engine }) => {
    assert.equal(await set(engine, 'key', 'value'), APPLIED);
  });
});

test('a server that is unreachable at the start is tried before it is used', async () => {
  server.script = replying('SCRIPT', '-LOADING it loads\r\n');
  let isLost = false;
  server.rights = () => {
    server.script = NONE;
    if (isLost) return "-NOPERM this user has no permissions to run the 'evalsha' command\r\n";
    isLost = true;
    return 'cut';
  };
  assert.match(await refusal(), /not permitted to use the commands EVALSHA/);
});

for (const [name, place] of [
  ['Redis 7.0', 'script: SHA, on @user_script'],
  ['Valkey 9', 'script: on @user_script'],
] as const) {
  test(`after an error of ${name} in a script, the change was not made, or may have been`, async () => {
    for (const [command, expected] of [
      ['HINCRBY', UNREACHABLE],
      ['RPUSH', UNKNOWN],
    ] as const) {
      const line = OFFER.source.slice(0, OFFER.source.indexOf(command)).split('\n').length;
      const [, sha = ''] = /EVALSHA\r\n\$40\r\n(\w+)/.exec(`${OFFER.header.bytes}`) ?? [];
      const where = `${place.replace('SHA', sha)}:${line}`;
      server.script = replying(
        'EVALSHA',
        `-ERR ACL failure in script: no permissions ${where}.\r\n`,
      );
      await withStore(world, server.url, {}, async ({ engine, refused }) => {
        assert.equal(await offer(engine, 'queue', 'item'), expected);
        assert.match(refused[0] ?? '', /^EVALSHA: /);
      });
    }
  });
}

for (const [name, refused, error] of [
  ['a wrong password', 'AUTH', 'WRONGPASS invalid username-password pair'],
  [
    'a command of each connection',
    'ROLE',
    "NOPERM this user has no permissions to run the 'role' command",
  ],
] as const) {
  test(`after the start, ${name} is the reason of a 503`, async () => {
    const login = { user: 'grid', password: 'secret' };
    const options = { login, deadlineMs: DEADLINE_MS };
    await withStore(world, server.url, options, async ({ engine, lost }) => {
      server.script = replying(refused, `-${error}\r\n`);
      for (let left = 4; left > 0; left--) server.dropOne();
      const asker = new Asker(engine);
      while (lost.length === 0) await asker.get('map', 'key');
      while ((await asker.get('map', 'key')).reason !== NOT_PERMITTED);
    });
  });
}
