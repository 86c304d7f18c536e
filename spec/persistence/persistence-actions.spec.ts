/** Responses to the calls for all stored data, in both dialects, for every outcome. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { restMember } from '../surface/rest-member.ts';

/** A member whose calls all have this outcome. `ask` returns the response to a call. */
function member(name: 'none' | 'hazelcast', outcome?: GridError) {
  const done: string[] = [];
  const work = (call: string) => async () => {
    if (outcome !== undefined) throw outcome;
    done.push(call);
  };
  const maintenance = {
    backUp: async () => {
      await work('backUp')();
      return { path: 'backups/backup-1', bytes: 12, seconds: 0.5 };
    },
    interruptBackup: work('interruptBackup'),
    forceStart: work('forceStart'),
    partialStart: work('partialStart'),
  };
  const { askWhole, audited } = restMember({ compatibility: name, services: { maintenance } });
  const ask = (call: string) => askWhole('POST', `rest/management/cluster/${call}`, 'dev&');
  return { ask, done, audited };
}

const CALLS: Readonly<Record<string, string>> = {
  backup: 'backUp',
  hotBackup: 'backUp',
  backupInterrupt: 'interruptBackup',
  hotBackupInterrupt: 'interruptBackup',
  forceStart: 'forceStart',
  partialStart: 'partialStart',
};

for (const [call, work] of Object.entries(CALLS)) {
  test(`${call} does its work and reports it`, async () => {
    for (const name of ['none', 'hazelcast'] as const) {
      const { ask, done } = member(name);
      const response = await ask(call);
      const isTold = name === 'none' && work === 'backUp';
      const made = isTold ? ',"path":"backups/backup-1","bytes":12,"seconds":0.5' : '';
      const body = `{"status":"success"${made}}`;
      assert.deepEqual([response.status, String(response.body)], [200, body]);
      assert.deepEqual(done, [work]);
      const isDeprecated = response.fields.has('deprecation');
      assert.equal(isDeprecated, name === 'hazelcast' && call.startsWith('hot'));
    }
  });
}

const start = 'forceStart';
const refused: readonly (readonly [call: string, GridError, none: number, hazelcast: number])[] = [
  [start, new GridError('START_NOT_AWAITED', { start }), 409, 200],
  [start, new GridError('START_NOT_ALLOWED', { start, policy: 'p' }), 409, 200],
  [start, new GridError('START_FAILED', { start, reason: 'r' }), 503, 200],
  ['backupInterrupt', new GridError('BACKUP_NOT_UNDER_WAY', {}), 409, 200],
  ['backup', new GridError('BACKUP_UNDER_WAY', {}), 409, 500],
  ['backup', new GridError('BACKUP_NOWHERE', {}), 409, 500],
  ['backup', new GridError('BACKUP_INTERRUPTED', {}), 409, 500],
  ['backup', new GridError('BACKUP_FAILED', { reason: 'r' }), 503, 500],
];

for (const [call, refusal, ...statuses] of refused) {
  test(`${refusal.code} is reported with its reason, and audited`, async () => {
    for (const [index, name] of (['none', 'hazelcast'] as const).entries()) {
      const { ask, audited } = member(name, refusal);
      const response = await ask(call);
      const body = JSON.stringify({ status: 'fail', message: refusal.message });
      assert.deepEqual([response.status, String(response.body)], [statuses[index], body]);
      assert.equal(audited.at(-1)?.status, statuses[index]);
    }
  });
}
