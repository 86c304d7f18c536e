/**
 * Covers src/http/response-delay.ts and src/engine/engine.ts. Assumptions that the HTTP server and
 * the data engine must share, although neither imports the other.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as engine from '../../src/engine/engine.ts';
import * as http from '../../src/http/response-delay.ts';

it('both have the same special values for the partitions on which a response depends', () => {
  assert.equal(http.INDEPENDENT, engine.NO_PARTITION);
  assert.equal(http.EVERY_PARTITION, engine.EVERY_PARTITION);
});
