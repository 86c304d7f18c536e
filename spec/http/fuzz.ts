/**
 * Fuzzes the parser and the connection with well-formed, mutated and random bytes, in
 * random pieces, and checks the conditions that hold for all of them.
 *
 * Two servers with the same history get the same bytes, one in one piece, the other in several: they
 * must run the same requests and respond equally. The requests must be those that RFC 9112, read
 * literally, finds in the bytes. Every response is well-formed and in the table below, no handler fails,
 * and the connection ends when the client ends its side.
 */
import assert from 'node:assert';
import fc from 'fast-check';
import type { Application, RequestHandler } from '../../src/http/application.ts';
import { HEAD, isServedMethod, methodName } from '../../src/http/methods.ts';
import type { Request } from '../../src/http/request.ts';
import { type LateOptions, lateServer } from './late-server.ts';
import { readRequests } from './request-reader.ts';
import { readResponses } from './response-reader.ts';
import { socketTo } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

/** The possible statuses of responses to these clients. */
const FINAL = [200, 204, 400, 403, 404, 405, 408, 413, 414, 415, 417, 431, 501, 503, 505];
/**
 * Statuses of responses to bytes that are not a request; which one depends on how far they were
 * read.
 */
const REFUSALS = [400, 408, 413, 414, 431, 505];
/** Small limits, which few bytes exceed. */
const LIMITS = { headerBytesMax: 200, targetBytesMax: 100, bodyBytesMax: 60 };

/** A time longer than every time limit and every poll, in ms. */
const SILENCE_MS = 200_000;
/** Number of steps of the silence, each of which ends its turns. */
const SILENCE_STEPS = 25;

/** The bytes that a client sends, one character per byte, and where they are split. */
export interface FuzzCase {
  readonly text: string;
  /** Offsets modulo the text's length; a single negative one splits at every byte. */
  readonly cuts: readonly number[];
  /** The end of the connection after the text. */
  readonly end: End;
}

/** The client ends its side, is silent until every limit has passed, or resets the connection. */
type End = 'end' | 'silence' | 'reset';

/** Two servers, for any number of consecutive cases. */
export class FuzzTarget {
  readonly #whole: RecordingServer;
  readonly #split: RecordingServer;
  readonly #isLate: boolean;

  /** `late`: the late engine of the second server, if it has one. */
  constructor(late?: LateOptions) {
    this.#isLate = late !== undefined;
    this.#whole = new RecordingServer();
    this.#split = new RecordingServer(late);
  }

  /** Throws AssertionError if a condition is violated. */
  check({ text, cuts, end }: FuzzCase): void {
    const whole = this.#whole.receive([text], end);
    const split = this.#split.receive(pieces(text, cuts), end);
    const wanted = readRequests(text);
    for (const { requests, announcesClose } of [whole, split]) {
      assert(requests.length <= wanted.length, 'a request that RFC 9112 does not define');
      // If a request was answered before its content, the content is not read, and the client is
      // silent.
      const isAnsweredEarly = requests.at(-1)?.body === undefined;
      // No request runs for a disconnected client.
      const isComplete = requests.length === wanted.length || end === 'reset';
      assert(isComplete || announcesClose || isAnsweredEarly, 'a request is unanswered');
      for (const [index, request] of requests.entries()) {
        assert.equal(request.target, wanted[index]?.target);
        if (request.method !== '') assert.equal(request.method, wanted[index]?.method);
        if (request.body !== undefined) assert.equal(request.body, wanted[index]?.body);
      }
    }
    // Whether content is invited, and the end if it is not, depends on the pieces.
    if (/100-continue/i.test(text)) return;
    assert.deepEqual(split.requests, whole.requests);
    const refusal = whole.statuses.at(-1) ?? 0;
    const other = split.statuses.at(-1) ?? 0;
    if (REFUSALS.includes(refusal) && REFUSALS.includes(other)) {
      assert.deepEqual(split.statuses.slice(0, -1), whole.statuses.slice(0, -1));
    } else if (!this.#isLate) assert.equal(split.text, whole.text);
    else assert.equal(withoutTime(split.text), withoutTime(whole.text));
  }
}

/** A request that a server began to run; without its body if that was incomplete. */
interface Run {
  /** Empty for a method that is not served. */
  readonly method: string;
  readonly target: string;
  body: string | undefined;
}

interface Seen {
  readonly text: string;
  /** The statuses of final responses. */
  readonly statuses: readonly number[];
  readonly requests: readonly Run[];
  /** Whether the last response announces the end of the connection. */
  readonly announcesClose: boolean;
}

class RecordingServer implements Application {
  readonly #server: TestServer;
  readonly #isLate: boolean;
  #served: Application | undefined;
  #requests: Run[] = [];
  #isHead: boolean[] = [];

