import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCutOff } from '../../src/http/cut-off.ts';

test('describeCutOff describes the losses of clients, if there are any', () => {
  assert.equal(describeCutOff({ connections: 0, requests: 0, responseBytes: 0 }), undefined);
  assert.equal(
    describeCutOff({ connections: 2, requests: 5, responseBytes: 70 }),
    '2 connections: at least 5 requests not fully answered, 70 bytes of responses not delivered',
  );
});
