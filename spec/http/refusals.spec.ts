/**
 * Covers src/http/content-checks.ts and src/base/refusals.ts. Code and text of a refusal in the
 * log: the rule, the field, the limit, and no bytes of the request.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { methodName } from '../../src/http/methods.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { client, drainNow, get, LIVE, poll, postHead } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

/** Returns the list of the server's responses as logged: status, code, method and path, reason. */
function observed(server: TestServer): string[] {
  const reported: string[] = [];
  server.server.observe = (status, head, { code, reason }) => {
    const path = head?.targetText(head.pathEnd - head.target.start);
    const what = head === undefined ? '' : `${methodName(head.method)} ${path}`;
    reported.push([status, code, what, reason].filter((each) => each !== '').join(' '));
  };
  return reported;
}

const limits = { targetBytesMax: 100, headerBytesMax: 200, bodyBytesMax: 1000 };
const head = (fields: string, line = 'GET /secret HTTP/1.1') => `${line}\r\n${fields}\r\n\r\n`;
const host = (line: string) => head('Host: x', line);
const chunked = head('Host: x\r\nTransfer-Encoding: chunked', 'POST /grid/rest/maps/m/k HTTP/1.1');
const content = (length: number, more = '') =>
  head(`Host: x\r\nContent-Length: ${length}${more}`, 'POST /grid/rest/maps/m/k HTTP/1.1');
const POST = 'POST /grid/rest/maps/m/k';

/** The bytes sent, and the expected text of the log. */
const refused: readonly (readonly [string, string])[] = [
  // Refused by llhttp, with its own reason.
  ['secret\r\n\r\n', '400 NOT_A_REQUEST Invalid method encountered'],
  [host('GET /a b HTTP/1.1'), '400 NOT_A_REQUEST Expected HTTP/, RTSP/ or ICE/'],
  [head('Host x'), '400 NOT_A_REQUEST Invalid header token'],
  [
    head('Host: x\r\nContent-Length: secret'),
    '400 NOT_A_REQUEST Invalid character in Content-Length',
  ],
  [
    head('Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked'),
    "400 NOT_A_REQUEST Transfer-Encoding can't be present with Content-Length",
  ],
  [`${chunked}secret`, '400 NOT_A_REQUEST Invalid character in chunk size'],
  // Refused by the rules that llhttp does not check.
  [
    host('GET /secret HTTP/2.0'),
    '505 VERSION_UNKNOWN the version is neither HTTP/1.0 nor HTTP/1.1',
  ],
  [
    host('GET  /secret HTTP/1.1'),
    '400 SPACES_REPEATED the request line has more than one space in a row',
  ],
  [
    host('GET /secret  HTTP/1.1'),
    '400 SPACES_REPEATED the request line has more than one space in a row',
  ],
  [host('GET /secret RTSP/1.0'), '400 PROTOCOL_UNKNOWN the protocol is not HTTP'],
  [head('A: b'), '400 HOST_MISSING Host: missing in HTTP/1.1'],
  [head('Host: x\r\nHost: x'), '400 HOST_REPEATED Host: present twice'],
  [head('Host: secret/'), '400 HOST_INVALID Host: not a host and port'],
  [
    head('Host: x\r\nContent-Type: a\r\nContent-Type: a'),
    '400 CONTENT_TYPE_REPEATED Content-Type: present twice',
  ],
  [
    head('Host: x\r\nAuthorization: a\r\nAuthorization: a'),
    '400 AUTHORIZATION_REPEATED Authorization: present twice',
  ],
  [
    head('Host: x\r\nTransfer-Encoding: gzip, chunked'),
    '400 CODING_UNKNOWN Transfer-Encoding: not exactly chunked',
  ],
  [
    head('Transfer-Encoding: chunked', 'GET / HTTP/1.0'),
    '400 CODING_IN_HTTP_1_0 Transfer-Encoding: not in HTTP/1.0',
  ],
  [host('GET secret HTTP/1.1'), '400 NOT_A_REQUEST Invalid characters in url'],
  [
    host('GET ftp://secret/ HTTP/1.1'),
    '400 TARGET_INVALID the target is not a path, absolute URL or asterisk',
  ],
  [
    host('GET * HTTP/1.1'),
    '400 TARGET_INVALID the target is not a path, absolute URL or asterisk of OPTIONS',
  ],
  [
    host('GET http://u:secret@h/ HTTP/1.1'),
    '400 AUTHORITY_INVALID the authority of the target is not a host and port',
  ],
  [host('GET /#secret HTTP/1.1'), '400 TARGET_WITH_FRAGMENT the target has a fragment'],
  // Limits.
  [
    host(`GET /${'s'.repeat(100)} HTTP/1.1`),
    '414 TARGET_TOO_LONG the target is longer than target-bytes-max, 100 bytes',
  ],
  [
    head(`Host: x\r\nA: ${'s'.repeat(200)}`),
    '431 FIELDS_TOO_LONG the fields are longer than header-bytes-max, 200 bytes',
  ],
  [
    `GET / HTTP/1.1\r\nA: ${'s'.repeat(300)}`,
    '431 FIELDS_TOO_LONG the fields are longer than header-bytes-max, 200 bytes',
  ],
  [
    `${chunked}1;${'s'.repeat(300)}\r\nx\r\n0\r\n\r\n`,
    '431 FRAMING_TOO_LONG chunk extensions and trailers are longer than header-bytes-max, 200 bytes',
  ],
  [
    content(1001),
    `413 CONTENT_TOO_LONG ${POST} the content is longer than body-bytes-max, 1000 bytes`,
  ],
  [
    `${chunked}3e9\r\n${'s'.repeat(1001)}\r\n`,
    `413 CONTENT_TOO_LONG ${POST} the content is longer than body-bytes-max, 1000 bytes`,
  ],
  // Requests with unwanted content.
  [
    content(1, '\r\nContent-Encoding: gzip'),
    `415 CONTENT_CODED ${POST} Cannot accept Content-Encoding "gzip": send the content unencoded`,
  ],
  [content(1, '\r\nExpect: more'), `417 EXPECTATION_UNKNOWN ${POST} Cannot meet Expect "more"`],
  [
    get('maps/m\xc3\xb1/\x80%zz'),
    '400 ESCAPE_INVALID GET /grid/rest/maps/m%C3%B1/%80%zz an invalid percent-escape in the path',
  ],
  [
    get('maps/m/%zz'),
    '400 ESCAPE_INVALID GET /grid/rest/maps/m/%zz an invalid percent-escape in the path',
  ],
];