  constructor(late?: LateOptions) {
    const wrap = (served: Application): Application => {
      this.#served = served;
      return this;
    };
    this.#server = late ? lateServer(late, LIMITS, { wrap }) : createTestServer(LIMITS, { wrap });
    this.#isLate = late !== undefined;
    this.#server.server.observe = (_, head) => {
      this.#isHead.push(head?.method === HEAD);
    };
  }

  open(request: Request): RequestHandler {
    const handler = this.#served?.open(request) as RequestHandler;
    return {
      get isExclusive() {
        return handler.isExclusive;
      },
      admit: () => {
        const { method, target } = request.head;
        this.#requests.push({
          method: isServedMethod(method) ? methodName(method) : '',
          target: target.bytes.toString('latin1', target.start, target.end),
          body: undefined,
        });
        return handler.admit();
      },
      run: () => {
        const run = this.#requests.at(-1);
        if (run !== undefined) run.body = request.content.toBuffer().toString('latin1');
        handler.run();
      },
      finishNow: () => handler.finishNow(),
      release: () => handler.release(),
    };
  }

  /** Sends the pieces on a new connection, which then ends. Returns the outcome. */
  receive(pieces: readonly string[], end: End): Seen {
    this.#exchange([FORGET], 'end');
    this.#requests = [];
    this.#isHead = [];
    const text = this.#exchange(pieces, end);
    const responses = readResponses(text, this.#isHead);
    const statuses = responses.map(({ status }) => status).filter((status) => status !== 100);
    for (const status of statuses) assert(FINAL.includes(status), `answer ${status}`);
    assert.equal(this.#server.failures.length, 0, 'a handler failed');
    const announcesClose = responses.at(-1)?.fields.get('connection') === 'close';
    return { text, statuses, requests: this.#requests, announcesClose };
  }

  #exchange(pieces: readonly string[], end: End): string {
    const { clock, server } = this.#server;
    const socket = socketTo(this.#server);
    for (const piece of pieces) socket.receive(piece);
    // An engine that is not late has returned its results by now.
    if (this.#isLate) clock.settle();
    if (end === 'end') socket.receiveEnd();
    else if (end === 'reset') socket.destroy();
    else {
      for (let step = 0; step < SILENCE_STEPS; step++) {
        clock.advance(SILENCE_MS / SILENCE_STEPS);
        clock.settle();
      }
    }
    clock.settle();
    assert(socket.writableEnded || socket.isDestroyed, 'the connection does not end');
    socket.destroy();
    assert.equal(server.deadlines.count, 0, 'deadlines left');
    clock.settle();
    assert.equal(server.inFlight.usedBytes, 0, 'bytes in flight left');
    assert.equal(server.requests.usedCount, 0, 'slots left');
    return socket.text;
  }
}

/** A later response has a later date, and may announce that it is the connection's last. */
function withoutTime(text: string): string {
  return text.replaceAll('Connection: close\r\n', '').replaceAll(/^Date: .*\r\n/gm, '');
}

function pieces(text: string, cuts: readonly number[]): string[] {
  if (cuts[0] === -1) return [...text];
  const offsets = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length];
  offsets.sort((one, other) => one - other);
  return offsets.slice(1).map((end, index) => text.slice(offsets[index], end));
}

const TARGETS = ['/grid/rest/maps/m/k', '/grid/rest/maps/m/a%2Fb', '/grid/rest/maps/m'].concat(
  ['/grid/rest/queues/two-items', '/grid/rest/queues/two-items/9', '/grid/health?x', '*', '/%zz'],
  ['http://x/grid/rest/maps/m/k\xff', '/grid/rest/maps/m/ma\xc3\xb1a%80', '/nowhere'],
  ['/grid/rest/wan/sync/map', '/grid/rest/instance'],
);
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'PATCH', 'FROB'];
const FIELDS = ['Content-Type: a/b', 'Content-Type:', 'Expect: 100-continue', 'Expect: x'].concat(
  ['Connection: close', 'Connection: keep-alive', 'Connection: Upgrade\r\nUpgrade: h2c'],
  ['Content-Length: 0', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip', 'Host: y'],
  ['Content-Encoding: gzip', 'X: y', `X: ${'y'.repeat(150)}`, 'X:', 'Content-Length: 3'],
  ['Expect:', 'Origin: http://x', 'Origin: http://y', 'Sec-Fetch-Site: cross-site'],
);
/** Fragments that break parsers, inserted anywhere. */
const TOKENS = [...'\r\n \t:;,\0\x0b\x7f\xff01f-+"#%/?', '\r\n', '\r\n\r\n', '\r\n 1', '0x'].concat(
  ['HTTP/1.1', 'HTTP/1.0', 'RTSP/1.0', 'chunked', '0\r\n\r\n', 'ffffffffffffffff', ';e=v'],
  ['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Host: x\r\n'],
  ['GET /grid/health/live HTTP/1.1\r\nHost: x\r\n\r\n'],
);

const FORGET =
  'DELETE /grid/rest/maps/m HTTP/1.1\r\nHost: x\r\n\r\n' +
  'DELETE /grid/rest/queues/two-items/0 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2);

const target = fc.constantFrom(...TARGETS);

/**
 * Returns a request by its target. Most are well-formed, because a request with a single fault is
 * processed further than noise.
 */
const requestTo = fc
  .tuple(
    mostly('GET', METHODS),
    mostly('HTTP/1.1', ['HTTP/1.0', 'HTTP/1.2', 'http/1.1']),
    mostly('Host: x\r\n', ['', 'Host: x\r\nHost: x\r\n', 'Host: x/\r\n']),
    fc.array(fc.constantFrom(...FIELDS), { maxLength: 2 }),
    content(),
  )
  .map(([method, version, host, fields, { framing, body }]) => {
    const lines = fields.map((field) => `${field}\r\n`).join('');
    const rest = ` ${version}\r\n${host}${lines}${framing}\r\n${body}`;
    return (target: string) => `${method} ${target}${rest}`;
  });

const request = fc.tuple(requestTo, target).map(([to, target]) => to(target));

/** Returns requests that differ only in their targets. */
const series = fc
  .tuple(requestTo, fc.array(target, { minLength: 3, maxLength: 5 }))
  .map(([to, targets]) => targets.map(to));

const mutation = fc.tuple(
  fc.nat(1000),
  fc.constantFrom('insert', 'replace', 'delete', 'repeat'),
  fc.oneof(fc.constantFrom(...TOKENS), fc.nat(255).map(String.fromCharCode)),
);

/** Returns a few requests: intact, mutated or mixed with noise. */
const text = fc.oneof(
  { weight: 1, arbitrary: series.map((all) => all.join('')) },
  { weight: 2, arbitrary: mutated(series, 2) },
  { weight: 3, arbitrary: mutated(fc.array(request, { minLength: 1, maxLength: 3 }), 4) },
  { weight: 1, arbitrary: fc.array(request, { maxLength: 5 }).map((all) => all.join('')) },
  { weight: 1, arbitrary: mutated(fc.array(fc.constantFrom(...TOKENS), { maxLength: 20 }), 2) },
);

export const fuzzCase: fc.Arbitrary<FuzzCase> = fc.record({
  text,
  cuts: fc.oneof(
    { weight: 5, arbitrary: fc.array(fc.nat(10_000), { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.constant([-1]) },
  ),
  end: fc.constantFrom<End>('end', 'end', 'silence', 'reset'),
});

function mostly(usual: string, others: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
}

function content(): fc.Arbitrary<{ framing: string; body: string }> {
  const bytes = fc
    .nat(70)
    .map((length) => 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3).slice(0, length));
  const sized = bytes.map((body) => ({ framing: `Content-Length: ${body.length}\r\n`, body }));
  const extension = fc.constantFrom('', '', ';e', ';e=v', ';e="v;"', `;${'e'.repeat(80)}`);
  const chunk = fc
    .tuple(bytes, extension)
    .map(([each, ext]) => (each === '' ? '' : `${each.length.toString(16)}${ext}\r\n${each}\r\n`));
  const trailers = ['T: t\r\n', 'Content-Length: 1\r\n', 'Connection: close\r\n'];
  const trailer = fc.constantFrom('', '', ...trailers);
  const chunked = fc.tuple(fc.array(chunk, { maxLength: 3 }), trailer).map(([chunks, end]) => ({
    framing: 'Transfer-Encoding: chunked\r\n',
    body: `${chunks.join('')}0\r\n${end}\r\n`,
  }));
  return fc.oneof(fc.constant({ framing: '', body: '' }), sized, chunked);
}

function mutated(parts: fc.Arbitrary<string[]>, mutationsMax: number): fc.Arbitrary<string> {
  return fc
    .tuple(parts, fc.array(mutation, { minLength: 1, maxLength: mutationsMax }))
    .map(([all, mutations]) => mutations.reduce(mutate, all.join('')));
}

function mutate(whole: string, [place, kind, token]: readonly [number, string, string]): string {
  const at = Math.floor((place / 1000) * whole.length);
  const before = whole.slice(0, at);
  const after = whole.slice(at);
  switch (kind) {
    case 'insert':
      return before + token + after;
    case 'replace':
      return before + token + after.slice(token.length);
    case 'delete':
      return before + after.slice(token.length);
    default:
      return before + after.slice(0, token.length * 3).repeat(3) + after;
  }
}
