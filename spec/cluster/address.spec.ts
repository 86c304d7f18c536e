import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicAddress } from '../../src/cluster/address.ts';

test('publicAddress is the configured host, with the configured or the bound port', () => {
  const cases: [string | undefined, string, string][] = [
    [undefined, '10.0.0.1', '10.0.0.1:5701'],
    [undefined, '::1', '[::1]:5701'],
    ['host', '0.0.0.0', 'host:5701'],
    ['host:80', '::', 'host:80'],
    ['[::1]:80', '::', '[::1]:80'],
    ['[::1]', '::', '[::1]:5701'],
    ['::1', '::', '[::1]:5701'],
  ];
  for (const [configured, address, expected] of cases) {
    assert.equal(publicAddress(configured, { address, port: 5701 }), expected);
  }
});

test('publicAddress is an address of the machine if all interfaces are bound', () => {
  for (const address of ['::', '0.0.0.0']) {
    const found = publicAddress(undefined, { address, port: 5701 });
    assert.match(found, /:5701$/);
    assert.ok(!found.startsWith('0.0.0.0') && !found.startsWith('[::]'), found);
  }
});
