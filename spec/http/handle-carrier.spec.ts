/**
 * Errors of a handle: each call and callback fails once with each error that it can have. Cases without
 * errors, and those with real connections, are in carrier.spec.ts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectGarbage } from '../../src/base/collect-garbage.ts';
import { FAILED, TAKEN, WAITS } from '../../src/http/carrier.ts';
import { HandleCarrier } from '../../src/http/handle-carrier.ts';
import { UV_EOF } from '../../src/http/tcp-handles.ts';
import { FakeClock } from '../fake-clock.ts';
import { CheckedCarrier, RecordingUser, type UserCall } from './checked-carrier.ts';
import { errorOf, FakeHandle } from './fake-handle.ts';

type Checked = CheckedCarrier<FakeHandle>;

const CLOCK = new FakeClock();
const HOST = { clock: CLOCK, readBuffer: Buffer.alloc(65_536) };

function carrierOf(handle: FakeHandle): HandleCarrier {
  return new HandleCarrier(handle, handle.internals, HOST);
}

function accepted(handle = new FakeHandle()): Checked {
  return new CheckedCarrier({ carrier: carrierOf(handle), client: handle });
}

function opened(handle?: FakeHandle): Checked {
  const checked = accepted(handle);
  checked.open();
  assert.deepEqual(checked.client.calls, ['readStart']);
  return checked;
}

/** Returns a carrier that has written more than the kernel accepts. */
function waiting(handle?: FakeHandle): Checked {
  const checked = opened(handle);
  checked.client.roomBytes = 3;
  assert.equal(checked.write('response'), WAITS);
  return checked;
}

/** Returns a carrier whose client has ended its side. */
function halfClosed(): Checked {
  const checked = opened();
  checked.client.read(UV_EOF);
  return checked;
}

/** Asserts the user's calls before the last, and that nothing is called or referenced after it. */
function assertEnded({ carrier, client: handle, user }: Checked, calls: readonly UserCall[]): void {
  CLOCK.settle();
  assert.deepEqual(user.calls, calls);
  handle.finishClose();
  const all = [...calls, 'onClosed'];
  assert.deepEqual(user.calls, all);
  assert.equal(handle.owner, undefined);
  for (const request of handle.requests) assert.equal(request.owner, undefined);
  assert.equal(carrier.write(Buffer.from('late')), FAILED);
  carrier.pause();
  carrier.resume();
  carrier.end();
  carrier.destroy();
  carrier.look(() => assert.fail('a closed carrier does not look'));
  handle.read(1);
  handle.read(errorOf('ECONNRESET'));
  CLOCK.settle();
  assert.equal(carrier.peerAddress, '');
  assert.equal(carrier.untakenBytes, 0);
  assert.deepEqual(user.calls, all);
  // The handle fails if it is used afterwards.
  assert.equal(handle.calls.at(-1), 'close');
}

interface Failure {
  readonly place: string;
  readonly errors: readonly Parameters<typeof errorOf>[0][];
  /** The calls of the user, before the last. */
  readonly calls: readonly UserCall[];
  /** Returns a carrier that has had the error. */
  fail(error: number): Checked;
}

const READ_ERRORS = ['ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOBUFS', 'ENOMEM'] as const;
const WRITE_ERRORS = ['EPIPE', 'ECONNRESET', 'ETIMEDOUT', 'ENOBUFS', 'ENOMEM', 'EBADF'] as const;
const START_ERRORS = ['EINVAL', 'ENOTCONN', 'EBADF'] as const;
const SHUTDOWN_ERRORS = ['EPIPE', 'ECONNRESET', 'EINVAL', 'EBADF', 'ENOBUFS'] as const;

