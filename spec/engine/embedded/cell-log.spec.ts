/** The live bytes of a cell log, and when it needs cleaning. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesAt } from '../../../src/engine/embedded/cell.ts';
import { CellLog } from '../../../src/engine/embedded/cell-log.ts';
import { ExtentPool } from '../../../src/engine/embedded/extent-pool.ts';
import { MemoryMeter } from '../../../src/engine/embedded/memory-meter.ts';
import { EXTENT_BYTES } from '../../../src/engine/embedded/slabs.ts';
import { FakeClock } from '../../fake-clock.ts';

const VALUE_BYTES = 1000;
const CELL_BYTES = bytesAt(Int32Array.of(VALUE_BYTES, 0, 0, 0), 0);

function newLog() {
  const pool = new ExtentPool(new MemoryMeter(Number.POSITIVE_INFINITY, 0), new FakeClock());
  const log = new CellLog(pool);
  const add = () => {
    const address = log.allocate(CELL_BYTES, false);
    pool.words(address).set([VALUE_BYTES, 0, 0, 0], pool.at(address));
    return address;
  };
  return { log, pool, add };
}

test('CellLog counts the live bytes of the extent that is being filled and of the sealed ones', () => {
  const { log, add } = newLog();
  assert.equal(log.liveBytes, 0);
  const cells: number[] = [];
  while (log.sealedCount < 2) {
    cells.push(add());
    assert.equal(log.liveBytes, cells.length * CELL_BYTES);
  }
  for (let left = cells.length; left > 0; left--) {
    log.kill(cells[left - 1]!);
    assert.equal(log.liveBytes, (left - 1) * CELL_BYTES);
  }
});

test('CellLog needs cleaning if more than 15 % of the bytes in sealed extents are dead', () => {
  const { log, add } = newLog();
  const cells: number[] = [];
  while (log.sealedCount < 1) cells.push(add());
  assert.equal(log.needsCleaning, false);
  const count = Math.floor(EXTENT_BYTES / CELL_BYTES);
  const deadMax = Math.floor(0.15 * count);
  for (const address of cells.slice(0, deadMax)) log.kill(address);
  assert.equal(log.needsCleaning, false);
  log.kill(cells[deadMax]!);
  assert.equal(log.needsCleaning, true);
});
