/**
 * Random requests of many clients, each with its own names, so that each request has one correct
 * response: that of the embedded engine. Another engine must produce it byte for byte.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { Random } from '../../bench/harness.ts';
import { readResponses } from './response-reader.ts';
import { get, LIVE, post } from './test-client.ts';

const CLIENTS = 16;

/** Returns the requests of each client, in order: `requests` in total. */
export function scriptsOf(seed: number, requests: number): string[][] {
  const random = new Random(seed);
  const length = Math.ceil(requests / CLIENTS);
  return Array.from({ length: CLIENTS }, (_, client) =>
    Array.from({ length }, () => requestOf(random, client)),
  );
}

/** Returns a request with the client's own names. */
function requestOf(random: Random, client: number): string {
  const map = `maps/m${client}`;
  const key = `${map}/${'k'.repeat(1 + random.below(3))}${random.below(6)}`;
  const queue = `queues/q${client}-${random.below(2)}`;
  const body = (): string => 'v'.repeat(random.below(30) === 0 ? 70_000 : random.below(200));
  switch (random.below(12)) {
    case 0:
    case 1:
      return post(key, body().slice(0, 900));
    case 2:
      return get(key).replace('GET', 'HEAD');
    case 3:
      return get(key).replace('GET', 'DELETE');
    case 4:
      return random.below(4) === 0 ? get(map).replace('GET', 'DELETE') : get(key);
    case 5:
      return post(queue, `${random.below(1000)}`);
    case 6:
      return get(`${queue}/${random.below(8) === 0 ? 1 : 0}`).replace('GET', 'DELETE');
    case 7:
      return get(`${queue}/size`);
    case 8:
      return random.below(5) === 0 ? get('maps/%zz/x') : LIVE;
    case 9:
      return get(key).replace(/k(?=\d)/, '%6B');
    default:
      return get(key);
  }
}

/** Returns the received text without Date, which may differ. */
export function dateless(text: string): string {
  return text.replace(/\r\nDate: [^\r]+/g, '');
}

/** Asserts that the clients received equal texts, given without Date. */
export function assertSame(
  texts: readonly string[],
  wanted: readonly string[],
  scripts: readonly (readonly string[])[],
): void {
  for (const [client, text] of texts.entries()) {
    if (text === wanted[client]) continue;
    const isHead = (scripts[client] ?? []).map((request) => request.startsWith('HEAD'));
    const seen = readResponses(text, isHead);
    const other = readResponses(wanted[client] ?? '', isHead);
    const at = other.findIndex((each, index) => !isDeepStrictEqual(each, seen[index]));
    const request = scripts[client]?.[at]?.slice(0, 100);
    assert.deepEqual(seen[at], other[at], `client ${client}, request ${at}: ${request}`);
    assert.equal(seen.length, other.length, `client ${client}`);
  }
}
