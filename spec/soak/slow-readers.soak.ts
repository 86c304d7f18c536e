/**
 * Slow readers of a long value, while it and all other values are overwritten, on a member with
 * little memory for data. The member stays within its bounds, and a client that reads to the end
 * receives one consistent value. A value that is being sent remains in memory and counts as used
 * until it is sent; writes without memory then get 503.
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { programWords } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { RawClient } from '../integration/client.ts';

const SECONDS = Math.min(Number(process.env.SOAK_SECONDS ?? 5), 20);
const READERS = 200;
const VALUE_BYTES = 8 * 2 ** 20;
const MEMORY_MIB = 256;
/**
 * Memory of the process besides the stored data: Node, requests and responses in the socket
 * buffers, in MiB.
 */
const REST_MIB = 160;

/** Requests the value, reads one byte at a time, and finally the rest. */
class SlowReader {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #closed: Promise<void>;

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port });
    this.#socket.pause();
    this.#socket.on('error', () => this.#socket.destroy());
    this.#closed = new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
    });
    this.#socket.write(
      'GET /grid/rest/maps/m/long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
  }

  readByte(): void {
    const byte = this.#socket.read(1) as Buffer | null;
    if (byte !== null) this.#chunks.push(byte);
  }

  /**
   * Reads the rest. Returns the value, or undefined if the connection was closed before its end.
   */
  async rest(): Promise<Buffer | undefined> {
    this.#socket.on('data', (chunk) => this.#chunks.push(chunk));
    this.#socket.resume();
    await this.#closed;
    const all = Buffer.concat(this.#chunks);
    const head = all.indexOf('\r\n\r\n') + 4;
    return all.length === head + VALUE_BYTES ? all.subarray(head) : undefined;
  }
}

test(`${READERS} slow readers receive consistent values of 8 MiB under overwrites for ${SECONDS} s`, async (context) => {
  const flags = ['--port', '0', '--enable-group', 'DATA', '--max-memory', `${MEMORY_MIB}m`];
  const words = [...programWords('bin/gridnode'), 'serve', ...flags];
  const server = new ServerProcess('gridnode', words);
  try {
    await server.serving();
    const writer = new RawClient(server.port);
    const base = server.residentMib() ?? 0;
    assert.equal(
      (await writer.request('POST', 'maps/m/long', Buffer.alloc(VALUE_BYTES, 1))).status,
      200,
    );
    const readers: SlowReader[] = [];
    const until = performance.now() + SECONDS * 1000;
    let written = 0;
    let refused = 0;
    let highest = 0;
    for (let round = 2; performance.now() < until || readers.length < READERS; round++) {
      // A few readers are added in each round, so that they read different values.
      for (let count = 0; count < 3 && readers.length < READERS; count++) {
        readers.push(new SlowReader(server.port));
      }
      for (let key = 0; key < 20; key++) {
        const small = Buffer.alloc(50 + ((round * 37 + key) % 20_000), round);
        const { status } = await writer.request(
          'POST',
          `maps/m/k${(round * 20 + key) % 5000}`,
          small,
        );
        assert.ok(status === 200 || status === 503);
      }
      const { status } = await writer.request(
        'POST',
        'maps/m/long',
        Buffer.alloc(VALUE_BYTES, round % 251),
      );
      if (status === 200) written++;
      else refused++;
      assert.ok(status === 200 || status === 503, `${status}`);
      highest = Math.max(highest, server.residentMib() ?? 0);
      if (round % 20 === 0) for (const reader of readers) reader.readByte();
      await sleep(20);
    }
    const values = await Promise.all(readers.map((reader) => reader.rest()));
    const whole = values.filter((value) => value !== undefined);
    for (const value of whole)
      assert.ok(
        value.equals(Buffer.alloc(VALUE_BYTES, value[0])),
        'parts of two values were received',
      );
    assert.ok(whole.length > READERS / 2, `${whole.length} whole values`);
    assert.equal((await writer.request('POST', 'maps/m/after', Buffer.alloc(100))).status, 200);
    await sleep(3000);
    const line =
      `${written} written, ${refused} refused, ${whole.length} read whole; resident ` +
      `${base.toFixed(0)}, at most ${highest.toFixed(0)}, at the end ${server.residentMib()?.toFixed(0)} MiB`;
    context.diagnostic(line);
    assert.ok(highest < base + MEMORY_MIB + REST_MIB, line);
    writer.destroy();
  } finally {
    await server.stop();
  }
  assert.equal(server.exitCode, 0);
});
