/**
 * Covers src/v1/bulk-actions.ts and src/v1/line-check.ts. The course of a bulk request: turns, results
 * that arrive later, failures, users, and clients that leave.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  CLOSED,
  DISCONNECTED,
  type Engine,
  type Outcome,
  type Reason,
  type Receiver,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { ADMITTED, DISK_FULL } from '../../src/engine/mutation-sink.ts';
import type { ResponseDelay } from '../../src/http/response-delay.ts';
import { AccessControl } from '../../src/security/access-control.ts';
import { LateResult } from '../engine/late-result.ts';
import { DelayingSink, RefusingSink } from '../engine/sinks.ts';
import { FakeClock } from '../fake-clock.ts';
import { FakeCarrier } from '../http/fake-carrier.ts';
import { lateServer, MODES } from '../http/late-server.ts';
import { client, drainNow, get, LIVE, post } from '../http/test-client.ts';
import { createTestServer, type TestServer } from '../http/test-server.ts';
import { restMember } from '../surface/rest-member.ts';

const LIMITS = { bodyBytesMax: 8_000_000 };
/** The limits of lines without a result. */
const OPEN_MAX = 256;
const OPEN_BYTES_MAX = 1_048_576;
/** Time after which a drained connection ends, in ms. */
const DRAIN_MS = 1000;
const RUNS = Number(process.env.SOAK_CASES ?? 100);

type Line = string | object;

/** Returns a bulk request; the lines must be ASCII. */
function bulk(lines: readonly Line[], version = '1.1'): string {
  const content = lines
    .map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
    .join('\n');
  const head = `POST /grid/v1/maps/m/bulk HTTP/${version}\r\nHost: localhost\r\n`;
  return `${head}Content-Length: ${content.length}\r\n\r\n${content}`;
}

function sets(count: number, valueLength = 1): object[] {
  return Array.from({ length: count }, (_, index) => {
    return { op: 'set', key: `k${index}`, value: 'v'.repeat(valueLength) };
  });
}

