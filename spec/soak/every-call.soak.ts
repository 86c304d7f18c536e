/**
 * The specs of persistence in which every SOAK_STEP-th call to the disk fails, or every SOAK_STEP-th
 * bit is wrong, with more random rounds: SOAK_SIZE / 50 backups and SOAK_ROUNDS full disks.
 */
process.env.SOAK_STEP ??= '3';
process.env.SOAK_ROUNDS ??= '10';
process.env.SOAK_SIZE = String(Number(process.env.SOAK_SIZE ?? 1000) / 50);

for (const name of ['backup', 'compaction', 'disk-faults', 'forced-start', 'recovery', 'repair']) {
  await import(`../persistence/${name}.spec.ts`);
}
