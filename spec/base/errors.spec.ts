import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';

test('GridError fills its message from the table and keeps code, status and cause', () => {
  const cause = new Error('cause');
  const error = new GridError('ADDRESS_UNUSABLE', { address: 'x:1', reason: 'EINVAL' }, { cause });
  assert.equal(error.message, 'Cannot listen on x:1: EINVAL');
  assert.equal(error.code, 'ADDRESS_UNUSABLE');
  assert.equal(error.status, 500);
  assert.equal(error.name, 'GridError');
  assert.equal(error.cause, cause);
});

test('GridError inserts a value unchanged, even if it looks like a pattern', () => {
  const error = new GridError('ADDRESS_IN_USE', { address: '{address}$&' });
  assert.equal(error.message, 'Cannot listen on {address}$&: already in use');
});
