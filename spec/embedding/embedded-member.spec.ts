/** A member in the process of another program: maps, queues, their errors, and its shutdown. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import {
  type EmbeddedMember,
  type MemberOptions,
  type StoredValue,
  startMember,
} from '../../src/index.ts';
import { FORMS, StoredValue as ReadValue } from '../../src/local/local-values.ts';
import { DirectoryLock } from '../../src/persistence/directory-lock.ts';
import { RawClient } from '../integration/client.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';
import { countTimers } from '../timer-count.ts';
import { comeAndGone } from './start-and-stop.ts';

const members: EmbeddedMember[] = [];
const directories: string[] = [];

afterEach(async () => {
  for (const member of members.splice(0)) await member.drain();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

async function started(options: MemberOptions = {}): Promise<EmbeddedMember> {
  const member = await startMember({
    ...{ port: 0, groups: ['all'], maxMemory: TEST_MEMORY },
    ...options,
  });
  members.push(member);
  return member;
}

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'grid-embedded-'));
  directories.push(directory);
  return directory;
}

/** Returns the response over HTTP, on a separate connection. */
async function asked(member: EmbeddedMember, method: string, path: string, body = '') {
  const client = new RawClient(member.port);
  const response = await client.request(method, path, Buffer.from(body));
  client.destroy();
  return `${response.status} ${response.fields.get('content-type') ?? ''} ${response.body}`.trim();
}

const code = (expected: string) => (error: { readonly code?: string }) => {
  assert.equal(error.code, expected);
  return true;
};

test('the program and HTTP clients share a map', async () => {
  const member = await started();
  const people = member.map('people');
  assert.equal(await people.get('ann'), undefined);
  await people.set('ann', '{"age":7}', { contentType: 'application/json' });
  people.setSync(Buffer.from('bob'), Uint8Array.of(1, 2, 3));
  assert.equal(await asked(member, 'GET', 'maps/people/ann'), '200 application/json {"age":7}');
  assert.deepEqual(
    { ...(await people.get('ann')) },
    {
      value: Buffer.from('{"age":7}'),
      contentType: 'application/json',
    },
  );
  assert.deepEqual(
    { ...people.getSync('bob') },
    { value: Buffer.of(1, 2, 3), contentType: undefined },
  );
  assert.equal(await people.size(), 2);
  await asked(member, 'DELETE', 'maps/people/ann');
  assert.equal(people.getSync('ann'), undefined);
  assert.equal(await people.has('bob'), true);
  assert.equal(await people.delete('bob'), true);
  assert.equal(await people.delete('bob'), false);
  assert.equal(await people.has('bob'), false);
  assert.equal(await people.size(), 0);
  people.setSync('é', 'ü');
  assert.equal(await asked(member, 'GET', 'maps/people/%C3%A9'), '200  ü');
  await people.clear();
  assert.equal(await member.map(Buffer.from('people')).size(), 0);
});

test('entries expire as the call or the configuration of their map specifies', async () => {
  const config = { grid: { map: { short: { 'time-to-live-seconds': 1 } } } };
  const member = await started({ config });
  const [short, other] = [member.map('short'), member.map('other')];
  short.setSync('k', 'v');
  short.setSync('longer', 'v', { timeToLiveSeconds: 1000 });
  other.setSync('k', 'v', { timeToLiveSeconds: 1 });
  other.setSync('idle', 'v', { maxIdleSeconds: 1000 });
  const gone = async () => (await short.size()) === 1 && (await other.size()) === 1;
  while (!(await gone())) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(short.getSync('longer'));
  assert.ok(other.getSync('idle'));
});