const READ_FAILURES: readonly Failure[] = [
  {
    place: 'a read',
    errors: READ_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = opened();
      checked.client.read(error);
      return checked;
    },
  },
  {
    place: 'a read while a write waits',
    errors: READ_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = waiting();
      checked.client.read(error);
      return checked;
    },
  },
  {
    place: 'a read while a write waits before the end of this side',
    errors: READ_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = waiting();
      checked.end();
      checked.client.read(error);
      return checked;
    },
  },
  {
    place: 'a read after the end of this side',
    errors: READ_ERRORS,
    calls: ['onEnded', 'onFailed'],
    fail(error) {
      const checked = opened();
      checked.end();
      checked.client.completeShutdown(0);
      checked.client.read(error);
      return checked;
    },
  },
  {
    place: 'the start of reading',
    errors: START_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = accepted();
      checked.client.results.set('readStart', error);
      checked.open();
      return checked;
    },
  },
  {
    place: 'the start of reading after a pause',
    errors: START_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = opened();
      checked.pause();
      checked.client.results.set('readStart', error);
      checked.resume();
      return checked;
    },
  },
];

const WRITE_FAILURES: readonly Failure[] = [
  {
    place: 'a write',
    errors: WRITE_ERRORS,
    calls: [],
    fail(error) {
      const checked = opened();
      checked.client.results.set('writeBuffer', error);
      assert.equal(checked.write('response'), FAILED);
      return checked;
    },
  },
  {
    place: 'a write after a call to turn Nagle off that also failed',
    errors: WRITE_ERRORS,
    calls: [],
    fail(error) {
      const checked = opened();
      assert.equal(checked.write('response'), TAKEN);
      checked.client.results.set('setNoDelay', errorOf('EINVAL'));
      checked.client.results.set('writeBuffer', error);
      assert.equal(checked.write('response'), FAILED);
      return checked;
    },
  },
  {
    place: 'a write that waits',
    errors: WRITE_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = waiting();
      checked.client.completeWrite(error);
      return checked;
    },
  },
  {
    place: 'a write that waits before the end of this side',
    errors: WRITE_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = waiting();
      checked.end();
      checked.client.completeWrite(error);
      return checked;
    },
  },
  {
    place: 'a shutdown',
    errors: SHUTDOWN_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = opened();
      checked.client.results.set('shutdown', error);
      checked.end();
      return checked;
    },
  },
  {
    place: 'a shutdown under way',
    errors: SHUTDOWN_ERRORS,
    calls: ['onFailed'],
    fail(error) {
      const checked = opened();
      checked.end();
      checked.client.completeShutdown(error);
      return checked;
    },
  },
  {
    place: 'a shutdown under way, after the end of the client',
    errors: SHUTDOWN_ERRORS,
    calls: ['onInputEnd', 'onFailed'],
    fail(error) {
      const checked = opened();
      checked.end();
      checked.client.read(UV_EOF);
      checked.client.completeShutdown(error);
      return checked;
    },
  },
];

describe('A connection ends once, after an error of', () => {
  for (const { place, errors, calls, fail } of [...READ_FAILURES, ...WRITE_FAILURES]) {
    for (const name of errors) {
      it(`${place}: ${name}`, () => assertEnded(fail(errorOf(name)), calls));
    }
  }

  it('several calls of one turn', () => {
    const checked = opened();
    checked.pause();
    checked.client.results.set('readStart', errorOf('ENOTCONN'));
    checked.resume();
    checked.client.results.set('shutdown', errorOf('EPIPE'));
    checked.end();
    assertEnded(checked, ['onFailed']);
  });

  it('a call, in whose turn the user destroys it', () => {
    const checked = opened();
    checked.client.results.set('shutdown', errorOf('EPIPE'));
    checked.end();
    checked.destroy();
    assertEnded(checked, []);
  });

  it('a call, in whose turn a write fails', () => {
    const checked = opened();
    checked.pause();
    checked.client.results.set('readStart', errorOf('ENOTCONN'));
    checked.resume();
    checked.client.results.set('writeBuffer', errorOf('EPIPE'));
    assert.equal(checked.write('response'), FAILED);
    assertEnded(checked, []);
  });
});

