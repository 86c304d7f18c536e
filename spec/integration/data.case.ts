/**
 * Cases of maps and queues for a complete member in this process, over real sockets, with any
 * engine.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RawClient, requestBytes } from './client.ts';

const MEBIBYTE = 1048576;
/** Number of turns that is enough for a loop that handles a thousand sockets a turn. */
const TURNS = 10;

/** The part of a member's class that the cases use. */
export interface ServedMember {
  readonly port: number;
  drain(): Promise<unknown>;
}

let member: ServedMember;

/** Declares the cases. `open` starts a separate member with group DATA. */
export function dataCases(name: string, open: () => Promise<ServedMember>): void {
  describe(`${name}: maps and queues over HTTP`, () => {
    before(async () => {
      member = await open();
    });

    after(() => member.drain());

    mapCases();
    lineCases();
    queueCases();
  });
}

function mapCases(): void {
  it('a map returns a value byte for byte, with its content type', async () => {
    const client = new RawClient(member.port);
    const entries: [string, Buffer, string][] = [
      ['name%2Fwith%40all.of', Buffer.from('v'), 'text/plain'],
      ['empty', Buffer.alloc(0), 'application/x-nothing'],
      ['without-type', Buffer.from([0, 255, 13, 10]), ''],
      ['k'.repeat(6000), Buffer.from('long key'), 'text/plain; charset=UTF-8'],
      ['large', randomBytes(4 * MEBIBYTE), 'application/octet-stream'],
      ['copied', randomBytes(65536), 'a/b'],
      ['pinned', randomBytes(65537), 'a/b'],
    ];
    for (const [key, value, contentType] of entries) {
      const set = await client.request('POST', `maps/m/${key}`, value, contentType);
      assert.equal(set.status, 200, key.slice(0, 20));
    }
    for (const [key, value, contentType] of entries) {
      const got = await client.request('GET', `maps/m/${key}`);
      assert.equal(got.status, 200, key.slice(0, 20));
      assert(got.body.equals(value), `value of ${key.slice(0, 20)}`);
      assert.equal(got.fields.get('content-type') ?? '', contentType);
    }
    client.destroy();
  });

  it('a map stores a value that arrives in many chunks', async () => {
    const client = new RawClient(member.port);
    const value = randomBytes(MEBIBYTE);
    client.send(
      'POST /grid/rest/maps/m/chunked HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    for (let at = 0; at < value.length; at += 10_000) {
      const chunk = value.subarray(at, at + 10_000);
      client.send(`${chunk.length.toString(16)}\r\n`);
      client.send(chunk);
      client.send('\r\n');
    }
    client.send('0\r\n\r\n');
    assert.equal((await client.response())?.status, 200);
    assert((await client.request('GET', 'maps/m/chunked')).body.equals(value));
    client.destroy();
  });
}

function lineCases(): void {
  const COUNT = 10_000;
  const KEYS = 10;

  /** Sends lines and returns those of the response. */
  const ask = async (
    path: string,
    lines: readonly object[],
  ): Promise<Record<string, unknown>[]> => {
    const client = new RawClient(member.port);
    const content = Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'));
    const { status, body } = await client.request('POST', `v1/maps/${path}`, content);
    client.destroy();
    assert.equal(status, 200);
    const results = body.toString().split('\n').slice(0, -1);
    assert.equal(results.length, lines.length);
    return results.map((line) => JSON.parse(line));
  };
  const additions = (count: number): object[] =>
    Array.from({ length: count }, (_, index) => ({ op: 'add', key: `n${index % KEYS}` }));
  const sumsOf = async (map: string): Promise<unknown[]> => {
    const keys = Array.from({ length: KEYS }, (_, index) => ({ key: `n${index}` }));
    return (await ask(`${map}/lookup`, keys)).map(({ value }) => value);
  };

  it('the lines of several bulk requests are each done once, in order', async () => {
    const sent = additions(COUNT);
    const all = await Promise.all([1, 2, 3].map(() => ask('sums/bulk', sent)));
    for (const results of all) {
      const last = new Map<number, number>();
      for (const [index, { status, value }] of results.entries()) {
        const sum = Number(value);
        assert(status === 200 && sum > (last.get(index % KEYS) ?? 0), `line ${index}: ${sum}`);
        last.set(index % KEYS, sum);
      }
    }
    const sums = await sumsOf('sums');
    assert.deepEqual(new Set(sums), new Set([`${(3 * COUNT) / KEYS}`]));
  });

  it('the lines of a bulk request are done after its client has disconnected', async () => {
    const client = new RawClient(member.port);
    const content = additions(COUNT).map((line) => JSON.stringify(line));
    client.send(requestBytes('POST', 'v1/maps/left/bulk', Buffer.from(content.join('\n'))));
    while (client.socket.writableLength > 0) await nextTurn();
    await arrived();
    client.destroy();
    for (const wanted = `${COUNT / KEYS}`; ; await nextTurn()) {
      const sums = await sumsOf('left');
      if (sums.every((sum) => sum === wanted)) break;
    }
  });

  it('a lookup has all values, long and short, in order', async () => {
    const lengthOf = (index: number): number => (index % 20 === 7 ? 12_000 : index % 60);
    const lines = Array.from({ length: 300 }, (_, index) => {
      return { op: 'set', key: `k${index}`, value: 'v'.repeat(lengthOf(index)) };
    });
    for (let from = 0; from < lines.length; from += 100)
      await ask('lengths/bulk', lines.slice(from, from + 100));
    const found = await ask('lengths/lookup', [
      ...lines.map(({ key }) => ({ key })),
      { key: 'no' },
    ]);
    assert.deepEqual(found.pop(), { key: 'no', absent: true });
    for (const [index, { key, length, value }] of found.entries()) {
      assert.deepEqual([key, length, String(value).length], [`k${index}`, length, length]);
      assert.equal(length, lengthOf(index));
    }
  });
}

