import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted, sizeText } from '../../src/base/quantities.ts';

test('counted returns the singular only for 1', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, 'file')),
    ['0 files', '1 file', '2 files'],
  );
  assert.deepEqual(
    [1, 2].map((count) => counted(count, 'event waits', 'events wait')),
    ['1 event waits', '2 events wait'],
  );
});

test('sizeText returns small sizes exactly, and others with two digits or more', () => {
  const sizes: readonly (readonly [bytes: number, text: string])[] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [9999, '9999 bytes'],
    [10_000, '10 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [1_549_999, '1.5 MB'],
    [9_949_999, '9.9 MB'],
    [9_950_000, '10 MB'],
    [15_000_123, '15 MB'],
    [150_400_000, '150 MB'],
    [2_000_000_000, '2.0 GB'],
    [5e15, '5000 TB'],
  ];
  assert.deepEqual(
    sizes.map(([bytes]) => sizeText(bytes)),
    sizes.map(([, text]) => text),
  );
});
