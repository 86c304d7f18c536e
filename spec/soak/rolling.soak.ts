/**
 * A member that is stopped and started SOAK_SIZE / 500 times (20) under 64 clients that keep sending. No
 * system call closes the gap between the last accept and the close of the listening socket. So of the
 * clients that connect for each request, at most one for every three stops may be reset.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rollingRestarts } from '../integration/rolling.ts';

const STOPS = Math.ceil(Number(process.env.SOAK_SIZE ?? 1000) / 500);

for (const inFlight of [1, 32, 0]) {
  const how = inFlight === 0 ? 'a connection for each request' : `${inFlight} in flight`;
  test(`${STOPS} stops under clients with ${how}`, async (context) => {
    const { answered, lost, refused, others } = await rollingRestarts(STOPS, inFlight);
    context.diagnostic(`${answered} answered, ${lost} lost, ${refused} refused`);
    assert.deepEqual(others, []);
    assert(lost <= (inFlight === 0 ? STOPS / 3 : 0), `${lost} lost`);
    assert(answered > 1000, `${answered} answered`);
  });
}
