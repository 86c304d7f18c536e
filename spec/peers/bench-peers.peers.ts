/**
 * The whole comparison at its smallest size, beside every server that Debian has, so that it never rots.
 * Asserts that each work is done and that each ratio is known, not its value.
 */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { isWrkInstalled } from '../../bench/load/generator.ts';
import { compare, PEERS } from '../../bench/peers/comparison.ts';
import { ORIGINAL } from '../../bench/peers/original.ts';
import { missingLines, rowsOf, rowsTable, worksTable } from '../../bench/peers/report.ts';
import { WORKS } from '../../bench/peers/works.ts';

const SIZE = { entries: 1000, seconds: 0.1, rounds: 1 };

/** Without the original, which is no Debian package: ratios to it are known only where it is installed. */
const needed = PEERS.filter(({ name }) => !name.includes('original'));

before(() => {
  assert.ok(isWrkInstalled(), 'wrk is missing: apt-get install wrk');
  assert.deepEqual(missingLines(needed), []);
});

test('every work is done beside every peer, and every bar has its figures', async () => {
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
