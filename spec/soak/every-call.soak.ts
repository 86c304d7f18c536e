/**
 * The specs of persistence in which every SOAK_STEP-th call to the disk fails, or every SOAK_STEP-th
 * bit is wrong, and those with random rounds: many more of them, in proportion to SOAK_SIZE, from
 * SOAK_SEED on, SOAK_ROUNDS full disks, SOAK_CASES files and records with wrong content, and more
 * operations with little memory.
 */
process.env.SOAK_STEP ??= '3';
process.env.SOAK_ROUNDS ??= '10';
process.env.SOAK_SIZE ??= '1000';
process.env.SOAK_SEED ??= String(Date.now() % 1_000_000);
process.env.SOAK_OPERATIONS ??= '60000';

const FAULTS = ['backup', 'compaction', 'disk-faults', 'forced-start', 'recovery', 'repair'];
const ROUNDS = ['crash', 'damage', 'insufficient-memory', 'start-faults', 'hostile-files'];
for (const name of [...FAULTS, ...ROUNDS]) await import(`../persistence/${name}.spec.ts`);
