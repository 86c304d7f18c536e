/**
 * Covers src/cluster. A member whose cluster becomes PASSIVE and ACTIVE again while 32 clients read
 * and write.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RawClient, type ReceivedResponse } from './client.ts';
import { started, stopAll } from './wan-members.ts';

const CLIENTS_OF_A_KIND = 8;
/** Number of requests of each client in each state. */
const REQUESTS = 10;

afterEach(stopAll);

/** With the path segment, clients use the same paths for both interfaces. */
const GRID = { network: { 'rest-api': { enabled: true, 'path-segment': 'grid' } } };
const DIALECTS = [
  { name: 'none', refused: 503, parts: { grid: GRID } },
  { name: 'hazelcast', refused: 500, parts: { grid: GRID, compatibility: 'hazelcast' } },
] as const;

async function changeState(port: number, state: string): Promise<ReceivedResponse> {
  const client = new RawClient(port);
  const words = Buffer.from(`dev&&${state}`);
  const response = await client.request('POST', 'management/cluster/changeState', words);
  client.destroy();
  return response;
}

/** A client that keeps sending requests and counts the responses. */
interface CountingClient {
  /** Sends one request; rejects if the response is impossible in any state. */
  send(): Promise<void>;
  /** Number of responses by status. */
  readonly counts: Record<number, number>;
}

function countingClient(send: (counts: Record<number, number>) => Promise<number>): CountingClient {
  const counts: Record<number, number> = {};
  return {
    counts,
    async send() {
      const status = await send(counts);
      counts[status] = (counts[status] ?? 0) + 1;
    },
  };
}

for (const { name, refused, parts } of DIALECTS) {
  describe(`a cluster that is PASSIVE for a while, --compatibility ${name}`, () => {
    it('serves every read, refuses every change, and loses no accepted change', async () => {
      const { port } = await started(parts);
      const status = (response: ReceivedResponse): number => {
        if (response.status !== refused) return response.status;
        assert.match(String(response.body), /^\{"status":"fail","message":"Cannot .* PASSIVE /);
        return refused;
      };
      const first = new RawClient(port);
      const clients = [first];
      await first.request('POST', 'maps/read/k', Buffer.from('value'));
      const entries = new Map<string, string>();
      const items = new Set<string>();
      const each = <Value>(make: (client: RawClient, index: number) => Value): Value[] =>
        Array.from({ length: CLIENTS_OF_A_KIND }, (_, index) => {
          const client = new RawClient(port);
          clients.push(client);
          return make(client, index);
        });
      const readers = each((client) =>
        countingClient(async () => {
          const response = await client.request('GET', 'maps/read/k');
          assert.equal(String(response.body), 'value');
          return response.status;
        }),
      );
      let written = 0;
      const writers = each((client, index) =>
        countingClient(async () => {
          const value = String(written++);
          const key = `maps/m/${index}-${written % 7}`;
          const code = status(await client.request('POST', key, Buffer.from(value)));
          if (code === 200) entries.set(key, value);
          return code;
        }),
      );
      const offerers = each((client, index) =>
        countingClient(async (counts) => {
          const item = `${index} ${Object.values(counts)} ${written++}`;
          const code = status(await client.request('POST', 'queues/q', Buffer.from(item)));
          if (code === 200) items.add(item);
          return code;
        }),
      );
      const polled: string[] = [];
      const pollers = each((client) =>
        countingClient(async () => {
          const response = await client.request('DELETE', 'queues/q/0');
          if (response.status === 200) polled.push(String(response.body));
          return status(response);
        }),
      );
      const changing = [...writers, ...offerers, ...pollers];
      let hasFinished = false;
      const load = Promise.all(
        [...readers, ...changing].map(async (client) => {
          while (!hasFinished) await client.send();
        }),
      );
      /** Waits until each of the clients has received REQUESTS more responses of this kind. */
      const more = async (
        clients: readonly CountingClient[],
        wanted: (status: string) => boolean,
      ) => {
        const sum = ({ counts }: CountingClient) =>
          Object.entries(counts).reduce((all, [code, n]) => all + (wanted(code) ? n : 0), 0);
        const before = clients.map(sum);
        const isShort = () =>
          clients.some((client, index) => sum(client) < (before[index] ?? 0) + REQUESTS);
        while (isShort()) await Promise.race([load, nextTurn()]);
      };
      const isRefusal = (code: string) => code === String(refused);
      const isDone = (code: string) => code === '200' || code === '204';
      await more(changing, isDone);
      for (let round = 0; round < 2; round++) {
        assert.equal((await changeState(port, 'passive')).status, 200);
        const passive = writers.map(({ counts }) => counts[200]);
        await Promise.all([more(changing, isRefusal), more(readers, isDone)]);
        // At most one more: a response that was already being sent when the state changed.
        for (const [index, { counts }] of writers.entries()) {
          assert.ok(
            (counts[200] ?? 0) <= (passive[index] ?? 0) + 1,
            'a write succeeded in PASSIVE',
          );
        }
        assert.equal((await changeState(port, 'active')).status, 200);
        await more(changing, isDone);
      }
      hasFinished = true;
      await load;
      for (const { counts } of readers) assert.deepEqual(Object.keys(counts), ['200']);
      for (const { counts } of changing) {
        for (const code of Object.keys(counts)) assert.ok(isDone(code) || isRefusal(code), code);
      }
      for (const [key, value] of entries) {
        assert.equal(String((await first.request('GET', key)).body), value, key);
      }
      for (;;) {
        const { status: code, body } = await first.request('DELETE', 'queues/q/0');
        if (code === 204) break;
        polled.push(String(body));
      }
      assert.equal(polled.length, items.size, 'each item exactly once');
      assert.deepEqual(new Set(polled), items);
      for (const client of clients) client.destroy();
    });

    it('refuses a change of the state during another one, with a reason', async (test) => {
      const dataDirectory = mkdtempSync(join(tmpdir(), 'passive-'));
      test.after(() => rmSync(dataDirectory, { recursive: true }));
      // The state is stored on disk before it takes effect, so a change takes time.
      const { port } = await started({ ...parts, dataDirectory });
      const refusals: string[] = [];
      for (let round = 0; refusals.length === 0 && round < 100; round++) {
        const state = round % 2 === 0 ? 'frozen' : 'active';
        const responses = await Promise.all(
          Array.from({ length: 8 }, () => changeState(port, state)),
        );
        const bodies = responses.map(({ body }) => String(body));
        const done = bodies.filter((body) => body === `{"status":"success","state":"${state}"}`);
        assert.equal(done.length, 1, bodies.join());
        for (const [index, body] of bodies.entries()) {
          if (!body.includes('"message"')) continue;
          const message = `Cannot change to ${state.toUpperCase()}: another change is under way`;
          assert.equal(body, JSON.stringify({ status: 'fail', message }));
          assert.equal(responses[index]?.status, name === 'none' ? 409 : 500);
          refusals.push(body);
        }
      }
      assert.ok(refusals.length > 0, 'no request arrived during a change');
    });
  });
}
