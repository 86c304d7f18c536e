/** The syntax of the values of header fields. */
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
