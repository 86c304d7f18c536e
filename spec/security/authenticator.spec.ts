import assert from 'node:assert/strict';
import { scryptSync } from 'node:crypto';
import { test } from 'node:test';
import { isHashed, parsePassword } from '../../src/base/stored-password.ts';
import { Authenticator } from '../../src/security/authenticator.ts';
import type { Verdict } from '../../src/security/credentials.ts';
import { unmatchedHash } from '../../src/security/password.ts';
import { FakeClock } from '../fake-clock.ts';

/** Parameters of a cheap hash, so that tests can compute many. */
const salt = Buffer.from('a salt');
const digest = scryptSync('right', salt, 32, { N: 1024, r: 1, p: 1 });
const hash = `scrypt$1024$1$1$${salt.toString('base64')}$${digest.toString('base64')}`;

function realm(password = 'right') {
  const clock = new FakeClock();
  const authenticator = new Authenticator([{ name: 'ann', password }], clock);
  const check = (given: string, { user = 'ann', address = '10.0.0.1', byUser = false } = {}) =>
    authenticator.check({
      address,
      user: Buffer.from(user),
      password: Buffer.from(given),
      isCountedByUser: byUser,
    });
  return { clock, authenticator, check };
}

/** Returns `right`, `wrong`, or `wait` with the time in ms. */
async function verdictOf(verdict: Verdict | Promise<Verdict>): Promise<string> {
  const { isRight, retryAfterMs } = await verdict;
  if (retryAfterMs > 0) return `wait ${retryAfterMs}`;
  return isRight ? 'right' : 'wrong';
}

for (const kind of ['plain', 'hashed']) {
  const passwordOf = () => (kind === 'plain' ? 'right' : hash);

  test(`Authenticator accepts only the right ${kind} password of an existing user`, async () => {
    const { check } = realm(passwordOf());
    assert.equal(await verdictOf(check('right')), 'right');
    assert.equal(await verdictOf(check('wrong')), 'wrong');
    assert.equal(await verdictOf(check('')), 'wrong');
    assert.equal(await verdictOf(check('right', { user: 'bob' })), 'wrong');
    assert.equal(await verdictOf(check('right', { user: '' })), 'wrong');
  });

  test(`Authenticator checks five wrong ${kind} passwords and then makes the address wait`, async () => {
    const { check, clock } = realm(passwordOf());
    for (let count = 0; count < 5; count++)
      assert.equal(await verdictOf(check(`w${count}`)), 'wrong');
    assert.equal(await verdictOf(check('w5')), 'wait 10000');
    assert.equal(await verdictOf(check('right')), 'wait 10000');
    assert.equal(await verdictOf(check('right', { address: '10.0.0.2' })), 'right');
    clock.advance(10_000);
    assert.equal(await verdictOf(check('right')), 'right');
  });
}

