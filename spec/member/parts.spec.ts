/** The parts of a real member: failed and stopped starts, and changes of the configuration. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import type { Part } from '../../src/base/part.ts';
import { Span } from '../../src/base/span.ts';
import type { Config } from '../../src/member/config.ts';
import { change, end, start } from '../../src/member/life.ts';
import { loadConfig } from '../../src/member/load.ts';
import { makeParts } from '../../src/member/parts.ts';
import { isReloadable, SETTING_KEYS } from '../../src/member/settings.ts';
import { DirectoryLock } from '../../src/persistence/directory-lock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { RawClient } from '../integration/client.ts';
import { TEST_MEMORY, TEST_PARTITIONS } from '../integration/member-process.ts';
import { sendingTo } from '../integration/wan-members.ts';
import { temporaryFolder } from '../temporary-folder.ts';

type Phase = Exclude<keyof Part<Config>, 'change' | 'figures'>;
const PHASES = ['listen', 'restore', 'recover', 'enter'] as const satisfies readonly Phase[];
/** A port on which nothing listens. */
const CLOSED_PORT = 9;

/** Returns the configuration of a member with every part. */
async function configured(grid: object = {}): Promise<Config> {
  const text = JSON.stringify({
    grid: {
      ...sendingTo([CLOSED_PORT]),
      'max-memory': TEST_MEMORY,
      'partition-count': TEST_PARTITIONS,
      network: {
        ...{ port: 0, 'health-port': 0 },
        'rest-api': { enabled: true, 'endpoint-groups': { CLUSTER_READ: { enabled: true } } },
      },
      persistence: { enabled: true, 'base-dir': temporaryFolder() },
      ...grid,
    },
  });
  const flags = [
    { key: 'host', text: '127.0.0.1', source: { kind: 'flag', name: '--host' } },
  ] as const;
  return (await loadConfig({ file: { text }, environment: {}, flags: [...flags] })).config;
}

async function made(config: Config) {
  const lines: string[] = [];
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const parts = await makeParts(config, log, () => assert.fail(), { write() {} });
  const closed: number[] = [];
  const ports: number[] = [];
  const bound = () => {
    const { port } = parts.servers.bound;
    ports.push(port, parts.servers.healthPort ?? 0);
  };
  /** Returns the parts with calls noted; before and after a phase of one of them, `at` is called. */
  const watched = (at: (index: number, phase: Phase, isDone: boolean) => void) =>
    parts.all.map((part, index): Part<Config> => {
      const phase = (name: Phase) => async () => {
        at(index, name, false);
        await part[name]?.();
        if (name === 'close') closed.push(index);
        at(index, name, true);
      };
      return {
        change: async (...changed) => (await part.change?.(...changed)) ?? (() => {}),
        listen: phase('listen'),
        restore: phase('restore'),
        recover: phase('recover'),
        enter: phase('enter'),
        drain: phase('drain'),
        close: phase('close'),
      };
    });
  return { ...parts, log, lines, closed, ports, bound, watched };
}

/** Returns the indexes of the parts that have the phase. */
function withPhase(parts: readonly Part<Config>[], phase: Phase): number[] {
  const found = [...parts.keys()].filter((index) => parts[index]?.[phase] !== undefined);
  assert.ok(found.length > 0, phase);
  return found;
}

/** Returns the listeners and timers that keep the process alive. */
function resources(): string[] {
  return process.getActiveResourcesInfo().filter((each) => /^(TCPServerWrap|Timeout)$/.test(each));
}

