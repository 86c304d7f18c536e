/**
 * Covers src/http/connection-requests.ts and src/http/request-slot.ts. Requests of one connection
 * that are in progress together: when each begins, and when responses are sent.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HeldServer, heldServer, request } from './held-application.ts';

const late = (...names: readonly string[]): string =>
  names.map((name) => request(`/late/${name}`)).join('');

/** Asserts that no request is in progress. */
function assertAtRest({ server, clock }: HeldServer): void {
  clock.settle();
  assert.equal(server.slots.usedCount, 0, 'slots in use');
  assert.equal(server.inFlight.usedBytes, 0, 'bytes in flight');
}

describe('requests under way together', () => {
  it('are answered in the order sent, in whatever order their results arrive', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket, bodies } = held.client();
    socket.receive(late('a', 'b', 'c', 'd') + request('/now/e') + late('f'));
    assert.deepEqual(application.begun, ['a', 'b', 'c', 'd', 'e', 'f']);
    for (const name of ['c', 'b', 'f']) application.answer(name);
    clock.settle();
    assert.deepEqual(bodies(), []);
    application.answer('a');
    clock.settle();
    assert.deepEqual(bodies(), ['a', 'b', 'c']);
    application.answer('d');
    clock.settle();
    assert.deepEqual(bodies(), ['a', 'b', 'c', 'd', 'e', 'f']);
    assertAtRest(held);
  });

  it('are answered in one write if their results arrive in one turn', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket, bodies } = held.client();
    const names = Array.from({ length: 32 }, (_, index) => `${index}`);
    socket.receive(late(...names));
    for (const name of names.toReversed()) application.answer(name);
    clock.settle();
    assert.deepEqual(bodies(), names);
    assert.equal(socket.sent.length, 1);
    assertAtRest(held);
  });

  it('buffer early responses in copies, which count as bytes in flight', () => {
    const held = heldServer();
    const { application, server } = held;
    const { socket, bodies } = held.client();
    socket.receive(late('a', 'b'));
    application.answer('b', 'x'.repeat(1000));
    assert.equal(server.inFlight.usedBytes, 1000);
    application.answer('a');
    assert.deepEqual(bodies(), ['a', 'x'.repeat(1000)]);
    assertAtRest(held);
  });

  it('are at most 64: later ones wait, complete, and begin as others are answered', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket, bodies } = held.client();
    const names = Array.from({ length: 1500 }, (_, index) => `${index}`);
    socket.receive(late(...names));
    assert.equal(application.begun.length, 64);
    assert(socket.isPaused && !socket.isDestroyed);
    for (const name of names) {
      application.answer(name);
      clock.settle();
      assert(application.underWay.size <= 64);
    }
    assert.deepEqual(bodies(), names);
    assertAtRest(held);
  });

  it('include no exclusive one, which begins after all earlier ones and before all later ones', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket, bodies } = held.client();
    socket.receive(late('a', 'b') + request('/alone/c') + late('d', 'e'));
    assert.deepEqual(application.begun, ['a', 'b']);
    application.answer('b');
    clock.settle();
    assert.deepEqual(application.begun, ['a', 'b']);
    application.answer('a');
    clock.settle();
    assert.deepEqual(application.begun, ['a', 'b', 'c']);
    application.answer('c');
    clock.settle();
    assert.deepEqual(application.begun, ['a', 'b', 'c', 'd', 'e']);
    application.answer('e');
    application.answer('d');
    clock.settle();
    assert.deepEqual(bodies(), ['a', 'b', 'c', 'd', 'e']);
    assertAtRest(held);
  });

  it('retain their bytes while other clients send', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket, responses } = held.client();
    const content = 'Content-Length: 5\r\n';
    socket.receive(`${late('a')}${request('/alone/b', content, 'POST')}hello`);
    held.client().socket.receive(request(`/now/${'#'.repeat(5000)}`));
    application.answer('a');
    clock.settle();
    const { request: parked } = application.underWay.get('b')?.exchange ?? assert.fail();
    assert.equal(parked.body.toBuffer().toString(), 'hello');
    assert.equal(parked.target.toBuffer().toString(), '/alone/b');
    application.answer('b');
    assert.deepEqual(
      responses().map(({ status }) => status),
      [200, 200],
    );
    assertAtRest(held);
  });

  it('end the connection in order: Connection: close, a refusal, bytes that are not a request', () => {
    for (const [last, status] of [
      [request('/late/z', 'Connection: close\r\n'), 200],
      [request('/late/z', 'Host: y\r\n'), 400],
      ['no request at all\r\n\r\n', 400],
    ] as const) {
      const held = heldServer();
      const { application, clock } = held;
      const { socket, responses } = held.client();
      socket.receive(late('a', 'b') + last + late('never'));
      application.answer('b');
      clock.settle();
      assert.equal(socket.text, '');
      if (status === 200) application.answer('z');
      application.answer('a');
      clock.settle();
      const seen = responses();
      assert.deepEqual(
        seen.map((each) => each.status),
        [200, 200, status],
      );
      assert.deepEqual(
        seen.map(({ fields }) => fields.get('connection')),
        [undefined, undefined, 'close'],
      );
      assert(socket.writableEnded);
      assert(!application.begun.includes('never'));
      assertAtRest(held);
    }
  });

  it('are all answered before the end, if the client ends its side', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket, bodies } = held.client();
    // In `finishNow`, a handler of this application responds with 204, in any order.
    application.finishesNow = false;
    socket.receive(late('a', 'b'));
    socket.receiveEnd();
    assert(!socket.writableEnded);
    application.answer('b');
    application.answer('a');
    clock.settle();
    assert.deepEqual(bodies(), ['a', 'b']);
    assert(socket.writableEnded);
    assertAtRest(held);
  });

  it('retain their slots after a disconnect until they are answered, and send nothing', () => {
    const held = heldServer();
    const { application, server } = held;
    application.finishesNow = false;
    const { socket } = held.client();
    socket.receive(late('a', 'b', 'c') + request('/alone/parked'));
    application.answer('b', 'x'.repeat(100_000));
    socket.destroy();
    assert.equal(server.inFlight.usedBytes, 0);
    assert.equal(server.slots.usedCount, 2, 'a and c were answered early');
    const other = held.client();
    other.socket.receive(late('d'));
    application.answer('a');
    application.answer('c');
    application.answer('d');
    assert.equal(socket.text, '');
    assert.deepEqual(other.bodies(), ['d']);
    assertAtRest(held);
  });

  it('do not block a client that waits for 100 Continue', () => {
    const held = heldServer();
    const { application, clock } = held;
    const { socket } = held.client();
    const fields = 'Expect: 100-continue\r\nContent-Length: 2\r\n';
    socket.receive(late('a') + request('/late/b', fields, 'POST'));
    assert.equal(socket.text, '');
    application.answer('a');
    clock.settle();
    assert.match(socket.text, /a$|100 Continue/);
    assert.match(socket.text, /\r\n\r\naHTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.receive('hi');
    application.answer('b');
    clock.settle();
    assert.match(socket.text, /\r\n\r\nb$/);
    assertAtRest(held);
  });

  it('do not block a client whose content is unwanted', () => {
    const held = heldServer({ bodyBytesMax: 10 });
    const { application, clock } = held;
    const { socket, responses } = held.client();
    const fields = 'Expect: 100-continue\r\nContent-Length: 11\r\n';
    socket.receive(late('a') + request('/late/b', fields, 'POST'));
    application.answer('a');
    clock.settle();
    assert.deepEqual(
      responses().map(({ status }) => status),
      [200, 413],
    );
    assert(socket.writableEnded);
    assertAtRest(held);
  });
});

