/**
 * Engines and members whose user has the rights that docs/several-members.md lists and no others; and starts
 * where one of these rights is missing.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { resolveConfig } from '../../src/config/config.ts';
import type { SettingKey } from '../../src/config/settings.ts';
import { APPLIED, FOUND, NOT_PERMITTED, UNREACHABLE } from '../../src/engine/engine.ts';
import type { RedisEngine, RedisEngineOptions } from '../../src/engine/redis/redis-engine.ts';
import { StoreUnusable } from '../../src/engine/redis/servers.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import { startMember } from '../../src/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { engineSuite } from '../engine/engine.case.ts';
import { holdSuite } from '../engine/holds.case.ts';
import { Asker } from '../engine/results.ts';
import { dataCases } from '../integration/data.case.ts';
import { EngineServer } from './engine-server.ts';
import { asked, type ServerGroup, startCluster, startWatched } from './server-group.ts';
import { until } from './server-process.ts';
import { storeEngine, subjectOf } from './store-engines.ts';

const PAGE = new URL('../../docs/several-members.md', import.meta.url);
const [OF_ONE = [], OF_CLUSTER = [], OF_SENTINEL = []] = linesOfPage();
const USER = 'gridnode';
const PASSWORD = 'secret';
const LOGIN = { user: USER, password: PASSWORD };

type Line = readonly string[];

/** The words of each ACL line, by block. */
function linesOfPage(): Line[][] {
  const [, section = ''] = /^## Rights\n(.*?)^## /ms.exec(readFileSync(PAGE, 'utf8')) ?? [];
  return [...section.matchAll(/^```text\n(.*?)^```/gms)].map(([, block = '']) =>
    block.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')])),
  );
}

/** Makes the user of the lines, for the cluster of that name, without the rights in `missing`. */
async function makeUser(
  port: number,
  lines: readonly Line[],
  clusterName = 'grid',
  missing: readonly string[] = [],
): Promise<void> {
  const owner = `${Buffer.byteLength(clusterName)}:${clusterName}`;
  for (const line of lines) {
    const words = line
      .filter((word) => !missing.includes(word))
      .map((word) => word.replace('3:dev', owner).replace('PASSWORD', PASSWORD));
    assert.equal(await asked(port, ...words), 'OK');
  }
}

function rightsIn(lines: readonly Line[]): string[] {
  return lines.flat().filter((word) => /^[+~&]/.test(word));
}

/** How a refusal names the right. */
function nameOf(right: string): RegExp {
  if (right.startsWith('~')) return /the keys \{\*\}4:grid\/m:\*, .*\{\*\}4:grid\/c:\*$/;
  if (right === '&+switch-master') return /the channels \+switch-master$/;
  if (right.startsWith('&')) return /the channels \{\*\}4:grid\/u:\*$/;
  const name = right.slice(1).replace('|', '[ |]');
  return new RegExp(`the commands ${name}$|NOPERM.*'${name}' command`, 'i');
}

function engineOn(port: number, more: Partial<RedisEngineOptions> = {}): Promise<RedisEngine> {
  return storeEngine({ port, login: LOGIN, ...more });
}

async function assertRefused(right: string, open: () => Promise<RedisEngine>): Promise<void> {
  await assert.rejects(
    async () => {
      await (await open()).close();
    },
    (error) => {
      assert(error instanceof StoreUnusable, `${right}: ${error}`);
      assert.match(error.message, /^Cannot use the server 127\.0\.0\.1:\d+: .*the user "gridnode"/);
      assert.match(error.message, nameOf(right), right);
      return true;
    },
  );
}

