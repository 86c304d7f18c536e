/** The header fields that affect a request, and the syntax of their values. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fields from '../../src/http/field-values.ts';

function over<Result>(
  text: string,
  run: (bytes: Buffer, start: number, end: number) => Result,
): Result {
  const bytes = Buffer.from(`<<${text}>>`, 'latin1');
  return run(bytes, 2, bytes.length - 2);
}

describe('fieldOf', () => {
  it('recognises these fields, ignoring case, and no others of the same length', () => {
    assert.equal(over('HoSt', fields.fieldOf), fields.HOST);
    assert.equal(over('EXPECT', fields.fieldOf), fields.EXPECT);
    assert.equal(over('content-type', fields.fieldOf), fields.CONTENT_TYPE);
    assert.equal(over('Content-Length', fields.fieldOf), fields.CONTENT_LENGTH);
    assert.equal(over('Content-Encoding', fields.fieldOf), fields.CONTENT_ENCODING);
    assert.equal(over('Transfer-Encoding', fields.fieldOf), fields.TRANSFER_ENCODING);
    assert.equal(over('ORIGIN', fields.fieldOf), fields.ORIGIN);
    assert.equal(over('Sec-Fetch-Site', fields.fieldOf), fields.SEC_FETCH_SITE);
    assert.equal(over('sec-fetch-mode', fields.fieldOf), fields.SEC_FETCH_MODE);
    const opened = over('Upgrade-Insecure-Requests', fields.fieldOf);
    assert.equal(opened, fields.UPGRADE_INSECURE_REQUESTS);
    const requested = over('Access-Control-Request-Headers', fields.fieldOf);
    assert.equal(requested, fields.ACCESS_CONTROL_REQUEST_HEADERS);
    for (const other of [
      '',
      'origim',
      'sec-fetch-dest',
      'sec-fetch-user',
      'hos',
      'hosts',
      'h0st',
      'content_type',
      'content-lengtH1',
    ]) {
      assert.equal(over(other, fields.fieldOf), fields.OTHER_FIELD, other);
    }
  });
});

describe('isHost', () => {
  it('accepts names, addresses and literals, with and without a port, and the empty value', () => {
    for (const host of [
      '',
      'x',
      'a.b-c_d~e',
      '127.0.0.1:1',
      '[::1]',
      '[::1]:5701',
      'a%20b',
      'x:',
    ]) {
      assert(over(host, fields.isHost), host);
    }
  });

  it('refuses invalid hosts', () => {
    const wrong = [
      'a b',
      'a/b',
      'a,b c',
      'x:y',
      '[::1',
      '[]',
      '::1',
      '[::1]x',
      'a@b',
      'a\x80',
      '"x"',
    ];
    for (const host of wrong) assert(!over(host, fields.isHost), host);
  });
});

describe('trimmedEnd', () => {
  it('excludes all trailing blanks and tabs, within the value', () => {
    assert.equal(over('a \t ', fields.trimmedEnd), 3);
    assert.equal(over(' \t', fields.trimmedEnd), 2);
    assert.equal(over('', fields.trimmedEnd), 2);
  });
});
