/** Many entries in one request, right and wrong, in both dialects; and the course of the response. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_SPAN, Span } from '../../src/base/span.ts';
import { COMPATIBILITIES } from '../../src/config/compatibility.ts';
import {
  type Engine,
  FOREVER,
  NOBODY,
  type OperationResult,
  type Receiver,
} from '../../src/engine/engine.ts';
import type { ResponseDelay } from '../../src/http/response-delay.ts';
import { DelayingSink } from '../engine/sinks.ts';
import { FakeCarrier } from '../http/fake-carrier.ts';
import { lateServer, MODES } from '../http/late-server.ts';
import { readResponses } from '../http/response-reader.ts';
import { get } from '../http/test-client.ts';
import { createTestServer, type TestServer } from '../http/test-server.ts';
import { restMember } from '../surface/rest-member.ts';

const LOOKUP = 'v1/maps/m/lookup';
const LIMITS = { bodyBytesMax: 4_000_000 };
const LINES_MAX = 10_000;
const LINE_BYTES_MAX = 1_048_576;
/** The bytes that a response may be ahead of its reader, besides one line. */
const STREAM_BYTES_MAX = 65_536;

const ENTRY = {
  key: 'a',
  contentType: 'text/x',
  length: 7,
  value: 'Größe',
  timeToLiveSeconds: 60,
  maxIdleSeconds: 5,
};

type Member = ReturnType<typeof restMember>;

function eachDialect(title: string, run: (member: Member) => Promise<void>): void {
  for (const compatibility of COMPATIBILITIES) {
    it(`${title}, compatibility ${compatibility}`, () =>
      run(restMember({ compatibility, limits: LIMITS })));
  }
}

function linesIn(body = ''): Record<string, unknown>[] {
  assert(body === '' || body.endsWith('\n'));
  return body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(Buffer.from(line, 'latin1').toString()));
}

async function lookUp({ askWhole }: Member, lines: readonly object[], path = LOOKUP) {
  const content = lines.map((line) => JSON.stringify(line)).join('\n');
  const { status, fields, body } = await askWhole('POST', path, content);
  assert.equal(status, 200, body);
  assert.equal(fields.get('content-type'), 'application/x-ndjson');
  assert.equal(fields.get('cache-control'), 'no-store');
  return linesIn(body);
}

