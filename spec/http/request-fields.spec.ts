/**
 * Covers src/http/request.ts and src/surface/page-fields.ts. The stored header fields of a request:
 * split at every byte, in a repeated head, retained by a request that outlives its turn, and in
 * large numbers. The input is overwritten once it has been read.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Body } from '../../src/http/body.ts';
import * as header from '../../src/http/header-fields.ts';
import { InFlightBudget } from '../../src/http/in-flight.ts';
import { llhttp } from '../../src/http/llhttp.ts';
import { AT_HEAD, AT_REFUSAL, AT_REQUEST, RequestParser } from '../../src/http/parser.ts';
import { AUTHORIZATION_REPEATED, CONTENT_TYPE_REPEATED } from '../../src/http/read-failures.ts';
import { RequestHead } from '../../src/http/request-head.ts';
import { NO_PLACE, Places } from '../../src/http/retained-bytes.ts';
import { pageFieldsOf } from '../../src/surface/page-fields.ts';
import { DEFAULT_LIMITS } from './default-limits.ts';

const { AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HOST, ORIGIN } = header;
const SPOILT = Buffer.alloc(4096, '#');

/** Parses the pieces into `request`, and returns the parser. The input is overwritten at the end. */
function parse(pieces: readonly string[], head: RequestHead, parser = newParser(head)) {
  let reached = 0;
  for (const piece of pieces) {
    const chunk = Buffer.from(piece, 'latin1');
    parser.load(chunk, chunk.length);
    do reached = parser.next();
    while (reached === AT_HEAD);
    if (piece !== pieces.at(-1)) spoil(chunk);
  }
  return { reached, parser };
}

/** Overwrites a chunk, and the input area that all parsers share. */
function spoil(chunk: Buffer): void {
  chunk.fill('#');
  llhttp().load(undefined, SPOILT, 0, SPOILT.length);
}

function newParser(head: RequestHead): RequestParser {
  const parser = new RequestParser({ ...DEFAULT_LIMITS, headerBytesMax: 60_000 });
  parser.use(head, new Body(1000, new InFlightBudget(1e9)));
  return parser;
}

/** Returns all that handlers may read of the fields. */
function fieldsOf(head: RequestHead) {
  const fields: Record<string, unknown> = {};
  for (const row of [AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HOST, ORIGIN]) {
    fields[String(row.name)] = {
      has: head.has(row),
      isRepeated: head.isRepeated(row),
      first: head.field(row).toBuffer().toString('latin1'),
      text: head.fieldText(row),
    };
  }
  return { fields, page: pageFieldsOf(head) };
}

function get(fieldLines: string, target = '/k'): string {
  return `GET ${target} HTTP/1.1\r\nHost: here\r\n${fieldLines}\r\n\r\n`;
}

function parsed(text: string): RequestHead {
  const head = new RequestHead();
  assert.equal(parse([text], head).reached, AT_REQUEST);
  return head;
}

const KINDS: Readonly<Record<string, string>> = {
  'a field that may not be repeated': get('Content-Type: a/b \t'),
  'a field with an empty value': get('Content-Type:'),
  'several such fields': get('AUTHORIZATION: Basic YTpi\r\nX: y\r\nContent-type:a/b'),
  'a list in two fields': get('Expect: 100-continue\r\nA: b\r\nexpect: \t more'),
  "a page's fields": get('Origin: http://here\r\nSec-Fetch-Site: same-site'),
  "a page's fields and an authority": get('Origin: http://here', 'http://there:1/k'),
  'fields of all kinds': get(
    'Origin: a\r\nContent-Encoding: b\r\nOrigin: c\r\nAuthorization: d\r\nContent-Encoding: e, f',
  ),
  'no stored field': get('Accept-Language: *'),
};

