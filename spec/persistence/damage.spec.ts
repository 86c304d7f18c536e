/**
 * Random damage to random files, a few rounds of spec/soak: a damaged directory is never accepted
 * as intact.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageRound } from './damage-round.ts';

const ROUNDS = 15;

test('random damage leads to a refusal, or to a start with all guaranteed changes', async () => {
  const counts = { refused: 0, started: 0 };
  for (let seed = 1; seed <= ROUNDS; seed++) counts[await damageRound(seed)]++;
  assert.ok(counts.refused > 0 && counts.started > 0, JSON.stringify(counts));
});
