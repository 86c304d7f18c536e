/** The values of Host that a listener serves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServedHosts } from '../../src/http/served-hosts.ts';

function isServed(hosts: ServedHosts, host: string): boolean {
  const bytes = Buffer.from(`<<${host}>>`, 'latin1');
  return hosts.serves(bytes, 2, bytes.length - 2);
}

function served(hosts: ServedHosts, among: readonly string[]): string[] {
  return among.filter((host) => isServed(hosts, host));
}

const OWN = [
  ...['localhost', 'localhost:5701', 'LocalHost', 'localhost.', 'a.b.localhost:80', 'localhost:'],
  ...['127.0.0.1', '127.0.0.1:5701', '127.1', '192.0.2.7', '2130706433', '0x7f.1', '[::1]:5701'],
  ...['[fe80::1]', '127.0.0.1.'],
];
const OTHERS = [
  ...['', ':5701', 'evil.example', 'localhost.evil.example', 'localhost.evil', 'xlocalhost'],
  ...['1.evil', '127.0.0.1.evil', '127.0.0.1.nip.io', '0xg', 'localhost.x:5701'],
];

for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
  test(`ServedHosts on ${address} serves names of the machine and addresses`, () => {
    const hosts = new ServedHosts([], []);
    hosts.bind(address);
    assert.deepEqual(served(hosts, [...OWN, ...OTHERS]), OWN);
  });
}

test('ServedHosts serves the configured names of the machine', () => {
  const hosts = new ServedHosts(['Node7', 'grid.example.org'], []);
  hosts.bind('127.0.1.1');
  const all = ['node7', 'NODE7:5701', 'grid.example.org.', 'node70', 'a.grid.example.org'];
  assert.deepEqual(served(hosts, all), all.slice(0, 3));
});

test('ServedHosts serves the allowed names, and their subdomains', () => {
  const hosts = new ServedHosts([], ['a.example', '*.B.example', 'c.example.']);
  hosts.bind('::1');
  const allowed = ['a.example:8080', 'A.EXAMPLE', 'x.b.example', 'x.y.b.example', 'c.example'];
  const others = ['b.example', 'x.a.example', 'xb.example', '*.b.example.evil', 'b.example.evil'];
  assert.deepEqual(served(hosts, [...allowed, ...others]), allowed);
  assert.ok(isServed(hosts, 'localhost'));
});

test('ServedHosts with * serves every host', () => {
  const hosts = new ServedHosts([], ['a', '*']);
  hosts.bind('127.0.0.1');
  assert.deepEqual(served(hosts, OTHERS), OTHERS);
});

test('ServedHosts beyond loopback checks names only if names are allowed explicitly', () => {
  const free = new ServedHosts([], []);
  const bound = new ServedHosts([], ['a.example']);
  // The address has not been set yet.
  assert.ok(!isServed(free, 'evil.example'));
  for (const hosts of [free, bound]) hosts.bind('192.0.2.1');
  assert.deepEqual(served(free, OTHERS), OTHERS);
  assert.deepEqual(served(bound, [...OTHERS, 'a.example', '192.0.2.1']), [
    'a.example',
    '192.0.2.1',
  ]);
});

test('ServedHosts caches the value that it served last, and no similar one', () => {
  const hosts = new ServedHosts([], []);
  hosts.bind('127.0.0.1');
  for (let round = 0; round < 2; round++) {
    assert.ok(isServed(hosts, 'localhost:5701'));
    for (const other of ['localhosu:5701', 'mocalhost:5701', 'localhost.5x01', 'ocalhost:5701']) {
      assert.ok(!isServed(hosts, other), other);
    }
  }
});