describe('A handle', () => {
  it('is closed after a failed write, before the carrier has a user', () => {
    const { carrier, client: handle } = accepted();
    handle.results.set('writeBuffer', errorOf('EPIPE'));
    assert.equal(carrier.write(Buffer.from('refused')), FAILED);
    handle.finishClose();
    assert.equal(handle.owner, undefined);
    assert.deepEqual(handle.calls, ['writeBuffer', 'close']);
  });

  it('of a client that has gone has no address', () => {
    for (const name of ['ENOTCONN', 'EINVAL', 'EBADF'] as const) {
      const checked = opened();
      const { carrier, client: handle } = checked;
      assert.equal(carrier.peerAddress, '127.0.0.2');
      assert.equal(carrier.remotePort, 40_000);
      assert.equal(carrier.localPort, 5701);
      handle.results.set('getpeername', errorOf(name));
      assert.equal(carrier.peerAddress, '');
      handle.results.set('getpeername', errorOf(name));
      assert.equal(carrier.remotePort, undefined);
      handle.results.set('getsockname', errorOf(name));
      assert.equal(carrier.localPort, undefined);
      handle.read(errorOf('ECONNRESET'));
      assertEnded(checked, ['onFailed']);
    }
  });

  it('continues after errors without an effect', () => {
    const checked = opened();
    const { client: handle, user } = checked;
    checked.resume();
    handle.results.set('readStop', errorOf('EBADF'));
    checked.pause();
    checked.resume();
    handle.read(0);
    assert.equal(checked.write('one'), TAKEN);
    handle.results.set('setNoDelay', errorOf('EINVAL'));
    assert.equal(checked.write('two'), TAKEN);
    handle.receive('request');
    CLOCK.settle();
    assert.deepEqual(user.calls, ['onBytes']);
    checked.destroy();
    assertEnded(checked, ['onBytes']);
  });

  it('whose shutdown is done during the call, or finds no connection, has ended its side', () => {
    for (const result of [1, errorOf('ENOTCONN')]) {
      const checked = opened();
      checked.client.results.set('shutdown', result);
      checked.end();
      checked.client.receive('late');
      assert.deepEqual(checked.user.calls, ['onEnded', 'onBytes']);
      checked.client.read(UV_EOF);
      assertEnded(checked, ['onEnded', 'onBytes', 'onInputEnd']);
    }
  });

  it('whose shutdown finds no connection later has ended its side', () => {
    const checked = opened();
    checked.end();
    checked.client.completeShutdown(errorOf('ENOTCONN'));
    checked.client.read(UV_EOF);
    assertEnded(checked, ['onEnded', 'onInputEnd']);
  });

  it('cancels at its close what is under way', () => {
    const writing = waiting();
    writing.destroy();
    assertEnded(writing, []);
    const ending = opened();
    ending.end();
    ending.destroy();
    assertEnded(ending, []);
    const both = waiting();
    both.end();
    both.destroy();
    assert.equal(both.client.requests.length, 2);
    assertEnded(both, []);
  });

  it('is closed without a shutdown if the client has ended its side first', () => {
    const checked = halfClosed();
    assert.equal(checked.write('response'), TAKEN);
    checked.end();
    assert.deepEqual(checked.client.calls, ['readStart', 'writeBuffer', 'close']);
    assertEnded(checked, ['onInputEnd', 'onEnded']);
  });

  it('is shut down after the bytes that wait, if the client has ended its side first', () => {
    const checked = waiting();
    const { client: handle, user } = checked;
    handle.read(UV_EOF);
    checked.end();
    assert(!handle.isClosing);
    handle.completeWrite(0);
    handle.completeShutdown(0);
    assert.deepEqual(user.calls, ['onInputEnd', 'onTaken', 'onEnded']);
    assertEnded(checked, ['onInputEnd', 'onTaken', 'onEnded']);
  });

  it('turns Nagle off at the second write only', () => {
    const checked = opened();
    for (const text of ['one', 'two', 'three', 'four']) assert.equal(checked.write(text), TAKEN);
    const { calls } = checked.client;
    const write = 'writeBuffer';
    assert.deepEqual(calls, ['readStart', write, 'setNoDelay', write, write, write]);
  });

  for (const createsRequests of [false, true]) {
    const requests = createsRequests ? 'requests of its own' : 'passed requests';
    it(`references the bytes that wait in ${requests} until they have been taken`, () => {
      const checked = opened(new FakeHandle({ createsRequests }));
      const { carrier, client: handle } = checked;
      const taken = Buffer.from('taken');
      assert.equal(carrier.write(taken), TAKEN);
      assert.equal(handle.requests.length, 0);
      const texts = ['first', 'second'];
      for (const [index, text] of texts.entries()) {
        const bytes = Buffer.from(text);
        handle.roomBytes = 2;
        checked.user.isWaiting = true;
        assert.equal(carrier.write(bytes), WAITS);
        assert.equal(carrier.untakenBytes, text.length - 2);
        assert.equal(handle.requests.length, index + 1);
        assert.equal(handle.requests[index]?.bytes, bytes);
        assert.equal(handle.requests[index]?.owner, carrier);
        assert.throws(() => carrier.write(bytes), /a write waits/);
        handle.completeWrite(0);
        assert.equal(carrier.untakenBytes, 0);
        assert.equal(handle.requests[index]?.owner, undefined);
      }
      assert.deepEqual(checked.user.calls, ['onTaken', 'onTaken']);
      assert.deepEqual(String(Buffer.concat(handle.sent)), 'takenfise');
    });
  }

  it('stops reading within a read', () => {
    const checked = opened();
    const { client: handle, user } = checked;
    user.react = () => {
      checked.pause();
      assert(!handle.isReading);
    };
    handle.receive('request');
    user.react = () => {};
    assert.equal(String(user.received), 'request');
    checked.resume();
    handle.receive('rest');
    assert.equal(String(user.received), 'requestrest');
    assert.deepEqual(handle.calls, ['readStart', 'readStop', 'readStart']);
    assert.equal(handle.buffer, HOST.readBuffer);
  });

  it('references nothing after its close, and the carrier no user', async () => {
    const left = leave();
    await nextTurn();
    collectGarbage();
    assert.equal(left.user.deref(), undefined);
    assert.equal(left.handle.owner, undefined);
    assert.equal(left.carrier.peerAddress, '');
  });
});

