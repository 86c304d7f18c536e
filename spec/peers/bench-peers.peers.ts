/**
 * Runs the whole comparison at its smallest size with every server that Debian has, to keep it
 * working. Asserts that each workload is completed and that each ratio is measured, not its value.
 */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { isWrkInstalled } from '../../bench/load/generator.ts';
import { compare, PEERS } from '../../bench/peers/comparison.ts';
import { ORIGINAL } from '../../bench/peers/original.ts';
import { missingLines, rowsOf, rowsTable, worksTable } from '../../bench/peers/report.ts';
import { WORKS } from '../../bench/peers/works.ts';

const SIZE = { entries: 1000, seconds: 0.1, rounds: 1 };

/** All but the original, which has no Debian package: it is measured only if it is installed. */
const needed = PEERS.filter(({ name }) => !name.includes('original'));

before(() => {
  assert.ok(isWrkInstalled(), 'wrk is missing: apt-get install wrk');
  assert.deepEqual(missingLines(needed), []);
});

test('the comparison runs every workload on every peer, and every ratio has its figures', async () => {
  const results = await compare(SIZE, WORKS, () => {});
  const failed = results.flatMap(({ name, sides }) =>
    sides.flatMap((side) => (side.failure ? [`${name}, ${side.name}: ${side.failure}`] : [])),
  );
  assert.deepEqual(failed, []);
  const rows = rowsOf(results);
  const measured = rows.filter(({ against }) => against !== 'original' || ORIGINAL.isInstalled());
  for (const { about, value, measured: ratio } of measured) {
    assert.ok(Number.isFinite(value) && Number.isFinite(ratio?.ratio ?? 0), about);
  }
  assert.equal(rowsTable(rows).split('\n').length, rows.length + 2);
  assert.ok(worksTable(results).split('\n').length > WORKS.length);
});
