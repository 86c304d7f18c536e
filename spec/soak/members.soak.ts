/**
 * SOAK_SIZE members that are started and stopped one after the other in one process, one in 25 with a data
 * directory. They leave no handle, no timer, and from the tenth part of them on no memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comeAndGone } from '../embedding/come-and-gone.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const RESIDENT_MIB_MAX = 5;

test(`${SIZE} members come and go`, async (context) => {
  const { handles, timers, residentMib } = await comeAndGone(SIZE);
  context.diagnostic(`${residentMib.toFixed(1)} MiB more resident, handles ${handles.join(' ')}`);
  assert.deepEqual({ handles, timers }, { handles: [], timers: 0 });
  assert(residentMib <= RESIDENT_MIB_MAX, `${residentMib} MiB`);
});
