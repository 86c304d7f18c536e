/**
 * Measures only the request parser: it receives chunks and recognises requests; none is processed.
 */

import { DEFAULT_LIMITS } from '../spec/http/default-limits.ts';
import { Body } from '../src/http/body.ts';
import { InFlightBudget } from '../src/http/in-flight.ts';
import { AT_REQUEST, NEEDS_MORE, RequestParser } from '../src/http/parser.ts';
import { RequestHead } from '../src/http/request-head.ts';
import type { Bench, Harness } from './harness.ts';

const GET = 'GET /grid/rest/maps/bench/k1234 HTTP/1.1\r\nHost: 127.0.0.1:5701\r\n\r\n';
const BROWSER_FIELDS =
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)\r\n' +
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n' +
  'Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en-GB,en;q=0.5\r\n' +
  'Connection: keep-alive\r\nCookie: session=0123456789abcdef\r\n';
const POST =
  'POST /grid/rest/maps/bench/k1234 HTTP/1.1\r\nHost: 127.0.0.1:5701\r\n' +
  `Content-Type: text/plain\r\nContent-Length: 100\r\n\r\n${'x'.repeat(100)}`;

const BROWSER_GET = GET.replace('\r\n\r\n', `\r\n${BROWSER_FIELDS}\r\n`);

export const bench: Bench = {
  name: 'request-parser',
  about: 'requests recognised, by their kind and by their division into chunks',
  run(harness) {
    measure(harness, 'GET', [GET]);
    measure(harness, 'GET of a browser', [BROWSER_GET]);
    measure(harness, 'both alternating, so that neither repeats', [GET, BROWSER_GET]);
    measure(harness, 'GET, 32 a chunk', [GET.repeat(32)]);
    measure(harness, 'GET in two chunks', [GET.slice(0, 30), GET.slice(30)]);
    measure(harness, 'GET byte by byte', [...GET]);
    measure(harness, 'POST of 100 bytes', [POST]);
  },
};

function measure(harness: Harness, name: string, chunks: readonly string[]): void {
  const parser = new RequestParser(DEFAULT_LIMITS);
  const head = new RequestHead();
  const { bodyBytesMax, inFlightBytesMax } = DEFAULT_LIMITS;
  parser.use(head, new Body(bodyBytesMax, new InFlightBudget(inFlightBytesMax)));
  const buffers = chunks.map((chunk) => Buffer.from(chunk));
  const requests = chunks.join('').split(' HTTP/1.1').length - 1;
  harness.measure({
    name,
    operations: harness.pick(640, 640_000 / Math.ceil(chunks.length / 4)),
    batch: 32,
    run(_, count) {
      for (let done = 0; done < count; done += requests) {
        for (const buffer of buffers) feed(parser, buffer);
      }
    },
  });
  parser.free();
}

function feed(parser: RequestParser, chunk: Buffer): void {
  parser.load(chunk, chunk.length);
  for (let reached = parser.next(); reached !== NEEDS_MORE; reached = parser.next()) {
    if (reached === AT_REQUEST) parser.body.end();
  }
}
