/**
 * Members on one server: the cluster that they form, and what they serve and report while the
 * server refuses changes, has another layout, or does not reply. A suite for real servers and fake
 * ones.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GAP_MS } from '../../../src/cluster/membership-store.ts';
import {
  ABSENT,
  APPLIED,
  DATA_LAYOUT,
  FOUND,
  MEMORY_FULL,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { ControlConnection } from '../../../src/engine/redis/control-connection.ts';
import { namePrefix } from '../../../src/engine/redis/member-connections.ts';
import { joinOf } from '../../cluster/membership-store.case.ts';
import { type FaultyServer, type StartServer, until } from './faulty-server.ts';
import { type JoinedMember, joinedMember, joiningMember } from './joined-member.ts';

type Options = Parameters<FaultyServer['open']>[0];
type Join = (uuid: string, options?: Options) => Promise<JoinedMember>;

const LEASE_MS = 3 * GAP_MS;
const DEADLINE_MS = 600;

function uuidsOf({ cluster }: JoinedMember): string[] {
  return cluster.members.map(({ uuid }) => uuid);
}

export function describeMembers(name: string, start: StartServer): void {
  /** Runs a test on a new server. `join` starts a member, which leaves at the end. */
  const onServer =
    (test: (server: FaultyServer, join: Join) => Promise<void>) => async (): Promise<void> => {
      const server = await start(false);
      const members: JoinedMember[] = [];
      const join: Join = async (uuid, options) => {
        const engine = await server.open({ deadlineMs: DEADLINE_MS, ...options });
        const settings = { uuid, leaseMs: LEASE_MS };
        members.push(await joinedMember(engine, server.network.clock, settings));
        return members.at(-1)!;
      };
      await server.run(async () => {
        try {
          await test(server, join);
        } finally {
          await Promise.all(members.map((member) => member.end()));
        }
      });
      await server.end();
    };
  describe(`${name}, members`, () => {
    describeTogether(onServer);
    describeRefusing(onServer);
  });
}

type OnServer = Parameters<typeof describeTogether>[0];

