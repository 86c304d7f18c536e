import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartitionSteps } from '../../src/wan/partition-steps.ts';
import { FakeClock } from '../fake-clock.ts';

/** Runs what is due until the time has passed. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Returns a step that ends when the test wants it. */
function heldStep<Result>() {
  let end: (result: Result | undefined) => void = () => {};
  let count = 0;
  const result = new Promise<Result | undefined>((resolve) => {
    end = resolve;
  });
  const step = () => {
    count++;
    return result;
  };
  return { step, end: (value: Result | undefined) => end(value), count: () => count };
}

test('a step that takes too long fails, and others of its partition fail at once', async () => {
  const clock = new FakeClock();
  let responds = false;
  const probes: number[] = [];
  const steps = new PartitionSteps(clock, async (partition) => {
    probes.push(partition);
    return responds ? 1 : undefined;
  });
  const held = heldStep<string>();
  const results: unknown[] = [];
  void steps.run(3, held.step).then((result) => results.push(result));
  await pass(clock, 900);
  assert.deepEqual(results, []);
  await pass(clock, 100);
  assert.deepEqual(results, [undefined]);
  assert.equal(await steps.run(3, async () => 'done'), undefined);
  assert.equal(await steps.run(4, async () => 'done'), 'done');
  // The step has failed: from now on the servers are asked.
  assert.deepEqual(probes, []);
  held.end(undefined);
  await pass(clock, 1600);
  assert.deepEqual(probes, [3, 3, 3]);
  assert.equal(await steps.run(3, async () => 'done'), undefined);
  responds = true;
  await pass(clock, 500);
  assert.equal(await steps.run(3, async () => 'done'), 'done');
  await pass(clock, 5000);
  assert.deepEqual(probes, [3, 3, 3, 3]);
});

test('a late step that is done ends the wait', async () => {
  const clock = new FakeClock();
  const steps = new PartitionSteps(clock, () => assert.fail());
  const held = heldStep<string>();
  void steps.run(3, held.step);
  await pass(clock, 1000);
  assert.equal(await steps.run(3, async () => 'done'), undefined);
  held.end('late');
  await pass(clock, 100);
  assert.equal(await steps.run(3, async () => 'done'), 'done');
});

test('several late steps of a partition cause one probe at a time, and none after the end', async () => {
  const clock = new FakeClock();
  let probeCount = 0;
  const steps = new PartitionSteps(clock, async () => void probeCount++);
  const held = Array.from({ length: 5 }, () => heldStep<string>());
  for (const { step } of held) void steps.run(3, step);
  await pass(clock, 1000);
  for (const { end } of held) end(undefined);
  await pass(clock, 1200);
  assert.equal(probeCount, 2);
  steps.close();
  await pass(clock, 5000);
  assert.equal(probeCount, 3);
  assert.equal(clock.timerCount, 0);
});

test('eight reads are made at the same time; one that takes too long makes room', async () => {
  const clock = new FakeClock();
  const steps = new PartitionSteps(clock, async () => undefined);
  const held = Array.from({ length: 20 }, () => heldStep<string>());
  const results: (string | undefined)[] = [];
  for (const [partition, { step }] of held.entries()) {
    void steps.read(partition, step).then((result) => results.push(result));
  }
  const begun = () => held.filter(({ count }) => count() > 0).length;
  await pass(clock, 100);
  assert.equal(begun(), 8);
  held[0]!.end('a');
  held[1]!.end('b');
  await pass(clock, 100);
  assert.deepEqual([begun(), results], [10, ['a', 'b']]);
  await pass(clock, 900);
  // Two began later, and take too long now.
  assert.equal(begun(), 16);
  for (const { end } of held) end('c');
  await pass(clock, 100);
  assert.equal(begun(), 20);
  assert.equal(results.filter((result) => result === 'c').length, 10);
});
