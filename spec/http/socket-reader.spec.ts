/** Accepted sockets that are read into a shared buffer behave like other sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { READ_BYTES_MAX, readInto } from '../../src/http/socket-reader.ts';
import { socketPair } from './socket-pair.ts';

const BUFFER = Buffer.alloc(READ_BYTES_MAX);

/** Returns a connection: the client's side, the server's side, and the bytes read by the server. */
async function connection() {
  const [client, accepted] = await socketPair();
  const buffers = new Set<Buffer>();
  const read: Buffer[] = [];
  let onRead = (): void => {};
  const socket = readInto(BUFFER, accepted, (bytes, length) => {
    buffers.add(bytes);
    read.push(Buffer.from(bytes.subarray(0, length)));
    onRead();
  });
  const received = async (length: number): Promise<Buffer> => {
    while (Buffer.concat(read).length < length) {
      await new Promise<void>((resolve) => {
        onRead = resolve;
      });
    }
    return Buffer.concat(read);
  };
  const closed = new Promise((resolve) => socket.once('close', resolve));
  return { client, socket, closed, buffers, received };
}

describe('readInto', () => {
  it('reads only into the passed buffer', async () => {
    const { client, socket, closed, buffers, received } = await connection();
    const sent = Buffer.alloc(300_000, 'abcdefg');
    client.write(sent);
    assert((await received(sent.length)).equals(sent));
    assert.deepEqual([...buffers], [BUFFER]);
    socket.end('answer');
    assert.equal(String((await once(client, 'data'))[0]), 'answer');
    client.end();
    await closed;
  });

  it('reports the end of input, and can still send', async () => {
    const { client, socket, closed } = await connection();
    client.end('last');
    await once(socket, 'end');
    assert(!socket.destroyed);
    socket.end('answer');
    assert.equal(String((await once(client, 'data'))[0]), 'answer');
    await closed;
  });

  it('reports a reset', async () => {
    const { client, socket } = await connection();
    client.resetAndDestroy();
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNRESET');
  });

  it('stops reading while paused', async () => {
    const { client, socket, closed, received } = await connection();
    client.write('one');
    await received(3);
    socket.pause();
    client.write('two');
    assert.equal(String(await received(3)), 'one');
    socket.resume();
    assert.equal(String(await received(6)), 'onetwo');
    client.destroy();
    socket.destroy();
    await closed;
  });
});
