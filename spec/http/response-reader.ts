/** Parses responses as a client must (RFC 9112 section 6), and refuses bytes that are not a response. */
import assert from 'node:assert';

export interface ReadResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  /** One character per byte. */
  readonly body: string;
}

/** Returns all responses in the text. `isHead`: for each final one, whether it responds to HEAD. */
export function readResponses(text: string, isHead: readonly boolean[] = []): ReadResponse[] {
  const responses: ReadResponse[] = [];
  let finals = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end < 0) assert.fail(`no end of head in ${JSON.stringify(text.slice(at))}`);
    const [line = '', ...rest] = text.slice(at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Za-z ]+$/.exec(line)?.[1]);
    assert(status >= 100, `status line ${JSON.stringify(line)}`);
    const fields = new Map(rest.map((field) => splitField(field)));
    assert.equal(fields.size, rest.length, `a duplicate field in ${rest.join(' | ')}`);
    const bodiless = status < 200 || status === 204 || status === 304;
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

function splitField(field: string): [string, string] {
  const at = field.indexOf(': ');
  assert(at > 0, `field line ${JSON.stringify(field)}`);
  return [field.slice(0, at).toLowerCase(), field.slice(at + 2)];
}
