/** The table of the header fields that are read. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fields from '../../src/http/header-fields.ts';

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
    assert.equal(over('Authorization', fields.fieldOf), fields.AUTHORIZATION);
    assert.equal(over('PROXY-connection', fields.fieldOf), fields.PROXY_CONNECTION);
    const opened = over('Upgrade-Insecure-Requests', fields.fieldOf);
    assert.equal(opened, fields.UPGRADE_INSECURE_REQUESTS);
    const requested = over('Access-Control-Request-Headers', fields.fieldOf);
    assert.equal(requested, fields.ACCESS_CONTROL_REQUEST_HEADERS);
    for (const other of [
      '',
      'x'.repeat(31),
      'x'.repeat(1000),
      'origim',
      'sec-fetch-dest',
      'sec-fetch-user',
      'hos',
      'hosts',
      'h0st',
      'content_type',
      'content-lengtH1',
    ]) {
      assert.equal(over(other, fields.fieldOf), undefined, other);
    }
  });
});