describe('A lookup', () => {
  eachDialect('has the entries in the order of its lines', async (member) => {
    const { askWhole } = member;
    const lines = 'Content-Type: text/x\r\nGrid-Time-To-Live: 60\r\nGrid-Max-Idle: 5\r\n';
    const { fields } = await askWhole('PUT', 'v1/maps/m/entries/a', 'Größe', lines);
    await askWhole('PUT', 'v1/maps/m/entries/%FF%00', '');
    assert.deepEqual(
      await lookUp(member, [
        { key: 'none' },
        { key: 'a' },
        { keyBase64: '/wA=' },
        { keyBase64: 'YQ==' },
        { keyBase64: '/w==' },
      ]).then((found) => found.map(({ etag, ...others }) => others)),
      [
        { key: 'none', absent: true },
        ENTRY,
        { keyBase64: '/wA=', length: 0, value: '' },
        ENTRY,
        { keyBase64: '/w==', absent: true },
      ],
    );
    const [found] = await lookUp(member, [{ key: 'a' }]);
    assert.equal(found?.etag, fields.get('etag'));
  });

  eachDialect('is refused as a whole for a wrong line', async (member) => {
    for (const [line, message] of [
      ['x', 'Cannot use line 2: Cannot read the line: not a JSON object'],
      ['{}', 'Cannot use line 2: Cannot use the member "key": it is missing'],
      ['{"key":""}', 'Cannot use line 2: Cannot use the member "key": it is empty'],
      ['{"key":1}', 'Cannot use line 2: Cannot use key=1: not a text in quotes'],
      ['{"key":"a","op":"get"}', 'Cannot use line 2: Cannot use the member "op": it is unknown'],
      ['{"key":"a","keyBase64":"YQ=="}', 'the line also has "key"'],
      ['{"keyBase64":"?"}', 'Cannot use keyBase64="?": not base64 with its padding'],
    ] as const) {
      const { status, fields, body } = await member.askWhole(
        'POST',
        LOOKUP,
        `{"key":"a"}\n\n${line}`,
      );
      assert.deepEqual([status, fields.get('cache-control')], [400, 'no-store']);
      assert(JSON.parse(body).message.includes(message), body);
    }
  });

  eachDialect('has a limit of lines and of their length', async (member) => {
    const line = '{"key":"a"}';
    const lines = Array.from({ length: LINES_MAX }, () => line).join('\n');
    const { body } = await member.askWhole('POST', LOOKUP, `\n${lines}\n`);
    assert.equal(linesIn(body).length, LINES_MAX);
    const long = `{"key":"${'k'.repeat(LINE_BYTES_MAX - 10)}"}`;
    assert.equal(linesIn((await member.askWhole('POST', LOOKUP, long)).body).length, 1);
    for (const [refused, message] of [
      [`${lines}\n${line}`, 'Cannot read the lines: there are more than 10000'],
      [`${line}\n${long} `, 'Cannot read line 2: it is longer than 1048576 bytes'],
    ] as const) {
      const { status, body: text } = await member.askWhole('POST', LOOKUP, refused);
      assert.deepEqual([status, JSON.parse(text).message], [413, message]);
    }
    assert.deepEqual(await lookUp(member, []), []);
  });

  eachDialect('leaves out a value that makes its line too long', async (member) => {
    const head = '{"key":"k","etag":"\\"0123456789abcdef\\"","length":1000000,"value":""}'.length;
    for (const [value, isLeftOut] of [
      ['v'.repeat(LINE_BYTES_MAX - head), false],
      ['v'.repeat(LINE_BYTES_MAX - head + 1), true],
      ['"'.repeat(LINE_BYTES_MAX / 2), true],
      ['v'.repeat(LINE_BYTES_MAX + 1), true],
      ['\xff'.repeat(LINE_BYTES_MAX), true],
    ] as const) {
      await member.askWhole('PUT', 'v1/maps/m/entries/k', value);
      const [line = {}, absent] = await lookUp(member, [{ key: 'k' }, { key: 'x' }]);
      assert.equal(line.length, Buffer.byteLength(value));
      assert.deepEqual(['value' in line, absent?.absent], [!isLeftOut, true]);
    }
  });

  eachDialect('is refused for its method, path or query', async (member) => {
    for (const [method, path, status, message] of [
      ['GET', LOOKUP, 405, /allowed methods/],
      ['POST', `${LOOKUP}?limit=1`, 400, /the parameter "limit": known are none/],
      ['POST', 'v1/maps//lookup', 400, /the name or the key is empty/],
    ] as const) {
      const answer = await member.askWhole(method, path, '{"key":"k"}');
      assert.equal(answer.status, status);
      assert.match(JSON.parse(answer.body).message, message);
    }
    await member.ask('POST', 'rest/management/cluster/changeState', 'dev&&PASSIVE');
    assert.deepEqual(await lookUp(member, [{ key: 'k' }], `${LOOKUP}/`), [
      { key: 'k', absent: true },
    ]);
  });
});

/** Sets entries with values of these lengths. */
function fill({ engine }: Pick<TestServer, 'engine'>, lengths: readonly number[]): void {
  for (const [index, length] of lengths.entries()) {
    const value = Span.of('x'.repeat(length));
    engine.set(Span.of('m'), Span.of(`k${index}`), value, NO_SPAN, FOREVER, undefined, NOBODY);
  }
}

