/** A member whose cluster becomes PASSIVE and ACTIVE again while 64 clients read and write. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RawClient, type ReceivedResponse } from './client.ts';
import { serve } from './member-process.ts';

const CLIENTS_OF_A_KIND = 16;
/** Requests of each client in each state. */
const REQUESTS = 10;

/** With `--path-segment` the clients of these tests use the same paths. */
const DIALECTS = [
  { name: 'none', refused: 503, flags: [] },
  {
    name: 'hazelcast',
    refused: 500,
    flags: ['--compatibility', 'hazelcast', '--path-segment', 'grid'],
  },
];

async function changeState(port: number, state: string): Promise<ReceivedResponse> {
  const client = new RawClient(port);
  const words = Buffer.from(`dev&&${state}`);
  const response = await client.request('POST', 'management/cluster/changeState', words);
  client.destroy();
  return response;
}

/** A client that keeps asking, and the counts of its answers. */
interface Asker {
  /** Asks once more; rejects where the answer is impossible. */
  ask(): Promise<void>;
  /** Number of answers by status. */
  readonly counts: Record<number, number>;
}

function asker(ask: (counts: Record<number, number>) => Promise<number>): Asker {
  const counts: Record<number, number> = {};
  return {
    counts,
    async ask() {
      const status = await ask(counts);
      counts[status] = (counts[status] ?? 0) + 1;
    },
  };
}

for (const { name, refused, flags } of DIALECTS) {
  describe(`a cluster that is PASSIVE for a while, --compatibility ${name}`, () => {
    it('answers every read, refuses every change, and loses no change that it has taken', async (test) => {
      const { child, exited, port } = await serve(
        ...['--enable-group', 'DATA', '--enable-group', 'CLUSTER_WRITE', ...flags],
      );
      test.after(() => child.kill('SIGKILL'));
      const status = (response: ReceivedResponse): number => {
        if (response.status !== refused) return response.status;
        assert.match(String(response.body), /^\{"status":"fail","message":"Cannot .* PASSIVE /);
        return refused;
      };
      const first = new RawClient(port);
      await first.request('POST', 'maps/read/k', Buffer.from('value'));
      const entries = new Map<string, string>();
      const items = new Set<string>();
      const each = <Value>(make: (client: RawClient, index: number) => Value): Value[] =>
        Array.from({ length: CLIENTS_OF_A_KIND }, (_, index) => make(new RawClient(port), index));
      const readers = each((client) =>
        asker(async () => {
          const response = await client.request('GET', 'maps/read/k');
          assert.equal(String(response.body), 'value');
          return response.status;
        }),
      );
      let written = 0;
      const writers = each((client, index) =>
        asker(async () => {
          const value = String(written++);
          const key = `maps/m/${index}-${written % 7}`;
          const answer = status(await client.request('POST', key, Buffer.from(value)));
          if (answer === 200) entries.set(key, value);
          return answer;
        }),
      );
      const offerers = each((client, index) =>
        asker(async (counts) => {
          const item = `${index} ${Object.values(counts)} ${written++}`;
          const answer = status(await client.request('POST', 'queues/q', Buffer.from(item)));
          if (answer === 200) items.add(item);
          return answer;
        }),
      );
      const polled: string[] = [];
      const pollers = each((client) =>
        asker(async () => {
          const response = await client.request('DELETE', 'queues/q/0');
          if (response.status === 200) polled.push(String(response.body));
          return status(response);
        }),
      );
      const changing = [...writers, ...offerers, ...pollers];
      let isOver = false;
      const load = Promise.all(
        [...readers, ...changing].map(async (client) => {
          while (!isOver) await client.ask();
        }),
      );
      /** Waits until each of the clients has had REQUESTS more answers of the kind. */
      const more = async (clients: readonly Asker[], wanted: (status: string) => boolean) => {
        const sum = ({ counts }: Asker) =>
          Object.entries(counts).reduce((all, [told, n]) => all + (wanted(told) ? n : 0), 0);
        const before = clients.map(sum);
        const isShort = () =>
          clients.some((client, index) => sum(client) < (before[index] ?? 0) + REQUESTS);
        while (isShort()) await Promise.race([load, nextTurn()]);
      };
      const isRefusal = (told: string) => told === String(refused);
      const isDone = (told: string) => told === '200' || told === '204';
      await more(changing, isDone);
      for (let round = 0; round < 2; round++) {
        assert.equal((await changeState(port, 'passive')).status, 200);
        const passive = writers.map(({ counts }) => counts[200]);
        await Promise.all([more(changing, isRefusal), more(readers, isDone)]);
        // At most one: the answer that was on its way when the state changed.
        for (const [index, { counts }] of writers.entries()) {
          assert.ok((counts[200] ?? 0) <= (passive[index] ?? 0) + 1, 'a write in PASSIVE');
        }
        assert.equal((await changeState(port, 'active')).status, 200);
        await more(changing, isDone);
      }
      isOver = true;
      await load;
      for (const { counts } of readers) assert.deepEqual(Object.keys(counts), ['200']);
      for (const { counts } of changing) {
        for (const told of Object.keys(counts)) assert.ok(isDone(told) || isRefusal(told), told);
      }
      for (const [key, value] of entries) {
        assert.equal(String((await first.request('GET', key)).body), value, key);
      }
      for (;;) {
        const { status: told, body } = await first.request('DELETE', 'queues/q/0');
        if (told === 204) break;
        polled.push(String(body));
      }
      assert.equal(polled.length, items.size, 'each item once');
      assert.deepEqual(new Set(polled), items);
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
    });

    it('refuses changes of the state during a change, and says why', async (test) => {
      const folder = mkdtempSync(join(tmpdir(), 'passive-'));
      // A state is stored on the disk before it takes effect, so a change takes a while.
      const { child, exited, port } = await serve(
        ...['--data-dir', folder, '--enable-group', 'CLUSTER_WRITE', ...flags],
      );
      test.after(() => child.kill('SIGKILL'));
      const told: string[] = [];
      for (let round = 0; told.length === 0 && round < 100; round++) {
        const state = round % 2 === 0 ? 'frozen' : 'active';
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => changeState(port, state)),
        );
        const bodies = answers.map(({ body }) => String(body));
        const done = bodies.filter((body) => body === `{"status":"success","state":"${state}"}`);
        assert.equal(done.length, 1, bodies.join());
        for (const [index, body] of bodies.entries()) {
          if (!body.includes('"message"')) continue;
          const message = `Cannot change to ${state.toUpperCase()}: another change is under way`;
          assert.equal(body, JSON.stringify({ status: 'fail', message }));
          assert.equal(answers[index]?.status, name === 'none' ? 409 : 500);
          told.push(body);
        }
      }
      assert.ok(told.length > 0, 'never asked during a change');
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
      rmSync(folder, { recursive: true });
    });
  });
}
