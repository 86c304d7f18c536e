/**
 * Covers src/wan. Every member's keys arrive everywhere and never vanish; `make soak` runs many
 * seeds.
 */
import { describe, it } from 'node:test';
import { type MergePolicy, PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { SHAPES, simulateOwnKeys } from './own-keys-simulation.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 0);
const FIRST = Number(process.env.WAN_SEED ?? 1);
const POLICIES = [
  'PassThrough',
  'PutIfAbsent',
  'LatestUpdate',
  'HigherHits',
  'LatestAccess',
  'ExpirationTime',
];

describe('WanReplications whose members write separate keys, and are killed', () => {
  it('never removes an entry because of an older delete that arrives on another path: seeds that have failed', async () => {
    await simulateOwnKeys('mesh', 3, PASS_THROUGH, 110);
    await simulateOwnKeys('mesh', 4, PASS_THROUGH, 105);
  });

  for (const [policy, name] of POLICIES.entries()) {
    it(`makes all members equal under ${name}`, async () => {
      const shape = SHAPES[policy % SHAPES.length]!;
      await simulateOwnKeys(shape, 3, policy as MergePolicy, policy, 30);
    });

    it(`makes all members equal under ${name}, ${SEEDS} seeds from ${FIRST} on`, async () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        for (const shape of SHAPES) {
          for (const count of [3, 4]) {
            await simulateOwnKeys(shape, count, policy as MergePolicy, seed);
          }
        }
      }
    });
  }
});
