/** The figures of docs/limits-and-memory.md that the program computes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryDefaults } from '../../src/member/memory-defaults.ts';
import { type Line, pageOf } from './pages.ts';

const MIB = 1_048_576;
/** Bytes of an entry in the page's table, measured. */
const ENTRY_BYTES = 151;
/** Limit of the partitions' memory besides entries, in bytes: one partly filled extent each. */
const PARTITIONS_BYTES = 271 * 65_536;
/** Share of the memory for entries; the rest is reserved for the next start. */
const SHARE = 63 / 64;

const { lines } = pageOf('docs/limits-and-memory.md');

test('the table of max-memory defaults has the values that the program computes', () => {
  const rows = rowsOf(/^\| (\d+) MiB \| (\d+) MiB \|$/);
  assert.ok(rows.length >= 4);
  for (const [machine = 0, shown] of rows) assert.equal(Math.round(defaultMib(machine)), shown);
});

test('the table of entries shows the memory that they need, and a machine whose default suffices', () => {
  const rows = rowsOf(/^\| ([\d,]+) \| (\d+) MiB \| (\d+) MiB \|$/);
  assert.ok(rows.length >= 3);
  for (const [entries = 0, stored, machine = 0] of rows) {
    const mib = (entries * ENTRY_BYTES + PARTITIONS_BYTES) / SHARE / MIB;
    assert.equal(Math.ceil(mib), stored);
    assert.ok(defaultMib(machine) >= mib, `${entries} entries`);
  }
});

function rowsOf(pattern: RegExp): number[][] {
  return lines.flatMap(({ text }: Line) => {
    const cells = pattern.exec(text)?.slice(1);
    return cells === undefined ? [] : [cells.map((cell) => Number(cell.replaceAll(',', '')))];
  });
}

function defaultMib(machineMib: number): number {
  const memory = { bytes: machineMib * MIB, isContainer: true };
  return memoryDefaults({}, memory).maxMemory.value / MIB;
}
