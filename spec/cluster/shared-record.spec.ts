/** The record that the members of a cluster share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { changeRecord, LocalRecord, type SharedValues } from '../../src/cluster/shared-record.ts';
import { TcpIpMembers } from '../../src/cluster/tcp-ip-members.ts';

const OWN: SharedValues = {
  state: 'ACTIVE',
  version: '1.2',
  licenseKeyHash: undefined,
  addedConfigs: [],
  tcpIpMembers: undefined,
};

function refuse(reason: string, options: ErrorOptions): GridError {
  return new GridError('LICENSE_NOT_KEPT', { reason }, options);
}

test('of two changes of one revision the first is made', async () => {
  const record = new LocalRecord('1.2');
  const { revision } = record;
  const made = await Promise.all([
    record.compareAndSet(revision, { state: 'FROZEN' }),
    record.compareAndSet(revision, { licenseKeyHash: 'ab' }),
  ]);
  assert.deepEqual(made, [true, false]);
  assert.deepEqual(record.values, { ...OWN, state: 'FROZEN' });
  assert.equal(record.revision, revision + 1);
});

test('changeRecord makes concurrent changes one after another, each on the last result', async () => {
  const saved: number[] = [];
  const record = new LocalRecord('1.2', async ({ addedConfigs }) => {
    saved.push(addedConfigs.length);
  });
  const add = (text: string) =>
    changeRecord(
      record,
      ({ addedConfigs }) => ({ addedConfigs: [...addedConfigs, { text, isReloaded: false }] }),
      refuse,
    );
  await Promise.all(['a', 'b', 'c'].map(add));
  assert.deepEqual(record.values.addedConfigs.map(({ text }) => text).sort(), ['a', 'b', 'c']);
  assert.deepEqual(saved, [1, 2, 3]);
});

test('values that cannot be saved are not changed, and no listener is called', async () => {
  const record = new LocalRecord('1.2', () => Promise.reject(new Error('EIO')));
  record.onChange(() => assert.fail());
  const changing = changeRecord(record, () => ({ licenseKeyHash: 'ab' }), refuse);
  await assert.rejects(changing, { code: 'LICENSE_NOT_KEPT', message: /: EIO$/ });
  assert.deepEqual([record.values, record.revision], [OWN, 0]);
});

test('restored values, and changes, are passed to each listener', async () => {
  const record = new LocalRecord('1.2');
  const calls: string[] = [];
  for (const name of ['a', 'b']) {
    record.onChange(({ state }) => {
      calls.push(`${name} ${state}`);
    });
  }
  record.restore({ state: 'PASSIVE' });
  await record.compareAndSet(record.revision, { state: 'ACTIVE' });
  assert.deepEqual(calls, ['a PASSIVE', 'b PASSIVE', 'a ACTIVE', 'b ACTIVE']);
});

test('the list of the TCP-IP join is changed without a save', async () => {
  const record = new LocalRecord('1.2', () => Promise.reject(new Error('EIO')));
  const members = new TcpIpMembers(record, ['a:1']);
  assert.deepEqual(members.list, ['a:1']);
  await members.replace(['b:1', 'c:1']);
  assert.deepEqual([members.list, record.values.tcpIpMembers], [['b:1', 'c:1'], members.list]);
});
