/** The maps and queues of programs that embed members on one Redis or Valkey server. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { type EmbeddedMember, startMember } from '../../src/index.ts';
import { serverForTests } from './engine-server.ts';

const server = serverForTests();
const members: EmbeddedMember[] = [];
let lastPort = 1000;

afterEach(async () => {
  for (const member of members.splice(0)) await member.close();
});

/** Starts a member with an address of its own, which does not listen. */
async function started(): Promise<EmbeddedMember> {
  const engine = `redis://127.0.0.1:${server.port}`;
  const address = { 'public-address': `127.0.0.1:${++lastPort}` };
  const config = { grid: { network: address } };
  const member = await startMember({ listen: false, engine, config });
  members.push(member);
  return member;
}

test('maps have values of JSON and are iterables; delete reports whether there was an entry', async () => {
  const [one, other] = [await started(), await started()];
  const people = one.map<{ readonly age: number }>('people', { as: 'json' });
  await people.set('ann', { age: 7 });
  const seen = other.map('people');
  assert.equal(await seen.has('ann'), true);
  for await (const [key, value] of seen) {
    assert.deepEqual(
      [`${key}`, value.json(), value.contentType],
      ['ann', { age: 7 }, 'application/json'],
    );
  }
  assert.equal(await seen.delete('ann', { ifNoneMatch: '*' }), false);
  assert.deepEqual([await seen.delete('ann'), await people.delete('ann')], [true, false]);
  assert.equal(await people.has('ann'), false);
});

test('the items of a queue are returned once, to whichever loop waits', async () => {
  const all = [await started(), await started()];
  const giveUp = new AbortController();
  const seen: string[] = [];
  const loops = all.map(async (member, index) => {
    for await (const item of member.queue('jobs').items(index === 0 ? giveUp : {})) {
      seen.push(item.text());
      if (item.text() === 'last') break;
    }
  });
  const jobs = all[0]!.queue('jobs');
  const numbers = Array.from({ length: 200 }, (_, number) => `${number}`);
  for (const number of numbers) await jobs.offer(number);
  while (seen.length < numbers.length) await new Promise(setImmediate);
  giveUp.abort(new Error('enough'));
  await assert.rejects(loops[0]!, /enough/);
  await jobs.offer('last');
  await loops[1];
  assert.deepEqual(seen.sort(), [...numbers, 'last'].sort());
  await jobs.offer('rest');
  assert.equal((await all[1]!.queue('jobs').peek())?.text(), 'rest');
  assert.equal(await jobs.size(), 1);
  assert.equal((await jobs.poll())?.text(), 'rest');
});

test('what only a member with queues of its own can do rejects with DATA_ELSEWHERE', async () => {
  const member = await started();
  const queue = member.queue('q');
  const elsewhere = { name: 'GridError', code: 'DATA_ELSEWHERE' };
  await assert.rejects(queue.clear(), elsewhere);
  await assert.rejects(queue.offer('i', { waitSeconds: 1 }), elsewhere);
  await assert.rejects(member.backup(), elsewhere);
  assert.equal(await queue.peek(), undefined);
  assert.equal(member.status().memory.usedBytes, null);
});

test('each member reports a change of the state', async () => {
  const all = [await started(), await started()];
  const seen = all.map((member) => {
    return new Promise((resolve) => member.once('state', resolve));
  });
  await all[0]!.changeState('PASSIVE');
  assert.deepEqual(await Promise.all(seen), ['PASSIVE', 'PASSIVE']);
  await assert.rejects(all[1]!.queue('q').items().next(), { code: 'CLUSTER_PASSIVE' });
  await all[1]!.changeState('ACTIVE');
});

test('a member that neither listens nor has an address of its own is refused', async () => {
  const engine = `redis://127.0.0.1:${server.port}`;
  await assert.rejects(startMember({ listen: false, engine }), {
    name: 'ConfigFault',
    message:
      'Cannot use listen false with engine: members on servers need different addresses; ' +
      'set network.public-address to HOST:PORT',
  });
});

test('the end of a member ends its loops and leaves the items to the others', async () => {
  const [one, other] = [await started(), await started()];
  const step = one.queue('q').items().next();
  await one.close();
  assert.deepEqual(await step, { done: true, value: undefined });
  await other.queue('q').offer('item');
  assert.equal((await other.queue('q').poll())?.text(), 'item');
});
