import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchingAddress } from '../../src/config/interface-pattern.ts';

const cases: readonly (readonly [string, string, boolean])[] = [
  ['10.3.10.*', '10.3.10.7', true],
  ['10.3.10.*', '10.3.11.7', false],
  ['10.3.10.4-18', '10.3.10.4', true],
  ['10.3.10.4-18', '10.3.10.18', true],
  ['10.3.10.4-18', '10.3.10.19', false],
  ['10.3.*.1-5', '10.3.255.5', true],
  ['10.3.10', '10.3.10.7', false],
  ['10.3.10.x', '10.3.10.7', false],
  ['*.*.*.*', '192.0.2.1', true],
  ['fe80:*:*:*:*:*:*:1', 'fe80::1', true],
  ['fe80::1-ff', 'fe80::fe', true],
  ['fe80::1-ff', 'fe80::100', false],
  ['10.3.10.*', '::1', false],
  ['::1', '::1', true],
];

for (const [pattern, address, fits] of cases) {
  test(`matchingAddress: ${pattern} ${fits ? 'fits' : 'does not fit'} ${address}`, () => {
    assert.equal(matchingAddress([pattern], [address]), fits ? address : undefined);
  });
}

test('matchingAddress returns the first address of the first pattern that fits', () => {
  const addresses = ['127.0.0.1', '10.0.0.2', '10.0.0.1'];
  assert.equal(matchingAddress(['192.0.2.*', '10.0.0.*', '*.*.*.*'], addresses), '10.0.0.2');
});
