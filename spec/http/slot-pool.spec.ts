/** The memory of the slots: as much as requests are under way at a time, whatever they were before. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HeldServer, heldServer, request } from './held-application.ts';

const BUFFER_BYTES = 12_288;
const UNDER_WAY_MAX = 64;

/** So many requests under way together, over several connections, then answered. */
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
  it('have one place each, also where long and short requests take turns', () => {
    const held = heldServer();
    const { application, clock, server } = held;
    const { socket } = held.client();
    for (let round = 0; round < 200; round++) {
      for (const name of ['short', 'x'.repeat(3000), 'y'.repeat(300)]) {
        socket.receive(request(`/late/${name}`));
        application.answer(name, 'z');
        clock.settle();
      }
    }
    assert.equal(server.slots.placeBytes, BUFFER_BYTES);
  });

  it('leave their places to others where more were under way than are kept', () => {
    const held = heldServer();
    flood(held, 6400);
    const { placeBytes } = held.server.slots;
    assert.equal(placeBytes, (6400 / UNDER_WAY_MAX) * BUFFER_BYTES);
    for (let round = 0; round < 3; round++) flood(held, 6400);
    assert.equal(held.server.slots.placeBytes, placeBytes);
  });

  it('have buffers of their own where there are more than places', () => {
    const held = heldServer();
    flood(held, 12_800);
    const { placeBytes } = held.server.slots;
    assert.equal(placeBytes, (8192 / UNDER_WAY_MAX) * BUFFER_BYTES);
    flood(held, 12_800);
    assert.equal(held.server.slots.placeBytes, placeBytes);
    assert.deepEqual(held.failures, []);
  });

  it('are used again, however many requests wait meanwhile', (t) => {
    const { application, client } = heldServer();
    const opened = t.mock.method(application, 'open').mock;
    for (let first = 0; first < 6400; first += UNDER_WAY_MAX) {
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
