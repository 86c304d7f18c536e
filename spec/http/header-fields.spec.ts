/** The table of the header fields that are read. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fields from '../../src/http/header-fields.ts';

/** Returns the row of the field with this name, which is in the middle of other bytes. */
function rowOf(name: string): fields.HeaderField | undefined {
  const bytes = Buffer.from(`<<${name}>>`, 'latin1');
  return fields.fieldOf(bytes, 2, bytes.length - 2);
}

describe('fieldOf', () => {
  it('recognises these fields, ignoring case, and no others of the same length', () => {
    assert.equal(rowOf('HoSt'), fields.HOST);
    assert.equal(rowOf('EXPECT'), fields.EXPECT);
    assert.equal(rowOf('content-type'), fields.CONTENT_TYPE);
    assert.equal(rowOf('Content-Length'), fields.CONTENT_LENGTH);
    assert.equal(rowOf('Content-Encoding'), fields.CONTENT_ENCODING);
    assert.equal(rowOf('Transfer-Encoding'), fields.TRANSFER_ENCODING);
    assert.equal(rowOf('ORIGIN'), fields.ORIGIN);
    assert.equal(rowOf('Sec-Fetch-Site'), fields.SEC_FETCH_SITE);
    assert.equal(rowOf('sec-fetch-mode'), fields.SEC_FETCH_MODE);
    assert.equal(rowOf('Authorization'), fields.AUTHORIZATION);
    assert.equal(rowOf('PROXY-connection'), fields.PROXY_CONNECTION);
    const opened = rowOf('Upgrade-Insecure-Requests');
    assert.equal(opened, fields.UPGRADE_INSECURE_REQUESTS);
    const requested = rowOf('Access-Control-Request-Headers');
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
      assert.equal(rowOf(other), undefined, other);
    }
  });
});
