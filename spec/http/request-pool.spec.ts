/** The memory of the slots depends on the number of concurrent requests, not on earlier requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldServer, request } from './held-application.ts';

const BUFFER_BYTES = 12_288;
const UNDER_WAY_MAX = 64;

/** Begins this many requests on further connections, which together are in progress. */
function begin({ application, another }: ReturnType<typeof heldServer>, count: number): void {
  for (let first = 0; first < count; first += UNDER_WAY_MAX) {
    const names = Array.from({ length: UNDER_WAY_MAX }, (_, index) => `${first + index}`);
    another().socket.receive(names.map((name) => request(`/late/${name}`)).join(''));
  }
  assert.equal(application.underWay.size, count);
}

describe('the slots of a server', () => {
  // The first one has more requests than slots are retained, the second one also than places exist.
  for (const [count, places] of [
    [4480, 4480],
    [8320, 8192],
  ] as const) {
    it(`have ${places} places if ${count} requests are in progress, also the next time`, () => {
      const held = heldServer();
      const { application, server, assertAtRest } = held;
      for (let flood = 0; flood < 2; flood++) {
        begin(held, count);
        for (const name of [...application.underWay.keys()]) application.answer(name);
        assertAtRest();
        assert.equal(server.requests.placeBytes, (places / UNDER_WAY_MAX) * BUFFER_BYTES);
      }
      assert.deepEqual(held.failures, []);
    });
  }

  it('are reused, however many requests wait meanwhile', (t) => {
    const held = heldServer();
    const { application, socket } = held;
    const opened = t.mock.method(application, 'open').mock;
    begin(held, 4480);
    const before = opened.callCount();
    for (let round = 0; round < 100; round++) {
      socket.receive(request('/late/more'));
      application.answer('more');
    }
    assert.ok(opened.callCount() <= before + 1, `${opened.callCount() - before} slots`);
  });
});
