/** Covers src/telemetry/log-metrics.ts, src/telemetry/counted-log.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogLevel } from '../../src/base/log-level.ts';
import { memberAudit, memberLog } from '../../src/embedding/program-log.ts';
import { CountingAudit } from '../../src/telemetry/audit.ts';
import { createLog, type Log } from '../../src/telemetry/log.ts';
import { LogLevelControl } from '../../src/telemetry/log-level-control.ts';
import { reportLog } from '../../src/telemetry/log-metrics.ts';
import { FakeClock } from '../fake-clock.ts';
import { scraped } from './scraped.ts';

/** Returns the reported counts: warn, error, fatal, audit. */
function countsOf(log: Log): number[] {
  const series = scraped((to) => reportLog(to, log.lineCounts));
  return ['warn', 'error', 'fatal', 'audit'].map(
    (level) => series[`gridnode_log_lines_total{level="${level}"}`] ?? Number.NaN,
  );
}

function writeEach(log: Log): void {
  log.debug('debug');
  log.info({ port: 1 }, 'info');
  log.warn('50 %s of warn');
  log.warn({ port: 1 }, 'warn');
  log.error({ err: new Error('e') }, 'error');
  log.fatal('fatal');
}

test('All four levels are reported from the start', () => {
  assert.deepEqual(countsOf(createLog('INFO', { write() {} })), [0, 0, 0, 0]);
});

test('Each line is counted once, and only if its level is written', () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line)) });
  const control = new LogLevelControl(log, 'INFO');
  writeEach(log);
  assert.deepEqual(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    ['info info', 'warn 50 %s of warn', 'warn warn', 'error error', 'fatal fatal'],
  );
  assert.deepEqual(countsOf(log), [2, 1, 1, 0]);
  control.choose('SEVERE');
  writeEach(log);
  assert.deepEqual(countsOf(log), [2, 2, 2, 0]);
  control.choose('OFF');
  writeEach(log);
  assert.deepEqual(countsOf(log), [2, 2, 2, 0]);
  control.reset();
  writeEach(log);
  assert.deepEqual(countsOf(log), [4, 3, 3, 0]);
});

test("The lines written to a program's logger are counted, and none without a logger", () => {
  const lines: string[] = [];
  const own = createLog('FINEST', { write: (line: string) => lines.push(line) });
  const program = {
    child(_: object, { level = 'info' }: { readonly level?: string } = {}) {
      own.level = level;
      return own;
    },
  };
  for (const [level, counts] of [
    ['WARNING', [2, 1, 1, 0]],
    ['OFF', [0, 0, 0, 0]],
  ] as [LogLevel, number[]][]) {
    const log = memberLog(program, level);
    lines.length = 0;
    writeEach(log);
    assert.deepEqual(countsOf(log), counts);
    assert.equal(
      lines.length,
      counts.reduce((sum, count) => sum + count),
    );
  }
  const none = memberLog(undefined, 'INFO');
  writeEach(none);
  const entry = { user: 'ann', address: 'a', action: 'log in', status: 401 };
  const silent = new CountingAudit(memberAudit(undefined), new FakeClock(), none.lineCounts);
  silent.write(entry);
  assert.deepEqual(countsOf(none), [0, 0, 0, 0]);
});

test('Throttled logins count as the lines that they share', () => {
  const clock = new FakeClock();
  const log = createLog('OFF', { write() {} });
  const audit = new CountingAudit({ write() {} }, clock, log.lineCounts);
  const entry = { user: 'ann', address: 'a', action: 'log in', status: 429 };
  for (let attempt = 0; attempt < 100; attempt++) audit.write(entry, 'key');
  assert.deepEqual(countsOf(log), [0, 0, 0, 1]);
  clock.advance(10_000);
  assert.deepEqual(countsOf(log), [0, 0, 0, 2]);
  audit.write({ ...entry, status: 401 });
  assert.deepEqual(countsOf(log), [0, 0, 0, 3]);
});
