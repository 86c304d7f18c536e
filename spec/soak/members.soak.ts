/**
 * Members that are started and stopped one after the other in one process, SOAK_SIZE of them, one in
 * 25 with a data directory: they leave no handle, and no memory from the tenth part of them on.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comeAndGone } from '../embedding/come-and-gone.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const RESIDENT_MIB_MAX = 5;

test(`${SIZE} members come and go`, async (context) => {
  const { handles, residentMib } = await comeAndGone(SIZE);
  context.diagnostic(`${residentMib.toFixed(1)} MiB more resident, handles ${handles.join(' ')}`);
  assert.deepEqual(handles, []);
  assert(residentMib <= RESIDENT_MIB_MAX, `${residentMib} MiB`);
});