/** Waits for handles that the system closes a few turns later, if there are more than before. */
async function settled(before: readonly string[]): Promise<void> {
  for (let turn = 0; turn < 100 && resources().length > before.length; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function assertAllClosed(
  { all, closed, ports }: Awaited<ReturnType<typeof made>>,
  config: Config,
  at: string,
): Promise<void> {
  assert.deepEqual(closed, [...all.keys()].reverse(), at);
  for (const port of ports.filter((each) => each > 0)) {
    const [error] = await once(connect(port, '127.0.0.1'), 'error');
    assert.equal(error.code, 'ECONNREFUSED', at);
  }
  assert.equal(await new DirectoryLock(config.dataDirectory).isHeld(), false, at);
}

test('A phase that fails in any part closes all parts, and the start rejects with its error', async () => {
  const config = await configured();
  const before = resources();
  const { all } = await made(config);
  for (const phase of PHASES) {
    for (const index of withPhase(all, phase)) {
      const at = `${phase} of part ${index}`;
      const member = await made(config);
      const parts = member.watched((part, name, isDone) => {
        if (part === index && name === phase && isDone) throw new Error(at);
      });
      const cutOff = () => void member.cutOff();
      const starting = start(parts, { onBound: member.bound, cutOff });
      await assert.rejects(starting, { message: at });
      await assertAllClosed(member, config, at);
      assert.deepEqual(
        member.lines.filter((line) => line !== 'recovered'),
        [],
        at,
      );
      await settled(before);
      assert.deepEqual(resources(), before, at);
    }
  }
});

test('A start that is stopped in any phase of any part closes all parts', async () => {
  const config = await configured();
  const before = resources();
  const { all } = await made(config);
  for (const phase of PHASES.slice(1)) {
    for (const index of withPhase(all, phase)) {
      const at = `${phase} of part ${index}`;
      const member = await made(config);
      let stop = () => {};
      const stopped = new Promise<void>((resolve) => {
        stop = resolve;
      });
      const allClosed = new Promise<void>((resolve) => {
        const parts = member.watched((part, name, isDone) => {
          if (part === index && name === phase && !isDone) stop();
          if (part === 0 && name === 'close' && isDone) resolve();
        });
        const cutOff = () => void member.cutOff();
        const starting = start(parts, { onBound: member.bound, cutOff }, stopped);
        void assert.rejects(starting, { code: 'STOPPED_RECOVERING' }, at);
      });
      await allClosed;
      await assertAllClosed(member, config, at);
      await settled(before);
      assert.deepEqual(resources(), before, at);
    }
  }
});

test('A change that any part rejects changes nothing', async () => {
  const member = await made(await configured());
  const parts = member.watched(() => {});
  await start(parts, { onBound: member.bound, cutOff: () => {} });
  const changed = await configured({
    'log-level': 'FINE',
    map: { 'm*': { 'time-to-live-seconds': 7 } },
    queue: { q: { 'max-size': 1 } },
    network: { 'rest-api': { enabled: false } },
  });
  const name = new Span().set(Buffer.from('m1'), 0, 2);
  const client = new RawClient(member.servers.bound.port);
  const facts = async () => {
    const { status } = await client.request('GET', 'cluster');
    return [status, member.log.level, member.lifetimes.of(name).timeToLiveMs];
  };
  assert.deepEqual(await facts(), [200, 'info', 0]);
  for (const index of parts.keys()) {
    const rejecting = {
      ...parts[index],
      change: () => Promise.reject(new GridError('DISK_FULL', { name: `${index}` })),
    };
    const refused = change(parts.with(index, rejecting), changed, true);
    await assert.rejects(refused, { code: 'DISK_FULL' });
    assert.deepEqual(await facts(), [200, 'info', 0], `part ${index}`);
  }
  (await change(parts, changed, true))();
  assert.deepEqual(await facts(), [403, 'debug', 7000]);
  client.socket.destroy();
  await end(parts);
});

test('The parts read all settings that are marked as reloadable, and few others, at a change', async () => {
  const config = await configured();
  const member = await made(config);
  const read = new Set<string | symbol>();
  const noted = new Proxy(config, {
    get(target, key) {
      read.add(key);
      return target[key as keyof Config];
    },
  });
  (await change(member.all, noted, true))();
  const reloadable = SETTING_KEYS.filter(isReloadable);
  assert.deepEqual(
    reloadable.filter((key) => !read.has(key)),
    [],
  );
  // Those of the rest that a change never has, or only as additions.
  assert.deepEqual([...read].filter((key) => !reloadable.some((each) => each === key)).sort(), [
    'connectionsMax',
    'engineUrl',
    'healthPort',
    'mapMaxIdleSeconds',
    'mapTimeToLiveSeconds',
    'mapWan',
    'persistenceEnabled',
    'queueMaxSizes',
    'security',
    'wanReplications',
  ]);
  await end(member.all);
});
