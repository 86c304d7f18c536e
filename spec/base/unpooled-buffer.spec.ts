import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpooledBuffer } from '../../src/base/unpooled-buffer.ts';

test('unpooledBuffer spans its whole ArrayBuffer, and reports the difference for a buffer that does not', () => {
  for (const length of [0, 1, 100, 65_536]) {
    const { buffer, byteOffset } = unpooledBuffer(length);
    assert.deepEqual([byteOffset, buffer.byteLength], [0, length]);
  }
  const memory = new ArrayBuffer(64);
  const withOffset = () => Buffer.from(memory, 8);
  const shorter = () => Buffer.from(memory, 0, 32);
  assert.throws(() => unpooledBuffer(56, withOffset as typeof Buffer.alloc), /begins at byte 0/);
  assert.throws(
    () => unpooledBuffer(32, shorter as typeof Buffer.alloc),
    /ends where its ArrayBuffer ends/,
  );
});
