/** Repeated heads are recognised without llhttp, with the same result. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Body } from '../../src/http/body.ts';
import * as header from '../../src/http/header-fields.ts';
import { InFlightBudget } from '../../src/http/in-flight.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { llhttp } from '../../src/http/llhttp.ts';
import { AT_REFUSAL, AT_REQUEST, NEEDS_MORE, RequestParser } from '../../src/http/parser.ts';
import { TARGET_TOO_LONG } from '../../src/http/read-failures.ts';
import { RequestHead } from '../../src/http/request-head.ts';
import { ServedHosts } from '../../src/http/served-hosts.ts';
import { DEFAULT_LIMITS } from './default-limits.ts';

const GET = 'GET /grid/rest/maps/m/k HTTP/1.1\r\nHost: x:1\r\nAuthorization: Basic YTpi\r\n\r\n';
const POST =
  'POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\nabc';
const POLL = 'DELETE /grid/rest/queues/q/1 HTTP/1.1\r\nHost: x\r\n\r\n';

/** Returns the result of the last of several requests, each in a separate chunk. */
function lastOf(
  texts: readonly string[],
  limits: HttpLimits = DEFAULT_LIMITS,
  servedHosts?: ServedHosts,
) {
  const parser = new RequestParser(limits, servedHosts);
  const head = new RequestHead();
  parser.use(head, new Body(limits.bodyBytesMax, new InFlightBudget(1e9)));
  let reached = NEEDS_MORE as number;
  let calls = 0;
  for (const text of texts) {
    const chunk = Buffer.from(text, 'latin1');
    if (reached === AT_REQUEST) parser.body.end();
    calls = callsOf(() => {
      parser.load(chunk, chunk.length);
      do reached = parser.next();
      while (reached !== AT_REQUEST && reached !== AT_REFUSAL && reached !== NEEDS_MORE);
    });
  }
  const { method, version, keepAlive, contentLength, pathEnd, escaped, target } = head;
  const seen = {
    reached,
    refusal: parser.refusal,
    left: parser.rest.length,
    ...(reached === AT_REQUEST && {
      method,
      version,
      keepAlive,
      contentLength,
      escaped,
      path: pathEnd - target.start,
      fields: fieldsOf(head),
      unservedHost: head.unservedHost,
      texts: [target, parser.body.content].map((span) => span.toBuffer().toString()),
    }),
  };
  parser.free();
  return { seen, isRecognised: calls === 0 };
}

/** Returns the values of the stored header fields, by the name of the field. */
function fieldsOf(head: RequestHead): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const row of Object.values(header)) {
    if (typeof row !== 'object' || !head.has(row)) continue;
    const values: string[] = [];
    head.findLast(row, (value) => values.push(value.toBuffer().toString('latin1')) > 0);
    found[String(row.name)] = values;
  }
  return found;
}

/** Counts the executions of llhttp during `run`. */
function callsOf(run: () => void): number {
  const instance = llhttp();
  let calls = 0;
  instance.execute = (...words) => {
    calls++;
    return Object.getPrototypeOf(instance).execute.apply(instance, words);
  };
  run();
  Reflect.deleteProperty(instance, 'execute');
  return calls;
}

