/** Runs every bench at its small size, to keep it working. Asserts no time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Harness } from '../../bench/harness.ts';
import { loadBenches } from '../../bench/main.ts';

for (const bench of await loadBenches()) {
  test(`bench ${bench.name} runs at its small size and prints figures`, async () => {
    const lines: string[] = [];
    await bench.run(new Harness('small', (line) => lines.push(line)));
    assert.ok(lines.length > 0, 'the bench prints no line');
    for (const line of lines) assert.doesNotMatch(line, /\bNaN\b|undefined/);
  });
}