function describeTogether(
  onServer: (test: (server: FaultyServer, join: Join) => Promise<void>) => () => Promise<void>,
): void {
  it(
    'list each other, and change data and the cluster state together',
    onServer(async (server, join) => {
      const [first, second] = [await join('a'), await join('b')];
      await until(server, () => uuidsOf(first).length === 2);
      for (const member of [first, second]) assert.deepEqual(uuidsOf(member), ['a', 'b']);
      assert.equal((await second.asker.set('m', 'k', 'v')).outcome, APPLIED);
      assert.equal((await first.asker.get('m', 'k')).value, 'v');
      assert.ok(first.cluster.isSafe && second.cluster.isSafe);
      await second.cluster.changeState('PASSIVE');
      for (const { cluster } of [first, second]) {
        assert.deepEqual([cluster.state, cluster.acceptsWrites], ['PASSIVE', false]);
      }
      await first.cluster.changeState('ACTIVE');
      assert.ok(first.cluster.acceptsWrites && second.cluster.acceptsWrites);
      await second.cluster.leave();
      await until(server, () => uuidsOf(first).length === 1);
    }),
  );

  it(
    'never assign two changes the same version',
    onServer(async (_, join) => {
      const members = [await join('a'), await join('b')];
      const sets = Array.from({ length: 1000 }, (_, index) =>
        members[index % 2]!.asker.set('m', `${index}`, 'v'),
      );
      const versions = (await Promise.all(sets)).map(({ outcome, version: { high, low } }) => {
        assert.equal(outcome, APPLIED);
        return `${high} ${low}`;
      });
      assert.equal(new Set(versions).size, versions.length);
    }),
  );

  it(
    'return the items of a member that is removed, which joins again later',
    onServer(async (server, join) => {
      const proxy = await server.newProxy();
      const [first, second] = [await join('a'), await join('b', { port: proxy.port })];
      const queueSize = async () => (await first.asker.queueSize('q')).count;
      await first.asker.offer('q', 'a');
      proxy.silence(true);
      second.asker.wait('q', 60_000);
      await until(server, async () => (await queueSize()) === 0);
      await server.ask('CONFIG', 'SET', 'maxmemory', '1');
      await until(server, async () => (await queueSize()) === 1);
      await server.ask('CONFIG', 'SET', 'maxmemory', '0');
      await until(server, () => uuidsOf(first).length === 1);
      const marks = (await server.keys()).filter((key) => key.includes('/k:'));
      assert.equal(marks.length, 1, 'only partitions in which it held items have its marks');
      assert.equal((await first.asker.poll('q')).value, 'a');
      assert.equal(second.cluster.acceptsWrites, false);
      proxy.silence(false);
      await until(server, () => second.cluster.acceptsWrites);
      assert.deepEqual(uuidsOf(second), ['a', 'b']);
      assert.deepEqual(second.reports, ['joined 2', 'away', 'out', 'joined 3']);
      await first.asker.offer('q', 'b');
      assert.equal((await second.asker.poll('q')).value, 'b');
      const record = await recordOn(server);
      await until(server, async () => (await server.ask('HEXISTS', record, 'gone')) === '0');
      assert.equal(await server.ask('HEXISTS', record, 'members'), '1');
      proxy.stop();
    }),
  );

  it(
    'close the connections of former members before they change to PASSIVE',
    onServer(async (server, join) => {
      const member = await join('a');
      const named = async (name: string): Promise<ControlConnection> => {
        const control = new ControlConnection(
          { host: '127.0.0.1', port: server.port },
          {
            ...{ ...server.network, login: { user: undefined, password: undefined } },
            ...{ tls: undefined, mayChange: () => true, deadlineMs: DEADLINE_MS },
            counter: { count: 0 },
          },
        );
        await control.ask('CLIENT', 'SETNAME', name);
        return control;
      };
      const [prefix, otherPrefix] = [namePrefix('grid'), namePrefix('another cluster')];
      const former = await named(`${prefix}former`);
      const open = [
        await named(`${prefix}a`),
        await named(`${otherPrefix}former`),
        await named('other'),
      ];
      await member.cluster.changeState('PASSIVE');
      await assert.rejects(former.ask('PING'));
      for (const control of open) {
        assert.equal(await control.ask('PING'), 'PONG');
        control.end();
      }
    }),
  );
}

/** Returns the key of the cluster's record. */
async function recordOn(server: FaultyServer): Promise<string> {
  return (await server.keys()).find((key) => key.endsWith('/c:record'))!;
}

