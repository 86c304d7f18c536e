/**
 * Reads exchanges from the tables in spec/vectors/compatibility (its README describes the format):
 * the request of a client, the response of the original member, and gridnode's response if it
 * differs.
 */
import { readFileSync } from 'node:fs';
import { readBytes } from '../http/vector.ts';

export interface Exchange {
  /** The request's cell in the table, with one of its alternatives. */
  readonly title: string;
  /** Requests to send together on one connection. */
  readonly request: Buffer;
  /** Whether the request is a HEAD, by request. */
  readonly isHead: readonly boolean[];
  /** The original's response, as in the table. */
  readonly original: string;
  /** Gridnode's response, as in the table; empty if it is equal. */
  readonly ours: string;
  readonly expected: Expectation;
  /** Reasons for the difference. */
  readonly reasons: readonly string[];
}

export interface Expectation {
  readonly responses: readonly ExpectedResponse[];
  /** Whether the connection ends after the last response. */
  readonly closes: boolean;
}

export interface ExpectedResponse {
  readonly status: number;
  /** All fields except Date, Connection and Content-Length; names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  /** Matches the content, one character per byte. */
  readonly content: RegExp;
}

/** Returns the exchanges of a Markdown file, in its order; a row may yield several. */
export function readExchanges(path: string): Exchange[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const rows = lines.filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => {
    const cells = row.split('|').map((cell) => cell.trim());
    const [, request = '', original = '', ours = '', why = ''] = cells;
    if (cells.length !== 6) throw new SyntaxError(`Cannot read row ${row}: not of four columns`);
    return alternatives(request).map((title) => ({
      title,
      original,
      ours,
      ...readRequests(title),
      expected: readExpectation(ours || original),
      reasons: why === '' ? [] : why.split(', '),
    }));
  });
}

/** Expands `{a,b}` in the first span to one cell with `a` and one with `b`. */
function alternatives(cell: string): string[] {
  const found = /^(`[^`{]*)\{([^{}`]*,[^{}`]*)\}(.*)$/.exec(cell);
  if (found === null) return [cell];
  const [, before = '', names = '', after = ''] = found;
  return names.split(',').flatMap((name) => alternatives(`${before}${name}${after}`));
}

function readRequests(cell: string): { request: Buffer; isHead: boolean[] } {
  const texts = cell.split(' then ').map((each) => requestText(spansOf(each)));
  return {
    request: Buffer.concat(texts),
    isHead: texts.map((text) => text.subarray(0, 5).toString() === 'HEAD '),
  };
}

function requestText([line = '', ...spans]: readonly string[]): Buffer {
  const [method, target = '', version = 'HTTP/1.1'] = line.split(' ');
  const isWhole = target.startsWith('/') || target.startsWith('http:');
  const { fields, content } = readSpans(spans);
  const bytes = readBytes(content ?? '');
  const isFramed = fields.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  if (content !== undefined && !isFramed) fields.push(['Content-Length', ` ${bytes.length}`]);
  const head = [
    `${method} ${isWhole ? target : `/hazelcast/${target}`} ${version}`,
    'Host: 127.0.0.1',
    ...fields.map(([name, value]) => `${name}:${value}`),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

function readExpectation(cell: string): Expectation {
  const closes = /(^| )closed$/.test(cell);
  const cells = cell.replace(/ ?closed$/, '');
  const responses = cells === '' ? [] : cells.split(' then ').map(readResponse);
  return { responses, closes };
}

function readResponse(text: string): ExpectedResponse {
  if (!/^\d{3}( `|$)/.test(text)) throw new SyntaxError(`Cannot read response ${text}: no status`);
  const { fields, content } = readSpans(spansOf(text));
  return {
    status: Number(text.slice(0, 3)),
    fields: new Map(fields.map(([name, value]) => [name.toLowerCase(), value.trim()])),
    content: new RegExp(`^${patternOf(content ?? '')}$`, 's'),
  };
}

const TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  text: 'text/plain',
  form: 'application/x-www-form-urlencoded',
};

function readSpans(spans: readonly string[]): { fields: [string, string][]; content?: string } {
  const fields: [string, string][] = [];
  let content: string | undefined;
  for (const span of spans) {
    const typed = /^(json|text|form|=)(?: (.*))?$/s.exec(span);
    if (typed === null) {
      const at = span.indexOf(':');
      fields.push([span.slice(0, at), span.slice(at + 1)]);
      continue;
    }
    const type = TYPES[typed[1] ?? ''];
    if (type !== undefined) fields.push(['Content-Type', ` ${type}`]);
    content = typed[2] ?? '';
  }
  return content === undefined ? { fields } : { fields, content };
}

function spansOf(cell: string): string[] {
  return [...cell.matchAll(/`([^`]*)`/g)].map(([, span = '']) => span);
}

/** Returns a pattern of the text, in which `…` matches any text and `{uuid}` a UUID. */
export function patternOf(text: string): string {
  return text
    .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    .replaceAll('…', '.*')
    .replaceAll('\\{uuid\\}', '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}');
}
