/** Covers src/engine/embedded. A complete member whose data memory is used up. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../src/member.ts';
import { RawClient, type ReceivedResponse } from './client.ts';
import { memberWith } from './member-on.ts';

const VALUE = Buffer.alloc(1000, 'v');

let member: Member;

before(async () => {
  member = await memberWith({ partitionCount: '7', maxMemory: '2m' });
});

after(() => member.drain());

test('beyond max-memory, writes get 503 with a reason; reads, deletes and writes that need no more memory succeed', async () => {
  const client = new RawClient(member.port);
  const set = (key: string): Promise<ReceivedResponse> =>
    client.request('POST', `maps/m/${key}`, VALUE, 'text/plain');
  let count = 0;
  let refused = await set(`${count}`);
  for (; refused.status === 200; refused = await set(`${count}`)) count++;
  assert.ok(count > 1000 && count < 2000, `${count} entries`);
  assert.equal(refused.status, 503);
  assert.match(refused.fields.get('retry-after') ?? '', /^\d+$/);
  assert.equal(refused.fields.get('content-type'), 'application/json');
  assert.deepEqual(JSON.parse(refused.body.toString()), {
    status: 'fail',
    message: 'Cannot write to "m": the memory for data, max-memory, is used up',
  });
  for (let key = 0; key < count; key++) {
    const got = await client.request('GET', `maps/m/${key}`);
    assert.ok(got.status === 200 && got.body.equals(VALUE), `${key}`);
  }
  assert.equal((await set('5')).status, 200);
  let offered = await client.request('POST', 'queues/q', VALUE);
  for (let items = 0; offered.status === 200 && items < 1000; items++) {
    offered = await client.request('POST', 'queues/q', VALUE);
  }
  assert.equal(offered.status, 503);
  assert.match(offered.body.toString(), /Cannot write to \\"q\\"/);
  for (let key = 0; key < count; key += 2) {
    assert.equal((await client.request('DELETE', `maps/m/${key}`)).status, 200);
  }
  let again = 0;
  while ((await set(`again ${again}`.replace(' ', '-'))).status === 200) again++;
  assert.ok(again > count / 3, `${again} after ${count}`);
  assert.equal((await client.request('DELETE', 'maps/m')).status, 200);
  for (let key = 0; key < 500; key++) assert.equal((await set(`${key}`)).status, 200);
  client.destroy();
});
