import assert from 'node:assert/strict';
import { totalmem } from 'node:os';
import { test } from 'node:test';
import { machineMemoryBytes } from '../../src/base/machine-memory.ts';

test('machineMemoryBytes is the limit of the container, or else what the machine has', () => {
  assert.equal(machineMemoryBytes(500, 1000), 500);
  assert.equal(machineMemoryBytes(undefined, 1000), 1000);
  assert.equal(machineMemoryBytes(0, 1000), 1000);
  assert.equal(machineMemoryBytes(2 ** 63, 1000), 1000);
  assert.ok(machineMemoryBytes() > 0 && machineMemoryBytes() <= totalmem());
});
