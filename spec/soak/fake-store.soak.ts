/**
 * 10 * SOAK_SIZE random commands, steps of members and operations of an engine have the same
 * results on the fake server of spec/world and on a real one: `redis-server`, or the program that
 * ENGINE_SERVER names. SEED repeats a run.
 */
process.env.OPERATIONS = `${10 * Number(process.env.SOAK_SIZE ?? 1000)}`;
await import('../peers/fake-store.peers.ts');
