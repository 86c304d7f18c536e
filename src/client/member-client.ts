/**
 * Sends requests to a member over HTTP, one per connection, for the client commands of the command
 * line. Values are bytes in both directions. The client follows no redirect, retries no request and
 * keeps no state. Tested by cli/client-options.spec.ts.
 */

import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { TIMER_MS_MAX } from '../base/clock.ts';
import { counted } from '../base/quantities.ts';

/** Time limit of the response to a request that does not wait, in ms. */
const RESPONSE_TIMEOUT_MS = 30_000;

export interface MemberLocation {
  /** `http:` or `https:`, host and port. */
  readonly url: URL;
  /** Certificates to trust, in PEM; undefined for those of Node. */
  readonly certificates: Buffer | undefined;
  /** The client's certificate and private key, in PEM. */
  readonly ownCertificate: Buffer | undefined;
  readonly ownKey: Buffer | undefined;
}

interface Login {
  readonly user: string;
  readonly password: string;
}

export interface MemberRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, encoded as sent. */
  readonly path: string;
  readonly body?: Buffer;
  readonly contentType?: string;
  /** Sent as HTTP Basic. */
  readonly login?: Login;
  /** Time that the member may wait before it responds, in seconds. */
  readonly waitSeconds?: number;
}

export interface MemberResponse {
  readonly status: number;
  readonly contentType: string | undefined;
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

/** Sends the request and resolves with the response. Rejects with UnreachableError. */
export function callMember(location: MemberLocation, call: MemberRequest): Promise<MemberResponse> {
  const { url, certificates, ownCertificate, ownKey } = location;
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      reject(new UnreachableError(`Cannot reach ${url.host}: ${reason}`));
    };
    const request = (url.protocol === 'https:' ? requestTls : requestPlain)(
      {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        method: call.method,
        path: call.path,
        headers: fieldsOf(call),
        agent: false,
        ...(certificates === undefined ? {} : { ca: certificates }),
        ...(ownCertificate === undefined ? {} : { cert: ownCertificate, key: ownKey }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error) => fail(error.message));
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers['content-type'],
            body,
            json: () => parse(body, url),
          });
        });
      },
    );
    const waitMs = RESPONSE_TIMEOUT_MS + 1000 * Math.max(0, call.waitSeconds ?? 0);
    request.setTimeout(Math.min(waitMs, TIMER_MS_MAX), () => {
      request.destroy(new Error(`no response for ${counted(Math.round(waitMs / 1000), 'second')}`));
    });
    request.on('error', (error) => fail(reasonOf(error) + hintOf(error, url)));
    request.end(call.body);
  });
}

function parse(body: Buffer, url: URL): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new UnreachableError(`Cannot read the response of ${url.host}: it is not JSON`);
  }
}

function fieldsOf({
  method,
  body,
  contentType,
  login,
}: MemberRequest): Record<string, string | number> {
  const fields: Record<string, string | number> = {};
  if (method === 'POST') fields['Content-Length'] = body?.length ?? 0;
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