function describeRefusing(onServer: OnServer): void {
  it(
    'join while the server has no memory left, and serve reads and deletes',
    onServer(async (server, join) => {
      const first = await join('a');
      await first.asker.set('m', 'k', 'v');
      await server.ask('CONFIG', 'SET', 'maxmemory', '1');
      const refused: string[] = [];
      const onRefused = (_: unknown, command: () => string, text: string) =>
        refused.push(`${command()}: ${text}`);
      const members = [
        await join('b', { onRefused }),
        await join('a', { onRefused, clusterName: 'another' }),
      ];
      await server.sleep(LEASE_MS / 2);
      for (const { cluster, asker } of members) {
        assert.ok(cluster.isReady);
        assert.equal((await asker.set('m', 'new', 'v')).outcome, MEMORY_FULL);
      }
      assert.deepEqual([...new Set(refused.map((line) => line.split(' ')[0]))], ['HSET:']);
      const [{ asker }] = members as [JoinedMember];
      assert.equal((await asker.get('m', 'k')).outcome, FOUND);
      assert.equal((await asker.delete('m', 'k')).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
      await server.ask('CONFIG', 'SET', 'maxmemory', '0');
    }),
  );

  it(
    'remove expired entries while the server has no memory left',
    onServer(async (server, join) => {
      const { asker } = await join('a', { partitionCount: 4 });
      const short = { timeToLiveMs: 500, maxIdleSeconds: 0 };
      const sets = Array.from({ length: 1000 }, (_, index) =>
        asker.set('m', `k${index}`, 'v', '', short),
      );
      for (const set of sets) assert.equal((await set).outcome, APPLIED);
      await server.ask('CONFIG', 'SET', 'maxmemory', '1');
      assert.equal((await asker.set('m', 'more', 'v')).outcome, MEMORY_FULL);
      await until(server, async () => !/\/[mxe]:/.test((await server.keys()).join()));
      await server.ask('CONFIG', 'SET', 'maxmemory', '0');
    }),
  );

  it(
    'join only with the layout of the store, and serve no data of another one',
    onServer(async (server, join) => {
      const warnings: string[] = [];
      const onWarning = (text: string) => warnings.push(text);
      const member = await join('a', { onWarning, partitionCount: 40 });
      const record = await recordOn(server);
      const layout = '{"format":1,"partitionCount":40}';
      assert.equal(await server.ask('HGET', record, 'layout'), layout);
      const other = await server.open({ partitionCount: 300 });
      const { membershipStore } = other;
      for (const [stored, fault] of [
        [layout, 'it has 40 partitions, but this member is configured for 300'],
        ['{"format":2}', 'its layout has format 2, but this version supports format 1'],
        ['"text"', 'its layout record is invalid: ""text""'],
        ['null', 'its layout record is invalid: "null"'],
        ['x'.repeat(101), `its layout record is invalid: "${'x'.repeat(100)}"`],
      ] as const) {
        await server.ask('HSET', record, 'layout', stored);
        const message = `Cannot use the data of cluster "grid" in the store: ${fault}`;
        await assert.rejects(membershipStore.join(joinOf(1)), { message });
      }
      await other.close();
      await server.ask('FLUSHALL');
      await server.ask('HSET', record, 'layout', '{"format":1,"partitionCount":300}');
      await until(server, async () => (await member.asker.get('m', 'k')).reason === DATA_LAYOUT);
      assert.equal((await member.asker.set('m', 'k', 'v')).outcome, UNREACHABLE);
      assert.equal((await member.asker.offer('q', 'v')).outcome, UNREACHABLE);
      const isReported = () => member.reports.some((text) => /it has 300 partitions/.test(text));
      await until(server, isReported);
      await server.ask('FLUSHALL');
      const isSet = async () => (await member.asker.set('m', 'k', 'v')).outcome === APPLIED;
      await until(server, isSet);
      assert.match(warnings.join('\n'), /have lost the record of the members/);
    }),
  );

  for (const error of ['NOREPLICAS', 'MISCONF'] as const) {
    it(
      `wait and report while the server replies ${error}, then join; once joined they keep their lease`,
      onServer(async (server) => {
        await server.refuse(error, true);
        const engine = await server.open();
        const settings = { uuid: 'a', leaseMs: LEASE_MS };
        const { member, joined } = joiningMember(engine, server.network.clock, settings);
        await until(server, () => member.reports.length > 0);
        const { reports, cluster, asker } = member;
        assert.match(
          reports[0]!,
          new RegExp(`the server 127\\.0\\.0\\.1:${server.port} .*${error}`),
        );
        assert.equal(cluster.nodeState, 'STARTING');
        await server.refuse(error, false);
        await joined;
        const isSet = async () => (await asker.set('m', 'k', 'v')).outcome === APPLIED;
        assert.ok(await isSet());
        await server.refuse(error, true);
        for (let ms = 0; ms < LEASE_MS + GAP_MS; ms += 500) {
          await server.sleep(500);
          assert.ok(cluster.acceptsWrites && cluster.isReady, reports.join());
        }
        await server.refuse(error, false);
        await until(server, isSet);
        assert.equal(reports.filter((line) => line === 'away').length, 0);
        await member.end();
      }),
    );
  }
}
