/**
 * Covers src/member/member.ts. A member that restarts while clients keep sending. The long rounds are in
 * spec/soak.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rollingRestarts } from './rolling.ts';

it('a restart loses no request of clients with 1 and 32 in flight', async () => {
  const { answered, lost, others } = await rollingRestarts(1, 1, 32);
  assert.deepEqual({ lost, others }, { lost: 0, others: [] });
  assert(answered > 100, `${answered} answered`);
});
