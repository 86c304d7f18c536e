/** SOAK_SIZE / 100 random rounds of a cluster in memory; CLUSTER_SEED repeats a run. */
process.env.CLUSTER_ROUNDS ??= String(Math.ceil(Number(process.env.SOAK_SIZE ?? 10_000) / 100));
await import('../cluster/cluster-rounds.spec.ts');

export {};