function lookupOf(count: number, version = '1.1'): string {
  const content = Array.from({ length: count }, (_, index) => `{"key":"k${index}"}`).join('\n');
  const head = `POST /grid/${LOOKUP} HTTP/${version}\r\nHost: h\r\n`;
  return `${head}Content-Length: ${content.length}\r\n\r\n${content}`;
}

function connected(server: TestServer) {
  const socket = new FakeCarrier((run) => server.clock.endOfTurn(run));
  server.connect(socket);
  const settle = () => server.clock.settle();
  const responses = () => readResponses(socket.text);
  const lengths = () => linesIn(responses()[0]?.body).map(({ length }) => length);
  return { ...server, socket, settle, responses, lengths };
}

type Connected = ReturnType<typeof connected>;

/** Lets the client read until the response has ended. Returns the largest number of unsent bytes. */
function readSlowly({ socket, server, settle, responses }: Connected): number {
  let most = 0;
  for (let turn = 0; turn < 10_000 && responses().length === 0; turn++) {
    most = Math.max(most, server.inFlight.usedBytes);
    socket.take();
    settle();
  }
  return most;
}

/** Lengths of values, long and short. */
const MIXED = Array.from({ length: 400 }, (_, index) =>
  (index * 7919) % 23 === 0 ? 50_000 + index : index % 50,
);

/** An engine that counts its reads, and the bytes of the values that they return. */
class CountedReads {
  count = 0;
  bytes = 0;

  of(engine: Engine): Engine {
    const get = (map: Span, key: Span, receiver: Receiver): void => {
      this.count++;
      const onResult = (result: OperationResult): void => {
        this.bytes += result.value.length;
        receiver.onResult(result);
      };
      engine.get(map, key, { onResult });
    };
    return new Proxy(engine, {
      get(_, name) {
        const value = engine[name as keyof Engine];
        if (name === 'get') return get;
        return typeof value === 'function' ? value.bind(engine) : value;
      },
    });
  }
}

