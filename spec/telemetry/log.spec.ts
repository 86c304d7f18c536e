import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import type { LogLevel } from '../../src/base/log-level.ts';
import { CountingAudit, openAudit } from '../../src/telemetry/audit.ts';
import { createLog, prettyStream } from '../../src/telemetry/log.ts';
import { FakeClock } from '../fake-clock.ts';

function linesOf(level: LogLevel, write: (log: ReturnType<typeof createLog>) => void): unknown[] {
  const lines: unknown[] = [];
  write(createLog(level, { write: (line: string) => lines.push(JSON.parse(line)) }));
  return lines;
}

test('createLog writes one JSON object per line, with a named level and the time', () => {
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
      for (const name of ['error', 'warn', 'info', 'debug'] as const) log[name](name);
    }).length;
  const levels: LogLevel[] = ['OFF', 'SEVERE', 'WARNING', 'INFO', 'CONFIG', 'FINE', 'FINER'];
  assert.deepEqual(levels.map(countAt), [0, 1, 2, 3, 3, 4, 4]);
});

/** Control characters that JSON permits, among other characters of the same length in UTF-8. */
const CONTROLS = 'a\u007f\u0080\u009b\u009f\u00a0\u2027\u2028\u2029\u202a';
const ESCAPED = 'a\\u007f\\u0080\\u009b\\u009f\u00a0\u2027\\u2028\\u2029\u202a';

test('Lines of the log and of the audit escape U+007F to U+009F, U+2028 and U+2029', () => {
  const lines: string[] = [];
  const stream = { write: (line: string) => lines.push(line) };
  createLog('INFO', stream).info({ [CONTROLS]: CONTROLS }, CONTROLS);
  openAudit(stream).write({ user: CONTROLS, address: 'a', action: CONTROLS, status: 401 });
  assert.deepEqual(
    lines.map((line) => line.split(ESCAPED).length - 1),
    [3, 2],
  );
  const [log = '', audit = ''] = lines;
  assert.equal((JSON.parse(log) as { msg: string }).msg, CONTROLS);
  assert.equal((JSON.parse(audit) as { user: string }).user, CONTROLS);
});

test('prettyStream shows control characters as escapes', async () => {
  let text = '';
  const stream = await prettyStream({ write: (line: string) => (text += line) }, false);
  const log = createLog('INFO', stream);
  log.info({ user: `x${CONTROLS}` }, `\\u0031 \u001b[2J\r${CONTROLS}\nnext\tline`);
  log.error({ err: new Error(`\u001b]0;title\u0007 ${CONTROLS}`) }, 'failed');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: asserts that none remains.
  assert.doesNotMatch(text, /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/);
  assert.ok(text.includes(`\\u0031 \\u001b[2J\\r${ESCAPED}\nnext\tline`), text);
});

test('A stream adds its fields to the next line that is written', () => {
  const lines: Record<string, unknown>[] = [];
  let linesLost = 3;
  const stream = {
    write: (line: string) => lines.push(JSON.parse(line)),
    nextFields: () => ({ linesLost: linesLost++ }),
  };
  const log = createLog('INFO', stream);
  log.debug('below the level');
  log.info({ port: 1 }, 'one');
  openAudit(stream).write({ user: 'ann', address: 'a', action: 'log in', status: 200 });
  assert.deepEqual(
    lines.map((line) => line.linesLost),
    [3, 4],
  );
});

test('The audit names the result of each status, and the number of attempts if there is one', () => {
  const lines: Record<string, unknown>[] = [];
  const audit = openAudit({ write: (line) => lines.push(JSON.parse(line)) });
  for (const status of [200, 401, 403, 404, 429, 503]) {
    audit.write({ user: 'ann', address: 'a', action: 'log in', status });
  }
  audit.write({ user: undefined, address: 'a', action: 'log in', status: 429, count: 3 });
  assert.deepEqual(
    lines.map(({ level, result, user = '', count = 0 }) => `${level} ${result} ${user} ${count}`),
    [
      'audit done ann 0',
      'audit unauthenticated ann 0',
      'audit refused ann 0',
      'audit failed ann 0',
      'audit throttled ann 0',
      'audit failed ann 0',
      'audit throttled  3',
    ],
  );
});

test('CountingAudit writes throttled logins once per key and ten seconds, with a count', () => {
  const clock = new FakeClock();
  const lines: object[] = [];
  const counts = { audit: 0 };
  const audit = new CountingAudit({ write: (entry) => lines.push(entry) }, clock, counts);
  const entryOf = (user: string, status = 429) => ({
    user,
    address: 'a',
    action: 'log in',
    status,
  });
  for (const user of ['ann', 'bob', 'cid']) audit.write(entryOf(user), 'key');
  audit.write(entryOf('ann', 401));
  audit.write(entryOf('dan'), 'other key');
  assert.deepEqual(lines, [
    { ...entryOf('ann'), count: 1 },
    entryOf('ann', 401),
    { ...entryOf('dan'), count: 1 },
  ]);
  clock.advance(10_000);
  assert.deepEqual(lines.slice(3), [{ ...entryOf('cid'), count: 2 }]);
  audit.write(entryOf('eve'), 'key');
  audit.end();
  assert.deepEqual(lines.slice(4), [{ ...entryOf('eve'), count: 1 }]);
  assert.deepEqual(counts, { audit: lines.length });
});
