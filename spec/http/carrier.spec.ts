/**
 * Cases of the carriers' contract, run on every implementation. Each use is checked: the order of
 * calls, what may be called within a call, and that a closed carrier calls nothing.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { type Carrier, FAILED, LOOK_BYTES_MAX, TAKEN, WAITS } from '../../src/http/carrier.ts';
import { SocketCarrier } from '../../src/http/socket-carrier.ts';
import { identity, tlsClient } from '../tls/identity.ts';
import {
  fakePair,
  handlePair,
  plainPair,
  READ_BUFFER,
  streamPair,
  tlsPair,
} from './carrier-pairs.ts';
import { CheckedCarrier, RecordingUser, turns, USER_CALLS, until } from './checked-carrier.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { createTestServer } from './test-server.ts';

/** More bytes than the kernel's buffers accept while the client does not read. */
const LONG = Buffer.alloc(16_777_216, 'abcdefg');

const open: CheckedCarrier[] = [];

afterEach(() => {
  for (const { carrier, client } of open.splice(0)) {
    carrier.destroy();
    client.reset();
  }
});

/** `takesAtOnce`: whether a write whose bytes the kernel accepts immediately does not wait. */
const IMPLEMENTATIONS = [
  { name: 'a handle', create: handlePair, takesAtOnce: true },
  { name: 'a socket', create: plainPair, takesAtOnce: true },
  { name: 'a socket whose handle cannot be used', create: streamPair, takesAtOnce: true },
  { name: 'a TLS socket', create: tlsPair, takesAtOnce: false },
  { name: 'the fake', create: fakePair, takesAtOnce: true },
] as const;

