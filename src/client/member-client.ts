/**
 * Sends requests to a member over HTTP for the client commands of the command line: one per
 * connection, or one after the other over a connection that is kept. Values are bytes in both
 * directions. Content can be sent and received in parts. The client follows no redirect, retries no
 * request and keeps no state. Tested by cli/client-options.spec.ts.
 */

import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as requestPlain,
} from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TIMER_MS_MAX } from '../base/clock.ts';
import { counted } from '../base/quantities.ts';

/** Time limit without a byte from the member, while a request does not wait, in ms. */
const RESPONSE_TIMEOUT_MS = 30_000;

export interface MemberLocation {
  /** `http:` or `https:`, host and port. */
  readonly url: URL;
  /** Certificates to trust, in PEM; undefined for those of Node. */
  readonly certificates: Buffer | undefined;
  /** The client's certificate and private key, in PEM. */
  readonly ownCertificate: Buffer | undefined;
  readonly ownKey: Buffer | undefined;
  /** Has the connection that is kept; without it, each request has its own. */
  readonly agent?: Agent;
}

interface Login {
  readonly user: string;
  readonly password: string;
}

export interface MemberRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, encoded as sent. */
  readonly path: string;
  readonly body?: Buffer | ContentStream;
  readonly contentType?: string;
  /** Further header fields. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Sent as HTTP Basic. */
  readonly login?: Login;
  /** Time that the member may wait before it responds, in seconds. */
  readonly waitSeconds?: number;
  /** Ends the request, which rejects with UnreachableError if it has no response yet. */
  readonly signal?: AbortSignal;
}

/** Content that is sent as it is read. An error of the chunks ends the request, which rejects with it. */
export interface ContentStream {
  readonly length: number;
  readonly chunks: AsyncIterable<Buffer>;
}

/** The head of a response, whose content is read as it arrives. */
export interface OpenResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  /** Returns the value of a header field. `name`: in lower case. */
  field(name: string): string | undefined;
  /**
   * The content; to be read once. It may be read slowly, or not to its end. Throws UnreachableError if
   * the connection ends before it.
   */
  readonly chunks: AsyncIterable<Buffer>;
}

export interface MemberResponse extends Omit<OpenResponse, 'chunks'> {
  readonly body: Buffer;
  /**
   * Parses the body. Throws UnreachableError if it is not JSON: then the response is not a
   * member's.
   */
  json(): unknown;
}

/** The request could not be sent, or its response was not received. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Returns the location with an agent, which the caller destroys. */
export function withKeptConnection(location: MemberLocation): MemberLocation {
  const options = { keepAlive: true, maxSockets: 1 };
  const isTls = location.url.protocol === 'https:';
  return { ...location, agent: isTls ? new TlsAgent(options) : new Agent(options) };
}

/** Sends the request and resolves with the response. Rejects with UnreachableError. */
export async function callMember(
  location: MemberLocation,
  call: MemberRequest,
): Promise<MemberResponse> {
  return await wholeResponse(await openMember(location, call), location);
}

/** Reads the content of a response to its end. Rejects with UnreachableError. */
export async function wholeResponse(
  { status, contentType, field, chunks }: OpenResponse,
  { url }: MemberLocation,
): Promise<MemberResponse> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const body = Buffer.concat(all);
  return { status, contentType, field, body, json: () => parse(body, url) };
}

/** Sends the request and resolves with the head of its response. Rejects with UnreachableError. */
export function openMember(location: MemberLocation, call: MemberRequest): Promise<OpenResponse> {
  const { url, certificates, ownCertificate, ownKey } = location;
  return new Promise((resolve, reject) => {
    const failure = (reason: string) => new UnreachableError(`Cannot reach ${url.host}: ${reason}`);
    const request = (url.protocol === 'https:' ? requestTls : requestPlain)(
      {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        method: call.method,
        path: call.path,
        headers: fieldsOf(call),
        agent: location.agent ?? false,
        ...(call.signal === undefined ? {} : { signal: call.signal }),
        ...(certificates === undefined ? {} : { ca: certificates }),
        ...(ownCertificate === undefined ? {} : { cert: ownCertificate, key: ownKey }),
      },
      (response) => {
        // An error of the content is thrown to the reader.
        response.on('error', ignored);
        const { statusCode: status = 0, headers } = response;
        const field = (name: string) => headers[name]?.toString();
        const chunks = chunksOf(response, clock, failure);
        resolve({ status, contentType: headers['content-type'], field, chunks });
      },
    );
    const clock = new ResponseClock(request, call.waitSeconds ?? 0);
    request.on('error', (error) => reject(failure(reasonOf(error) + hintOf(error, url))));
    send(request, call.body, reject);
  });
}

