import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from '../../src/security/client-network.ts';

test('networkOf returns the /64 of an IPv6 address, and an IPv4 address itself', () => {
  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8:1::6', '2001:db8:1:0'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0'],
    ['2001::2:3:4:5:6', '2001:0:0:2'],
    ['2001::1:2:3:4:5:6', '2001:0:1:2'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['1::', '1:0:0:0'],
    ['::1:2:3:4:5:6:7', '0:1:2:3'],
    ['fe80::1%eth0', 'fe80:0:0:0%eth0'],
    ['fe80::1%eth1', 'fe80:0:0:0%eth1'],
  ] as const) {
    assert.equal(networkOf(address), network, address);
  }
});
