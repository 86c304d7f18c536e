/**
 * The simulation of replication (spec/wan/simulation.spec.ts) with SOAK_SIZE / 10 seeds of each
 * shape, from SOAK_SEED on; the simulation of a source with persistence
 * (spec/wan/persistent-simulation.spec.ts) with a tenth of these seeds in each sync mode;
 * SOAK_CASES batches with wrong bytes; and 10 * SOAK_CASES events with hostile content types, keys
 * and names (1,000,000 by default).
 */
const SEEDS = Math.max(10, Number(process.env.SOAK_SIZE ?? 10_000) / 10);

process.env.WAN_CASES = process.env.SOAK_CASES ?? '100000';
process.env.WAN_SEED = process.env.SOAK_SEED ?? String(Date.now() % 1_000_000);
process.env.WAN_SEEDS = String(SEEDS);
for (const name of ['simulation', 'message-format', 'hostile-events']) {
  await import(`../wan/${name}.spec.ts`);
}
process.env.WAN_SEEDS = String(Math.max(25, SEEDS / 10));
await import('../wan/persistent-simulation.spec.ts');
