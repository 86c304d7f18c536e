/**
 * wrk against a member and the servers that it is compared with: every response is a success, under
 * a load that only a generator outside Node can produce. Asserts no time.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Harness } from '../../bench/harness.ts';
import { loadServers } from '../../bench/http-load.ts';
import { isWrkInstalled, WRK } from '../../bench/load/generator.ts';

test('wrk gets a response to each request, with and without pipelining', async () => {
  assert.ok(isWrkInstalled(), 'wrk is missing: apt-get install wrk');
  const lines: string[] = [];
  await loadServers(new Harness('small', (line) => lines.push(line)), WRK);
  for (const work of ['GET 100 B, depth 1', 'GET 100 B, depth 32', 'POST 100 B, depth 1']) {
    assert.ok(lines.some((line) => line.startsWith(`${work} `) && line.includes('gridnode')));
  }
});