/** `fail`: called if the chunks of the content cannot be read. */
function send(
  request: ClientRequest,
  body: MemberRequest['body'],
  fail: (error: unknown) => void,
): void {
  if (body === undefined || Buffer.isBuffer(body)) {
    request.end(body);
    return;
  }
  // Errors of the connection are reported by the request.
  const source = Readable.from(body.chunks, { objectMode: false });
  source.on('error', fail);
  pipeline(source, request).catch(ignored);
}

/** Ends a request whose member sends nothing for too long; not while the reader is busy. */
class ResponseClock {
  readonly #request: ClientRequest;
  readonly #limitMs: number;
  isReaderBusy = false;
  /** Why the request was ended; empty if it was not. */
  reason = '';

  /** `waitSeconds`: time that the member may wait before it responds. */
  constructor(request: ClientRequest, waitSeconds: number) {
    this.#request = request;
    this.#limitMs = Math.min(RESPONSE_TIMEOUT_MS + 1000 * Math.max(0, waitSeconds), TIMER_MS_MAX);
    request.on('timeout', () => this.#onTimeout());
    request.setTimeout(this.#limitMs);
  }

  #onTimeout(): void {
    if (this.isReaderBusy) {
      this.#request.setTimeout(this.#limitMs);
      return;
    }
    this.reason = `no response for ${counted(Math.round(this.#limitMs / 1000), 'second')}`;
    this.#request.destroy(new Error(this.reason));
  }
}

async function* chunksOf(
  response: IncomingMessage,
  clock: ResponseClock,
  failure: (reason: string) => UnreachableError,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response) {
      clock.isReaderBusy = true;
      yield chunk as Buffer;
      clock.isReaderBusy = false;
    }
  } catch (error) {
    const isCutOff = (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    throw failure(clock.reason || (isCutOff ? CUT_OFF : reasonOf(error as Error)));
  }
}

const CUT_OFF = 'the connection ended within the response';

function ignored(): void {}

function parse(body: Buffer, url: URL): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new UnreachableError(`Cannot read the response of ${url.host}: it is not JSON`);
  }
}

function fieldsOf(call: MemberRequest): Record<string, string | number> {
  const { method, body, contentType, login } = call;
  const fields: Record<string, string | number> = { ...call.fields };
  if (method === 'POST' || method === 'PUT') fields['Content-Length'] = body?.length ?? 0;
  if (contentType !== undefined) fields['Content-Type'] = contentType;
  if (login !== undefined) {
    const credentials = Buffer.from(`${login.user}:${login.password}`).toString('base64');
    fields.Authorization = `Basic ${credentials}`;
  }
  return fields;
}

/** Returns a hint for the most frequent faults, or an empty string. */
function hintOf(error: NodeJS.ErrnoException, url: URL): string {
  const codes: readonly unknown[] =
    error instanceof AggregateError ? error.errors.map(({ code }) => code) : [error.code];
  if (codes.includes('ECONNREFUSED')) return '; is a member running there?';
  if (codes.includes('ENOTFOUND')) return `; no host is called ${url.hostname}`;
  if (url.protocol === 'https:') {
    return isWithoutTls(error) ? `; try --address http://${url.host}` : '';
  }
  const isCutOff = codes.some((code) => code === 'ECONNRESET' || code === 'HPE_INVALID_CONSTANT');
  return isCutOff ? `; if the port uses TLS, try --address https://${url.host}` : '';
}

/**
 * Whether the peer's handshake is not TLS; OpenSSL mistakes it for another version or a long
 * packet.
 */
function isWithoutTls({ message }: Error): boolean {
  return /wrong version number|packet length too long/i.test(message);
}

/** Returns the error's message; an error of several tried addresses has no message of its own. */
function reasonOf(error: Error): string {
  if (isWithoutTls(error)) return 'the port does not use TLS';
  if (error.message !== '') return error.message.trim();
  return error instanceof AggregateError
    ? error.errors.map((each: Error) => each.message).join('; ')
    : error.name;
}
