/**
 * Parses requests literally by RFC 9112, and stops where the standard is unclear: these are the
 * requests that every reader of the bytes must find. Slow and simple; the fuzzer compares the
 * server's parser with it.
 */

export interface ReadRequest {
  readonly method: string;
  /** The target, without scheme and authority except for CONNECT. */
  readonly target: string;
  /**
   * One character per byte; undefined if the body is incomplete or not framed as the standard
   * requires.
   */
  readonly body: string | undefined;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const FIELD = new RegExp(`(${TOKEN}):[ \\t]*([\\t -~\\x80-\\xff]*?)[ \\t]*\\r\\n`, 'y');
/** The target may have raw bytes, which the server treats as their escapes. */
const REQUEST_LINE = new RegExp(`(${TOKEN}) ([!-~\\x80-\\xff]+) HTTP/\\d\\.\\d\\r\\n`, 'y');
const QUOTED = '"(?:[\\t !#-\\[\\]-\\xff]|\\\\[\\t -\\xff])*"';
/** Extensions are accepted in any form that leaves the end of their line unambiguous. */
const CHUNK_LINE = new RegExp(
  `([0-9A-Fa-f]+)(?:;(?:[=!#$%&'*+\\-.^_\`|~0-9A-Za-z]|${QUOTED})*)*\\r\\n`,
  'y',
);

/** Returns all requests that begin in the text, one character per byte, up to the first unclear one. */
export function readRequests(text: string): ReadRequest[] {
  const requests: ReadRequest[] = [];
  for (let at = skipLineEnds(text, 0); at < text.length; at = skipLineEnds(text, at)) {
    const line = matchAt(REQUEST_LINE, text, at);
    if (line === undefined) return requests;
    const [, method = '', target = ''] = line;
    const fields = readFields(text, at + line[0].length);
    if (fields === undefined) return requests;
    const content = readContent(text, fields);
    requests.push({
      method,
      target: method === 'CONNECT' ? target : originForm(target),
      body: content?.body,
    });
    if (content === undefined) return requests;
    at = content.end;
  }
  return requests;
}

interface Fields {
  /** Values by lower-case name. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly end: number;
}

function readFields(text: string, start: number): Fields | undefined {
  const values = new Map<string, string[]>();
  for (let at = start; ; ) {
    if (text.startsWith('\r\n', at)) return { values, end: at + 2 };
    const field = matchAt(FIELD, text, at);
    if (field === undefined) return undefined;
    const [whole, name = '', value = ''] = field;
    const key = name.toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value]);
    at += whole.length;
  }
}

function readContent(text: string, fields: Fields): { body: string; end: number } | undefined {
  const codings = fields.values.get('transfer-encoding');
  const lengths = fields.values.get('content-length');
  if (codings === undefined) {
    const [digits = '0', second] = lengths ?? [];
    if (second !== undefined || !/^\d+$/.test(digits)) return undefined;
    const end = fields.end + Number(digits);
    return end > text.length ? undefined : { body: text.slice(fields.end, end), end };
  }
  if (lengths !== undefined || codings.length > 1) return undefined;
  return codings[0]?.toLowerCase() === 'chunked' ? readChunks(text, fields.end) : undefined;
}

function readChunks(text: string, start: number): { body: string; end: number } | undefined {
  let body = '';
  for (let at = start; ; ) {
    const line = matchAt(CHUNK_LINE, text, at);
    if (line === undefined) return undefined;
    at += line[0].length;
    const size = Number.parseInt(line[1] ?? '', 16);
    if (size === 0) {
      const trailers = readFields(text, at);
      const frames =
        trailers?.values.has('content-length') || trailers?.values.has('transfer-encoding');
      return trailers === undefined || frames ? undefined : { body, end: trailers.end };
    }
    if (!text.startsWith('\r\n', at + size)) return undefined;
    body += text.slice(at, at + size);
    at += size + 2;
  }
}

function originForm(target: string): string {
  const [, authority, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(target) ?? [];
  return authority === undefined ? target : rest || '/';
}

function skipLineEnds(text: string, start: number): number {
  let at = start;
  while (text[at] === '\r' || text[at] === '\n') at++;
  return at;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