test('getEntry resolves with the entity tag and the lifetime that HTTP clients get', async () => {
  const member = await started();
  const map = member.map('m');
  assert.equal(await map.getEntry('k'), undefined);
  const options = { contentType: 'a/b', timeToLiveSeconds: 1000, maxIdleSeconds: 500 };
  const etag = await map.set('k', 'v', options);
  const client = new RawClient(member.port);
  client.send('GET /grid/v1/maps/m/entries/k HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const response = await client.response();
  client.destroy();
  assert.equal(response?.fields.get('etag'), etag);
  assert.deepEqual({ ...(await map.getEntry('k')) }, { value: Buffer.from('v'), etag, ...options });
  const other = map.setSync('other', '');
  assert.deepEqual(
    { ...(await map.getEntry('other')) },
    {
      ...{ value: Buffer.of(), contentType: undefined, etag: other },
      ...{ timeToLiveSeconds: 0, maxIdleSeconds: 0 },
    },
  );
  assert.match(other!, /^"[0-9a-f]{16}"$/);
});

test('conditional changes are made only if the entry meets the conditions', async () => {
  const map = (await started()).map('m');
  const value = async () => String((await map.get('k'))?.value);
  const first = await map.set('k', '1', { ifNoneMatch: '*' });
  assert.equal(await map.set('k', '2', { ifNoneMatch: '*' }), undefined);
  assert.equal(map.setSync('k', '2', { ifNoneMatch: '*' }), undefined);
  assert.equal(await map.set('absent', '2', { ifMatch: '*' }), undefined);
  const second = map.setSync('k', '2', { ifMatch: `"0000000000000001", ${first}` });
  assert.notEqual(second, first);
  assert.equal(await map.set('k', '3', { ifMatch: first! }), undefined);
  assert.equal(await map.set('k', '3', { ifMatch: `W/${second}` }), undefined);
  assert.equal(await map.set('k', '3', { ifNoneMatch: `W/${second}` }), undefined);
  assert.equal(await map.set('k', '3', { ifMatch: '*', ifNoneMatch: '*' }), undefined);
  assert.equal(await value(), '2');
  assert.equal(await map.delete('k', { ifMatch: first! }), false);
  assert.equal(await map.delete('k', { ifNoneMatch: '*' }), false);
  assert.equal(await value(), '2');
  assert.equal(await map.delete('k', { ifMatch: second! }), true);
  assert.equal(await map.delete('k', { ifMatch: second! }), false);
  assert.equal(await map.delete('k', { ifNoneMatch: '*' }), false);
  assert.equal(await map.delete('k', { ifNoneMatch: second! }), false);
  assert.equal(await map.delete('k'), false);
  const third = await map.set('k', '3');
  assert.equal(await map.delete('k', { ifNoneMatch: third! }), false);
  assert.equal(await map.delete('k', { ifNoneMatch: second! }), true);
});

test('add adds to a number that is text, in 64 bits', async () => {
  const member = await started();
  const map = member.map('m');
  const config = { contentType: 'text/plain', timeToLiveSeconds: 0, maxIdleSeconds: 0 };
  assert.equal(await map.add('k'), 1n);
  const sums = await Promise.all(Array.from({ length: 100 }, () => map.add('k', 3n)));
  assert.equal(sums.at(-1), 301n);
  const { etag: _, ...entry } = (await map.getEntry('k'))!;
  assert.deepEqual(entry, { value: Buffer.from('301'), ...config });
  await map.set('k', '5', { contentType: 'a/b', maxIdleSeconds: 7 });
  assert.equal(await map.add('k', -10n), -5n);
  const { contentType, maxIdleSeconds } = (await map.getEntry('k'))!;
  assert.deepEqual([contentType, maxIdleSeconds], ['a/b', 7]);
  await map.set('k', String(2n ** 63n - 1n));
  await assert.rejects(map.add('k'), code('VALUE_NO_NUMBER'));
  await map.set('text', '1.5');
  await assert.rejects(
    map.add('text', -1n),
    /^GridError: Cannot add to "m": the value or the sum is not a 64-bit integer$/,
  );
  assert.equal(String((await map.get('text'))?.value), '1.5');
  assert.equal(await map.add('least', -(2n ** 63n)), -(2n ** 63n));
  await assert.rejects(map.add('k', 2n ** 63n), /^RangeError: Cannot add 9223372036854775808: not/);
  await assert.rejects(map.add('k', 1 as never), /^RangeError: Cannot add 1: not a bigint/);
});

/** Returns all elements of a list. */
async function all<Element>(list: AsyncIterable<Element>): Promise<Element[]> {
  const elements: Element[] = [];
  for await (const element of list) elements.push(element);
  return elements;
}

test('maps, keys and entries are lists with a prefix', async () => {
  const member = await started();
  const [people, other] = [member.map('people'), member.map(Buffer.of(0xff, 0x2f))];
  const options = { contentType: 'a/b', timeToLiveSeconds: 1000, maxIdleSeconds: 500 };
  const etag = await people.set('ann', '{}', options);
  await people.set('bob', '');
  await other.set('k', Buffer.alloc(1_048_577));
  await other.set(Buffer.of(0xff, 0), Buffer.alloc(1_048_576));
  const names = (await all(member.maps())).map(({ name, size }) => [Buffer.from(name), size]);
  assert.deepEqual(names.sort(), [
    [Buffer.from('people'), 2],
    [Buffer.of(0xff, 0x2f), 2],
  ]);
  const [map, ...none] = await all(member.maps({ prefix: 'p' }));
  assert.deepEqual([String(map?.name), map?.size, none.length], ['people', 2, 0]);
  assert.ok(map!.bytes! > 0);
  assert.deepEqual((await all(people.keys())).map(String).sort(), ['ann', 'bob']);
  assert.deepEqual(await all(other.keys({ prefix: Buffer.of(0xff) })), [Buffer.of(0xff, 0)]);
  assert.deepEqual(await all(people.entries({ prefix: 'a' })), [
    { key: Buffer.from('ann'), value: Buffer.from('{}'), length: 2, etag, ...options },
  ]);
  const lengths = (await all(other.entries())).map(({ value, length }) => [value?.length, length]);
  assert.deepEqual(Object.fromEntries(lengths.map(([kept, length]) => [length, kept])), {
    1048576: 1_048_576,
    1048577: undefined,
  });
  assert.deepEqual(await all(member.map('nothing').entries()), []);
  assert.throws(
    () => people.keys({ prefix: 7 as never }),
    /^TypeError: Cannot use number as prefix/,
  );
  assert.throws(() => member.maps({ prefix: '\ud800' }), /^TypeError: .* as prefix: not Unicode/);
});

test('a long list passes each entry once while entries change, and delays no other work', async () => {
  const map = (await started({ maxMemory: '64m' })).map('m');
  for (let index = 0; index < 20_000; index++) map.setSync(`stays-${index}`, 'value');
  const seen = new Map<string, number>();
  let turns = 0;
  const count = () => {
    turns++;
    setImmediate(count).unref();
  };
  count();
  for await (const key of map.keys()) {
    const text = String(key);
    seen.set(text, (seen.get(text) ?? 0) + 1);
    map.setSync(text, `again-${seen.size}`);
    map.setSync(`new-${seen.size % 100}`, '');
    if (text.startsWith('new')) await map.delete(key);
  }
  assert.ok(turns > 20, `${turns} turns`);
  const staying = [...seen].filter(([key]) => key.startsWith('stays'));
  assert.equal(staying.length, 20_000);
  assert.deepEqual(
    staying.filter(([, times]) => times !== 1),
    [],
  );
  for await (const _ of map.entries()) break;
});

test('values are read as text and JSON, and bytes that are neither reject', async () => {
  const member = await started();
  const map = member.map('m');
  await map.set('text', 'é', { contentType: 'a/b' });
  await map.set('json', '{"age":7}');
  await map.set('bytes', Buffer.of(0xff));
  await member.queue('q').offer('[1]');
  assert.equal((await map.get('text'))?.text(), 'é');
  assert.equal(map.getSync('text')?.text(), 'é');
  assert.equal((await map.get('json'))?.json<{ age: number }>().age, 7);
  assert.deepEqual((await map.getEntry('json'))?.json(), { age: 7 });
  assert.equal((await map.getEntry('text'))?.text(), 'é');
  assert.deepEqual((await member.queue('q').poll())?.json(), [1]);
  const bytes = (await map.get('bytes'))!;
  assert.throws(() => bytes.text(), {
    ...{ name: 'GridError', code: 'VALUE_UNREADABLE' },
    message: 'Cannot read the value as text: not UTF-8',
  });
  assert.throws(() => bytes.json(), code('VALUE_UNREADABLE'));
  assert.throws(() => map.getSync('text')?.json(), /^GridError: Cannot read the value as JSON: Un/);
});

test('a wait with a limit keeps the process alive, one without does not', () => {
  const index = new URL('../../src/index.ts', import.meta.url).href;
  const script = `
    import { startMember } from ${JSON.stringify(index)};
    const member = await startMember({ listen: false, queues: { q: 1 } });
    const queue = member.queue('q');
    const added = [await queue.offer('a'), await queue.offer('b', { waitSeconds: 0.05 })];
    const items = [(await queue.poll(0.05))?.text(), await queue.poll(0.05)];
    await member.lock('l');
    const held = await member.lock('l', { waitSeconds: 0.05 }).catch(({ code }) => code);
    await member.close();
    console.log(JSON.stringify([added, items, held]));
    const other = await startMember({ listen: false });
    other.queue('q').items().next();`;
  const words = ['--import', 'tsx', '--input-type', 'module', '--eval', script];
  const output = execFileSync(process.execPath, words, { timeout: 60_000, encoding: 'utf8' });
  assert.equal(output, '[[true,false],["a",null],"CP_LOCK_HELD"]\n');
});

test('bytes that are too many for a string reject', async () => {
  const tooLong = Object.assign(Buffer.from('x'), {
    toString(): string {
      throw new Error('Cannot create a string longer than 0x1fffffe8 characters');
    },
  });
  const read = (form: 'text' | 'json') => () =>
    FORMS[form].read(new ReadValue(tooLong, undefined), () => 'v');
  for (const form of ['text', 'json'] as const) {
    assert.throws(read(form), /^GridError: Cannot read v as text: Cannot create a string longer/);
  }
});

test('a map of text or JSON has values of the program, with a content type', async () => {
  const member = await started();
  const people = member.map<{ readonly age: number }>('people', { as: 'json' });
  await people.set('ann', { age: 7 });
  people.setSync('bob', { age: 8 }, { contentType: 'a/b', timeToLiveSeconds: 60 });
  assert.equal(await asked(member, 'GET', 'maps/people/ann'), '200 application/json {"age":7}');
  assert.deepEqual([await people.get('ann'), people.getSync('bob')], [{ age: 7 }, { age: 8 }]);
  assert.equal((await people.getEntry('bob'))?.contentType, 'a/b');
  assert.deepEqual([await people.get('none'), people.getSync('none')], [undefined, undefined]);
  const entries = await all<[Buffer, { readonly age: number }]>(people);
  assert.deepEqual(Object.fromEntries(entries.map(([key, { age }]) => [`${key}`, age])), {
    ...{ ann: 7, bob: 8 },
  });
  const texts = member.map('texts', { as: 'text' });
  await texts.set('é', 'ü');
  assert.equal(await asked(member, 'GET', 'maps/texts/%C3%A9'), '200 text/plain; charset=utf-8 ü');
  assert.equal(await texts.get('é'), 'ü');
  await asked(member, 'POST', 'maps/people/bad', 'text');
  const message = /^GridError: Cannot read the value of "bad" in "people" as JSON: Unexpected/;
  await assert.rejects(people.get('bad'), message);
  assert.throws(() => people.getSync(Buffer.from('bad')), message);
  await assert.rejects(all(people), message);
  assert.equal(await people.has('bad'), true);
  await member.map('texts').set('bad', Buffer.of(0xc3));
  await assert.rejects(texts.get('bad'), code('VALUE_UNREADABLE'));
});

test('a map is an iterable of keys and values, also of those of more than 1 MiB', async () => {
  const map = (await started()).map('m');
  assert.deepEqual(await all(map), []);
  await map.set('small', 'v', { contentType: 'a/b' });
  await map.set('large', Buffer.alloc(1_048_577));
  const found = new Map<string, string>();
  for await (const [key, { value, contentType }] of map) {
    found.set(`${key}`, `${value.length} ${contentType}`);
  }
  assert.deepEqual(Object.fromEntries(found), { small: '1 a/b', large: '1048577 undefined' });
  const keys = new Set<string>();
  for await (const [key] of map) {
    keys.add(`${key}`);
    await map.clear();
  }
  assert.ok(keys.size <= 2);
});

test('the program and HTTP clients share a queue', async () => {
  const member = await started({ queues: { jobs: 2 } });
  const jobs = member.queue('jobs');
  assert.equal(await jobs.poll(), undefined);
  assert.equal(await jobs.offer('one', { contentType: 'text/plain' }), true);
  assert.equal(await jobs.offer('two'), true);
  assert.equal(await jobs.offer('three'), false);
  assert.equal(await jobs.size(), 2);
  assert.equal(await asked(member, 'DELETE', 'queues/jobs/0'), '200 text/plain one');
  assert.deepEqual(
    { ...(await jobs.poll()) },
    { value: Buffer.from('two'), contentType: undefined },
  );
  const waiting = [jobs.poll(60), jobs.poll(60)];
  assert.equal(await asked(member, 'POST', 'queues/jobs', 'three'), '200');
  await jobs.offer('four');
  const items = await Promise.all(waiting);
  assert.deepEqual(
    items.map((item) => String(item?.value)),
    ['three', 'four'],
  );
  assert.equal(await jobs.poll(0.02), undefined);
});

test('a cancelled poll takes nothing', async () => {
  const jobs = (await started()).queue('jobs');
  const [before, during] = [new AbortController(), new AbortController()];
  before.abort(new Error('before'));
  await assert.rejects(jobs.poll(60, before), /before/);
  const poll = jobs.poll(60, during);
  during.abort(new Error('during'));
  await assert.rejects(poll, /during/);
  await jobs.offer('item');
  assert.equal(await jobs.size(), 1);
  const late = new AbortController();
  const item = jobs.poll(60, late);
  late.abort();
  assert.equal(String((await item)?.value), 'item');
});

test('an invalid name, key, value or time is refused', async () => {
  const member = await started();
  const map = member.map('m');
  for (const name of ['', Buffer.alloc(0), new Uint8Array(8).subarray(8)])
    assert.throws(() => member.map(name), /^TypeError: Cannot use an empty name/);
  assert.throws(
    () => member.queue('q'.repeat(65_537)),
    /Cannot use 65537 bytes as name: more than/,
  );
  assert.throws(
    () => map.getSync('\ud800'),
    /^TypeError: Cannot use "\\ud800" as key: not Unicode/,
  );
  await assert.rejects(map.get(7 as never), /^TypeError: Cannot use number as key: neither bytes/);
  await assert.rejects(map.set('k', null as never), /^TypeError: Cannot use null as value/);
  await assert.rejects(
    map.set('k', 'v', { contentType: 'a\r\nb' }),
    /as content type: not a field/,
  );
  await assert.rejects(
    map.set('k', 'v', { timeToLiveSeconds: -1 }),
    /timeToLiveSeconds -1: not an/,
  );
  const tags = /^TypeError: Cannot use ifMatch .*: neither \* nor 1 to 16 entity tags in quotes$/;
  for (const ifMatch of ['', 'a', '"a" "b"', Array(17).fill('"a"').join(), 7, null, undefined]) {
    await assert.rejects(map.set('k', 'v', { ifMatch } as never), tags);
    await assert.rejects(map.delete('k', { ifMatch } as never), tags);
    assert.throws(() => map.setSync('k', 'v', { ifMatch } as never), tags);
  }
  await assert.rejects(
    map.delete('k', { ifNoneMatch: '"' }),
    /^TypeError: Cannot use ifNoneMatch "/,
  );
  await assert.rejects(member.queue('q').poll(Number.NaN), /Cannot poll for NaN seconds: not 0 to/);
  assert.equal(await map.size(), 0);
});

test('an operation rejects with the code of its error', async () => {
  const member = await started({ maxMemory: '1m', partitionCount: 1 });
  const [map, jobs] = [member.map('m'), member.queue('q')];
  await assert.rejects(async () => {
    for (let number = 0; number < 110; number++) {
      await map.set(String(number), Buffer.alloc(10_000));
    }
  }, code('MEMORY_FULL'));
  assert.throws(() => map.setSync('k', Buffer.alloc(600_000)), code('MEMORY_FULL'));
  const waiting = assert.rejects(jobs.poll(60), code('CLUSTER_PASSIVE'));
  const passive = await asked(member, 'POST', 'management/cluster/changeState', 'dev&&passive');
  assert.match(passive, /^200/);
  await waiting;
  assert.throws(
    () => map.setSync('k', 'v'),
    /^GridError: Cannot set in "m": the cluster is PASSIVE/,
  );
  for (const refused of [
    map.set('k', 'v'),
    map.add('k'),
    map.delete('k'),
    map.clear(),
    jobs.offer('i'),
    jobs.poll(),
  ])
    await assert.rejects(refused, code('CLUSTER_PASSIVE'));
  assert.ok(await map.get('0'));
  assert.equal(await jobs.size(), 0);
});

test('a draining member ends waiting polls, and serves no further operation', async () => {
  const member = await started({ maxMemory: '64m' });
  const [map, jobs] = [member.map('m'), member.queue('q')];
  const waiting = jobs.poll(60);
  for (let index = 0; index < 1000; index++) map.setSync(`${index}`, 'v'.repeat(100));
  const list = map.keys();
  assert.ok((await list.next()).value);
  const drained = member.drain();
  assert.equal(member.drain(), drained);
  assert.equal(await waiting, undefined);
  await drained;
  await assert.rejects(map.get('k'), code('ENGINE_CLOSED'));
  assert.throws(() => map.getSync('k'), code('ENGINE_CLOSED'));
  await assert.rejects(all(list), code('ENGINE_CLOSED'));
  await assert.rejects(jobs.poll(60), code('ENGINE_CLOSED'));
});

for (const sync of ['always', 'interval']) {
  test(`entries, items and polls survive the next start, with sync ${sync}`, async () => {
    const options = {
      dataDir: newDirectory(),
      environment: { GRID_PERSISTENCE_SYNC: sync },
      maxMemory: '64m',
    };
    const member = await started(options);
    await assert.rejects(startMember({ ...options, port: 0 }), code('DATA_DIRECTORY_LOCKED'));
    const [map, jobs] = [member.map('m'), member.queue('q')];
    const done = [
      map.set('a', '1'),
      jobs.offer('one'),
      jobs.offer('two'),
      jobs.poll(),
      map.get('a'),
    ];
    map.setSync('b', '2');
    const item = (await Promise.all(done))[3] as StoredValue;
    assert.equal(String(item.value), 'one');
    const [left, gone] = [new AbortController(), jobs.poll(60)];
    assert.equal(String((await gone)?.value), 'two');
    const giving = jobs.poll(60, left);
    const offered = jobs.offer('three');
    left.abort(new Error('given up'));
    await assert.rejects(giving, /given up/);
    assert.equal(await offered, true);
    await member.drain();
    const again = await started(options);
    assert.equal(String(again.map('m').getSync('b')?.value), '2');
    assert.equal(String((await again.map('m').get('a'))?.value), '1');
    assert.equal(String((await again.queue('q').poll())?.value), 'three');
    assert.equal(await again.queue('q').poll(), undefined);
  });
}

test('two members in one process share nothing', async () => {
  const [one, other] = [await started(), await started()];
  one.map('m').setSync('k', 'v');
  assert.equal(other.map('m').getSync('k'), undefined);
  assert.notEqual(one.port, other.port);
  assert.equal(one.address, '127.0.0.1');
});

test("a member logs to a child of the program's log, and writes nowhere without one", async () => {
  const lines: unknown[] = [];
  const child = (_: object, { level = '' } = {}) => {
    const line = (name: string) => (fields: object | string, message?: string) => {
      lines.push([name, typeof fields === 'string' ? fields : message]);
    };
    const [debug, info, warn, error, fatal] = ['debug', 'info', 'warn', 'error', 'fatal'].map(line);
    return { level, isLevelEnabled: () => false, debug, info, warn, error, fatal };
  };
  const member = await started({ log: { child } as never, dataDir: newDirectory() });
  await asked(member, 'POST', 'management/cluster/changeState', 'dev&&frozen');
  assert.ok(
    lines.some((line) => String(line) === 'info,recovered'),
    JSON.stringify(lines),
  );
  assert.ok(
    lines.some((line) => String(line) === 'info,audit'),
    JSON.stringify(lines),
  );
});

test('the program is notified when a client requests a shutdown, and decides', async () => {
  const member = await started();
  await asked(member, 'POST', 'management/cluster/memberShutdown', 'dev&');
  assert.match(await member.stopRequested, /memberShutdown/);
  assert.equal(await member.map('m').size(), 0);
});

test('a member that cannot start leaves no timer', async () => {
  // The port and the lock are not those of a member, because a member would set timers.
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const dataDir = newDirectory();
  const lock = new DirectoryLock(dataDir);
  await lock.acquire();
  const timers = countTimers();
  const inUse = { name: 'GridError', code: 'ADDRESS_IN_USE' };
  try {
    await assert.rejects(startMember({ port }), inUse);
    await assert.rejects(startMember({ port: 0, healthPort: port }), inUse);
    const locked = { code: 'DATA_DIRECTORY_LOCKED' };
    await assert.rejects(startMember({ port: 0, dataDir }), locked);
    assert.equal(await timers.count(), 0);
  } finally {
    timers.end();
    listener.close();
    await lock.release();
  }
});

test('members that start and stop leave no resources in use', async () => {
  const { handles, timers } = await comeAndGone(25, 1);
  assert.deepEqual({ handles, timers }, { handles: [], timers: 0 });
});