describe('a handler that throws', () => {
  it('while it runs, causes only its own 500, and others continue', () => {
    const held = heldServer();
    const other = held.client();
    other.socket.receive(late('x'));
    const { socket, responses } = held.client();
    socket.receive(request('/throws') + late('never'));
    assert.deepEqual(
      responses().map(({ status }) => status),
      [500],
    );
    assert.equal(held.failures.length, 1);
    held.application.answer('x');
    assert.deepEqual(other.bodies(), ['x']);
    assertAtRest(held);
  });

  it('after others, causes a 500 in order', () => {
    const held = heldServer();
    const { socket, responses } = held.client();
    socket.receive(late('a') + request('/throws') + late('never'));
    held.application.answer('a');
    held.clock.settle();
    assert.deepEqual(
      responses().map(({ status }) => status),
      [200, 500],
    );
    assert(socket.writableEnded);
    assertAtRest(held);
  });

  it('in a later turn, causes a 500, and later requests continue', () => {
    const held = heldServer();
    const { socket, responses } = held.client();
    socket.receive(late('a', 'b'));
    const { exchange } = held.application.underWay.get('a') ?? assert.fail();
    exchange.fail(new Error('thrown in a later turn'), exchange.number);
    held.application.underWay.delete('a');
    held.application.answer('b');
    held.clock.settle();
    assert.deepEqual(
      responses().map(({ status }) => status),
      [500, 200],
    );
    assert(!socket.writableEnded);
    assertAtRest(held);
  });

  it('after its response, does not affect the request that uses its slot by then', () => {
    const held = heldServer();
    const { socket } = held.client();
    socket.receive(late('a'));
    const { exchange } = held.application.underWay.get('a') ?? assert.fail();
    const { number } = exchange;
    held.application.answer('a');
    const other = held.client();
    other.socket.receive(late('b'));
    assert.equal(held.application.underWay.get('b')?.exchange, exchange);
    exchange.fail(new Error('too late'), number);
    held.application.answer('b');
    assert.deepEqual(other.bodies(), ['b']);
    assert.equal(held.failures.length, 1);
    assertAtRest(held);
  });
});
