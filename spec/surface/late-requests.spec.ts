/**
 * Covers src/surface/rest-handler.ts and src/surface/responses.ts. Requests that are answered in a
 * later turn of the event loop. Meanwhile the buffers of their bytes and of their decoded escapes
 * contain bytes of other clients. Each action of the table runs at once on one server and later on
 * another; both must respond, log and store the same.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DISK_FAILED } from '../../src/engine/mutation-sink.ts';
import { INPUT_BYTES_MAX, llhttp } from '../../src/http/llhttp.ts';
import type { RequestHead } from '../../src/http/request-head.ts';
import type { Action } from '../../src/surface/action.ts';
import type { Resource } from '../../src/surface/resource.ts';
import type { PathParts, RouteFinder } from '../../src/surface/router.ts';
import { RefusingSink } from '../engine/sinks.ts';
import type { ReadResponse } from '../http/response-reader.ts';
import { client, get, LIVE, poll } from '../http/test-client.ts';
import { createTestServer } from '../http/test-server.ts';
import { restMember } from './rest-member.ts';
import { PATHS, ROWS } from './table.ts';

const HASHES = Buffer.alloc(INPUT_BYTES_MAX, '#');
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'] as const;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Overwrites the memory that requests share. */
function overwrite(): void {
  llhttp().load(undefined, HASHES, 0, HASHES.length);
}

/** Delays every action to a later turn, after the buffers that requests share are overwritten. */
class LateRouter implements RouteFinder {
  readonly #router: RouteFinder;

  constructor(router: RouteFinder) {
    this.#router = router;
  }

  match(head: RequestHead, parts: PathParts): Resource | undefined {
    const match = this.#router.match(head, parts);
    if (match === undefined) return undefined;
    const endpoints = match.endpoints.map((each) => each && { ...each, run: this.#late(each.run) });
    return { ...match, endpoints };
  }

  #late(action: Action): Action {
    return (call) => {
      const resume = (): void => {
        overwrite();
        action(call);
        overwrite();
      };
      call.await(Promise.resolve(), resume);
    };
  }
}

type Subject = ReturnType<typeof subject>;

function subject(isLate: boolean) {
  const route = (router: RouteFinder) => (isLate ? new LateRouter(router) : router);
  const member = restMember({ limits: { bodyBytesMax: 100_000 }, route });
  const observed: string[] = [];
  member.server.observe = (status, head) => {
    const { target, pathEnd } = head as RequestHead;
    observed.push(`${status} ${target.bytes.toString('latin1', target.start, pathEnd)}`);
  };
  return { ...member, observed };
}

/** Returns two servers with an item and two entries; the second one runs every action later. */
async function subjects(): Promise<Subject[]> {
  const both = [subject(false), subject(true)];
  for (const server of both) {
    await server.askWhole('POST', 'rest/maps/nAme/k/%2541', 'escaped', 'Content-Type: text/e\r\n');
    await server.askWhole('POST', 'rest/maps/nAme/b', 'plain', 'Content-Type: text/p\r\n');
    await server.askWhole('POST', 'rest/queues/nAme', 'item', 'Content-Type: text/i\r\n');
  }
  return both;
}

/** Returns all visible state of a server that the requests may have changed, and restores its item. */
async function stateOf(server: Subject): Promise<unknown> {
  const paths = ['rest/maps/nAme/k/%2541', 'rest/maps/nAme/b', 'rest/queues/nAme/size'];
  const seen = [];
  for (const path of paths) seen.push(comparable(await server.askWhole('GET', path)));
  seen.push(comparable(await server.askWhole('DELETE', 'rest/queues/nAme/0')));
  await server.askWhole('POST', 'rest/queues/nAme', 'item', 'Content-Type: text/i\r\n');
  return [seen, server.audited, server.stops, server.observed, server.failures];
}

function comparable({ status, body, fields }: ReadResponse): unknown {
  return [status, body.replace(UUID, 'uuid'), fields.get('content-type'), fields.get('allow')];
}

/** Returns the path of a route with values for its parts, either plain or completely escaped. */
function chosen(path: string, isEscaped: boolean): string {
  const [name, key] = isEscaped ? ['n%41me', 'k/%2541'] : ['nAme', 'b'];
  const filled = path
    .replace('{seconds}', isEscaped ? '%30' : '0')
    .replace('{key}', key)
    .replace(/\{\w+\}/g, name);
  return isEscaped ? filled.replace(/s(?=\/|$)/, '%73') : filled;
}

function bodyOf(path: string): string {
  const third = { 'rest/log-level': 'FINE', 'rest/config/update': 'grid: {}' }[path] ?? 'passive';
  return `dev&&${third}&d&e`;
}

describe('A request that is answered in a later turn', () => {
  for (const isEscaped of [false, true]) {
    it(`has the effect of one answered at once, for each action, ${isEscaped ? 'escaped' : 'plain'}`, async () => {
      let compared = 0;
      const readers = await subjects();
      for (const route of PATHS) {
        for (const method of METHODS) {
          const action = method === 'HEAD' ? 'GET' : method;
          if (!ROWS.some((row) => row.path === route && row.method === action)) continue;
          const body = method === 'POST' ? bodyOf(route) : '';
          const path = chosen(route, isEscaped);
          const seen = [];
          // Only the other methods change what later requests find.
          for (const server of action === 'GET' ? readers : await subjects()) {
            seen.push([
              comparable(await server.askWhole(method, path, body, 'Content-Type: text/x\r\n')),
              await stateOf(server),
            ]);
          }
          assert.deepEqual(seen[1], seen[0], `${method} ${path} ${body}`);
          compared++;
        }
      }
      assert(compared > 75, `${compared} compared`);
    });
  }
});

describe('A poll that waits', () => {
  const SECRET = `Authorization: Basic ${'c2VjcmV0'.repeat(100)}\r\n`;

  for (const name of ['q'.repeat(1000), `${'%71'.repeat(500)}${'q'.repeat(500)}`]) {
    it(`is refused with its own name, ${name.slice(0, 3)}…, when the disk fails`, async () => {
      const sink = new RefusingSink();
      const server = createTestServer({}, { sinks: [sink] });
      const { socket, responses, another, clock } = client(server);
      const observed: (string | undefined)[] = [];
      server.server.observe = (_, head) => observed.push(head?.target.toBuffer().toString());
      socket.receive(poll(name));
      another().socket.receive(
        `POST /grid/rest/queues/${name} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv`,
      );
      sink.veto = DISK_FAILED;
      another().socket.receive(get('maps/%23/%23').replace('Host', `${SECRET}Host`).repeat(20));
      clock.settle();
      assert.deepEqual(
        responses().map(({ status, body }) => [status, JSON.parse(body).message]),
        [
          [
            503,
            `Cannot write to "${'q'.repeat(1000)}": the disk has failed, the member must be restarted`,
          ],
        ],
      );
      assert.equal(observed.at(-1), `/grid/rest/queues/${name}/30`);
    });
  }

  it('after a login, with escapes in its name, gets an item of its queue', async () => {
    const server = createTestServer({}, { route: (router) => new LateRouter(router) });
    const { socket, responses, another, clock } = client(server);
    socket.receive(poll('%71ueue') + LIVE);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    overwrite();
    another().socket.receive(
      'POST /grid/rest/queues/queue HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nitem',
    );
    for (let turn = 0; turn < 5; turn++) {
      await nextTurn();
      clock.settle();
    }
    assert.deepEqual(
      responses().map(({ status, body }) => `${status} ${body}`),
      ['200 item', '200 '],
    );
  });
});