describe('The rights on one server', () => {
  let server: EngineServer;
  before(async () => {
    server = await EngineServer.start();
  });
  after(() => server.stop());

  let clusterCount = 0;
  const subject = async () => {
    const clusterName = `grid-${clusterCount++}`;
    await makeUser(server.port, OF_ONE, clusterName);
    return subjectOf(await engineOn(server.port, { clusterName }));
  };
  engineSuite('an engine with these rights', subject);
  holdSuite('an engine with these rights', subject);

  dataCases('a member with these rights', async () => {
    await makeUser(server.port, OF_ONE, 'served');
    const source = { kind: 'flag', name: 'test' } as const;
    const settings = {
      ...{ port: '0', engineUrl: `redis://127.0.0.1:${server.port}`, clusterName: 'served' },
      ...{ engineUser: USER, enginePassword: PASSWORD },
    };
    const config = resolveConfig([
      ...Object.entries(settings).map(([key, text]) => ({ key: key as SettingKey, text, source })),
      { key: 'endpointGroups', name: 'DATA', text: 'true', source },
    ]);
    return startMember(config, createLog('OFF', process.stdout));
  });

  it('are tried without a change of data', async () => {
    await makeUser(server.port, OF_ONE);
    await asked(server.port, 'FLUSHALL');
    const changes = async () =>
      /rdb_changes_since_last_save:(\d+)/.exec(
        `${await asked(server.port, 'INFO', 'persistence')}`,
      )?.[1];
    const changesBefore = await changes();
    const warnings: string[] = [];
    const engine = await engineOn(server.port, { onWarning: (text) => warnings.push(text) });
    await engine.close();
    assert.equal(await changes(), changesBefore);
    assert.equal(await asked(server.port, 'DBSIZE'), 0);
    assert.doesNotMatch(warnings.join('\n'), /could not be read/);
  });

  for (const right of rightsIn(OF_ONE)) {
    it(`without ${right} ${right === '+config|get' ? 'cause a warning' : 'end the start'}`, async () => {
      await makeUser(server.port, OF_ONE, 'grid', [right]);
      if (right !== '+config|get') {
        return assertRefused(right, () => engineOn(server.port));
      }
      const warnings: string[] = [];
      const engine = await engineOn(server.port, { onWarning: (text) => warnings.push(text) });
      await engine.close();
      assert.match(warnings.join('\n'), /could not be read: NOPERM/);
    });
  }

  it('are all named that are missing, also where the memory is full', async () => {
    await makeUser(server.port, OF_ONE, 'grid', ['+rpush', '+hget', '+wait', '+client|kill']);
    await asked(server.port, 'CONFIG', 'SET', 'maxmemory', '1');
    try {
      await assert.rejects(engineOn(server.port), /the commands HGET, RPUSH, WAIT, CLIENT KILL$/);
    } finally {
      await asked(server.port, 'CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('that are taken away in use: a write is not applied, and reported', async () => {
    await makeUser(server.port, OF_ONE);
    const refused: string[] = [];
    const onRefused = (_: unknown, command: () => string, text: string) =>
      refused.push(`${command()}: ${text}`);
    const engine = await engineOn(server.port, { onRefused });
    const asker = new Asker(engine);
    await asked(server.port, 'ACL', 'SETUSER', USER, '-hincrby', '-hset');
    for (const answer of [await asker.offer('q', 'v'), await asker.set('m', 'k', 'v')]) {
      assert.equal(answer.outcome, UNREACHABLE);
      assert.equal(answer.reason, NOT_PERMITTED);
    }
    assert.match(refused.join('\n'), /EVALSHA: ERR .*\nHSET: NOPERM/);
    await engine.close();
  });

  for (const right of ['-spublish', 'resetchannels']) {
    it(`${right} in use: an offer is applied, and another member's poll gets the item`, async () => {
      await makeUser(server.port, OF_ONE);
      const refused: string[] = [];
      const onRefused = (_: unknown, command: () => string) => refused.push(command());
      const engines = [
        await engineOn(server.port, { onRefused }),
        await engineOn(server.port, { onRefused }),
      ];
      const [one, other] = engines.map((engine) => new Asker(engine)) as [Asker, Asker];
      const { keeper } = one.wait('awaited', 10_000);
      await sleep(300);
      await asked(server.port, 'ACL', 'SETUSER', USER, right);
      assert.equal((await other.offer('awaited', 'item')).outcome, APPLIED);
      const { outcome, value } = await keeper.answered;
      assert.deepEqual([outcome, value], [FOUND, 'item']);
      if (right === 'resetchannels') await until(async () => refused.includes('SSUBSCRIBE'));
      await Promise.all(engines.map((engine) => engine.close()));
    });
  }
});

describe('The rights on a cluster', () => {
  let group: ServerGroup;
  const lines = [...OF_ONE, ...OF_CLUSTER];
  before(async () => {
    group = await startCluster();
  });
  after(() => group.end());

  const open = () =>
    engineOn(0, {
      connect: (own, observer) => new StoreServers(parseEngineUrl(group.url), own, observer),
      mapReplicaCount: () => 1,
      queueReplicaCount: () => 1,
    });

  it('suffice for maps and queues', async () => {
    for (const { port } of group.servers) await makeUser(port, lines);
    const engine = await open();
    await assertServes(new Asker(engine));
    await engine.close();
  });

  for (const right of [...rightsIn(OF_CLUSTER), '+rpush', '~{*}3:dev/*', '&{*}3:dev/*']) {
    it(`without ${right} end the start, on any primary`, async () => {
      for (const { port } of group.servers) await makeUser(port, lines);
      // The replica of the URL is asked first, and all primaries are tried.
      const among = right.includes('cluster') ? group.servers : group.servers.slice(0, 3);
      for (const { port } of among) await makeUser(port, lines, 'grid', [right]);
      await assertRefused(right, open);
    });
  }
});

describe('The rights with Sentinels', () => {
  let group: Awaited<ReturnType<typeof startWatched>>;
  before(async () => {
    group = await startWatched();
    for (const { port } of group.servers) await makeUser(port, OF_ONE);
  });
  after(() => group.end());

  const open = () =>
    engineOn(0, {
      connect: (own, observer) => new StoreServers(parseEngineUrl(group.url), own, observer),
      mapReplicaCount: () => 1,
      queueReplicaCount: () => 1,
    });

  it('suffice for maps and queues', async () => {
    for (const { port } of group.sentinels) await makeUser(port, OF_SENTINEL);
    const engine = await open();
    await assertServes(new Asker(engine));
    await engine.close();
  });

  for (const right of rightsIn(OF_SENTINEL)) {
    it(`without ${right} at one Sentinel end the start`, async () => {
      for (const { port } of group.sentinels) await makeUser(port, OF_SENTINEL);
      await makeUser(group.sentinels[2]!.port, OF_SENTINEL, 'grid', [right]);
      await assertRefused(right, open);
    });
  }
});

async function assertServes(asker: Asker): Promise<void> {
  for (let index = 0; index < 50; index++) {
    assert.equal((await asker.set('m', `${index}`, 'v')).outcome, APPLIED);
    assert.equal((await asker.get('m', `${index}`)).outcome, FOUND);
    assert.equal((await asker.offer(`q ${index}`, 'v')).outcome, APPLIED);
    assert.equal((await asker.poll(`q ${index}`)).outcome, FOUND);
  }
}
