/** Runs a member on a data directory in this process and collects its log lines. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { serve } from '../../src/cli/serve.ts';
import { StopEvents } from '../../src/cli/stop-events.ts';
import { resolveConfig } from '../../src/config/config.ts';
import { assignmentsOf, SETTING_FLAGS } from '../../src/config/flags.ts';
import type { SettingKey } from '../../src/config/settings.ts';
import { startMember } from '../../src/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { RawClient } from './client.ts';
import { TEST_MEMORY, TEST_PARTITIONS } from './member-process.ts';

export interface Line {
  readonly level: string;
  readonly msg: string;
  readonly port?: number;
  readonly code?: string;
  readonly [field: string]: unknown;
}

/** Runs a member with all groups, additional flags, and settings by key. */
export function memberOn(
  directory: string,
  flags: readonly (readonly [string, string])[] = [],
  settings: Readonly<Partial<Record<SettingKey, string>>> = {},
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
    assignments.push({ key: key as SettingKey, text, source: { kind: 'flag', name: key } });
  }
  const lines: Line[] = [];
  const clients: RawClient[] = [];
  const source = new EventEmitter();
  const logged = new EventEmitter();
  const write = (text: string) => {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    logged.emit('line', line);
  };
  const config = resolveConfig(assignments);
  const load = async () => assert.fail('the configuration must not be read again');
  const exit = serve(
    config,
    createLog('INFO', { write }),
    startMember,
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
  return {
    lines,
    exit,
    line,
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
