/** Runs a member in this process as `gridnode serve` does, and collects its log lines. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { serve } from '../../src/cli/serve.ts';
import { StopEvents } from '../../src/cli/stop-events.ts';
import type { EndpointGroup } from '../../src/config/endpoint-group.ts';
import { assignmentsOf } from '../../src/config/setting-table.ts';
import { type Config, resolveConfig } from '../../src/member/config.ts';
import { type LoadedConfig, loadConfig } from '../../src/member/load.ts';
import { type Member, startMember } from '../../src/member/member.ts';
import { SETTING_FLAGS, type SettingKey } from '../../src/member/settings.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { RawClient } from './client.ts';
import { TEST_MEMORY, TEST_PARTITIONS } from './member-process.ts';

const TEST = { kind: 'flag', name: 'test' } as const;

export interface Line {
  readonly level: string;
  readonly msg: string;
  readonly port?: number;
  readonly code?: string;
  readonly [field: string]: unknown;
}

type Settings = Readonly<Partial<Record<SettingKey, string>>>;

/** Starts a member without an audit log, which would otherwise be on the output of the tests. */
export const startQuietly: typeof startMember = (config, log, load, stopped) =>
  startMember(config, log, load, stopped, { write() {} });

/** Returns the configuration of a member on a free port with these settings and endpoint groups. */
export function configWith(
  settings: Settings,
  groups: readonly EndpointGroup[] = ['DATA'],
): Config {
  const all = Object.entries({ port: '0', ...settings });
  return resolveConfig([
    ...all.map(([key, text]) => ({ key: key as SettingKey, text, source: TEST })),
    ...groups.map((name) => ({ key: 'endpointGroups', name, text: 'true', source: TEST }) as const),
  ]);
}

/** Starts a member with that configuration, and without a log. */
export function memberWith(...parts: Parameters<typeof configWith>): Promise<Member> {
  return startQuietly(configWith(...parts), createLog('OFF', process.stdout));
}

/** Runs a member with all groups, additional flags, and settings by key. */
export function memberOn(
  directory: string,
  flags: readonly (readonly [string, string])[] = [],
  settings: Settings = {},
) {
  const all = [
    ['--port', '0'],
    ['--max-memory', TEST_MEMORY],
    ['--partition-count', String(TEST_PARTITIONS)],
    ['--data-dir', directory],
    ['--enable-group', 'all'],
    ...flags,
  ] as const;
  const assignments = all.flatMap(([name, text]) => {
    const flag = SETTING_FLAGS.find((each) => each.flag.name === name);
    assert(flag !== undefined, name);
    return assignmentsOf(flag, text);
  });
  for (const [key, text] of Object.entries(settings)) {
    assignments.push({ key: key as SettingKey, text, source: TEST });
  }
  const load = async () => assert.fail('the configuration must not be read again');
  return served(resolveConfig(assignments), load);
}

/** Runs a member with a configuration file, which `reload` reads again. */
export async function memberOf(file: string) {
  const load = () => loadConfig({ file, environment: {}, flags: [] });
  return served((await load()).config, load);
}

function served(config: Config, load: () => Promise<LoadedConfig>) {
  const lines: Line[] = [];
  const clients: RawClient[] = [];
  const source = new EventEmitter();
  const logged = new EventEmitter();
  const write = (text: string) => {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    logged.emit('line', line);
  };
  const exit = serve(
    config,
    createLog('INFO', { write }),
    startQuietly,
    new StopEvents(source),
    load,
  );
  /** Resolves with the first line that `wanted` accepts, once it is logged. */
  const line = async (wanted: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const found = lines.find(wanted);
      if (found !== undefined) return found;
      const ended = exit.then((code) =>
        assert.fail(`exited with ${code}: ${JSON.stringify(lines)}`),
      );
      await Promise.race([once(logged, 'line'), ended]);
    }
  };
  /** Number of the lines that `next` has passed. */
  let passed = 0;
  return {
    lines,
    exit,
    line,
    /** Resolves with the next line with this message; earlier lines are skipped. */
    async next(msg: string): Promise<Line> {
      const found = await line((each) => each.msg === msg && lines.indexOf(each) >= passed);
      passed = lines.indexOf(found) + 1;
      return found;
    },
    /** Sends SIGHUP. */
    reload(): void {
      source.emit('SIGHUP');
    },
    async listening(): Promise<RawClient> {
      const { port = 0 } = await line(({ msg }) => msg === 'listening');
      const client = new RawClient(port);
      clients.push(client);
      return client;
    },
    /** Ends the clients' sides first, so that the member does not wait for more requests. */
    stop(): Promise<number> {
      for (const { socket } of clients) socket.end();
      source.emit('SIGTERM');
      return exit;
    },
  };
}