describe('repeated heads', () => {
  for (const request of [GET, POST, POLL]) {
    const [line] = request.split('\r\n');
    it(`include the third "${line}", with any path`, () => {
      for (const path of [
        '/',
        '/grid/health',
        `/grid/rest/maps/~m!$&'()*+,;=:@/${'k'.repeat(99)}`,
        '/grid/rest/maps/m/\x80\xff',
      ]) {
        const third = request.replace(/ \S+ /, () => ` ${path} `);
        assert(!lastOf([request, third]).isRecognised);
        const { seen, isRecognised } = lastOf([request, request, third]);
        assert(isRecognised);
        assert.deepEqual(seen, lastOf([third]).seen);
      }
    });

    it(`do not include a head that differs in any byte from "${line}"`, () => {
      for (let at = 0; at < request.length; at++) {
        for (let byte = 0; byte < 256; byte++) {
          const other = request.slice(0, at) + String.fromCharCode(byte) + request.slice(at + 1);
          const { seen } = lastOf([request, request, other]);
          assert.deepEqual(seen, lastOf([other]).seen, JSON.stringify(other));
        }
      }
    });

    it(`do not include an incomplete "${line}"`, () => {
      for (let length = 1; length < request.length; length++) {
        const begun = request.slice(0, length);
        const rest = request.slice(length);
        const { seen } = lastOf([request, request, begun, rest]);
        assert.deepEqual(seen, lastOf([request]).seen, begun);
      }
    });
  }

  it('are stored for requests with content and without at the same time', () => {
    const known = [GET, GET, POST, POST];
    assert(lastOf([...known, GET]).isRecognised);
    assert(lastOf([...known, POST]).isRecognised);
    assert.deepEqual(lastOf([...known, GET]).seen, lastOf([GET]).seen);
    assert.deepEqual(lastOf([...known, POST]).seen, lastOf([POST]).seen);
  });

  const unusual: Readonly<Record<string, string>> = {
    'an absolute target': GET.replace('/grid', 'http://x/grid'),
    'two spaces before the target': GET.replace(' /', '  /'),
    'a line end before the request': `\r\n${GET}`,
    'another version': GET.replace('1.1', '1.0').replace('Host', 'Connection: keep-alive\r\nHost'),
    'a method that is not served': GET.replace('GET', 'PATCH'),
    'content in chunks': `${POST.replace('Content-Length: 3', 'Transfer-Encoding: chunked').slice(0, -3)}0\r\n\r\n`,
    'a head that is too long': GET.replace('Host', `X: ${'x'.repeat(1100)}\r\nHost`),
  };
  for (const [title, request] of Object.entries(unusual)) {
    it(`do not include ${title}`, () => {
      const { seen, isRecognised } = lastOf([request, request, request]);
      assert(!isRecognised);
      assert.deepEqual(seen, lastOf([request]).seen);
    });
  }

  const usual: Readonly<Record<string, string>> = {
    'an expectation': POST.replace('Host', 'Expect: 100-continue\r\nHost'),
    'a coding of the content': POST.replace('Host', 'Content-Encoding: gzip\r\nHost'),
    'an origin': POST.replace('Host', 'Origin: http://x\r\nHost'),
    'a mark of another site': GET.replace('Host', 'Sec-Fetch-Site: cross-site\r\nHost'),
    'a navigation': GET.replace('Host', 'Sec-Fetch-Mode: navigate\r\nHost'),
    'a document to open': GET.replace('Host', 'Upgrade-Insecure-Requests: 1\r\nHost'),
    'a field that is repeated': GET.replace('Host', 'Expect: a\r\nexpect:\r\nOrigin: b\r\nHost'),
  };
  for (const [title, request] of Object.entries(usual)) {
    it(`also include ${title}`, () => {
      const third = request.replace('/k', '/another');
      const { seen, isRecognised } = lastOf([request, request, third]);
      assert(isRecognised);
      assert.deepEqual(seen, lastOf([third]).seen);
    });
  }

  it('also include the mode that programs send', () => {
    const request = GET.replace('Host', 'Sec-Fetch-Mode: cors\r\nHost');
    assert(lastOf([request, request, request]).isRecognised);
  });

  it('do not include a host that is not served', () => {
    const local = GET.replace('x:1', 'localhost');
    const evil = GET.replace('x:1', 'evil');
    const hosts = new ServedHosts([], []);
    const { seen, isRecognised } = lastOf([evil, evil, evil], DEFAULT_LIMITS, hosts);
    assert(!isRecognised);
    assert.equal(seen.unservedHost, 'evil');
    assert(lastOf([local, local, local], DEFAULT_LIMITS, hosts).isRecognised);
  });

  for (const field of ['Origin: http://evil', 'Upgrade-Insecure-Requests: 1']) {
    it(`do not retain the field "${field}" of the previous request`, () => {
      const other = GET.replace('Host', `${field}\r\nHost`);
      const { seen, isRecognised } = lastOf([GET, GET, other, GET]);
      assert(isRecognised);
      assert.deepEqual(seen, lastOf([GET]).seen);
    });
  }

  for (const bytes of [1024, 1025]) {
    it(`${bytes === 1024 ? 'include' : 'do not include'} ${bytes} bytes after the target`, () => {
      const rest = ' HTTP/1.1\r\nHost: x\r\nX: \r\n\r\n';
      const value = 'x'.repeat(bytes - rest.length);
      const request = `GET /${rest.replace('X: ', `X: ${value}`)}`;
      const { seen, isRecognised } = lastOf([request, request, request]);
      assert.equal(isRecognised, bytes === 1024);
      assert.deepEqual(seen, lastOf([request]).seen);
    });
  }

  it('are recognised whatever the first target was, and wherever the next one leaves it', () => {
    const to = (target: string) => GET.replace(/ \S+ /, () => ` ${target} `);
    for (const first of ['/', '/grid?x=1&y', '/gr%69d/rest', `/${'g'.repeat(99)}`]) {
      for (let shared = 1; shared <= first.length; shared++) {
        for (const rest of ['', '/', 'g', 'Z'.repeat(70), '\xff', '%69', '?x', '#', '"', '\t']) {
          const third = to(first.slice(0, shared) + rest);
          const { seen } = lastOf([to(first), to(first), third]);
          assert.deepEqual(seen, lastOf([third]).seen, third);
        }
      }
    }
  });

  it('respect the limit for targets', () => {
    const limits = { ...DEFAULT_LIMITS, targetBytesMax: 80 };
    const to = (bytes: number) => GET.replace(/ \S+ /, ` /${'g'.repeat(bytes - 1)} `);
    const longest = lastOf([GET, GET, to(80)], limits);
    assert(longest.isRecognised);
    assert.equal(longest.seen.texts?.[0]?.length, 80);
    assert.equal(lastOf([GET, GET, to(81)], limits).seen.refusal, TARGET_TOO_LONG);
  });
});
