import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import type { LogLevel } from '../../src/base/log-level.ts';
import { createLog } from '../../src/telemetry/log.ts';

function linesOf(level: LogLevel, write: (log: ReturnType<typeof createLog>) => void): unknown[] {
  const lines: unknown[] = [];
  write(createLog(level, { write: (line: string) => lines.push(JSON.parse(line)) }));
  return lines;
}

test('createLog writes one JSON object a line, with a named level and the time', () => {
  const [line] = linesOf('INFO', (log) => log.info({ port: 1 }, 'listening')) as [
    Record<string, unknown>,
  ];
  const { time, ...rest } = line;
  assert.deepEqual(rest, { level: 'info', pid: process.pid, port: 1, msg: 'listening' });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT.*Z$/);
});

test('createLog writes an error with its code', () => {
  const error = new GridError('ADDRESS_IN_USE', { address: 'a:1' });
  const [line] = linesOf('SEVERE', (log) => log.error({ err: error }, 'failed'));
  const { err } = line as { err: Record<string, unknown> };
  assert.equal(err.code, 'ADDRESS_IN_USE');
  assert.equal(err.message, error.message);
});

test('createLog is silent below its level, and always when OFF', () => {
  const countAt = (level: LogLevel) =>
    linesOf(level, (log) => {
      for (const name of ['error', 'warn', 'info', 'debug', 'trace'] as const) log[name](name);
    }).length;
  const levels: LogLevel[] = ['OFF', 'SEVERE', 'WARNING', 'INFO', 'CONFIG', 'FINE', 'FINER'];
  assert.deepEqual(levels.map(countAt), [0, 1, 2, 3, 3, 4, 5]);
});
