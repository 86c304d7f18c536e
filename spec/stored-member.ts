/** A member on a disk in memory, with its server. The spec completes the calls to the disk. */
import assert from 'node:assert/strict';
import { License } from '../src/cluster/license.ts';
import { LocalRecord } from '../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../src/cluster/standalone.ts';
import { ENDPOINT_GROUP_NAMES } from '../src/config/endpoint-group.ts';
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts';
import { resolveConfig } from '../src/member/config.ts';
import type { SettingKey } from '../src/member/settings.ts';
import { PersistencePart } from '../src/persistence/persistence-part.ts';
import { createLog } from '../src/telemetry/log.ts';
import { FakeClock } from './fake-clock.ts';
import { type LateOptions, lateEngineOf } from './http/late-server.ts';
import { client as clientOf } from './http/test-client.ts';
import { createTestServer } from './http/test-server.ts';
import { until } from './persistence/subject.ts';
import type { MemoryStorage } from './world/memory-storage.ts';

export type Settings = readonly {
  readonly key: SettingKey;
  readonly text: string;
  name?: string;
}[];

const PARTITION_COUNT = 7;
const IDLE_TURNS = 3;
/** Maximum size of the disk, in bytes: its segments have the minimum length. */
const DISK_BYTES_MAX = 33_554_432;

/** Returns a member with all endpoint groups. */
export function storedMember(memory: MemoryStorage, settings: Settings = [], late?: LateOptions) {
  memory.bytesMax = Math.min(memory.bytesMax, DISK_BYTES_MAX);
  const clock = new FakeClock();
  const lines: { readonly level: string; readonly msg: string; readonly code?: string }[] = [];
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line)) });
  const config = resolveConfig(
    [
      { key: 'partitionCount', text: String(PARTITION_COUNT) } as const,
      { key: 'endpointGroups', name: 'PERSISTENCE', text: 'true' } as const,
      ...settings,
    ].map((each) => ({ ...each, source: { kind: 'file', name: 'f:1:1' } as const })),
  );
  const persistence = new PersistencePart(config, clock, log, memory);
  const record = new LocalRecord('1.2', (values) => persistence.save(values));
  const cluster = new StandaloneCluster('1.2.3', record, {
    isDataSafe: () => persistence.isSafe,
  });
  const license = new License(record);
  const engine = new EmbeddedEngine({
    partitionCount: PARTITION_COUNT,
    clock,
    sinks: [persistence.sink],
    acknowledgesAll: late !== undefined,
    queueCapacity: () => Number.POSITIVE_INFINITY,
  });
  const services = { cluster, license, maintenance: persistence };
  const engineOn = late === undefined ? {} : { engineOn: lateEngineOf(late) };
  const server = createTestServer({}, { clock, services, delay: persistence, engine, ...engineOn });
  persistence.addSender(server.server);
  persistence.attach(engine);
  server.groups.set(true, new Map(ENDPOINT_GROUP_NAMES.map((group) => [group, true])));
  const go = async (): Promise<boolean> => {
    clock.endTurn();
    const pumped = memory.pump();
    await new Promise((resolve) => setImmediate(resolve));
    return pumped || clock.endCount > 0;
  };
  /**
   * Runs until nothing has happened for a few turns: a promise may need a turn before its next
   * call.
   */
  const quiet = async (): Promise<void> => {
    for (let idle = 0; idle < IDLE_TURNS; idle++) if (await go()) idle = 0;
  };
  const begin = async (): Promise<void> => {
    await persistence.restore();
    const own = { uuid: cluster.uuid, values: record.values };
    const { uuid, values } = persistence.restored(own);
    cluster.restore(uuid);
    record.restore(values);
  };
  /** Performs a start. Resolves once the member serves. */
  const start = async (): Promise<void> => {
    await begin();
    await persistence.recover();
    cluster.start('127.0.0.1:5701');
  };
  /** Returns the response to one request on a connection of its own, once all work is done. */
  const ask = async (request: string) => {
    const { socket, responses } = clientOf(server);
    socket.receive(request);
    await quiet();
    const [response] = responses();
    assert.ok(response !== undefined, `no response to ${request}`);
    return response;
  };
  const status = async (request: string): Promise<number> => (await ask(request)).status;
  return {
    server,
    clock,
    cluster,
    persistence,
    license,
    engine,
    memory,
    lines,
    begin,
    start,
    ask,
    status,
    go,
    quiet,
    /** Starts, and completes calls until the member serves. */
    async serve(): Promise<void> {
      await until(start(), go);
      await quiet();
    },
  };
}

export type StoredMember = ReturnType<typeof storedMember>;
