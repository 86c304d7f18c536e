/**
 * A member that is stopped and started SOAK_SIZE / 500 times (20) under 64 clients that keep
 * sending. No system call closes the gap between the last accept and the close of the listening
 * socket. Therefore, at most one client for every three stops may be reset if clients connect for
 * each request.
 *
 * Then SOAK_SIZE / 50 members (200) are stopped under pipelines, slow readers and clients that do
 * not stop sending. SOAK_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { rollingRestarts } from '../integration/rolling.ts';
import { stopUnderClients } from './clients-of-stopped-member.ts';

const STOPS = Math.ceil(Number(process.env.SOAK_SIZE ?? 1000) / 500);
const DRAINS = Math.ceil(Number(process.env.SOAK_SIZE ?? 1000) / 50);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000_000);

for (const inFlight of [1, 32, 0]) {
  const how = inFlight === 0 ? 'one connection per request' : `${inFlight} in flight`;
  test(`${STOPS} stops under clients with ${how} lose no request on an accepted connection`, async (context) => {
    const { answered, lost, refused, others } = await rollingRestarts(STOPS, inFlight);
    context.diagnostic(`${answered} answered, ${lost} lost, ${refused} refused`);
    assert.deepEqual(others, []);
    assert(lost <= (inFlight === 0 ? STOPS / 3 : 0), `${lost} lost`);
    assert(answered > 1000, `${answered} answered`);
  });
}

test(`${DRAINS} members that stop respond to or count each request received before, from seed ${SEED} on`, async (context) => {
  const sums = { early: 0, missing: 0, cutOff: 0 };
  for (let stop = 0; stop < DRAINS; stop++) {
    const { exitCode, early, missing, missingClients, cutOff, cutOffConnections } =
      await stopUnderClients(new Random(SEED + stop));
    const summary = `seed ${SEED + stop}: ${missing} of ${early} missing, exit ${exitCode}, "${cutOff}"`;
    assert(cutOffConnections >= missingClients, summary);
    assert.equal(exitCode, cutOff === '' ? 0 : 1, summary);
    sums.early += early;
    sums.missing += missing;
    if (cutOff !== '') sums.cutOff++;
  }
  const { early, missing } = sums;
  context.diagnostic(
    `${early} received before, ${missing} of them cut off in ${sums.cutOff} stops`,
  );
});
