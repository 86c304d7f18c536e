/**
 * Covers src/member/memory-defaults.ts and src/base/machine-memory.ts. The messages of a member
 * about its memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineMemory } from '../../src/base/machine-memory.ts';
import { MEMORY_KEYS, memoryDefaults } from '../../src/member/memory-defaults.ts';
import { serveWith } from '../integration/member-process.ts';
import { run } from './run-command.ts';

const WARNING =
  /^max-memory \(921600 MiB\), network\.http\.in-flight-bytes-max \([\d.]+ MiB\) and the process \([\d.]+ MiB\) are more than the (machine|container) has, [\d.]+ MiB$/m;

test('gridnode config prints the effective memory and its share, and warns of limits that are too large', async () => {
  const { maxMemory, inFlightBytesMax } = memoryDefaults({}, machineMemory());
  const { output, errors } = await run('config', '--json');
  const settings = JSON.parse(output);
  assert.deepEqual(settings['max-memory'], {
    value: maxMemory.value,
    source: `default: ${maxMemory.from}`,
  });
  assert.equal(settings['network.http.in-flight-bytes-max'].value, inFlightBytesMax.value);
  assert.doesNotMatch(errors, /max-memory/);
  const tooMuch = await run('config', '--max-memory', '900g');
  assert.equal(tooMuch.code, 0);
  assert.match(tooMuch.output, /max-memory: 966367641600 {2}# flag --max-memory/);
  assert.match(tooMuch.errors, WARNING);
});

test('a member logs its memory when it listens, and warns if the limits are too large', async () => {
  const { child, exited, lines } = await serveWith({}, '--max-memory', '900g');
  child.kill('SIGTERM');
  await exited;
  assert.ok(lines.some(({ level, msg }) => level === 'warn' && WARNING.test(msg)));
  const listening = JSON.parse(JSON.stringify(lines.find(({ msg }) => msg === 'listening')));
  for (const key of MEMORY_KEYS) assert.ok(listening[key].bytes > 0, key);
  assert.deepEqual(listening.maxMemory, { bytes: 966_367_641_600, source: 'flag --max-memory' });
});
