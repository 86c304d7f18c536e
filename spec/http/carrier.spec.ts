/**
 * Covers src/http/socket-carrier.ts. Responses written to a socket's handle are sent as by a
 * stream: completely, in order, with a callback.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { SocketWriter } from '../../src/http/socket-carrier.ts';
import { READ_BYTES_MAX, readInto } from '../../src/http/socket-reader.ts';
import { socketPair } from './socket-pair.ts';

/** More bytes than the kernel's buffers accept while the client does not read. */
const LONG = Buffer.alloc(16_777_216, 'abcdefg');

/**
 * Returns a connection: the client's side, which does not read yet, and the server's side with its
 * writer.
 */
async function connection() {
  const [client, accepted] = await socketPair();
  client.pause().on('error', () => {});
  const socket = readInto(Buffer.alloc(READ_BYTES_MAX), accepted, () => {});
  socket.on('error', () => socket.destroy());
  const callbacks: (Error | null | undefined)[] = [];
  let onTold = (): void => {};
  const writer = new SocketWriter(
    socket,
    (error) => {
      callbacks.push(error);
      onTold();
    },
    () => socket.destroy(),
  );
  const callbackTimes = async (count: number): Promise<void> => {
    while (callbacks.length < count) {
      await new Promise<void>((resolve) => {
        onTold = resolve;
      });
    }
  };
  // The first response of the process is written through the stream.
  assert(writer.write(Buffer.from('first '), true));
  return { client, socket, writer, callbacks, callbackTimes };
}

async function readAll(client: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  client.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  await once(client, 'end');
  return Buffer.concat(chunks);
}

describe('SocketWriter', () => {
  it('needs no callback for bytes that the kernel accepts immediately', async () => {
    const { client, socket, writer, callbacks } = await connection();
    for (const text of ['second ', 'third']) assert(writer.write(Buffer.from(text), true));
    assert.equal(writer.waitingBytes, 0);
    assert.equal(socket.writableLength, 0);
    socket.end();
    assert.equal(String(await readAll(client)), 'first second third');
    assert.deepEqual(callbacks, []);
    client.destroy();
  });

  for (const isLeft of [false, true]) {
    it(`calls back when a slow client has accepted the rest${isLeft ? ' of a run' : ''}`, async () => {
      const { client, socket, writer, callbacks, callbackTimes } = await connection();
      assert(!writer.write(LONG, isLeft));
      assert(writer.waitingBytes > 0 && writer.waitingBytes < LONG.length);
      assert.deepEqual(callbacks, []);
      const read = readAll(client);
      await callbackTimes(1);
      assert.deepEqual(callbacks, [undefined]);
      assert.equal(writer.waitingBytes, 0);
      assert(writer.write(Buffer.from('last'), true));
      socket.end();
      const all = await read;
      assert(all.equals(Buffer.concat([Buffer.from('first '), LONG, Buffer.from('last')])));
      client.destroy();
    });
  }

  it('sends waiting bytes before a half-close', async () => {
    const { client, socket, writer } = await connection();
    assert(!writer.write(LONG, false));
    socket.end();
    assert.equal((await readAll(client)).length, LONG.length + 'first '.length);
    client.destroy();
  });

  it('writes through the stream while the stream has unsent bytes', async () => {
    const { client, socket, writer, callbackTimes } = await connection();
    socket.write(LONG);
    assert(!writer.write(Buffer.from('behind'), true));
    assert.equal(writer.waitingBytes, LONG.length + 'behind'.length);
    const read = readAll(client);
    await callbackTimes(1);
    socket.end();
    const all = await read;
    assert.equal(all.length, 'first '.length + LONG.length + 'behind'.length);
    assert.equal(all.toString('latin1', all.length - 6), 'behind');
    client.destroy();
  });

  it('reports a connection that fails while bytes wait, once', async () => {
    const { client, socket, writer, callbacks, callbackTimes } = await connection();
    assert(!writer.write(LONG, false));
    client.resetAndDestroy();
    await callbackTimes(1);
    assert(callbacks[0] instanceof Error);
    assert(socket.destroyed);
    assert(writer.write(Buffer.from('to nobody'), true));
    assert.equal(callbacks.length, 1);
  });

  it('drops bytes written after the socket has been destroyed', async () => {
    const { client, socket, writer, callbacks } = await connection();
    socket.destroy();
    assert(writer.write(Buffer.from('to nobody'), false));
    assert.deepEqual(callbacks, []);
    client.destroy();
  });
});
