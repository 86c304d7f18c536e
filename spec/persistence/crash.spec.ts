/**
 * Covers src/persistence. Power losses and ends of the process at random calls; the soak runs many
 * more rounds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { crashRound, type LifeReport, noLife } from './crash-round.ts';

/** Number of rounds of each mode, without and with paths. */
const ROUNDS = 6;

/**
 * Seeds for which the soak found a wrong state, a lost result, an older version of an item, or no
 * start on a full disk.
 */
const FOUND = {
  always: [57, 67, 151, 249, 1967, 1970, 2245, 2562],
  interval: [78, 462, 648, 1014, 1496, 1570],
  never: [1715, 301910],
};

describe('a data directory after a crash at any call', () => {
  for (const mode of ['always', 'interval', 'never'] as const) {
    it(`with sync ${mode} contains all guaranteed data, and nothing that was never written`, async () => {
      const total = await lives(mode, false);
      // Compactions are rare, and no item returns if no response waits for a sync.
      const rare = mode === 'always' ? { compactions: 1 } : { compactions: 1, returns: 1 };
      for (const count of Object.values({ ...total, ...rare, paths: 1 }))
        assert.ok(count > 0, JSON.stringify(total));
    });

    it(`with sync ${mode} contains the paths of changes in its log`, async () => {
      const { paths, snapshots } = await lives(mode, true);
      assert.ok(paths > 0 && snapshots > 0, `${paths} paths, ${snapshots} snapshots`);
    });
  }

  it('is correct in the rounds that once failed', async () => {
    for (const [mode, seeds] of Object.entries(FOUND)) {
      for (const seed of seeds) await crashRound(seed, mode as SyncMode);
    }
  });
});

async function lives(mode: SyncMode, hasPaths: boolean): Promise<LifeReport> {
  const total = noLife();
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const report = await crashRound(seed, mode, hasPaths).catch((error: unknown) => {
      const paths = hasPaths ? ' and paths' : '';
      throw new Error(`Round ${seed} with sync ${mode}${paths} failed`, { cause: error });
    });
    for (const key of Object.keys(total) as (keyof LifeReport)[]) total[key] += report[key];
  }
  return total;
}