function resultsIn(body = ''): Record<string, unknown>[] {
  return body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

function statusesIn(body = ''): unknown[] {
  return resultsIn(body).map(({ status }) => status);
}

/** Returns a carrier whose later work belongs to the turns of the server's clock. */
function carrierOf({ clock }: TestServer): FakeCarrier {
  return new FakeCarrier((run) => clock.endOfTurn(run));
}

/** A clock that advances whenever it is read. */
class SteppingClock extends FakeClock {
  stepMs = 0;
  #readMs = 0;

  override now(): number {
    this.#readMs += this.stepMs;
    return super.now() + this.#readMs;
  }
}

class CountingSink extends RefusingSink {
  count = 0;

  override admit(): typeof ADMITTED {
    this.count++;
    return ADMITTED;
  }
}

/** Returns a server whose engine refuses each change with this result. */
function failingServer(outcome: Outcome, reason: Reason) {
  const fail = (...words: readonly unknown[]): void => {
    const result = new LateResult({ pinCount: 0 });
    result.outcome = outcome;
    result.reason = reason;
    (words.at(-1) as Receiver).onResult(result);
  };
  return createTestServer(LIMITS, {
    engineOn: (engine) =>
      new Proxy<Engine>(engine, {
        get: (_, name) =>
          ['set', 'add', 'delete'].includes(String(name)) ? fail : engine[name as keyof Engine],
      }),
  });
}

describe('A bulk request', () => {
  it('works for 1 ms in a turn, and all of them for a few', () => {
    const clock = new SteppingClock();
    const sink = new CountingSink();
    const server = createTestServer(LIMITS, { clock, sinks: [sink] });
    const clients = Array.from({ length: 30 }, () => client(server));
    clock.stepMs = 0.1;
    for (const { socket } of clients) socket.receive(bulk(sets(100)));
    const reader = client(server);
    let turns = 0;
    let most = 0;
    for (; clock.endCount > 0; turns++) {
      const { count } = sink;
      clock.endTurn();
      most = Math.max(most, sink.count - count);
      reader.socket.receive(get('maps/m/k0'));
    }
    assert.equal(sink.count, 3000);
    assert(most <= 60 && turns >= 50, `${most} lines in one of ${turns} turns`);
    assert.equal(reader.statuses().length, turns);
    for (const { responses } of clients) {
      assert.deepEqual(
        responses().map(({ status, body }) => [status, statusesIn(body).length]),
        [[200, 100]],
      );
    }
  });

  it('skips white space for 1 ms in a turn', () => {
    const clock = new SteppingClock();
    const { socket, responses } = client(createTestServer(LIMITS, { clock }));
    clock.stepMs = 0.3;
    socket.receive(bulk(['\n'.repeat(1_000_000), '{"op":"add","key":"n"}']));
    let turns = 0;
    for (; clock.endCount > 0; turns++) clock.endTurn();
    assert(turns > 20, `${turns} turns`);
    assert.equal(responses()[0]?.body.includes('"value":"1"'), true);
  });

  for (const [mode, isOrdered] of MODES) {
    it(`is done in order on an engine whose results arrive later, ${mode}`, () => {
      const server = lateServer({ isOrdered, seed: 7 }, LIMITS);
      const { clock, late } = server;
      const { socket, responses } = client(server);
      const lines = Array.from({ length: 2000 }, (_, index) => {
        return { op: 'add', key: `n${index % 3}`, by: 1 };
      });
      socket.receive(bulk([...lines, 'wrong', ...lines]));
      let most = 0;
      for (; clock.endCount > 0; clock.endTurn()) most = Math.max(most, late.operationCount);
      assert.equal(most, OPEN_MAX);
      const [answer] = responses();
      const results = resultsIn(answer?.body);
      assert.deepEqual([answer?.status, results.length, results[2000]?.status], [207, 4001, 400]);
      const sums = [...results.slice(0, 2000), ...results.slice(2001)].map(({ value }) => value);
      const counts = [0, 0, 0];
      for (const [index, sum] of sums.entries())
        assert.equal(sum, `${++counts[(index % 2000) % 3]!}`);
    });

    it(`is under way alone on its connection, ${mode}`, () => {
      const server = lateServer({ isOrdered, seed: 3 }, LIMITS);
      const { socket, responses } = client(server, carrierOf(server));
      const read = get('maps/m/k');
      socket.receive(post('maps/m/k', '1'));
      socket.receive(
        read +
          bulk([
            { op: 'add', key: 'k' },
            { op: 'add', key: 'k' },
          ]) +
          read,
      );
      socket.receive(bulk([{ op: 'delete', key: 'k' }]) + read + LIVE);
      server.clock.settle();
      assert.deepEqual(
        responses().map(({ status, body }) =>
          body.startsWith('{') ? statusesIn(body) : [status, body],
        ),
        [[200, ''], [200, '1'], [200, 200], [200, '3'], [204], [204, ''], [200, '']],
      );
    });
  }

  it('has a limit for the bytes that are under way', () => {
    const server = lateServer({ isOrdered: false, turns: 'next' }, LIMITS);
    const { clock, late } = server;
    const { socket, responses } = client(server);
    const length = 200_000;
    socket.receive(bulk(sets(30, length)));
    let most = 0;
    for (; clock.endCount > 0; clock.endTurn()) most = Math.max(most, late.operationCount);
    assert.equal(most, Math.ceil(OPEN_BYTES_MAX / length));
    assert.equal(statusesIn(responses()[0]?.body).length, 30);
  });

  it('is answered whatever its bytes are, and so is a lookup', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      fc.constantFrom(
        '\n',
        '\r\n',
        ' ',
        '{"op":"set","key":"k","value":"',
        '"}',
        '{"key":"k"}',
        '\\',
      ),
    );
    const server = createTestServer(LIMITS);
    fc.assert(
      fc.property(fc.array(piece), fc.constantFrom('bulk', 'lookup'), (pieces, path) => {
        const content = pieces.join('');
        const { socket, responses } = client(server);
        socket.receive(bulk([content]).replace('/bulk', `/${path}`));
        server.clock.settle();
        const [answer, ...others] = responses();
        assert([200, 207, 400].includes(answer?.status ?? 0) && others.length === 0);
        const count = content.split('\n').filter((line) => /[^ \t\r]/.test(line)).length;
        if (answer?.status !== 400) assert.equal(resultsIn(answer?.body).length, count);
      }),
      { numRuns: RUNS * 10 },
    );
    assert.deepEqual(server.failures, []);
  });

  it('has the result of a model, for random lines on any engine', () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const line = fc.oneof(
      fc.record({ op: fc.constant('set'), key, value: fc.constantFrom('1', 'x', '-7') }),
      fc.record({ op: fc.constant('delete'), key }),
      fc.record({ op: fc.constant('add'), key, by: fc.integer() }),
      fc.record({
        op: fc.constantFrom('set', 'delete'),
        key,
        value: fc.constant('2'),
        ifNoneMatch: fc.constant('*'),
      }),
      fc.constant({ op: 'none', key: 'a' }),
    );
    const lines = fc.array(line, { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(
        lines,
        fc.integer(),
        fc.constantFrom(undefined, true, false),
        (wanted, seed, isOrdered) => {
          const server =
            isOrdered === undefined
              ? createTestServer(LIMITS)
              : lateServer({ isOrdered, seed }, LIMITS);
          const { socket, responses } = client(server);
          socket.receive(bulk(wanted));
          server.clock.settle();
          const [answer] = responses();
          const stored = new Map<string, string>();
          const statuses = wanted.map((each) => modelStatus(stored, each));
          assert.deepEqual(statusesIn(answer?.body), statuses);
          assert.equal(answer?.status, statuses.some((status) => status >= 400) ? 207 : 200);
          for (const name of ['a', 'b', 'c']) socket.receive(get(`maps/m/${name}`));
          server.clock.settle();
          assert.deepEqual(
            responses()
              .slice(1)
              .map(({ body }) => body),
            ['a', 'b', 'c'].map((name) => stored.get(name) ?? ''),
          );
          assert.deepEqual(server.failures, []);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

interface ModelLine {
  readonly op: string;
  readonly key: string;
  readonly value?: string;
  readonly by?: number;
  readonly ifNoneMatch?: string;
}

function modelStatus(stored: Map<string, string>, line: ModelLine): number {
  const { op, key, value = '', by = 0, ifNoneMatch } = line;
  const present = stored.get(key);
  if (op === 'none' || (op === 'delete' && value !== '')) return 400;
  if (ifNoneMatch !== undefined && present !== undefined) return 412;
  if (op === 'set') {
    stored.set(key, value);
    return present === undefined ? 201 : 204;
  }
  if (op === 'delete') {
    stored.delete(key);
    return 204;
  }
  if (present !== undefined && !/^-?\d+$/.test(present)) return 409;
  stored.set(key, `${BigInt(present ?? 0) + BigInt(by)}`);
  return 200;
}

describe('A bulk request whose lines fail', () => {
  const LINES = [
    { op: 'set', key: 'k', value: 'v' },
    { op: 'delete', key: 'k' },
    { op: 'add', key: 'k' },
  ];

  it('says whether the servers have done them', () => {
    for (const [outcome, reason, said, message] of [
      [UNREACHABLE, DISCONNECTED, 'not-applied', /^Cannot serve "m": the servers are unreachable/],
      [UNREACHABLE, CLOSED, undefined, /^Cannot serve "m": the engine is closed$/],
      [UNKNOWN, DISCONNECTED, 'unknown', /^Cannot tell which data is stored/],
    ] as const) {
      const server = failingServer(outcome, reason);
      const { socket, responses } = client(server);
      socket.receive(bulk(LINES));
      server.clock.settle();
      const [answer] = responses();
      assert.equal(answer?.status, 207);
      assert.ok(!answer?.fields.has('retry-after'));
      for (const result of resultsIn(answer?.body)) {
        assert.deepEqual([result.status, result.outcome], [503, said]);
        assert.match(String(result.message), message);
      }
      assert.equal(resultsIn(answer?.body).length, 3);
    }
  });

  it('is done as far as the disk permits', () => {
    const sink = new RefusingSink();
    const server = createTestServer(LIMITS, { sinks: [sink] });
    const { socket, responses, clock } = client(server);
    sink.veto = DISK_FULL;
    socket.receive(bulk(LINES));
    clock.settle();
    const [first, second] = resultsIn(responses()[0]?.body);
    assert.deepEqual(first, { status: 503, message: 'Cannot write to "m": the disk is full' });
    assert.deepEqual(second, { status: 204 });
  });

  it('shows the beginning of a long name', () => {
    const server = failingServer(UNREACHABLE, DISCONNECTED);
    const { socket, responses } = client(server);
    socket.receive(bulk(LINES).replace('/m/', `/${'n'.repeat(200)}/`));
    server.clock.settle();
    const [first] = resultsIn(responses()[0]?.body);
    assert.match(String(first?.message), /^Cannot serve "n{100}": the servers/);
  });

  it('is refused from the line on at which the cluster becomes PASSIVE', () => {
    const clock = new SteppingClock();
    const server = createTestServer(LIMITS, { clock });
    const { socket, responses } = client(server);
    clock.stepMs = 0.5;
    socket.receive(bulk(sets(20)));
    for (let turns = 0; turns < 15; turns++) clock.endTurn();
    server.cluster.acceptsWrites = false;
    clock.settle();
    const results = resultsIn(responses()[0]?.body);
    const done = results.filter(({ status }) => status === 201).length;
    assert(done > 0 && done < 20, `${done} done`);
    assert.deepEqual(results.at(-1), {
      status: 503,
      message: 'Cannot set the entry: the cluster is PASSIVE and accepts no changes',
    });
  });

  it('is answered with 500 if the engine has a fault', () => {
    const fault = new Error('a fault');
    const server = createTestServer(LIMITS, {
      engineOn: (engine) =>
        new Proxy<Engine>(engine, {
          get(_, name) {
            if (name === 'delete') throw fault;
            const value = engine[name as keyof Engine];
            return typeof value === 'function' ? value.bind(engine) : value;
          },
        }),
    });
    const { socket, statuses } = client(server);
    socket.receive(bulk([...sets(5000), { op: 'delete', key: 'k' }]));
    server.clock.settle();
    assert.deepEqual([statuses(), server.failures], [[500], [fault]]);
    assert.equal(server.server.inFlight.usedBytes, 0);
  });

  it('is refused as a whole while the memory for requests is used up', () => {
    const server = createTestServer(LIMITS);
    const { inFlight } = server.server;
    const { socket, statuses, responses, clock } = client(server);
    inFlight.overdraw(inFlight.bytesMax);
    socket.receive(bulk(LINES));
    clock.settle();
    inFlight.release(inFlight.bytesMax);
    socket.receive(get('maps/m/k'));
    assert.deepEqual(statuses(), [503, 204]);
    assert.match(
      responses()[0]?.body ?? '',
      /all connections together may have \d+ bytes in flight/,
    );
  });
});

describe('A bulk request of a user', () => {
  const LINES = [
    { op: 'set', key: 'k', value: '1' },
    { op: 'delete', key: 'k' },
    { op: 'add', key: 'k' },
    { op: 'set', key: 'k' },
    { op: 'set', key: 'k', value: '1' },
  ];

  for (const [actions, statuses] of [
    [[], [403, 403, 403, 400, 403]],
    [['put'], [201, 403, 403, 400, 204]],
    [['read'], [403, 403, 403, 400, 403]],
    [
      ['read', 'put'],
      [201, 403, 200, 400, 204],
    ],
    [['remove'], [403, 204, 403, 400, 403]],
    [['all'], [201, 204, 200, 400, 204]],
  ] as const) {
    it(`with the permissions [${actions}] has the lines done that they permit`, async () => {
      const permission = {
        ...({ kind: 'map', name: 'm', principal: 'ann', isDenial: false } as const),
        actions,
        appliesAt: () => true,
      };
      const login = new AccessControl({
        authenticator: { check: () => ({ isRight: true, retryAfterMs: 0 }) },
        users: new Map([['ann', { name: 'ann', roles: [] }]]),
        permissions: [permission],
        prefersGrant: false,
        coversHealth: false,
      });
      const { askWhole, audited } = restMember({ services: { login } });
      const content = LINES.map((line) => JSON.stringify(line)).join('\n');
      const field = `Authorization: Basic ${Buffer.from('ann:x').toString('base64')}\r\n`;
      const { status, body } = await askWhole('POST', 'v1/maps/m/bulk', content, field);
      assert.deepEqual([status, statusesIn(body)], [207, statuses]);
      const refusals = audited.filter((entry) => entry.status === 403);
      const isDenied = (statuses as readonly number[]).includes(403);
      const { user, action } = refusals[0] ?? {};
      assert.deepEqual(
        [refusals.length, user, action],
        isDenied ? [1, 'ann', 'POST /grid/v1/maps/m/bulk'] : [0, undefined, undefined],
      );
      if (!isDenied) return;
      const [, , third] = resultsIn(body);
      const denied = resultsIn(body).find((result) => result.status === 403);
      assert.match(String(denied?.message), /^Cannot .* the entry: the user lacks the permission$/);
      assert.notEqual(third, undefined);
      assert.equal((await askWhole('POST', 'v1/maps/m/bulk', content)).status, 401);
    });
  }
});

describe('The client of a bulk request', () => {
  for (const [mode, isOrdered] of MODES) {
    const begun = () => {
      const server = lateServer({ isOrdered, turns: 'next' }, LIMITS);
      const first = client(server, carrierOf(server));
      first.socket.receive(bulk(sets(1000)));
      for (let turns = 0; turns < 3; turns++) server.clock.endTurn();
      assert.deepEqual(first.statuses(), []);
      return first;
    };
    const sizeOf = ({ clock, another }: ReturnType<typeof begun>): string | undefined => {
      clock.settle();
      const { socket, responses } = another();
      socket.receive(get('maps/m/k999'));
      clock.settle();
      return responses()[0]?.body;
    };

    it(`disconnects, and all lines are done, ${mode}`, () => {
      const each = begun();
      each.socket.destroy();
      assert.equal(sizeOf(each), 'v');
      assert.equal(each.server.inFlight.usedBytes, 0);
    });

    it(`ends its side, and receives the response, ${mode}`, () => {
      const each = begun();
      each.socket.receiveEnd();
      assert.equal(sizeOf(each), 'v');
      assert.equal(statusesIn(each.responses()[0]?.body).length, 1000);
      assert(each.socket.writableEnded);
    });

    it(`receives the response while the server drains, ${mode}`, () => {
      const each = begun();
      drainNow(each);
      each.clock.settle();
      const [answer] = each.responses();
      assert.equal(statusesIn(answer?.body).length, 1000);
      assert.equal(answer?.status, 200);
      each.clock.advance(DRAIN_MS);
      assert(each.socket.writableEnded);
    });
  }

  it('may use HTTP/1.0, and read slowly', () => {
    const server = createTestServer(LIMITS);
    const { socket } = client(server);
    socket.isStuck = true;
    socket.receive(bulk(sets(10_000), '1.0'));
    for (let turns = 0; !socket.writableEnded; turns++) {
      assert(turns < 1000);
      server.clock.settle();
      socket.take();
    }
    const { text } = socket;
    const content = text.slice(text.indexOf('\r\n\r\n') + 4);
    assert.match(
      text,
      new RegExp(`^HTTP/1.1 200 OK\r\n.*Content-Length: ${content.length}\r\n`, 's'),
    );
    assert.equal(statusesIn(content).length, 10_000);
    assert.equal(server.server.inFlight.usedBytes, 0);
  });

  it('waits until the changes are durable', () => {
    const sink = new DelayingSink(0);
    const delay: ResponseDelay = {
      delaysAll: false,
      delays: (partition, sequence) => server.engine.delays(partition, sequence),
      sequences: () => server.engine.sequences(),
    };
    const server = createTestServer(LIMITS, { sinks: [sink], delay });
    const { socket, statuses, clock } = client(server);
    socket.receive(bulk(sets(20)));
    clock.settle();
    assert.deepEqual(statuses(), []);
    const sequences = [...server.engine.sequences()];
    assert(sequences.filter((sequence) => sequence > 0).length > 1);
    for (const [partition, sequence] of sequences.entries()) {
      assert.deepEqual(statuses(), []);
      sink.upTo.set(partition, sequence);
      server.server.release();
    }
    assert.deepEqual(statuses(), [200]);
  });

  it('does not wait for the disk if no line is done', () => {
    const delay: ResponseDelay = {
      delaysAll: false,
      delays: () => assert.fail('no partition'),
      sequences: () => assert.fail('no partition'),
    };
    const { socket, statuses, clock } = client(createTestServer(LIMITS, { delay }));
    socket.receive(bulk(['x']));
    clock.settle();
    assert.deepEqual(statuses(), [207]);
  });
});
