/**
 * Random damages of random files, a few of those of spec/soak: no damaged directory is taken for a whole one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageRound } from './damage-round.ts';

const ROUNDS = 15;

test('a random damage ends in a refusal, or in a start with all promised changes', async () => {
  const counts = { refused: 0, started: 0 };
  for (let seed = 1; seed <= ROUNDS; seed++) counts[await damageRound(seed)]++;
  assert.ok(counts.refused > 0 && counts.started > 0, JSON.stringify(counts));
});
