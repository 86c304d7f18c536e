/** Covers src/security/security-metrics.ts, src/security/counted-credentials.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessControl } from '../../src/security/access-control.ts';
import type { Credentials } from '../../src/security/credentials.ts';
import { MemberSecurity } from '../../src/security/member-security.ts';
import { NO_SECURITY, type SecurityConfig } from '../../src/security/security-config.ts';
import { FakeClock } from '../fake-clock.ts';
import { scraped } from '../telemetry/scraped.ts';
import { cheapHash } from './cheap-hash.ts';

const ADDRESS = '10.0.0.1';
const HASH = cheapHash('right');

/** Returns security with the user `ann` for administration, and `eve` for clients. */
function securityOf(password: string): SecurityConfig {
  const userOf = (name: string) => [{ name, password, roles: [] }];
  return {
    ...NO_SECURITY,
    isEnabled: true,
    realms: new Map([
      ['members', userOf('ann')],
      ['clients', userOf('eve')],
    ]),
    memberRealm: 'members',
    clientRealm: 'clients',
  };
}

function made(config: SecurityConfig) {
  const clock = new FakeClock();
  const security = new MemberSecurity({
    security: config,
    authentication: 'basic',
    clusterName: 'dev',
    clock,
    matchesAddress: () => true,
  });
  /** Returns the numbers of failed and throttled logins. */
  const refused = () => {
    const series = scraped((to) => security.figures(to));
    return [series.gridnode_failed_logins_total, series.gridnode_throttled_logins_total];
  };
  return { clock, security, refused };
}

async function logIn(by: AccessControl | undefined, user: string, password: string) {
  const login = { user: Buffer.from(user), password: Buffer.from(password) };
  return await by?.check(login, ADDRESS);
}

async function check(by: Credentials, user: string, password = '') {
  return await by.check({
    address: ADDRESS,
    user: Buffer.from(user),
    password: Buffer.from(password),
    isCountedByUser: false,
  });
}

test('Wrong cluster names count while security is off', async () => {
  const { security, refused } = made(NO_SECURITY);
  assert.deepEqual(refused(), [0, 0]);
  await check(security.credentials, 'dev');
  assert.deepEqual(refused(), [0, 0]);
  for (let attempt = 0; attempt < 7; attempt++) await check(security.credentials, 'prod');
  assert.deepEqual(refused(), [7, 0]);
});

for (const [kind, password] of [
  ['plain', 'right'],
  ['hashed', HASH],
]) {
  test(`Refused logins of clients, of members and in bodies count, with ${kind} passwords`, async () => {
    const { clock, security, refused } = made(securityOf(password as string));
    assert.deepEqual(refused(), [0, 0]);
    await logIn(security.access, 'eve', 'right');
    await logIn(security.memberAccess, 'ann', 'right');
    await check(security.credentials, 'ann', 'right');
    assert.deepEqual(refused(), [0, 0]);
    await logIn(security.access, 'eve', 'wrong');
    await logIn(security.memberAccess, 'nobody', 'right');
    await check(security.credentials, 'ann', 'wrong');
    assert.deepEqual(refused(), [3, 0]);
    for (let attempt = 0; attempt < 10; attempt++) await logIn(security.access, 'eve', 'wrong');
    assert.deepEqual(refused(), [7, 6]);
    clock.advance(10_000);
    await logIn(security.access, 'eve', 'right');
    assert.deepEqual(refused(), [7, 6]);
  });
}

test('Each of several concurrent attempts with equal wrong credentials counts', async () => {
  const { security, refused } = made(securityOf(HASH));
  await Promise.all(Array.from({ length: 4 }, () => logIn(security.access, 'eve', 'wrong')));
  assert.deepEqual(refused(), [4, 0]);
});

test('The counts continue after the users have changed', async () => {
  const { security, refused } = made(securityOf('right'));
  await logIn(security.access, 'eve', 'wrong');
  (await security.change({ security: securityOf('changed') }))();
  assert.deepEqual(refused(), [1, 0]);
  await logIn(security.access, 'eve', 'right');
  await logIn(security.memberAccess, 'ann', 'right');
  await check(security.credentials, 'ann', 'right');
  assert.deepEqual(refused(), [4, 0]);
  await logIn(security.access, 'eve', 'changed');
  assert.deepEqual(refused(), [4, 0]);
});
