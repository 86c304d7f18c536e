/** Responses to changes that an engine has not made, or may have made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import {
  DISCONNECTED,
  MEMORY_FULL,
  SERVERS,
  SERVERS_REFUSE,
  TOO_FEW_REPLICAS,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { changingResults } from '../http/changed-results.ts';
import { client, post } from '../http/test-client.ts';
import { createTestServer } from '../http/test-server.ts';

for (const [outcome, reason, fields] of [
  [MEMORY_FULL, 0, [undefined, '5']],
  [UNREACHABLE, DISCONNECTED, ['not-applied', '5']],
  [UNREACHABLE, TOO_FEW_REPLICAS, ['not-applied', '5']],
  [UNREACHABLE, SERVERS_REFUSE, ['not-applied', '5']],
  [MEMORY_FULL, SERVERS, ['not-applied', '5']],
  [UNKNOWN, SERVERS, ['unknown', undefined]],
  [UNKNOWN, TOO_FEW_REPLICAS, ['unknown', undefined]],
] as const) {
  test(`a change with outcome ${outcome} and reason ${reason} returns 503, Grid-Outcome: ${fields[0]}`, () => {
    const engineOn = (engine: EmbeddedEngine) =>
      changingResults(engine, () => ({ outcome, reason }));
    const server = createTestServer({}, { engineOn });
    const { socket, responses } = client(server);
    socket.receive(post('maps/m/k', 'v'));
    const [response] = responses();
    assert.equal(response?.status, 503);
    const found = ['grid-outcome', 'retry-after'].map((name) => response?.fields.get(name));
    assert.deepEqual(found, fields);
    assert.match(JSON.parse(response?.body ?? '').message, /^Cannot .* "m": /);
  });
}
