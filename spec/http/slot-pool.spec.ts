/** The memory of the slots depends on the number of concurrent requests, not on earlier requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HeldServer, heldServer, request } from './held-application.ts';

const BUFFER_BYTES = 12_288;
const UNDER_WAY_MAX = 64;

/** Lets this many requests be in progress together, over several connections, then answers them. */
function flood({ application, clock, client }: HeldServer, count: number): void {
  for (let first = 0; first < count; first += UNDER_WAY_MAX) {
    const names = Array.from({ length: UNDER_WAY_MAX }, (_, index) => `${first + index}`);
    client().socket.receive(names.map((name) => request(`/late/${name}`)).join(''));
  }
  assert.equal(application.underWay.size, count);
  for (const name of [...application.underWay.keys()]) application.answer(name);
  clock.settle();
  assert.equal(application.underWay.size, 0);
}

describe('the slots of a server', () => {
  it('have one place each, even if long and short requests alternate', () => {
    const held = heldServer();
    const { application, clock, server } = held;
    const { socket } = held.client();
    for (let round = 0; round < 50; round++) {
      for (const name of ['short', 'x'.repeat(3000), 'y'.repeat(300)]) {
        socket.receive(request(`/late/${name}`));
        application.answer(name, 'z');
        clock.settle();
      }
    }
    assert.equal(server.slots.placeBytes, BUFFER_BYTES);
  });

  it('free their places if more requests were in progress than are retained', () => {
    const held = heldServer();
    flood(held, 4480);
    const { placeBytes } = held.server.slots;
    assert.equal(placeBytes, (4480 / UNDER_WAY_MAX) * BUFFER_BYTES);
    flood(held, 4480);
    assert.equal(held.server.slots.placeBytes, placeBytes);
  });

  it('have separate buffers if there are more slots than places', () => {
    const held = heldServer();
    flood(held, 8320);
    const { placeBytes } = held.server.slots;
    assert.equal(placeBytes, (8192 / UNDER_WAY_MAX) * BUFFER_BYTES);
    flood(held, 8320);
    assert.equal(held.server.slots.placeBytes, placeBytes);
    assert.deepEqual(held.failures, []);
  });

  it('are reused, however many requests wait meanwhile', (t) => {
    const { application, client } = heldServer();
    const opened = t.mock.method(application, 'open').mock;
    for (let first = 0; first < 4480; first += UNDER_WAY_MAX) {
      const names = Array.from({ length: UNDER_WAY_MAX }, (_, index) => `${first + index}`);
      client().socket.receive(names.map((name) => request(`/late/${name}`)).join(''));
    }
    const { socket } = client();
    const before = opened.callCount();
    for (let round = 0; round < 100; round++) {
      socket.receive(request('/late/more'));
      application.answer('more');
    }
    assert.ok(opened.callCount() <= before + 1, `${opened.callCount() - before} slots`);
  });
});