/** Returns a closed carrier and its handle, whose user nothing else references. */
function leave() {
  const handle = new FakeHandle();
  const carrier = carrierOf(handle);
  const user = new RecordingUser();
  carrier.open(user);
  handle.roomBytes = 0;
  assert.equal(carrier.write(Buffer.from('response')), WAITS);
  carrier.end();
  carrier.destroy();
  handle.finishClose();
  assert.deepEqual(user.calls, ['onClosed']);
  return { handle, carrier, user: new WeakRef(user) };
}

describe('A user that throws closes its connection', () => {
  const CASES: Readonly<Partial<Record<UserCall, (checked: Checked) => void>>> = {
    onBytes: ({ client }) => client.receive('request'),
    onInputEnd: ({ client }) => client.read(UV_EOF),
    onTaken: ({ client }) => client.completeWrite(0),
    onEnded: ({ client }) => client.completeShutdown(0),
    onFailed: ({ client }) => client.read(errorOf('ECONNRESET')),
  };
  for (const [call, run] of Object.entries(CASES)) {
    it(`within ${call}`, () => {
      const checked = call === 'onTaken' ? waiting() : opened();
      if (call === 'onEnded') checked.end();
      checked.user.react = () => {
        checked.user.isOver = true;
        throw new Error('of the user');
      };
      assert.throws(() => run(checked), /of the user/);
      checked.user.react = () => {};
      assertEnded(checked, [call as UserCall]);
    });
  }

  it('within onClosed', () => {
    const checked = opened();
    const { client: handle, user } = checked;
    checked.destroy();
    user.react = () => {
      throw new Error('of the user');
    };
    assert.throws(() => handle.finishClose(), /of the user/);
    assert.deepEqual(user.calls, ['onClosed']);
    assert.equal(handle.owner, undefined);
  });
});
