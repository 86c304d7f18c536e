import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { addressText } from '../../src/base/server-address.ts';

test('parseEngineUrl reads servers, TLS and the name that Sentinels monitor', () => {
  const cases: [string, boolean, string[], string | undefined][] = [
    ['redis://host', false, ['host:6379'], undefined],
    ['redis://host:7000', false, ['host:7000'], undefined],
    ['REDISS://host:7000/', true, ['host:7000'], undefined],
    ['redis://a,b:7001,10.0.0.1', false, ['a:6379', 'b:7001', '10.0.0.1:6379'], undefined],
    ['redis://a,a:6379,b', false, ['a:6379', 'b:6379'], undefined],
    ['redis://[::1],[fe80::1]:7000', false, ['[::1]:6379', '[fe80::1]:7000'], undefined],
    ['rediss://a:26379,b:26379?sentinel=grid', true, ['a:26379', 'b:26379'], 'grid'],
    ['redis://a/?sentinel=my%20grid', false, ['a:6379'], 'my grid'],
  ];
  for (const [text, isTls, servers, sentinelName] of cases) {
    const url = parseEngineUrl(text);
    assert.equal(url.isTls, isTls, text);
    assert.deepEqual(url.servers.map(addressText), servers, text);
    assert.equal(url.sentinelName, sentinelName, text);
  }
});

test('parseEngineUrl returns the address of an IPv6 host without brackets, as sockets require', () => {
  assert.deepEqual(parseEngineUrl('redis://[::1]:7000').servers, [{ host: '::1', port: 7000 }]);
});

test('parseEngineUrl names the invalid part', () => {
  const cases: [string, RegExp][] = [
    ['http://host', /"http:\/\/host": not redis:\/\/HOST:PORT/],
    ['host:6379', /"host:6379": not redis:/],
    ['', /"": not redis:/],
    ['redis://', /a host is missing/],
    ['redis://a,,b', /a host is missing/],
    ['redis://a:0', /"a:0" has no port from 1 to 65535/],
    ['redis://a:65536', /"a:65536" has no port from 1 to 65535/],
    ['redis://a:', /"a:" has no port/],
    ['redis://a:b', /"a:b" is not HOST:PORT/],
    ['redis://::1', /"::1" is not HOST:PORT or \[ADDRESS\]:PORT/],
    ['redis://[::1', /"\[::1" is not/],
    ['redis://a/0', /not redis:\/\/HOST:PORT/],
    ['redis://a?sentinel=', /"\?sentinel=" is not \?sentinel=NAME/],
    ['redis://a?db=1', /"\?db=1" is not \?sentinel=NAME/],
    ['redis://a?sentinel=%zz', /"%zz" has an invalid percent-escape/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseEngineUrl(text), { name: 'RangeError', message }, text);
  }
});

test('parseEngineUrl suggests replacements for parts of other URLs', () => {
  const cases: [string, RegExp][] = [
    ['valkey://a', /"valkey:\/\/a": not .*; write redis:\/\/ for Valkey as well/],
    ['valkeys://a', /write rediss:\/\/ for Valkey/],
    ['unix:/run/redis.sock', /write HOST:PORT/],
    ['redis+sentinel://a/main', /write redis:\/\/HOST:26379\?sentinel=NAME/],
    ['redis://a/1', /database number: .* cluster-name/],
    ['redis://a?db=1', /database number: .* cluster-name/],
    ['redis://:secret@a:6379/0', /the engine: set engine\.user.*; remove the database number/],
    ['redis://a?password=secret', /set engine\.user and engine\.password/],
    ['redis://a?sentinel=x&auth=secret', /set engine\.user and engine\.password/],
    ['valkey://u:secret@a', /write redis:.* set engine\.user/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseEngineUrl(text), { name: 'RangeError', message }, text);
    assert.throws(() => parseEngineUrl(text), { message: /^(?!.*secret)/ }, text);
  }
});

test('parseEngineUrl refuses a password by the name of its setting, without its value', () => {
  for (const text of [
    'redis://:secret@host',
    'rediss://user:secret@host:1',
    'redis://a,u:secret@b',
  ]) {
    assert.throws(
      () => parseEngineUrl(text),
      ({ message }: Error) => /engine\.password/.test(message) && !/secret/.test(message),
    );
  }
});
