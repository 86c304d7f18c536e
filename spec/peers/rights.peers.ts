/**
 * Engines and members whose user has only the rights that docs/several-members.md lists, and their
 * refusal to start if one of these rights is missing.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { APPLIED, FOUND, NOT_PERMITTED, UNREACHABLE } from '../../src/engine/engine.ts';
import type { RedisEngine, RedisEngineOptions } from '../../src/engine/redis/redis-engine.ts';
import { StoreUnusable } from '../../src/engine/redis/servers.ts';
import { engineSuite } from '../engine/engine.case.ts';
import { holdSuite } from '../engine/holds.case.ts';
import { Asker } from '../engine/results.ts';
import { dataCases } from '../integration/data.case.ts';
import { memberWith } from '../integration/member-on.ts';
import { serverForTests } from './engine-server.ts';
import { type ServerGroup, sendCommand, startCluster, startSentinelGroup } from './server-group.ts';
import { until } from './server-process.ts';
import { storeEngine, subjectOf } from './store-engines.ts';

const PAGE = new URL('../../docs/several-members.md', import.meta.url);
const [SERVER_RIGHTS = [], CLUSTER_RIGHTS = [], SENTINEL_RIGHTS = []] = linesOfPage();
const USER = 'gridnode';
const PASSWORD = 'secret';
const LOGIN = { user: USER, password: PASSWORD };

type Line = readonly string[];

/** The words of each ACL line, by block of the page. */
function linesOfPage(): Line[][] {
  const [, section = ''] = /^## Rights\n(.*?)^## /ms.exec(readFileSync(PAGE, 'utf8')) ?? [];
  return [...section.matchAll(/^```text\n(.*?)^```/gms)].map(([, block = '']) =>
    block.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')])),
  );
}

/** Creates the user of the lines for the cluster, without the rights in `missing`. */
async function makeUser(
  port: number,
  lines: readonly Line[],
  clusterName = 'grid',
  missing: readonly string[] = [],
  user = USER,
): Promise<void> {
  const owner = `${Buffer.byteLength(clusterName)}:${clusterName}`;
  for (const line of lines) {
    const words = line
      .filter((word) => !missing.includes(word))
      .map((word) => (word === USER ? user : word))
      .map((word) => word.replace('3:dev', owner).replace('PASSWORD', PASSWORD));
    assert.equal(await sendCommand(port, ...words), 'OK');
  }
}

function rightsIn(lines: readonly Line[]): string[] {
  return lines.flat().filter((word) => /^[+~&]/.test(word));
}

/** The pattern by which a refusal names the right. */
function patternOf(right: string): RegExp {
  if (right.startsWith('~')) return /the keys \{\*\}4:grid\/m:\*, .*\{\*\}4:grid\/c:\*$/;
  if (right === '&+switch-master') return /the channels \+switch-master$/;
  if (right.startsWith('&')) return /the channels \{\*\}4:grid\/u:\*$/;
  const name = right.slice(1).replace('|', '[ |]');
  return new RegExp(`the commands ${name}$|NOPERM.*'${name}' command`, 'i');
}

function engineOn(port: number, more: Partial<RedisEngineOptions> = {}): Promise<RedisEngine> {
  return storeEngine({ port, login: LOGIN, ...more });
}

/** Opens an engine on a Cluster or on servers with Sentinels. */
function engineOnGroup({ url }: ServerGroup): Promise<RedisEngine> {
  const replicas = { mapReplicaCount: () => 1, queueReplicaCount: () => 1 };
  return storeEngine({ url, login: LOGIN, ...replicas });
}

async function assertRefused(right: string, open: () => Promise<RedisEngine>): Promise<void> {
  await assert.rejects(
    async () => {
      await (await open()).close();
    },
    (error) => {
      assert(error instanceof StoreUnusable, `${right}: ${error}`);
      assert.match(error.message, /^Cannot use the server 127\.0\.0\.1:\d+: .*the user "gridnode"/);
      assert.match(error.message, patternOf(right), right);
      return true;
    },
  );
}

