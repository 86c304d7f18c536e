/** A member in memory with every endpoint group, and requests to it. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getOrCreate } from '../../src/base/get-or-create.ts';
import type { Compatibility } from '../../src/config/compatibility.ts';
import { ENDPOINT_GROUP_NAMES } from '../../src/config/endpoint-group.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import type { RouteFinder } from '../../src/surface/router.ts';
import { FakeCarrier } from '../http/fake-carrier.ts';
import { type ReadResponse, readResponses } from '../http/response-reader.ts';
import { createTestServer, type ServiceParts } from '../http/test-server.ts';
import { patternOf } from './exchange-table.ts';
import { documentOf, LOGINS, type ReadDocument } from './openapi/described-interface.ts';
import { differences } from './openapi/response-check.ts';

/** A path below the segment of the dialect, and whole lines of further fields. */
type RequestParts = [method: string, path: string, body?: string, fieldLines?: string];

/** `GET path` or `POST path content`, and the status and content, in which `…` is any text. */
export type Row = readonly [request: string, answer: string];

interface Options {
  /** Without it, the member has version 1.2.3. */
  readonly compatibility?: Compatibility | undefined;
  readonly services?: ServiceParts | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  /** Wraps the server's router. */
  readonly route?: ((router: RouteFinder) => RouteFinder) | undefined;
}

export function restMember({ compatibility, services = {}, limits, route }: Options = {}) {
  const server = createTestServer(limits, { compatibility, services, route });
  const { pathSegment } = DIALECTS[compatibility ?? 'none'];
  server.groups.set(true, new Map(ENDPOINT_GROUP_NAMES.map((group) => [group, true])));

  const textOf = (...[method, path, body = '', fieldLines = '']: RequestParts): string => {
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    const line = `${method} /${pathSegment}/${path} HTTP/1.1\r\n`;
    return `${line}Host: h\r\n${fieldLines}${length}\r\n${body}`;
  };

  /** Opens a connection. */
  const open = () => {
    const socket = new FakeCarrier();
    const isHead: boolean[] = [];
    let last: RequestParts | undefined;
    server.connect(socket);
    const send = (...request: RequestParts): void => {
      isHead.push(request[0] === 'HEAD');
      last = request;
      socket.receive(Buffer.from(textOf(...request)));
    };
    /** Returns the response to the last request; undefined until it is sent. */
    const read = (): ReadResponse | undefined => {
      const response = readResponses(socket.text, isHead)[Math.max(0, isHead.length - 1)];
      if (response !== undefined && last !== undefined) {
        const [method, path] = last;
        assertDescribed(compatibility ?? 'none', method, path, response);
      }
      return response;
    };
    const askWhole = async (...request: RequestParts): Promise<ReadResponse> => {
      send(...request);
      for (;;) {
        const response = read();
        if (response !== undefined) return response;
        await nextTurn();
        server.clock.settle();
      }
    };
    return { socket, send, read, askWhole };
  };

  /** Sends a request on a connection of its own, and returns the connection. */
  const sent = (...request: RequestParts) => {
    const opened = open();
    opened.send(...request);
    return opened;
  };
  const askWhole = (...request: RequestParts) => open().askWhole(...request);
  /** Returns the status and the content of the response. */
  const ask = async (...request: RequestParts): Promise<string> => {
    const { status, body } = await askWhole(...request);
    return `${status} ${body}`.trim();
  };
  /** Sends the requests of the rows in order, and asserts their responses. */
  const follow = async (rows: readonly Row[]): Promise<void> => {
    for (const [request, wanted] of rows) {
      const [, method = '', path = '', body] = /^(\S+) (\S+) ?(.*)$/s.exec(request) ?? [];
      const answer = await ask(method, path, body);
      assert.match(answer, new RegExp(`^${patternOf(wanted)}$`, 's'), `${request}: ${answer}`);
    }
  };
  return { ...server, textOf, open, sent, ask, askWhole, follow };
}

/** The content of a refusal with this message. */
export function failure(message: string): string {
  return JSON.stringify({ status: 'fail', message });
}

/** Operations of a test server that return nothing. */
const STUBS = ['metrics', 'memberStatus'];
const documents = new Map<Compatibility, ReadDocument>();

/** Asserts that the OpenAPI document describes the response, if it describes the operation. */
export function assertDescribed(
  compatibility: Compatibility,
  method: string,
  path: string,
  { status, fields, body }: ReadResponse,
): void {
  const document = getOrCreate(documents, compatibility, () => {
    return documentOf(compatibility, LOGINS.basicAll);
  });
  const operation = document.operationAt(method, `/${path}`);
  if (operation === undefined || STUBS.includes(operation.id)) return;
  const received = { status, fields, body: Buffer.from(body, 'latin1') };
  assert.deepEqual(differences(document, operation, received), [], `${method} ${path}`);
}