describe('stored fields', () => {
  for (const [title, text] of Object.entries(KINDS)) {
    it(`are the same at every split: ${title}`, () => {
      const whole = fieldsOf(parsed(text));
      for (let at = 1; at < text.length; at++) {
        const head = new RequestHead();
        const { reached } = parse([text.slice(0, at), text.slice(at)], head);
        assert.equal(reached, AT_REQUEST);
        assert.deepEqual(fieldsOf(head), whole, `split at ${at}`);
      }
      const head = new RequestHead();
      parse([...text], head);
      assert.deepEqual(fieldsOf(head), whole, 'byte by byte');
    });

    it(`are the same in a repeated head: ${title}`, () => {
      const head = new RequestHead();
      const third = text.replace('/k ', '/another ');
      parse([text, text, third], head);
      assert.deepEqual(fieldsOf(head), fieldsOf(parsed(third)));
      assert.equal(head.target.toBuffer().toString(), '/another');
    });

    for (const length of [0, 500]) {
      it(`outlive the turn once they are retained, with ${length} bytes more: ${title}`, () => {
        const long = text.replace('Host', `Content-Encoding: ${'z'.repeat(length)}\r\nHost`);
        const head = parsed(long);
        const before = fieldsOf(head);
        const retainer = { place: NO_PLACE, longBytes: undefined };
        const places = new Places(2);
        places.begin(retainer, head.headBytes);
        head.retainHead(places);
        spoil(Buffer.alloc(0));
        assert.deepEqual(fieldsOf(head), before);
      });
    }
  }

  it('have their values, first and joined', () => {
    const { fields, page } = fieldsOf(parsed(KINDS['fields of all kinds']!));
    assert.deepEqual(fields['content-encoding'], {
      has: true,
      isRepeated: true,
      first: 'b',
      text: 'b, e, f',
    });
    assert.deepEqual(fields['content-type'], {
      has: false,
      isRepeated: false,
      first: '',
      text: '',
    });
    assert.deepEqual([page?.origin, page?.host], ['(invalid)', 'here']);
    const absolute = parsed(KINDS["a page's fields and an authority"]!);
    assert.equal(pageFieldsOf(absolute)?.host, 'there:1');
  });

  it('have no bits, and no host, if none of them is present', () => {
    const head = parsed(KINDS['no stored field']!);
    assert.deepEqual([head.fieldBits, head.has(HOST)], [0, false]);
    assert.equal(pageFieldsOf(parsed(get('Sec-Fetch-Mode: cors'))), undefined);
  });

  for (const [name, failure] of [
    ['Content-Type', CONTENT_TYPE_REPEATED],
    ['Authorization', AUTHORIZATION_REPEATED],
  ] as const) {
    it(`include ${name} at most once, even if it is empty`, () => {
      const text = get(`${name}:\r\nA: b\r\n${name}: x`);
      for (let at = 1; at < text.length; at++) {
        const pieces = [text.slice(0, at), text.slice(at)];
        const { reached, parser } = parse(pieces, new RequestHead());
        assert.deepEqual([reached, parser.refusal], [AT_REFUSAL, failure], `split at ${at}`);
      }
    });
  }

  it('of one request are not those of the next', () => {
    const head = new RequestHead();
    const { parser } = parse([KINDS['fields of all kinds']!], head);
    parse([KINDS['no stored field']!], head, parser);
    assert.deepEqual(fieldsOf(head), fieldsOf(parsed(KINDS['no stored field']!)));
  });
});

describe('thousands of occurrences of a field', () => {
  const COUNT = 5000;
  const text = get(Array.from({ length: COUNT }, (_, at) => `Origin:${at % 10}`).join('\r\n'));

  for (const pieceBytes of [text.length, 1000]) {
    it(`are all stored, in their order, from pieces of ${pieceBytes} bytes`, () => {
      const pieces: string[] = [];
      for (let at = 0; at < text.length; at += pieceBytes)
        pieces.push(text.slice(at, at + pieceBytes));
      const head = new RequestHead();
      const { reached } = parse(pieces, head);
      assert.equal(reached, AT_REQUEST);
      const values = Array.from({ length: COUNT }, (_, at) => String(at % 10));
      assert.equal(head.fieldText(ORIGIN), values.join(', '));
      assert.equal(pageFieldsOf(head)?.origin, '(invalid)');
    });
  }

  it('count in the memory of the head, which is released with it', () => {
    const head = parsed(text);
    const array = head.occurrenceBytes;
    assert(array >= 3 * 8 * COUNT, `${array} bytes`);
    assert.equal(head.headBytes, '/k'.length + COUNT + 'here'.length + array);
    head.releaseHead();
    assert.deepEqual([head.occurrenceBytes, head.fieldBits, head.headBytes], [0, 0, 0]);
  });

  it('count in the memory of a head that is received in part', () => {
    const head = new RequestHead();
    const { parser } = parse([text.slice(0, -4)], head);
    assert(parser.heldBytes >= head.occurrenceBytes + 4000);
  });
});
