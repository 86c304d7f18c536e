/** Responses to changes that an engine on servers has not made, or may have made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DISCONNECTED,
  MEMORY_FULL,
  SERVERS,
  SERVERS_REFUSE,
  TOO_FEW_REPLICAS,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { client, post } from '../http/test-client.ts';
import { createTestServer } from '../http/test-server.ts';

/** The object with other values for some of its properties. */
function withValues<T extends object>(object: T, values: Readonly<Record<string, unknown>>): T {
  return new Proxy(object, {
    get: (_, name) => {
      const value = values[String(name)] ?? Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}

for (const [outcome, reason, fields] of [
  [UNREACHABLE, DISCONNECTED, ['not-applied', '5']],
  [UNREACHABLE, TOO_FEW_REPLICAS, ['not-applied', '5']],
  [UNREACHABLE, SERVERS_REFUSE, ['not-applied', '5']],
  [MEMORY_FULL, SERVERS, ['not-applied', '5']],
  [UNKNOWN, SERVERS, ['unknown', undefined]],
  [UNKNOWN, TOO_FEW_REPLICAS, ['unknown', undefined]],
] as const) {
  test(`a change with outcome ${outcome} and reason ${reason} returns 503, Grid-Outcome: ${fields[0]}`, () => {
    const server = createTestServer(
      {},
      {
        engineOn: (engine) =>
          withValues(engine, {
            set: (
              ...[map, key, value, type, lifetime, condition, receiver]: Parameters<
                typeof engine.set
              >
            ) =>
              engine.set(map, key, value, type, lifetime, condition, {
                onResult: (result) => receiver.onResult(withValues(result, { outcome, reason })),
              }),
          }),
      },
    );
    const { socket, responses } = client(server);
    socket.receive(post('maps/m/k', 'v'));
    const [response] = responses();
    assert.equal(response?.status, 503);
    const found = ['grid-outcome', 'retry-after'].map((name) => response?.fields.get(name));
    assert.deepEqual(found, fields);
  });
}