test('Authenticator counts running attempts as failed', async () => {
  const { check } = realm(hash);
  const verdicts = Array.from({ length: 1000 }, (_, index) => verdictOf(check(`w${index}`)));
  const counts = new Map<string, number>();
  for (const verdict of await Promise.all(verdicts)) {
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  assert.deepEqual([...counts].sort(), [
    ['wait 10000', 995],
    ['wrong', 5],
  ]);
});

test('Authenticator counts concurrent attempts with equal credentials as one', async () => {
  const { check } = realm(hash);
  const verdicts = Array.from({ length: 64 }, () => check('right'));
  assert.ok(verdicts.every((verdict) => verdict instanceof Promise));
  assert.deepEqual(new Set(await Promise.all(verdicts.map(verdictOf))), new Set(['right']));
});

test('Authenticator caches right credentials, which are then accepted at once', async () => {
  const { check } = realm(hash);
  assert.equal(await verdictOf(check('right')), 'right');
  assert.ok(!(check('right') instanceof Promise));
  assert.ok(check('wrong') instanceof Promise);
});

test('Authenticator drops right credentials when the users change, even those of running attempts', async () => {
  const { check, authenticator } = realm(hash);
  const underWay = check('right');
  authenticator.replaceUsers([{ name: 'ann', password: 'other' }]);
  assert.equal(await verdictOf(underWay), 'right');
  assert.equal(await verdictOf(check('right')), 'wrong');
  assert.equal(await verdictOf(check('other')), 'right');
});

test('Authenticator counts by address and user if requested', async () => {
  const { check } = realm();
  for (let count = 0; count < 5; count++) check('wrong', { byUser: true });
  assert.equal(await verdictOf(check('right', { byUser: true })), 'wait 10000');
  assert.equal(await verdictOf(check('right', { byUser: true, user: 'bob' })), 'wrong');
  assert.equal(await verdictOf(check('right')), 'right');
});

test('Authenticator makes an address with too many attempts wait, and serves others first', async () => {
  const { check } = realm(hash);
  const order: string[] = [];
  const recorded = async (address: string, verdict: Verdict | Promise<Verdict>) => {
    if ((await verdictOf(verdict)) !== 'wait 1000') order.push(address);
  };
  const from = (address: string, index: number) =>
    recorded(address, check('wrong', { address, user: `user${index}`, byUser: true }));
  const verdicts = Array.from({ length: 200 }, (_, index) => from('10.0.0.1', index));
  const others = Array.from({ length: 8 }, (_, index) => `10.0.1.${index}`);
  verdicts.push(...others.map(from));
  await Promise.all(verdicts);
  assert.equal(order.length, 64 + 2 + others.length);
  // The system may suspend a thread and delay its computation.
  const places = others.map((address) => order.indexOf(address)).sort((one, next) => one - next);
  assert.ok(places[5]! < 24, `${places}`);
});

test('Authenticator lets at most 1,024 computations of all clients wait', async () => {
  const { check } = realm(hash);
  const verdicts = Array.from({ length: 1200 }, (_, index) =>
    verdictOf(check(`w${index}`, { address: `10.0.${index >> 8}.${index & 255}` })),
  );
  const answers = await Promise.all(verdicts);
  assert.equal(answers.filter((answer) => answer === 'wait 1000').length, 1200 - 1024 - 2);
});

test('Authenticator records a bounded number of failed attempts', () => {
  const { check, authenticator } = realm();
  for (let index = 0; index < 12_000; index++) {
    const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
    check('wrong', { byUser: true, user: `user${index}`, address });
  }
  // The tables of names and of networks are full; what exceeds them counts for networks only.
  assert.equal(authenticator.size, 10_000 + 10_000 + 2000);
});

for (const byUser of [false, true]) {
  test(`Authenticator counts ${byUser ? 'names' : 'administration'} by the /64 of an address`, async () => {
    const { check } = realm();
    const counts = new Map<string, number>();
    for (let index = 0; index < 2000; index++) {
      const address = `2001:db8:1:2::${(index % 400).toString(16)}`;
      const verdict = await verdictOf(check(`w${index}`, { address, byUser }));
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    }
    assert.deepEqual(
      [...counts],
      [
        ['wrong', 5],
        ['wait 10000', 1995],
      ],
    );
    assert.equal(await verdictOf(check('right', { address: '2001:db8:1:3::1', byUser })), 'right');
    assert.equal(
      await verdictOf(check('right', { address: '2001:db8:1:2:8::', byUser })),
      'wait 10000',
    );
  });
}

test('Authenticator limits waiting computations by the /64 of an address', () => {
  const { check } = realm(hash);
  const verdicts = Array.from({ length: 200 }, (_, index) =>
    check('wrong', { address: `2001:db8::${index}`, user: `user${index}`, byUser: true }),
  );
  assert.equal(verdicts.filter((verdict) => verdict instanceof Promise).length, 64 + 2);
});

test('Authenticator refuses new names of an address with 200 failures, not those that have logged in', async () => {
  const { check, clock, authenticator } = realm();
  authenticator.replaceUsers([
    { name: 'ann', password: 'right' },
    { name: 'bob', password: 'right' },
  ]);
  assert.equal(await verdictOf(check('right', { byUser: true })), 'right');
  clock.advance(1000);
  const counts = new Map<string, number>();
  for (let index = 0; index < 12_000; index++) {
    const verdict = await verdictOf(check('wrong', { byUser: true, user: `user${index}` }));
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts],
    [
      ['wrong', 200],
      ['wait 10000', 11_800],
    ],
  );
  assert.equal(await verdictOf(check('right', { byUser: true })), 'right');
  assert.equal(await verdictOf(check('right', { byUser: true, user: 'bob' })), 'wait 10000');
  assert.equal(
    await verdictOf(check('right', { byUser: true, user: 'bob', address: 'b' })),
    'right',
  );
  for (let count = 0; count < 5; count++) {
    assert.equal(await verdictOf(check('wrong', { byUser: true })), 'wrong');
  }
  assert.equal(await verdictOf(check('right', { byUser: true })), 'wait 10000');
  clock.advance(10_000);
  assert.equal(await verdictOf(check('right', { byUser: true, user: 'bob' })), 'right');
});

