import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Layout } from '../../../src/engine/redis/layout.ts';
import { layoutFault, layoutText } from '../../../src/engine/redis/layout-record.ts';

const LAYOUT = new Layout('any', 13);

test('layoutText is the format and the number of partitions', () => {
  assert.equal(layoutText(LAYOUT), '{"format":1,"partitionCount":13}');
});

test('layoutFault names the difference between the record and the layout of the member', () => {
  const cases: [string, string][] = [
    [
      '{"format":1,"partitionCount":271}',
      'it has 271 partitions, but this member is configured for 13',
    ],
    ['{"format":2}', 'its layout has format 2, but this version supports format 1'],
    ['"text"', 'its layout record is invalid: ""text""'],
    ['null', 'its layout record is invalid: "null"'],
    ['x'.repeat(101), `its layout record is invalid: "${'x'.repeat(100)}"`],
  ];
  for (const [record, difference] of cases) {
    assert.equal(
      layoutFault(record, LAYOUT, 'a').message,
      `Cannot use the data of cluster "a" in the store: ${difference}`,
    );
  }
});