describe('the rights on one server', () => {
  const server = serverForTests();
  let clusterCount = 0;
  const subject = async () => {
    const clusterName = `grid-${clusterCount++}`;
    const login = { user: `${USER}-${clusterName}`, password: PASSWORD };
    await makeUser(server.port, SERVER_RIGHTS, clusterName, [], login.user);
    return subjectOf(await engineOn(server.port, { clusterName, login }));
  };
  engineSuite('an engine with these rights', subject, true);
  holdSuite('an engine with these rights', subject);

  dataCases('a member with these rights', async () => {
    await makeUser(server.port, SERVER_RIGHTS, 'served');
    return memberWith({
      ...{ engineUrl: `redis://127.0.0.1:${server.port}`, clusterName: 'served' },
      ...{ engineUser: USER, enginePassword: PASSWORD },
    });
  });

  it('are checked without a change of data', async () => {
    await makeUser(server.port, SERVER_RIGHTS);
    await sendCommand(server.port, 'FLUSHALL');
    const changes = async () =>
      /rdb_changes_since_last_save:(\d+)/.exec(
        `${await sendCommand(server.port, 'INFO', 'persistence')}`,
      )?.[1];
    const changesBefore = await changes();
    const warnings: string[] = [];
    const engine = await engineOn(server.port, { onWarning: (text) => warnings.push(text) });
    await engine.close();
    assert.equal(await changes(), changesBefore);
    assert.equal(await sendCommand(server.port, 'DBSIZE'), 0);
    assert.doesNotMatch(warnings.join('\n'), /could not be read/);
  });

  for (const right of rightsIn(SERVER_RIGHTS)) {
    it(`without ${right} cause ${right === '+config|get' ? 'a warning' : 'a refusal to start'}`, async () => {
      await makeUser(server.port, SERVER_RIGHTS, 'grid', [right]);
      if (right !== '+config|get') {
        return assertRefused(right, () => engineOn(server.port));
      }
      const warnings: string[] = [];
      const engine = await engineOn(server.port, { onWarning: (text) => warnings.push(text) });
      await engine.close();
      assert.match(warnings.join('\n'), /could not be read: NOPERM/);
    });
  }

  it('are all named in the refusal if several are missing, even if the memory is full', async () => {
    await makeUser(server.port, SERVER_RIGHTS, 'grid', [
      '+rpush',
      '+hget',
      '+wait',
      '+client|kill',
    ]);
    await sendCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '1');
    try {
      await assert.rejects(engineOn(server.port), /the commands HGET, RPUSH, WAIT, CLIENT KILL$/);
    } finally {
      await sendCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('are required for each write: after a revocation a write is not applied, and reported', async () => {
    await makeUser(server.port, SERVER_RIGHTS);
    const refused: string[] = [];
    const onRefused = (_: unknown, command: () => string, text: string) =>
      refused.push(`${command()}: ${text}`);
    const engine = await engineOn(server.port, { onRefused });
    const asker = new Asker(engine);
    await sendCommand(server.port, 'ACL', 'SETUSER', USER, '-hincrby', '-hset');
    for (const result of [await asker.offer('q', 'v'), await asker.set('m', 'k', 'v')]) {
      assert.equal(result.outcome, UNREACHABLE);
      assert.equal(result.reason, NOT_PERMITTED);
    }
    assert.match(refused.join('\n'), /EVALSHA: ERR .*\nHSET: NOPERM/);
    await engine.close();
  });

  for (const right of ['-spublish', 'resetchannels']) {
    it(`are not needed for wake-ups: after ${right} an offer is applied, and a poll of another member gets the item`, async () => {
      await makeUser(server.port, SERVER_RIGHTS);
      const refused: string[] = [];
      const onRefused = (_: unknown, command: () => string) => refused.push(command());
      const engines = [
        await engineOn(server.port, { onRefused }),
        await engineOn(server.port, { onRefused }),
      ];
      const [one, other] = engines.map((engine) => new Asker(engine)) as [Asker, Asker];
      const { keeper } = one.wait('awaited', 10_000);
      await sleep(300);
      await sendCommand(server.port, 'ACL', 'SETUSER', USER, right);
      assert.equal((await other.offer('awaited', 'item')).outcome, APPLIED);
      const { outcome, value } = await keeper.answered;
      assert.deepEqual([outcome, value], [FOUND, 'item']);
      if (right === 'resetchannels') await until(async () => refused.includes('SSUBSCRIBE'));
      await Promise.all(engines.map((engine) => engine.close()));
    });
  }
});

describe('the rights on a Cluster', () => {
  let group: ServerGroup;
  const lines = [...SERVER_RIGHTS, ...CLUSTER_RIGHTS];
  before(async () => {
    group = await startCluster();
  });
  after(() => group.end());

  it('suffice for maps and queues', async () => {
    for (const { port } of group.servers) await makeUser(port, lines);
    await assertServes(await engineOnGroup(group));
  });

  for (const right of [...rightsIn(CLUSTER_RIGHTS), '+rpush', '~{*}3:dev/*', '&{*}3:dev/*']) {
    it(`without ${right} on the primaries cause a refusal to start`, async () => {
      for (const { port } of group.servers) await makeUser(port, lines);
      // The URL's replica reports the topology; the other rights are checked on all primaries.
      const servers = right.includes('cluster') ? group.servers : group.servers.slice(0, 3);
      for (const { port } of servers) await makeUser(port, lines, 'grid', [right]);
      await assertRefused(right, () => engineOnGroup(group));
    });
  }
});

describe('the rights with Sentinels', () => {
  let group: Awaited<ReturnType<typeof startSentinelGroup>>;
  before(async () => {
    group = await startSentinelGroup();
    for (const { port } of group.servers) await makeUser(port, SERVER_RIGHTS);
  });
  after(() => group.end());

  it('suffice for maps and queues', async () => {
    for (const { port } of group.sentinels) await makeUser(port, SENTINEL_RIGHTS);
    await assertServes(await engineOnGroup(group));
  });

  for (const right of rightsIn(SENTINEL_RIGHTS)) {
    it(`without ${right} on one Sentinel cause a refusal to start`, async () => {
      for (const { port } of group.sentinels) await makeUser(port, SENTINEL_RIGHTS);
      await makeUser(group.sentinels[2]!.port, SENTINEL_RIGHTS, 'grid', [right]);
      await assertRefused(right, () => engineOnGroup(group));
    });
  }
});

/** Runs changes and reads on maps and queues, then closes the engine. */
async function assertServes(engine: RedisEngine): Promise<void> {
  const asker = new Asker(engine);
  for (let index = 0; index < 50; index++) {
    assert.equal((await asker.set('m', `${index}`, 'v')).outcome, APPLIED);
    assert.equal((await asker.get('m', `${index}`)).outcome, FOUND);
    assert.equal((await asker.offer(`q ${index}`, 'v')).outcome, APPLIED);
    assert.equal((await asker.poll(`q ${index}`)).outcome, FOUND);
  }
  await engine.close();
}
