/** Slices of one task and of several concurrent tasks. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SharedSlices } from '../../src/base/slices.ts';
import { processClock } from '../process-clock.ts';

it('SharedSlices runs one slice per turn, of the task that has waited longest', async (t) => {
  const clock = processClock(t);
  const slices = new SharedSlices();
  clock.nowMs += 6;
  const steps: string[] = [];
  const piece = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step++) {
      const pause = slices.pause();
      assert.ok(pause !== undefined, 'the current slice is not used up');
      await pause;
      steps.push(`${name} in turn ${turn}`);
      clock.nowMs += 6;
    }
  };
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all([piece('a'), piece('b'), piece('c')]);
  isOver = true;
  const pieces = steps.map((each) => each[0]).join('');
  assert.equal(pieces, 'abcabcabc');
  assert.equal(new Set(steps.map((each) => each.slice(2))).size, 9, steps.join(', '));
});
