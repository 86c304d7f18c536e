/**
 * Covers src/http/connection-requests.ts and src/http/request.ts. Requests of one connection
 * that are in progress together: when each begins, and when responses are sent.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldServer, request } from './held-application.ts';

const late = (...names: readonly string[]): string =>
  names.map((name) => request(`/late/${name}`)).join('');

describe('requests under way together', () => {
  it('are answered in the order sent, in whatever order their results arrive', () => {
    const { application, clock, socket, bodies, assertAtRest } = heldServer();
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
    assertAtRest();
  });

  it('are answered in one write if their results arrive in one turn', () => {
    const { application, clock, socket, bodies, assertAtRest } = heldServer();
    const names = Array.from({ length: 32 }, (_, index) => `${index}`);
    socket.receive(late(...names));
    for (const name of names.toReversed()) application.answer(name);
    clock.settle();
    assert.deepEqual(bodies(), names);
    assert.equal(socket.sent.length, 1);
    assertAtRest();
  });

  it('buffer early responses in copies, which count as bytes in flight', () => {
    const { application, server, socket, bodies, assertAtRest } = heldServer();
    socket.receive(late('a', 'b'));
    application.answer('b', 'x'.repeat(1000));
    assert.equal(server.inFlight.usedBytes, 1000);
    application.answer('a');
    assert.deepEqual(bodies(), ['a', 'x'.repeat(1000)]);
    assertAtRest();
  });

  it('are at most 64: later ones wait, complete, and begin as others are answered', () => {
    const { application, clock, socket, bodies, assertAtRest } = heldServer();
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
    assertAtRest();
  });

  it('include no exclusive one, which begins after all earlier ones and before all later ones', () => {
    const { application, clock, socket, bodies, assertAtRest } = heldServer();
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
    assertAtRest();
  });

  it('make the handler release its bytes if the path has escapes, or the head had a long buffer', () => {
    const long = request(`/now/${'a'.repeat(5000)}`);
    for (const [pieces, count] of [
      [[request('/now/a')], 0],
      [[request('/now/%61')], 1],
      [[long], 0],
      [[long.slice(0, 4500), long.slice(4500)], 1],
      [[request('/late/a', `Authorization: ${'a'.repeat(3000)}\r\n`)], 1],
    ] as const) {
      const { application, socket, clock, assertAtRest } = heldServer();
      for (const piece of pieces) socket.receive(piece);
      if (application.underWay.size > 0) application.answer('a');
      clock.settle();
      assert.equal(application.releaseCount, count, `${pieces.length} pieces`);
      assertAtRest();
    }
  });

  it('retain their bytes while other clients send', () => {
    const { application, clock, socket, assertAtRest, another, statuses } = heldServer();
    const content = 'Content-Length: 5\r\n';
    socket.receive(`${late('a')}${request('/alone/b', content, 'POST')}hello`);
    another().socket.receive(request(`/now/${'#'.repeat(5000)}`));
    application.answer('a');
    clock.settle();
    const parked = application.underWay.get('b')?.request ?? assert.fail();
    assert.equal(parked.content.toBuffer().toString(), 'hello');
    assert.equal(parked.head.target.toBuffer().toString(), '/alone/b');
    application.answer('b');
    assert.deepEqual(statuses(), [200, 200]);
    assertAtRest();
  });

  it('end the connection in order: Connection: close, a refusal, bytes that are not a request', () => {
    for (const [last, status] of [
      [request('/late/z', 'Connection: close\r\n'), 200],
      [request('/late/z', 'Host: y\r\n'), 400],
      ['no request at all\r\n\r\n', 400],
    ] as const) {
      const { application, clock, socket, responses, assertAtRest } = heldServer();
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
      assertAtRest();
    }
  });

  it('are all answered before the end, if the client ends its side', () => {
    const { application, clock, socket, bodies, assertAtRest } = heldServer();
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
    assertAtRest();
  });

  it('retain their slots after a disconnect until they are answered, and send nothing', () => {
    const { application, server, socket, assertAtRest, another } = heldServer();
    application.finishesNow = false;
    socket.receive(late('a', 'b', 'c') + request('/alone/parked'));
    application.answer('b', 'x'.repeat(100_000));
    socket.destroy();
    assert.equal(server.inFlight.usedBytes, 0);
    assert.equal(server.requests.usedCount, 2, 'a and c were answered early');
    const other = another();
    other.socket.receive(late('d'));
    application.answer('a');
    application.answer('c');
    application.answer('d');
    assert.equal(socket.text, '');
    assert.deepEqual(other.bodies(), ['d']);
    assertAtRest();
  });

  it('do not block a client that waits for 100 Continue', () => {
    const { application, clock, socket, assertAtRest } = heldServer();
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
    assertAtRest();
  });

  it('do not block a client whose content is unwanted', () => {
    const { application, clock, socket, assertAtRest, statuses } = heldServer({ bodyBytesMax: 10 });
    const fields = 'Expect: 100-continue\r\nContent-Length: 11\r\n';
    socket.receive(late('a') + request('/late/b', fields, 'POST'));
    application.answer('a');
    clock.settle();
    assert.deepEqual(statuses(), [200, 413]);
    assert(socket.writableEnded);
    assertAtRest();
  });
});

describe('a handler that throws', () => {
  it('while it runs, causes only its own 500, and others continue', () => {
    const { socket, assertAtRest, another, failures, application, statuses } = heldServer();
    const other = another();
    other.socket.receive(late('x'));
    socket.receive(request('/throws') + late('never'));
    assert.deepEqual(statuses(), [500]);
    assert.equal(failures.length, 1);
    application.answer('x');
    assert.deepEqual(other.bodies(), ['x']);
    assertAtRest();
  });

  it('after others, causes a 500 in order', () => {
    const { socket, assertAtRest, application, clock, statuses } = heldServer();
    socket.receive(late('a') + request('/throws') + late('never'));
    application.answer('a');
    clock.settle();
    assert.deepEqual(statuses(), [200, 500]);
    assert(socket.writableEnded);
    assertAtRest();
  });

  it('in a later turn, causes a 500, and later requests continue', () => {
    const { socket, assertAtRest, application, clock, statuses } = heldServer();
    socket.receive(late('a', 'b'));
    const { request } = application.underWay.get('a') ?? assert.fail();
    request.fail(new Error('thrown in a later turn'), request.number);
    application.underWay.delete('a');
    application.answer('b');
    clock.settle();
    assert.deepEqual(statuses(), [500, 200]);
    assert(!socket.writableEnded);
    assertAtRest();
  });

  it('after its response, does not affect the request that uses its slot by then', () => {
    const { socket, assertAtRest, application, another, failures } = heldServer();
    socket.receive(late('a'));
    const { request } = application.underWay.get('a') ?? assert.fail();
    const { number } = request;
    application.answer('a');
    const other = another();
    other.socket.receive(late('b'));
    assert.equal(application.underWay.get('b')?.request, request);
    request.fail(new Error('too late'), number);
    application.answer('b');
    assert.deepEqual(other.bodies(), ['b']);
    assert.equal(failures.length, 1);
    assertAtRest();
  });
});