for (const { name, create, takesAtOnce } of IMPLEMENTATIONS) {
  const isTls = create === tlsPair;
  const pair = async (): Promise<CheckedCarrier> => {
    const checked = new CheckedCarrier(await create());
    open.push(checked);
    return checked;
  };
  const opened = async (): Promise<CheckedCarrier> => {
    const checked = await pair();
    checked.open();
    return checked;
  };
  /** Returns a carrier that has written more than its client's side accepts. */
  const waiting = async (): Promise<CheckedCarrier> => {
    const checked = await opened();
    assert.equal(checked.write(LONG), WAITS);
    await turns(3);
    assert(checked.carrier.untakenBytes > 0);
    assert.equal(checked.user.count('onTaken'), 0);
    return checked;
  };
  /** Returns a carrier whose client reads. */
  const read = async (): Promise<CheckedCarrier> => {
    const checked = await opened();
    checked.client.read();
    return checked;
  };

  describe(`Reading from ${name}`, () => {
    it('passes all bytes in order, each valid during the call', async () => {
      const { client, user } = await opened();
      const sent = Buffer.alloc(300_000, 'abcdefg');
      client.send(sent);
      await until(() => user.received.length >= sent.length, 'all');
      assert(user.received.equals(sent));
    });

    it('reports the end of input, and can still send', async () => {
      const checked = await read();
      const { client, user } = checked;
      client.send('last');
      client.end();
      await checked.called('onInputEnd');
      assert.equal(String(user.received), 'last');
      await checked.send('answer');
      checked.end();
      await checked.called('onClosed');
      await until(() => client.isEnded, 'end');
      assert.equal(String(client.received), 'answer');
      assert.equal(user.count('onFailed'), 0);
    });

    it('reports a reset', async () => {
      const checked = await opened();
      checked.client.reset();
      await checked.called('onClosed');
      assert.deepEqual(checked.user.calls, ['onFailed', 'onClosed']);
    });

    it('stops reading while paused', async () => {
      const checked = await opened();
      const { client, user } = checked;
      client.send('one');
      await until(() => user.received.length === 3, 'one');
      checked.pause();
      client.send('two');
      await turns(5);
      assert.equal(String(user.received), 'one');
      checked.resume();
      await until(() => user.received.length === 6, 'two');
      assert.equal(String(user.received), 'onetwo');
    });

    it('is paused and resumed once, however often it is told to', async () => {
      const checked = await opened();
      const { client, user } = checked;
      checked.resume();
      checked.pause();
      checked.pause();
      client.send('one');
      await turns(5);
      assert.deepEqual(user.calls, []);
      checked.resume();
      checked.resume();
      await until(() => user.received.length === 3, 'one');
      await turns(2);
      assert.equal(user.count('onFailed'), 0);
    });

    it('stops within a call, and passes the rest and the end when it resumes', async () => {
      const checked = await opened();
      const { client, user } = checked;
      const sent = Buffer.alloc(1_000_000, 'abcdefg');
      user.react = (call) => {
        if (call === 'onBytes') checked.pause();
      };
      client.send(sent);
      client.end();
      await checked.called('onBytes');
      for (let reads = 1; user.received.length < sent.length; reads++) {
        await turns(3);
        assert.equal(user.count('onBytes'), reads);
        assert.equal(user.count('onInputEnd'), 0);
        checked.resume();
        await checked.called('onBytes', reads + 1);
      }
      checked.resume();
      await checked.called('onInputEnd');
      assert(user.received.equals(sent));
    });

    it('passes what has arrived before a look reports', async () => {
      const checked = await opened();
      const { client, user } = checked;
      await checked.look();
      for (let piece = 1; piece <= 20; piece++) {
        const bytes = Buffer.alloc(piece * 100, 'x');
        const before = user.received.length;
        client.send(bytes);
        await checked.look();
        // The client's side of TLS sends in a later turn.
        if (isTls) await until(() => user.received.length > before, 'bytes');
        assert.equal(user.received.length, before + bytes.length);
        assert(bytes.length < LOOK_BYTES_MAX);
      }
    });
  });

  describe(`Writing to ${name}`, () => {
    if (takesAtOnce) {
      it('needs no callback for bytes that the kernel accepts immediately', async () => {
        const checked = await read();
        const { client, user, carrier } = checked;
        for (const text of ['first ', 'second ', 'third']) {
          assert.equal(checked.write(text), TAKEN);
          assert.equal(carrier.untakenBytes, 0);
        }
        checked.end();
        await until(() => client.isEnded, 'end');
        assert.equal(String(client.received), 'first second third');
        assert.deepEqual(user.calls, ['onEnded']);
      });
    }

    it('calls back when a slow client has accepted the rest', async () => {
      const checked = await waiting();
      const { client, carrier } = checked;
      assert(carrier.untakenBytes <= LONG.length);
      client.read();
      await checked.called('onTaken');
      assert.equal(carrier.untakenBytes, 0);
      await checked.send('last');
      checked.end();
      await until(() => client.isEnded, 'end');
      assert(client.received.equals(Buffer.concat([LONG, Buffer.from('last')])));
    });

    it('calls back when a slow client has accepted the rest of a run', async () => {
      const checked = await opened();
      const { client } = checked;
      let length = 0;
      let at = 0;
      for (; ; at += length) {
        length = 65_536 + (at % 7);
        const result = checked.write(LONG.subarray(at, at + length));
        if (result === TAKEN) continue;
        assert.equal(result, WAITS);
        await turns(5);
        if (checked.user.isWaiting) break;
      }
      at += length;
      client.read();
      await until(() => !checked.user.isWaiting, 'taken');
      checked.end();
      await until(() => client.isEnded, 'end');
      assert(client.received.equals(LONG.subarray(0, at)));
    });

    it('sends waiting bytes before a half-close', async () => {
      const checked = await waiting();
      const { client, user } = checked;
      checked.end();
      checked.end();
      client.read();
      await until(() => client.isEnded, 'end');
      assert.equal(client.received.length, LONG.length);
      await checked.called('onEnded');
      assert.deepEqual(user.calls, ['onTaken', 'onEnded']);
      client.send('still read');
      await until(() => user.received.length === 10, 'bytes');
      client.end();
      await checked.called('onClosed');
    });

    it('continues after the client has ended its side, while bytes wait', async () => {
      const checked = await waiting();
      checked.client.end();
      await checked.called('onInputEnd');
      checked.client.read();
      await checked.called('onTaken');
      checked.end();
      await checked.called('onClosed');
      await until(() => checked.client.isEnded, 'end');
      assert.equal(checked.client.received.length, LONG.length);
    });

    it('reports a connection that fails while bytes wait, once', async () => {
      const checked = await waiting();
      const { client, user } = checked;
      client.reset();
      await checked.called('onClosed');
      assert.equal(checked.write('to nobody'), FAILED);
      assert.deepEqual(user.calls, ['onFailed', 'onClosed']);
    });

    it('drops bytes written after the socket has been destroyed', async () => {
      const checked = await read();
      checked.destroy();
      assert.equal(checked.write('to nobody'), FAILED);
      await checked.called('onClosed');
      assert.equal(checked.write('to nobody'), FAILED);
      assert.deepEqual(checked.user.calls, ['onClosed']);
      await until(() => checked.client.isEnded, 'end');
      assert.equal(checked.client.received.length, 0);
    });

    it('can be done before it is opened, and before it is destroyed instead', async () => {
      const { carrier, client } = await pair();
      assert.notEqual(carrier.write(Buffer.from('refused')), FAILED);
      if (!isTls) carrier.destroy();
      client.read();
      await until(() => client.received.length === 7, 'bytes');
      assert.equal(String(client.received), 'refused');
    });
  });

  describe(`The end of ${name}`, () => {
    /** The uses that a reset may meet. */
    const USES: Readonly<Record<string, (checked: CheckedCarrier) => unknown>> = {
      open: () => {},
      write: (checked) => checked.write('response'),
      pause: (checked) => checked.pause(),
      resume(checked) {
        checked.pause();
        checked.resume();
      },
      look: (checked) => checked.look(),
      end: (checked) => checked.end(),
      destroy: (checked) => checked.destroy(),
    };
    for (const [use, run] of Object.entries(USES)) {
      for (const when of ['before', 'long before', 'after', 'within the calls before']) {
        it(`by a reset ${when} ${use} is reported once`, async () => {
          const checked = await pair();
          const { client, user } = checked;
          if (when === 'before') client.reset();
          checked.open();
          if (when === 'long before') {
            client.reset();
            await turns(10);
          } else if (when === 'within the calls before') {
            user.react = (call) => {
              if (call !== 'onBytes' || client.isClosed) return;
              client.reset();
              void run(checked);
            };
            client.send('request');
            await checked.called('onBytes');
          }
          if (when !== 'within the calls before') {
            const result = run(checked);
            if (when === 'after') client.reset();
            await result;
          }
          await turns(3);
          // A paused carrier does not notice.
          if (!user.isOver) checked.resume();
          await turns(3);
          if (!user.isOver) checked.destroy();
          await checked.called('onClosed');
          assert.equal(user.calls.at(-1), 'onClosed');
        });
      }
    }

    it('comes once both sides have ended, whichever was first', async () => {
      for (const isFirst of [true, false]) {
        const checked = await read();
        const { client, user } = checked;
        if (isFirst) client.end();
        else checked.end();
        await checked.called(isFirst ? 'onInputEnd' : 'onEnded');
        await turns(5);
        assert.equal(user.count('onClosed'), 0);
        if (isFirst) checked.end();
        else client.end();
        await checked.called('onClosed');
        const [first, second] = ['onInputEnd', 'onEnded'] as const;
        assert.deepEqual(user.calls, [
          ...(isFirst ? [first, second] : [second, first]),
          'onClosed',
        ]);
      }
    });

    for (const call of USER_CALLS) {
      it(`can be ordered within ${call}`, async () => {
        const checked = await opened();
        const { client, user } = checked;
        user.react = (each) => {
          if (each === call) checked.destroy();
        };
        if (call === 'onBytes') client.send(Buffer.alloc(200_000, 'x'));
        else if (call === 'onInputEnd') client.end();
        else if (call === 'onTaken') {
          assert.equal(checked.write(LONG), WAITS);
          await turns(3);
          client.read();
        } else if (call === 'onEnded') checked.end();
        else client.reset();
        await checked.called('onClosed');
        await turns(5);
        assert.deepEqual(user.calls, [call === 'onClosed' ? 'onFailed' : call, 'onClosed']);
      });
    }

    it('by destroy drops what waits, and repeated calls have no effect', async () => {
      const checked = await waiting();
      checked.destroy();
      checked.destroy();
      checked.end();
      checked.pause();
      checked.resume();
      await checked.called('onClosed');
      await turns(5);
      assert.deepEqual(checked.user.calls, ['onClosed']);
    });
  });
}