for (const [sent, wanted] of refused) {
  test(`a refusal is reported as "${wanted}"`, () => {
    const server = createTestServer(limits);
    const reported = observed(server);
    const socket = new FakeCarrier();
    server.connect(socket);
    socket.receive(`${LIVE}${sent}`);
    assert.deepEqual([reported.length, reported[0]], [2, '200 GET /grid/health/live']);
    assert.ok(reported[1]?.startsWith(wanted), reported[1]);
    assert.doesNotMatch(reported[1] ?? '', /secret/);
  });
}

test('a request that ends early or arrives late is reported with the missing part', () => {
  const server = createTestServer();
  const reported = observed(server);
  const cut = client(server);
  cut.socket.receive('GET / HT');
  cut.socket.receiveEnd();
  const late = client(server);
  late.socket.receive('GET / HT');
  const slow = client(server);
  slow.socket.receive(`${postHead('maps/m/k', 3)}x`);
  server.clock.advance(10_000);
  assert.deepEqual(reported.sort(), [
    '400 INPUT_CUT_OFF the input ended within the request',
    `408 CONTENT_LATE ${POST} no content was received within body-progress-timeout-seconds, 10 s`,
    '408 HEAD_LATE the head was not received within header-timeout-seconds, 10 s',
  ]);
});

test('a request for which a stop does not wait is reported as such', () => {
  const stopped = client();
  const reported = observed(stopped);
  stopped.socket.receive(`${postHead('maps/m/k', 3)}x`);
  stopped.clock.advance(1000);
  drainNow(stopped);
  stopped.clock.advance(5000);
  assert.deepEqual(reported, [
    `408 CONTENT_LATE_AT_STOP ${POST} the member is stopping, and the rest was not received in time`,
  ]);
});

test('content that is refused or ended for lack of room is reported as such', () => {
  const server = createTestServer({ bodyBytesMax: 1000, inFlightBytesMax: 1000 });
  const reported = observed(server);
  client(server).socket.receive(`${postHead('maps/m/k', 1000)}x`);
  server.clock.advance(5000);
  client(server).socket.receive(`${postHead('maps/m/l', 1000)}x`);
  assert.deepEqual(reported, [
    '503 NO_ROOM_FOR_CONTENT POST /grid/rest/maps/m/l Cannot accept the content of a request: ' +
      'all connections together may have 1000 bytes in flight',
    `408 CONTENT_CROWDED_OUT ${POST} ended to free memory for other requests: in-flight-bytes-max, 1000 bytes`,
  ]);
});

test('the reason of one request is not reported for the next', () => {
  const server = createTestServer(limits);
  const socket = new FakeCarrier();
  server.connect(socket);
  // This request gets no response.
  socket.receive(`${content(1, '\r\nContent-Encoding: gzip')}x`);
  const reported = observed(server);
  socket.receive(`${get('nowhere')}${content(1, '\r\nExpect: more')}`);
  socket.receive(`x${get('nowhere')}${LIVE}${poll('q', 0)}`);
  assert.deepEqual(reported, [
    '404 PATH_UNKNOWN GET /grid/rest/nowhere the path does not exist',
    `417 EXPECTATION_UNKNOWN ${POST} Cannot meet Expect "more"`,
    '404 PATH_UNKNOWN GET /grid/rest/nowhere the path does not exist',
    '200 GET /grid/health/live',
    '204 DELETE /grid/rest/queues/q/0',
  ]);
});
