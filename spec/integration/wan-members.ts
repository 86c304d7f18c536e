/** Members in this process, each in its own cluster, that replicate to one another. */

import assert from 'node:assert/strict';
import { setTimeout as passed } from 'node:timers/promises';
import { type ConfigRequest, loadConfig } from '../../src/member/load.ts';
import type { Member } from '../../src/member/member.ts';
import type { SettingKey } from '../../src/member/settings.ts';
import { createLog } from '../../src/telemetry/log.ts';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';
import { freePort } from '../free-port.ts';
import { RawClient, type ReceivedResponse } from './client.ts';
import { type Line, startQuietly } from './member-on.ts';
import { TEST_MEMORY, TEST_PARTITIONS } from './member-process.ts';

/** How long `soon` waits for a result, in ms. */
const PATIENCE_MS = 20_000;

export interface WanMemberParts {
  /** Other configuration below `grid`. */
  readonly grid?: Readonly<Record<string, unknown>>;
  readonly port?: number;
  /** Address to listen on. */
  readonly host?: string;
  readonly dataDirectory?: string;
  readonly compatibility?: 'hazelcast';
}

/**
 * Returns a configuration whose publishers `p0`, `p1`, … send the map `m` to the members at these
 * ports.
 */
export function sendingTo(
  ports: readonly number[],
  publisher: Readonly<Record<string, unknown>> = {},
  ref: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const publishers = ports.map((port, index) => [
    `p${index}`,
    {
      ...{ 'cluster-name': 'dev', 'target-endpoints': `127.0.0.1:${port}` },
      ...{ 'batch-max-delay-millis': 10, 'discovery-period-seconds': 1, ...publisher },
    },
  ]);
  return {
    'wan-replication': { w: { 'batch-publisher': Object.fromEntries(publishers) } },
    map: { m: { 'wan-replication-ref': { w: ref } } },
  };
}

/** The members that `stopAll` stops. */
const running: WanMember[] = [];

export async function started(parts?: WanMemberParts): Promise<WanMember> {
  const member = await wanMember(parts);
  running.push(member);
  return member;
}

export async function stopped(member: WanMember): Promise<void> {
  running.splice(running.indexOf(member), 1);
  await member.stop();
}

export async function stopAll(): Promise<void> {
  const members = running.splice(0);
  // A stop does not wait for a target that is down.
  for (const member of members) await member.ask('POST', 'wan/pausePublisher', 'dev&&w&');
  await Promise.all(members.map((member) => member.stop()));
}

/** Starts a member with this configuration text. `stopAll` stops it. */
export async function startedWith(text: string, port?: number): Promise<WanMember> {
  const member = await memberWith(text, {
    ...{ host: '127.0.0.1', pathSegment: 'grid' },
    port: String(port ?? (await freePort())),
  });
  running.push(member);
  return member;
}

/** Starts a member with all groups. The caller stops it. */
export async function wanMember(parts: WanMemberParts = {}) {
  const { grid = {}, port = await freePort(), host = '127.0.0.1' } = parts;
  const { dataDirectory, compatibility } = parts;
  const { network = {}, ...others } = grid as { network?: object };
  const text = JSON.stringify({
    grid: {
      network: { 'rest-api': { enabled: true }, ...network },
      ...(dataDirectory === undefined
        ? {}
        : { persistence: { enabled: true, 'base-dir': dataDirectory } }),
      ...others,
    },
  });
  const settings = { host, port: String(port), ...(compatibility && { compatibility }) };
  return await memberWith(text, settings, ['DATA', 'WAN', 'CLUSTER_WRITE', 'PERSISTENCE']);
}

/** Starts a member with this configuration text, settings and endpoint groups. */
async function memberWith(
  text: string,
  settings: Readonly<Partial<Record<SettingKey, string>>>,
  groups: readonly string[] = [],
) {
  const source = { kind: 'flag', name: '--test' } as const;
  const sizes = { maxMemory: TEST_MEMORY, partitionCount: String(TEST_PARTITIONS) };
  const sources: ConfigRequest = {
    file: { text },
    environment: {},
    flags: [
      ...Object.entries({ ...sizes, ...settings }).map(([key, value]) => {
        return { key: key as SettingKey, text: value, source };
      }),
      ...groups.map((name) => ({ key: 'endpointGroups', name, text: 'true', source }) as const),
    ],
  };
  const load = () => loadConfig(sources);
  const { config } = await load();
  const lines: Line[] = [];
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line) as Line) });
  const member = await startQuietly(config, log, load);
  return { ...callsOf(member), lines, port: member.port };
}

export type WanMember = Awaited<ReturnType<typeof memberWith>>;

function callsOf(member: Member) {
  const client = new RawClient(member.port);
  const ask = (method: string, path: string, body = ''): Promise<ReceivedResponse> =>
    client.request(method, path, Buffer.from(body));
  const textOf = async (method: string, path: string, body?: string) => {
    const response = await ask(method, path, body);
    return `${response.status} ${response.body}`.trim();
  };
  const publishers = async (): Promise<readonly PublisherStatus[]> => {
    const { body } = await ask('GET', 'wan/publishers');
    return (JSON.parse(body.toString()) as { publishers: PublisherStatus[] }).publishers;
  };
  return {
    member,
    client,
    ask,
    textOf,
    publishers,
    async publisher(index = 0): Promise<PublisherStatus> {
      const found = (await publishers())[index];
      assert(found !== undefined);
      return found;
    },
    /** Sends all requests, then reads the responses. Returns the statuses. */
    async askAll(requests: readonly Buffer[]): Promise<readonly number[]> {
      client.send(Buffer.concat(requests));
      const statuses: number[] = [];
      for (const _ of requests) statuses.push((await client.response())?.status ?? 0);
      return statuses;
    },
    async set(key: string, value: string): Promise<void> {
      assert.equal((await ask('POST', `maps/m/${key}`, value)).status, 200);
    },
    /** Returns the values of `m`; '' for absent entries. */
    async values(...keys: readonly string[]): Promise<readonly string[]> {
      const found: string[] = [];
      for (const key of keys) found.push((await ask('GET', `maps/m/${key}`)).body.toString());
      return found;
    },
    async stop(): Promise<void> {
      client.socket.end();
      await member.drain();
    },
  };
}

/** Waits until `probe` returns the wanted result. */
export async function soon<Value>(probe: () => Promise<Value>, wanted: Value): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const seen = await probe();
    try {
      return assert.deepEqual(seen, wanted);
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
    await passed(20);
  }
}
