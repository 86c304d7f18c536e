/**
 * Connections with engines whose results arrive immediately, and with engines whose results arrive
 * later.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DelayingSink } from '../engine/sinks.ts';
import { connectionCases } from './connection.case.ts';
import { MODES, settledServer } from './late-server.ts';
import { client, get, poll, post } from './test-client.ts';
import { createTestServer, LaterDelay } from './test-server.ts';

connectionCases('on an engine that answers at once', createTestServer);
for (const [mode, isOrdered] of MODES) {
  connectionCases(`on an engine that answers later, ${mode}`, (limits, parts) =>
    settledServer({ isOrdered }, limits, parts),
  );
}

describe('a connection with an engine that returns results immediately', () => {
  it('takes nothing for a disconnected client', () => {
    const { socket, another, clock } = client();
    const second = another();
    const offerer = another();
    socket.receive(poll('q'));
    second.socket.receive(poll('q'));
    offerer.socket.receive(post('queues/q', 'item'));
    socket.destroy();
    clock.settle();
    assert.equal(socket.text, '');
    assert.equal(second.responses()[0]?.body, 'item');
  });

  it('releases a long value when its client has disconnected', async () => {
    const { socket, another, engine } = client(createTestServer({ bodyBytesMax: 300_000 }));
    const writer = another();
    writer.socket.receive(post('maps/m/k', 'v'.repeat(300_000)));
    const before = engine.memoryBytes;
    socket.isStuck = true;
    socket.receive(get('maps/m/k').repeat(2));
    writer.socket.receive(post('maps/m/k', 'v'.repeat(300_000)));
    assert(engine.memoryBytes > before + 250_000, 'the old value was released early');
    socket.destroy();
    socket.unstick();
    await nextTurn();
    assert(engine.memoryBytes < before + 50_000);
  });

  it('reads nothing more once pipeline-max responses wait', () => {
    const sink = new DelayingSink(0);
    const delay = new LaterDelay();
    const server = createTestServer({ pipelineMax: 10 }, { sinks: [sink], delay });
    const delays = (partition: number, sequence: number) =>
      server.engine.delays(partition, sequence);
    delay.by = { delaysAll: false, delays, sequences: () => server.engine.sequences() };
    const { socket, statuses } = client(server);
    socket.receive(post('maps/m/k', 'v').repeat(12));
    assert(socket.isPaused);
    for (const [partition, sequence] of server.engine.sequences().entries()) {
      sink.upTo.set(partition, sequence);
    }
    server.server.release();
    assert.equal(statuses().length, 10);
  });
});