function queueCases(): void {
  it('queues deliver each of 500 items once, in order per queue, to 500 waiting polls', async () => {
    const queues = 50;
    const each = 10;
    const pollers = await Promise.all(Array.from({ length: queues * each }, connected));
    const offerer = new RawClient(member.port);
    const delivered: Promise<string>[][] = Array.from({ length: queues }, () => []);
    for (const [index, poller] of pollers.entries()) {
      const response = poller.request('DELETE', `queues/many-${index % queues}/60`);
      delivered[index % queues]?.push(response.then(({ body }) => body.toString()));
    }
    await arrived();
    for (let item = 0; item < each; item++) {
      for (let queue = 0; queue < queues; queue++) {
        offerer.send(requestBytes('POST', `queues/many-${queue}`, Buffer.from(`${queue}:${item}`)));
      }
    }
    for (const [queue, responses] of delivered.entries()) {
      const items = await Promise.all(responses);
      const wanted = Array.from({ length: each }, (_, item) => `${queue}:${item}`);
      assert.deepEqual(items.toSorted(), wanted, `queue ${queue}: each item exactly once`);
    }
    for (const client of [...pollers, offerer]) client.destroy();
  });

  it('queues serve the polls of a queue in the order of arrival', async () => {
    const pollers = await Promise.all(Array.from({ length: 50 }, connected));
    const responses: Promise<string>[] = [];
    for (const poller of pollers) {
      responses.push(
        poller.request('DELETE', 'queues/fair/60').then(({ body }) => body.toString()),
      );
      await arrived();
    }
    const offerer = new RawClient(member.port);
    for (let item = 0; item < 50; item++) {
      await offerer.request('POST', 'queues/fair', Buffer.from(String(item)));
    }
    assert.deepEqual(
      await Promise.all(responses),
      Array.from({ length: 50 }, (_, item) => `${item}`),
    );
    for (const client of [...pollers, offerer]) client.destroy();
  });

  it('queues keep the item if the client of a waiting poll has disconnected', async () => {
    const [gone, offerer] = [await connected(), await connected()];
    gone.send(requestBytes('DELETE', 'queues/gone/60'));
    await arrived();
    gone.destroy();
    await offerer.request('POST', 'queues/gone', Buffer.from('item'));
    const next = await offerer.request('DELETE', 'queues/gone/5');
    assert.equal(next.body.toString(), 'item');
    offerer.destroy();
  });

  it('queues add 1,000 pipelined offers in the order sent', async () => {
    const client = new RawClient(member.port);
    const offers = Array.from({ length: 1000 }, (_, item) =>
      requestBytes('POST', 'queues/pipelined', Buffer.from(String(item))),
    );
    client.send(Buffer.concat(offers));
    for (const _ of offers) assert.equal((await client.response())?.status, 200);
    for (let item = 0; item < 1000; item++) {
      const polled = await client.request('DELETE', 'queues/pipelined/0');
      assert.equal(polled.body.toString(), String(item));
    }
    client.destroy();
  });

  it('queues delay the requests pipelined after a poll, but no other client', async () => {
    const [client, other] = [await connected(), await connected()];
    client.send(requestBytes('DELETE', 'queues/behind/60'));
    for (let get = 0; get < 3; get++) client.send(requestBytes('GET', `maps/behind/${get}`));
    await arrived();
    for (let key = 0; key < 3; key++) {
      await other.request('POST', `maps/behind/${key}`, Buffer.from(`value ${key}`));
    }
    await other.request('POST', 'queues/behind', Buffer.from('item'));
    const bodies: string[] = [];
    for (let count = 0; count < 4; count++) {
      bodies.push((await client.response())?.body.toString() ?? '');
    }
    assert.deepEqual(bodies, ['item', 'value 0', 'value 1', 'value 2']);
    for (const each of [client, other]) each.destroy();
  });
}

/** Returns a client whose connection the member has accepted. */
async function connected(): Promise<RawClient> {
  const client = new RawClient(member.port);
  await client.request('GET', 'instance');
  return client;
}

/**
 * Waits until the member has read all bytes written so far. Both ends are in this process, so
 * written bytes are in the member's sockets at once, and the member reads them within TURNS turns.
 */
async function arrived(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await nextTurn();
}
