/** The unacknowledged bytes are read from the kernel's list of sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Unacknowledged } from '../../src/http/unacknowledged.ts';
import { socketPair } from './socket-pair.ts';

for (const host of ['127.0.0.1', '::1']) {
  test(`bytes of ${host} are unacknowledged until the client's side has them`, async () => {
    const [client, accepted] = await socketPair(host);
    const unacknowledged = new Unacknowledged();
    assert.equal(unacknowledged.of(accepted, 0), 0);
    client.pause();
    // More bytes than the client's side accepts without reading.
    for (let piece = 0; piece < 20; piece++) accepted.write(Buffer.alloc(1_000_000));
    assert.equal(unacknowledged.of(accepted, 249), 0, 'the cached list was not used');
    assert(unacknowledged.of(accepted, 250) > 0);
    client.resume();
    await once(accepted, 'drain');
    let nowMs = 500;
    while (unacknowledged.of(accepted, nowMs) > 0) {
      nowMs += 250;
      await nextTurn();
    }
    client.destroy();
    accepted.destroy();
  });
}
