/**
 * An application whose requests are answered when a spec commands it. Paths: `/late/NAME` may be in
 * progress together with others, `/alone/NAME` may not, `/now/TEXT` is answered while it runs,
 * `/throws` throws while it runs, `/stream` begins a stream. The response to a request is its name,
 * or a text that the spec passes.
 */
import { Span } from '../../src/base/span.ts';
import type { Application, RequestHandler } from '../../src/http/application.ts';
import { Connection } from '../../src/http/connection.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { INDEPENDENT } from '../../src/http/response-delay.ts';
import type { ResponseStream } from '../../src/http/response-stream.ts';
import { HttpServer } from '../../src/http/server.ts';
import { FakeClock } from '../fake-clock.ts';
import { DEFAULT_LIMITS } from './default-limits.ts';
import { FakeSocket } from './fake-socket.ts';
import { type ReadResponse, readResponses } from './response-reader.ts';

const NO_TYPE = new Span();

export class HeldApplication implements Application {
  /** Unanswered requests that have begun, by name. */
  readonly underWay = new Map<string, HeldHandler>();
  /** Names in the order in which they began. */
  readonly begun: string[] = [];
  readonly streams: ResponseStream[] = [];
  /** Whether requests get 204 when their client has disconnected or sends no more. */
  finishesNow = true;
  /** Number of times that a stream was notified of room. */
  roomCount = 0;

  open(exchange: Exchange): RequestHandler {
    return new HeldHandler(this, exchange);
  }

  /** Answers the request in progress with this name. */
  answer(name: string, body = name): void {
    const handler = this.underWay.get(name);
    if (handler === undefined) throw new Error(`no request ${name} is under way`);
    this.underWay.delete(name);
    handler.answer(body);
  }
}

class HeldHandler implements RequestHandler {
  isExclusive = false;
  readonly #application: HeldApplication;
  readonly #exchange: Exchange;
  #name = '';

  constructor(application: HeldApplication, exchange: Exchange) {
    this.#application = application;
    this.#exchange = exchange;
  }

  get exchange(): Exchange {
    return this.#exchange;
  }

  admit(): boolean {
    this.isExclusive = /^\/(alone|stream)/.test(this.#target);
    if (this.#target !== '/refused') return true;
    this.#exchange.refuseWith('PATH_UNKNOWN', 'nothing here', 404);
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
    this.#exchange.respondEmpty(204, INDEPENDENT, 0);
  }

  answer(body: string): void {
    const bytes = Buffer.from(body);
    const span = new Span().set(bytes, 0, bytes.length);
    this.#exchange.respondBytes(NO_TYPE, span, INDEPENDENT, 0);
    bytes.fill(0xdd);
  }

  get #target(): string {
    return this.#exchange.request.target.toBuffer().toString('latin1');
  }

  #stream(): void {
    const application = this.#application;
    const onRoom = (): void => {
      application.roomCount++;
    };
    const fields = { 'X-Stream': 'yes' };
    application.streams.push(this.#exchange.stream(201, 'text/plain', onRoom, fields));
  }
}

export interface HeldClient {
  readonly socket: FakeSocket;
  readonly connection: Connection;
  responses(isHead?: readonly boolean[]): ReadResponse[];
  /** The bodies of all responses so far. */
  bodies(): string[];
}

export interface HeldServer {
  readonly application: HeldApplication;
  readonly server: HttpServer;
  readonly clock: FakeClock;
  readonly failures: unknown[];
  client(): HeldClient;
}

export function heldServer(limits: Partial<HttpLimits> = {}): HeldServer {
  const application = new HeldApplication();
  const clock = new FakeClock();
  const failures: unknown[] = [];
  const server = new HttpServer({
    application,
    clock,
    limits: { ...DEFAULT_LIMITS, ...limits },
    onFailure: (error) => failures.push(error),
  });
  const client = (): HeldClient => {
    const socket = new FakeSocket((run) => clock.endOfTurn(run));
    const connection = new Connection(server, socket.socket);
    const responses = (isHead?: readonly boolean[]) => readResponses(socket.text, isHead);
    return { socket, connection, responses, bodies: () => responses().map(({ body }) => body) };
  };
  return { application, server, clock, failures, client };
}

/** Returns a GET of the path, with further field lines. */
export function request(path: string, fieldLines = '', method = 'GET'): string {
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${fieldLines}\r\n`;
}
