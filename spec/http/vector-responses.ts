/** Compares a server's responses with those that a vector expects. */
import assert from 'node:assert/strict';
import { type ReadResponse, readResponses } from './response-reader.ts';
import type { ExpectedResponse } from './vector.ts';

/** Returns the final responses in the text. Some of the requests may be HEAD. */
export function finalResponses(text: string, request: Buffer): ReadResponse[] {
  const methods = [...request.toString('latin1').matchAll(/([A-Z]+) \S+ HTTP\/1/g)];
  const isHead = methods.map(([, method]) => method === 'HEAD');
  return readResponses(text, isHead).filter(({ status }) => status !== 100);
}

/** Throws AssertionError if the responses differ. `how` describes the run. */
export function checkResponses(
  text: string,
  expected: readonly ExpectedResponse[],
  request: Buffer,
  how: string,
): void {
  const responses = finalResponses(text, request);
  const statuses = responses.map(({ status }) => status);
  assert.deepEqual(
    statuses,
    expected.map(({ status }) => status),
    how,
  );
  for (const [index, wanted] of expected.entries()) {
    const seen = responses[index];
    const where = `${how}, response ${index + 1}`;
    assert(seen !== undefined);
    assert(seen.fields.has('date'), `${where}: Date`);
    for (const [name, value] of wanted.fields) {
      assert.equal(seen.fields.get(name), value, `${where}: ${name}`);
    }
    for (const field of wanted.absent) assert(!seen.fields.has(field), `${where}: has ${field}`);
    if (wanted.body !== undefined) assert.equal(seen.body, wanted.body, `${where}: content`);
  }
}
