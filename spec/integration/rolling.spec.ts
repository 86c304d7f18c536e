/**
 * Covers src/member.ts. A member that restarts while clients keep sending. The long rounds are in
 * spec/soak.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rollingRestarts } from './rolling.ts';

for (const inFlight of [1, 32]) {
  it(`a restart loses no request of clients with ${inFlight} in flight`, async () => {
    const { answered, lost, others } = await rollingRestarts(1, inFlight);
    assert.deepEqual({ lost, others }, { lost: 0, others: [] });
    assert(answered > 100, `${answered} answered`);
  });
}
