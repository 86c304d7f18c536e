import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOG_LEVELS, parseLogLevel } from '../../src/base/log-level.ts';

test('parseLogLevel accepts each level in any case', () => {
  for (const level of Object.keys(LOG_LEVELS)) {
    assert.equal(parseLogLevel(level), level);
    assert.equal(parseLogLevel(level.toLowerCase()), level);
  }
  assert.equal(parseLogLevel('WarNing'), 'WARNING');
});

test("parseLogLevel accepts the log library's names", () => {
  const names = ['silent', 'error', 'warn', 'info', 'debug', 'trace', 'Debug'];
  const levels = ['OFF', 'SEVERE', 'WARNING', 'INFO', 'FINE', 'FINEST', 'FINE'];
  assert.deepEqual(names.map(parseLogLevel), levels);
});

test('parseLogLevel accepts no other name', () => {
  for (const text of ['', 'verbose', 'constructor', 'INFO ', '30']) {
    assert.equal(parseLogLevel(text), undefined);
  }
});