describe('The response to a lookup', () => {
  it('waits for its reader', () => {
    const lookup = connected(createTestServer(LIMITS));
    fill(lookup, MIXED);
    lookup.socket.isStuck = true;
    lookup.socket.receive(lookupOf(MIXED.length));
    lookup.settle();
    const { length } = lookup.socket.text;
    lookup.settle();
    assert.equal(
      lookup.socket.text.length,
      length,
      'nothing is sent to a client that does not read',
    );
    assert(readSlowly(lookup) <= STREAM_BYTES_MAX + 60_000);
    assert.deepEqual(lookup.lengths(), MIXED);
    lookup.socket.unstick();
    assert.equal(lookup.server.inFlight.usedBytes, 0);
  });

  for (const [mode, isOrdered] of MODES) {
    it(`is complete and in order if results arrive later, ${mode}`, () => {
      for (let seed = 1; seed < 6; seed++) {
        const lookup = connected(lateServer({ isOrdered, seed }, LIMITS));
        fill(lookup, MIXED);
        lookup.socket.receive(lookupOf(MIXED.length + 1));
        lookup.settle();
        assert.deepEqual(lookup.lengths(), [...MIXED, undefined]);
      }
    });

    it(`reads few values again, ${mode}`, () => {
      const reads = new CountedReads();
      const late = lateServer({ isOrdered, seed: 4 }, LIMITS);
      const server = createTestServer(LIMITS, {
        engine: late.engine,
        clock: late.clock,
        engineOn: () => reads.of(late.late),
      });
      const lookup = connected(server);
      const values = [
        ...Array.from({ length: 1000 }, () => 10),
        ...Array.from({ length: 30 }, () => 100_000),
      ];
      fill(lookup, values);
      lookup.socket.receive(lookupOf(values.length));
      lookup.settle();
      assert.deepEqual(lookup.lengths(), values);
      assert(reads.count < values.length + 64, `${reads.count} reads`);
    });
  }

  it('is complete after the client has ended its side, and while the server drains', () => {
    for (const isDrain of [false, true]) {
      const lookup = connected(createTestServer(LIMITS));
      fill(lookup, MIXED);
      lookup.socket.isStuck = true;
      lookup.socket.receive(lookupOf(MIXED.length));
      lookup.settle();
      if (isDrain) lookup.server.drain();
      else lookup.socket.receiveEnd();
      readSlowly(lookup);
      assert.deepEqual(lookup.lengths(), MIXED);
    }
  });

  it('ends for a client that has disconnected', () => {
    for (const server of [createTestServer(LIMITS), lateServer({ isOrdered: false }, LIMITS)]) {
      const lookup = connected(server);
      fill(lookup, MIXED);
      lookup.socket.isStuck = true;
      lookup.socket.receive(lookupOf(MIXED.length));
      for (let turn = 0; turn < 6; turn++) lookup.clock.endTurn();
      lookup.socket.fail();
      lookup.settle();
      assert.equal(lookup.server.inFlight.usedBytes, 0);
      const next = connected(server);
      next.socket.receive(lookupOf(2));
      next.settle();
      assert.deepEqual(next.lengths(), MIXED.slice(0, 2));
      assert.deepEqual(server.failures, []);
    }
  });

  it('is answered in order among pipelined requests', () => {
    const lookup = connected(createTestServer(LIMITS));
    fill(lookup, [1, 2]);
    const read = get('maps/m/k0');
    lookup.socket.receive(read + lookupOf(3) + read + lookupOf(1) + read);
    lookup.settle();
    assert.deepEqual(
      lookup.responses().map(({ body }) => (body === 'x' ? body : linesIn(body).length)),
      ['x', 3, 'x', 1, 'x'],
    );
  });

  it('extends to the end of the connection in HTTP/1.0', () => {
    const lookup = connected(createTestServer(LIMITS));
    fill(lookup, [1]);
    lookup.socket.receive(lookupOf(2, '1.0'));
    lookup.settle();
    assert.match(lookup.socket.text, /\r\n\r\n\{"key":"k0".*\}\n\{"key":"k1","absent":true\}\n$/);
    assert(lookup.socket.writableEnded);
  });

  it('sends no line that depends on a change before it is durable', () => {
    const sink = new DelayingSink(0);
    const delay: ResponseDelay = {
      delaysAll: false,
      delays: (partition, sequence) => lookup.engine.delays(partition, sequence),
      sequences: () => lookup.engine.sequences(),
    };
    const lookup: Connected = connected(createTestServer(LIMITS, { delay, sinks: [sink] }));
    fill(lookup, [1]);
    lookup.engine.delete(Span.of('m'), Span.of('k0'), undefined, NOBODY);
    lookup.socket.receive(lookupOf(1));
    lookup.settle();
    assert.doesNotMatch(lookup.socket.text, /absent/);
    sink.upToElse = 2;
    lookup.server.release();
    lookup.settle();
    assert.match(lookup.socket.text, /absent/);
  });

  it('is 503 if the engine is closed, and is cut off if it closes later', () => {
    const server = lateServer({ isOrdered: true }, LIMITS);
    fill(server, MIXED);
    const lookup = connected(server);
    lookup.socket.isStuck = true;
    lookup.socket.receive(lookupOf(MIXED.length));
    lookup.settle();
    assert.match(lookup.socket.text, /HTTP\/1.1 200 OK/);
    void server.late.close();
    for (let turn = 0; turn < 1000 && !lookup.socket.isDestroyed; turn++) {
      lookup.socket.take();
      lookup.settle();
    }
    assert(lookup.socket.isDestroyed, 'the client notices that lines are missing');
    const next = connected(server);
    next.socket.receive(lookupOf(70));
    next.settle();
    assert.deepEqual(
      next.responses().map(({ status }) => status),
      [503],
    );
    assert.deepEqual(server.failures, []);
  });
});