test('Authenticator counts failures before a login and after it together', async () => {
  const { check } = realm();
  for (const password of ['w', 'w', 'right', 'w', 'w', 'w']) check(password, { byUser: true });
  assert.equal(await verdictOf(check('right', { byUser: true })), 'wait 10000');
});

test('Authenticator counts a name that has logged in separately, also in a full table', async () => {
  const { check } = realm();
  await verdictOf(check('right', { byUser: true }));
  for (let index = 0; index < 10_000; index++) {
    const address = `10.1.${index >> 8}.${index & 255}`;
    check('wrong', { byUser: true, user: `user${index}`, address });
  }
  for (let index = 0; index < 5; index++) check('wrong', { byUser: true, user: `more${index}` });
  assert.equal(await verdictOf(check('wrong', { byUser: true, user: 'bob' })), 'wait 10000');
  assert.equal(await verdictOf(check('right', { byUser: true })), 'right');
  for (let count = 0; count < 5; count++) check('wrong', { byUser: true });
  assert.equal(await verdictOf(check('right', { byUser: true })), 'wait 10000');
});

test('Authenticator keeps the names that have logged in when the users change', async () => {
  const { check, authenticator } = realm();
  await verdictOf(check('right', { byUser: true }));
  authenticator.replaceUsers([{ name: 'ann', password: 'other' }]);
  for (let index = 0; index < 300; index++) check('wrong', { byUser: true, user: `user${index}` });
  assert.equal(await verdictOf(check('other', { byUser: true })), 'right');
});

test('Authenticator reports the key that has to wait', async () => {
  const { check } = realm(hash);
  const keyOf = async (user: string) => {
    const { throttledKey = '' } = await check('wrong again', { byUser: true, user });
    return throttledKey;
  };
  for (let count = 0; count < 5; count++) await check(`w${count}`, { byUser: true });
  assert.match(await keyOf('ann'), /^10\.0\.0\.1 [\w+/]{43}=$/);
  for (let index = 0; index < 195; index++) {
    await check('wrong', { byUser: true, user: `user${index}` });
  }
  assert.equal(await keyOf('bob'), '10.0.0.1');
});

test('Authenticator refuses an invalid password hash', () => {
  assert.throws(() => realm('scrypt$1'), RangeError);
});

test('Authenticator without users accepts nobody', async () => {
  const { authenticator, check } = realm();
  authenticator.replaceUsers([]);
  assert.equal(await verdictOf(check('right')), 'wrong');
  assert.equal(await verdictOf(check('', { user: '' })), 'wrong');
});

test('Authenticator gives unknown users the kinds of password that existing users have', () => {
  const users = Array.from({ length: 8 }, (_, index) => ({
    name: `user${index}`,
    password: index % 2 === 0 ? hash : 'plain',
  }));
  const authenticator = new Authenticator(users, new FakeClock());
  /** Whether the check is computed on another thread, like that of a hash. */
  const isComputed = (name: string, address: string) => {
    const credentials = { user: Buffer.from(name), password: Buffer.from('wrong') };
    const verdict = authenticator.check({ ...credentials, address, isCountedByUser: false });
    return verdict instanceof Promise;
  };
  const names = Array.from({ length: 40 }, (_, index) => `nobody${index}`);
  const first = names.map((name) => isComputed(name, `first ${name}`));
  const again = names.map((name) => isComputed(name, `again ${name}`));
  assert.deepEqual(again, first, 'the kinds differ for the same name');
  assert.deepEqual(new Set(first), new Set([true, false]));
});

test('unmatchedHash is as expensive as the given hash, and different each time', () => {
  const known = parsePassword('scrypt$4096$4$2$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAA');
  assert.ok(isHashed(known));
  const { N, r, p, salt, hash } = unmatchedHash(known);
  assert.deepEqual([N, r, p, salt.length, hash.length], [4096, 4, 2, 8, 20]);
  assert.notDeepEqual(hash, unmatchedHash(known).hash);
});
