/** The parser's results for requests too long to be vectors. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { client } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const CHUNKED =
  'POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const GET = 'GET /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\n\r\n';

async function answersTo(request: string, bodyBytesMax: number) {
  const { socket, responses } = client(createTestServer({ bodyBytesMax }));
  socket.receive(request);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  return responses();
}

describe('chunked content', () => {
  it('may have 50,000 chunks of one byte', async () => {
    const bytes = Array.from({ length: 50_000 }, (_, at) => String(at % 10));
    const chunks = bytes.map((byte) => `1\r\n${byte}\r\n`).join('');
    const [set, got] = await answersTo(`${CHUNKED}${chunks}0\r\n\r\n${GET}`, 50_000);
    assert.equal(set?.status, 200);
    assert.equal(got?.body, bytes.join(''));
  });

  it('may not have an extension in each of 50,000 chunks', async () => {
    const chunks = `1;${'e'.repeat(40)}\r\nv\r\n`.repeat(50_000);
    const [set] = await answersTo(`${CHUNKED}${chunks}0\r\n\r\n`, 50_000);
    assert.equal(set?.status, 431);
    assert.equal(set?.fields.get('connection'), 'close');
  });
});
