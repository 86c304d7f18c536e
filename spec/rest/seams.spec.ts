/**
 * Assumptions that the HTTP server and the data engine, which do not know each other, must share.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as engine from '../../src/engine/engine.ts';
import * as http from '../../src/http/response-delay.ts';

it('a response depends on the same partitions for both', () => {
  assert.equal(http.INDEPENDENT, engine.NO_PARTITION);
  assert.equal(http.EVERY_PARTITION, engine.EVERY_PARTITION);
});