describe('A socket', () => {
  it('reads only into the passed buffer', async () => {
    const checked = new CheckedCarrier(await plainPair());
    open.push(checked);
    checked.open();
    checked.client.send(Buffer.alloc(300_000, 'abcdefg'));
    await until(() => checked.user.received.length === 300_000, 'all');
    assert.deepEqual([...checked.user.buffers], [READ_BUFFER]);
    assert.equal(checked.carrier.peerAddress, '127.0.0.1');
  });

  it('writes through the stream while the stream has unsent bytes', async () => {
    const { accepted, ...pair } = await streamPair();
    const checked = new CheckedCarrier(pair);
    open.push(checked);
    checked.open();
    accepted.write(LONG);
    assert.equal(checked.write('behind'), WAITS);
    assert.equal(checked.carrier.untakenBytes, LONG.length + 'behind'.length);
    checked.client.read();
    await checked.called('onTaken');
    checked.end();
    await until(() => checked.client.isEnded, 'end');
    const all = checked.client.received;
    assert.equal(all.length, LONG.length + 'behind'.length);
    assert.equal(all.toString('latin1', all.length - 6), 'behind');
  });
});

for (const tls of [undefined, identity('server')]) {
  it(`a server makes all carriers by its option${tls ? ', over TLS' : ''}`, async () => {
    const made: Carrier[] = [];
    const { server } = createTestServer(
      { connectionsMax: 1 },
      {
        ...(tls && { tls }),
        carry(socket, host) {
          const carrier = new SocketCarrier(socket, host);
          made.push(carrier);
          return carrier;
        },
      },
    );
    const { port } = await server.listen('127.0.0.1', 0);
    const first = tls ? tlsClient(port) : connect(port, '127.0.0.1');
    await until(() => made.length === 1, 'the first');
    const second = connect(port, '127.0.0.1').on('error', () => {});
    let text = '';
    second.on('data', (chunk) => {
      text += chunk;
    });
    await once(second, 'close');
    // A connection over TLS is refused before its handshake.
    assert.equal(made.length, tls ? 1 : 2);
    assert.match(text, tls ? /^$/ : /^HTTP\/1\.1 503 /);
    first.destroy();
    server.abort();
  });
}

it('the fake overwrites received bytes after the call', () => {
  const carrier = new FakeCarrier();
  const buffers: Buffer[] = [];
  const user = new RecordingUser();
  user.onBytes = (bytes) => {
    buffers.push(bytes);
    assert.equal(String(bytes), 'received');
  };
  carrier.open(user);
  carrier.receive('received');
  assert(buffers[0]?.every((byte) => byte === 0xdd));
});
