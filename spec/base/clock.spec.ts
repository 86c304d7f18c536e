import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SystemClock } from '../../src/base/clock.ts';

it('The time of a turn stays the same for the turn, and is read again in the next one', async () => {
  const clock = new SystemClock();
  const turnMs = clock.turn();
  while (clock.now() === turnMs);
  assert.equal(clock.turn(), turnMs);
  const laterMs = clock.now();
  await new Promise<void>((resolve) => clock.endOfTurn(resolve));
  assert.ok(clock.turn() >= laterMs);
});
