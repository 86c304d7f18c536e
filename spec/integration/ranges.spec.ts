/** Covers src/v1/byte-range.ts. Ranges of the longest value over a socket. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { RawClient } from './client.ts';
import { serve } from './member-process.ts';

const LENGTH = 16 * 2 ** 20;
const PATH = 'v1/maps/m/entries/k';
/** Lengths of parts, in bytes: some are copied, others are sent from the stored value. */
const PARTS = [1, 2, 1000, 65_535, 65_536, 65_537, 1_000_000, 5_000_000];

test('A value of 16 MiB is received in ranges of all shapes, of one version', async (context) => {
  const { child, exited, port } = await serve('--enable-group', 'DATA');
  context.after(() => child.kill());
  const client = new RawClient(port);
  const random = new Random(7);
  const value = Buffer.alloc(LENGTH);
  for (let at = 0; at < LENGTH; at += 4) value.writeUInt32LE(random.next() >>> 0, at);
  const part = async (range: string, tag: string) => {
    const lines = `Range: bytes=${range}\r\nIf-Range: ${tag}\r\n`;
    return await client.request('GET', PATH, undefined, '', lines);
  };
  const set = async (bytes: Buffer): Promise<string> => {
    const { status, fields } = await client.request('PUT', PATH, bytes);
    assert.ok(status === 201 || status === 204);
    return fields.get('etag') ?? '';
  };
  const first = await set(value);
  const received = Buffer.alloc(LENGTH);
  for (let at = 0; at < LENGTH; ) {
    const length = Math.min(PARTS[random.below(PARTS.length)]!, LENGTH - at);
    const isTail = at + length === LENGTH;
    const last = isTail ? ['', `${LENGTH * 2}`][random.below(2)] : `${at + length - 1}`;
    const { status, fields, body } = await part(`${at}-${last}`, first);
    assert.equal(status, 206);
    assert.equal(fields.get('content-range'), `bytes ${at}-${at + length - 1}/${LENGTH}`);
    assert.equal(body.length, length);
    body.copy(received, at);
    at += length;
  }
  assert.ok(received.equals(value));
  for (const length of PARTS) {
    const { body } = await part(`-${length}`, first);
    assert.ok(body.equals(value.subarray(LENGTH - length)), `-${length}`);
  }
  assert.equal((await part(`${LENGTH}-`, first)).status, 416);
  const second = await set(value.subarray(1));
  const changed = await part('0-0', first);
  assert.deepEqual([changed.status, changed.fields.get('etag')], [200, second]);
  assert.ok(changed.body.equals(value.subarray(1)), 'the whole new value');
  const again = await part('0-0', second);
  assert.deepEqual([again.status, again.body], [206, value.subarray(1, 2)]);
  client.destroy();
  child.kill();
  await exited;
});
