/**
 * An application whose requests are answered when a spec commands it. Paths: `/late/NAME` may be in
 * progress together with others, `/alone/NAME` may not, `/now/TEXT` is answered while it runs,
 * `/throws` throws while it runs, `/stream` begins a stream. The response to a request is its name,
 * or a text that the spec passes.
 */
import assert from 'node:assert/strict';
import { NO_PARTITION } from '../../src/base/partition-number.ts';
import { Span } from '../../src/base/span.ts';
import type { Application, RequestHandler } from '../../src/http/application.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import type { Request } from '../../src/http/request.ts';
import type { ResponseDelay } from '../../src/http/response-delay.ts';
import type { ResponseStream } from '../../src/http/response-stream.ts';
import type { TrafficMeter } from '../../src/http/traffic-meter.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { client } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const PLAIN = Buffer.from('text/plain');
const TEXT_PLAIN = new Span().set(PLAIN, 0, PLAIN.length);

export class HeldApplication implements Application {
  /** Unanswered requests that have begun, by name. */
  readonly underWay = new Map<string, HeldHandler>();
  /** Names in the order in which they began. */
  readonly begun: string[] = [];
  readonly streams: ResponseStream[] = [];
  /** Whether requests get 204 when their client has disconnected or sends no more. */
  finishesNow = true;
  /** Number of requests at whose end the handler was told to release its bytes. */
  releaseCount = 0;
  /** Number of times that a stream was notified of room. */
  roomCount = 0;

  open(request: Request): RequestHandler {
    return new HeldHandler(this, request);
  }

  /** Returns the request in progress with this name, which the caller answers. */
  remove(name: string): Request {
    const handler = this.underWay.get(name);
    if (handler === undefined) throw new Error(`no request ${name} is under way`);
    this.underWay.delete(name);
    return handler.request;
  }

  /** Answers the request in progress with this name. */
  answer(name: string, body = name): void {
    const handler = this.underWay.get(name);
    this.remove(name);
    handler?.answer(body);
  }
}

class HeldHandler implements RequestHandler {
  isExclusive = false;
  readonly #application: HeldApplication;
  readonly #request: Request;
  #name = '';

  constructor(application: HeldApplication, request: Request) {
    this.#application = application;
    this.#request = request;
  }

  get request(): Request {
    return this.#request;
  }

  admit(): boolean {
    this.isExclusive = /^\/(alone|stream)/.test(this.#target);
    if (this.#target !== '/refused') return true;
    this.#request.refuseWith('PATH_UNKNOWN', 'nothing here', 404);
    return false;
  }

  run(): void {
    const [, kind = '', name = ''] = this.#target.split('/');
    this.#name = name;
    this.#application.begun.push(name || kind);
    if (kind === 'now') this.answer(name);
    else if (kind === 'throws') throw new Error('thrown while it runs');
    else if (kind === 'stream') this.#stream();
    else this.#application.underWay.set(name, this);
  }

  finishNow(): void {
    for (const stream of this.#application.streams.splice(0)) {
      if (!stream.takesContent) stream.end();
      else this.#application.streams.push(stream);
    }
    const { finishesNow, underWay } = this.#application;
    if (!finishesNow || !underWay.delete(this.#name)) return;
    this.#request.respondEmpty(204, NO_PARTITION, 0);
  }

  release(): void {
    this.#application.releaseCount++;
  }

  answer(body: string): void {
    const bytes = Buffer.from(body);
    const response = this.#request.draft(200);
    response.content = new Span().set(bytes, 0, bytes.length);
    this.#request.send(response);
    bytes.fill(0xdd);
  }

  get #target(): string {
    return this.#request.head.target.toBuffer().toString('latin1');
  }

  #stream(): void {
    const application = this.#application;
    const onRoom = (): void => {
      application.roomCount++;
    };
    const head = this.#request.draft(201);
    head.contentType = TEXT_PLAIN;
    head.fields = { 'X-Stream': 'yes' };
    application.streams.push(this.#request.stream(head, onRoom));
  }
}

/** Returns a delay of the responses that depend on a later sequence than `upTo`, of any partition. */
export function sequenceDelay() {
  const state = { upTo: 0 };
  const delay: ResponseDelay = {
    delaysAll: false,
    delays: (_, sequence) => sequence > state.upTo,
    sequences: () => Float64Array.of(0),
  };
  return { state, delay };
}

/** Returns a server with a client; `another` connects a further one. */
export function heldServer(
  limits?: Partial<HttpLimits>,
  delay?: ResponseDelay,
  meter?: TrafficMeter,
) {
  const application = new HeldApplication();
  const test = createTestServer(limits, {
    wrap: () => application,
    ...(delay && { delay }),
    ...(meter && { meter }),
  });
  const { server, clock } = test;
  const connected = () => {
    const one = client(test, new FakeCarrier((run) => clock.endOfTurn(run)));
    return { ...one, bodies: () => one.responses().map(({ body }) => body) };
  };
  /** Asserts that no request is in progress. */
  const assertAtRest = (): void => {
    clock.settle();
    assert.equal(server.requests.usedCount, 0, 'slots in use');
    assert.equal(server.inFlight.usedBytes, 0, 'bytes in flight');
  };
  return { ...connected(), application, another: connected, assertAtRest };
}

/** Returns a GET of the path, with further field lines. */
export function request(path: string, fieldLines = '', method = 'GET'): string {
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${fieldLines}\r\n`;
}
