import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHashed, parsePassword } from '../../src/base/stored-password.ts';
import {
  hashableOf,
  hashPassword,
  matchesHash,
  matchesPlain,
} from '../../src/security/password.ts';
import { cheapHash } from './cheap-hash.ts';

const bytes = (text: string) => Buffer.from(text);

test('parsePassword returns a text that does not begin like a hash as a plain password', () => {
  const stored = parsePassword('sésame$1');
  assert.ok(!isHashed(stored));
  assert.ok(matchesPlain(stored, bytes('sésame$1')));
  for (const wrong of ['', 'sesame$1', 'sésame$', 'sésame$12']) {
    assert.ok(!matchesPlain(stored, bytes(wrong)), wrong);
  }
});

test('hashPassword returns a text that parsePassword parses and only that password matches', async () => {
  const text = await hashPassword(bytes('sésame'));
  assert.match(text, /^scrypt\$32768\$8\$1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  const stored = parsePassword(text);
  assert.ok(isHashed(stored));
  assert.ok(await matchesHash(stored, bytes('sésame')));
  assert.ok(!(await matchesHash(stored, bytes('sesame'))));
});

test('matchesHash agrees with the second vector of RFC 7914, section 12', async () => {
  const hash = Buffer.from(
    'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162' +
      '2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640',
    'hex',
  );
  const salt = bytes('NaCl').toString('base64');
  const stored = parsePassword(`scrypt$1024$8$16$${salt}$${hash.toString('base64')}`);
  assert.ok(isHashed(stored));
  assert.ok(await matchesHash(stored, bytes('password')));
});

test('hashableOf has the hashes of the password in 64 bytes', async () => {
  for (const length of [0, 1, 63, 64, 65, 20_000]) {
    const password = Buffer.alloc(length, 'sésame');
    const stored = parsePassword(cheapHash(password));
    const hashable = hashableOf(password);
    assert.ok(isHashed(stored) && hashable.length <= 64);
    assert.ok(await matchesHash(stored, hashable), `${length}`);
    assert.notEqual(hashable.buffer, password.buffer);
  }
});

test('hashPassword uses a new salt each time', async () => {
  assert.notEqual(await hashPassword(bytes('a')), await hashPassword(bytes('a')));
});

const SALT = 'c2FsdA';
const HASH = 'AAAAAAAAAAAAAAAAAAAAAA';
const broken: readonly [text: string, reason: RegExp][] = [
  ['scrypt$', /first number/],
  [`scrypt$3$8$1$${SALT}$${HASH}`, /first number is not a power of two/],
  [`scrypt$1$8$1$${SALT}$${HASH}`, /first number/],
  [`scrypt$2097152$8$1$${SALT}$${HASH}`, /first number/],
  [`scrypt$1024$0$1$${SALT}$${HASH}`, /second number/],
  [`scrypt$1024$33$1$${SALT}$${HASH}`, /second number/],
  [`scrypt$1024$8$17$${SALT}$${HASH}`, /third number/],
  [`scrypt$1048576$8$1$${SALT}$${HASH}`, /more than 268435456 bytes/],
  [`scrypt$1024$8$1$$${HASH}`, /no salt/],
  [`scrypt$1024$8$1$${SALT}$AAAA`, /16 to 64 bytes/],
  [`scrypt$1024$8$1$${SALT}$${HASH}$`, /more than five parts/],
];
for (const [text, reason] of broken) {
  test(`parsePassword refuses ${JSON.stringify(text)} and does not repeat it`, () => {
    assert.throws(
      () => parsePassword(text),
      (error: Error) => {
        assert.ok(error instanceof RangeError);
        assert.match(error.message, reason);
        assert.ok(!error.message.includes(SALT));
        return true;
      },
    );
  });
}
