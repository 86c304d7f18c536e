/**
 * Covers src/member/routes.ts and src/surface/dialect.ts. Sends recorded requests to an
 * original member to this member with `--compatibility hazelcast`. Every response equals the
 * recorded one, or differs for a reason listed in spec/vectors/compatibility/README.md.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DEFAULT_LIMITS } from '../http/default-limits.ts';
import { FakeCarrier } from '../http/fake-carrier.ts';
import { type ReadResponse, readResponses } from '../http/response-reader.ts';
import type { TestServer } from '../http/test-server.ts';
import { type Exchange, type ExpectedResponse, readExchanges } from './exchange-table.ts';
import { assertDescribed, restMember } from './rest-member.ts';

const FOLDER = new URL('../vectors/compatibility/', import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name !== 'README.md');

/**
 * Fields of every response that are not compared: their values do not depend on the request, and
 * the reader has checked them.
 */
const FRAMING = ['date', 'content-length', 'connection'];

/** The first request of an exchange. */
const FIRST = /^(\S+) \/hazelcast\/(\S*) HTTP/;

for (const name of FILES) {
  test(`a member with --compatibility hazelcast responds as recorded in ${name}`, async () => {
    const member = startMember();
    const differences: string[] = [];
    for (const exchange of exchangesOf(name)) {
      const difference = await replay(member, exchange);
      if (difference !== undefined) differences.push(`${exchange.title}\n  ${difference}`);
    }
    assert.deepEqual(differences, []);
    assert.deepEqual(member.failures, []);
  });
}

test('every difference has a reason, and every reason causes a difference', () => {
  const used = new Set<string>();
  for (const { title, original, ours, reasons } of FILES.flatMap(exchangesOf)) {
    assert.equal(reasons.length > 0, ours !== '', title);
    assert.notEqual(ours, original, title);
    for (const reason of reasons) used.add(reason);
  }
  const text = readFileSync(new URL('README.md', FOLDER), 'utf8');
  const listed = [...text.matchAll(/^- \*\*([a-z ]+)\*\*:/gm)].map(([, reason = '']) => reason);
  assert.deepEqual([...used].sort(), listed.sort());
});

function exchangesOf(name: string): Exchange[] {
  return readExchanges(new URL(name, FOLDER).pathname);
}

function startMember(): TestServer {
  const services = { instanceName: () => 'inst' };
  return restMember({ compatibility: 'hazelcast', services, limits: DEFAULT_LIMITS });
}

/** Returns the differences; undefined if the responses are equal. */
async function replay(member: TestServer, exchange: Exchange): Promise<string | undefined> {
  const socket = new FakeCarrier();
  const connection = member.connect(socket);
  socket.receive(exchange.request);
  await nextTurn();
  if (member.stops.length > 0) {
    member.server.drainedMs = member.clock.now();
    connection.drain(false);
    // Its next response would announce the end of the connection.
    member.clock.advance(1000);
  }
  if (socket.text === '' && !socket.writableEnded) member.clock.advance(1000);
  const all = readResponses(socket.text, exchange.isHead);
  const responses = all.filter(({ status }) => status !== 100);
  const [, method = '', path = ''] = FIRST.exec(exchange.request.toString('latin1')) ?? [];
  const [first] = responses;
  if (first !== undefined) assertDescribed('hazelcast', method, path, first);
  const { responses: expected, closes } = exchange.expected;
  const isAsExpected =
    socket.writableEnded === closes &&
    responses.length === expected.length &&
    responses.every((response, index) => matches(response, expected[index]));
  if (!isAsExpected) {
    const end = socket.writableEnded ? ' closed' : '';
    return `answered ${responses.map(describe).join(' then ')}${end}`;
  }
  return undefined;
}

function matches(response: ReadResponse, expected: ExpectedResponse | undefined): boolean {
  if (expected === undefined) return false;
  const fields = [...response.fields].filter(([name]) => !FRAMING.includes(name));
  return (
    response.status === expected.status &&
    fields.length === expected.fields.size &&
    fields.every(([name, value]) => expected.fields.get(name) === value) &&
    expected.content.test(response.body)
  );
}

function describe({ status, fields, body }: ReadResponse): string {
  const compared = [...fields].filter(([name]) => !FRAMING.includes(name));
  return [status, ...compared.map((field) => `\`${field.join(': ')}\``), `\`= ${body}\``].join(' ');
}
