/** Parses responses as a client must (RFC 9112 section 6), and refuses bytes that are not a response. */
import assert from 'node:assert';

export interface ReadResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  /** One character per byte. */
  readonly body: string;
}

/**
 * Returns all responses in the text, up to an incomplete stream. `isHead`: for each final one, whether it
 * responds to HEAD.
 */
export function readResponses(text: string, isHead: readonly boolean[] = []): ReadResponse[] {
  const responses: ReadResponse[] = [];
  let finals = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end < 0) assert.fail(`no end of head in ${JSON.stringify(text.slice(at))}`);
    const [line = '', ...rest] = text.slice(at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Za-z -]+$/.exec(line)?.[1]);
    assert(status >= 100, `status line ${JSON.stringify(line)}`);
    const fields = new Map(rest.map((field) => splitField(field)));
    assert.equal(fields.size, rest.length, `a duplicate field in ${rest.join(' | ')}`);
    const bodiless = status < 200 || status === 204 || status === 304;
    if (fields.get('transfer-encoding') === 'chunked') {
      const stream = isHead[finals] ? { body: '', end: end + 4 } : readChunks(text, end + 4);
      if (stream === undefined) return responses;
      responses.push({ status, fields, body: stream.body });
      at = stream.end;
      finals++;
      continue;
    }
    assert.equal(fields.has('content-length'), !bodiless, `framing of ${status}`);
    const length = bodiless || isHead[finals] ? 0 : Number(fields.get('content-length'));
    at = end + 4;
    assert(at + length <= text.length, `${text.length - at} of ${length} bytes of content`);
    responses.push({ status, fields, body: text.slice(at, at + length) });
    at += length;
    if (status >= 200) finals++;
  }
  return responses;
}

/** Returns chunked content and its end; undefined if it is incomplete. */
function readChunks(text: string, start: number): { body: string; end: number } | undefined {
  let body = '';
  for (let at = start; ; ) {
    const [line, digits = ''] = /^([0-9a-f]+)\r\n/.exec(text.slice(at, at + 10)) ?? [];
    if (line === undefined) {
      assert.equal(text.indexOf('\r\n', at), -1, `chunk size ${text.slice(at, at + 10)}`);
      return undefined;
    }
    const length = Number.parseInt(digits, 16);
    const from = at + line.length;
    if (text.length < from + length + 2) return undefined;
    assert.equal(text.slice(from + length, from + length + 2), '\r\n');
    at = from + length + 2;
    if (length === 0) return { body, end: at };
    body += text.slice(from, from + length);
  }
}

function splitField(field: string): [string, string] {
  const at = field.indexOf(': ');
  assert(at > 0, `field line ${JSON.stringify(field)}`);
  return [field.slice(0, at).toLowerCase(), field.slice(at + 2)];
}
