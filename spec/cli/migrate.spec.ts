/**
 * Covers src/cli/migrate.ts, src/cli/migration-state.ts, src/cli/original-client.ts and
 * src/cli/original-values.ts. The original and its client are fakes; spec/soak has real ones.
 */
import assert from 'node:assert/strict';
import fs, { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { after, before, beforeEach, mock, test } from 'node:test';
import { MigrationState } from '../../src/cli/migration-state.ts';
import type { Member } from '../../src/member/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { configWith, memberWith, startQuietly } from '../integration/member-on.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { tlsFile } from '../tls/identity.ts';
import { runCut } from './cut-connection.ts';
import { array, dataOf, FakeOriginal, int, restValue, text } from './fake-original.ts';
import { run as runCommand, runWith } from './run-command.ts';

const MIB = 1_048_576;
const folder = temporaryFolder();
const state = join(folder, 'state');
const original = new FakeOriginal();
let member: Member;

before(async () => {
  const queueMaxSizes = new Map([['short', 2]]);
  member = await startQuietly(
    { ...configWith({}), queueMaxSizes },
    createLog('OFF', process.stdout),
  );
  original.install(folder);
  mock.method(process, 'cwd', () => folder);
});

after(async () => {
  mock.restoreAll();
  await member.drain();
});

beforeEach(async () => {
  original.maps.clear();
  original.queues.clear();
  original.others.length = 0;
  original.requestsLeft = Number.POSITIVE_INFINITY;
  original.faults = [];
  original.isSilent = false;
  const { output } = await run('map', 'list');
  for (const line of output.split('\n').filter((each) => each !== '')) {
    await run('map', 'clear', line.split('  ')[0] as string);
  }
});

function run(...words: string[]) {
  return runCommand(...words, '--address', `127.0.0.1:${member.port}`);
}

const FROM = ['migrate', '--from', 'old.example', '--state', state];

/** Runs the command, which leaves no connection. */
async function migrate(...words: string[]) {
  const result = await run(...FROM, ...words);
  assert.equal(original.openConnections, 0);
  return result;
}

const done = (output = '') => ({ code: 0, output, errors: '' });

/** Returns the entries of a map by their keys, without their tags. */
async function entriesOf(map: string): Promise<Record<string, unknown>> {
  const { output } = await run('map', 'entries', map);
  const lines = output.split('\n').filter((line) => line !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const { key, keyBase64, etag: _, length: _length, ...others } = JSON.parse(line);
      return [key ?? keyBase64, others];
    }),
  );
}

/** Returns the values of all items of a queue, which are taken. */
async function itemsOf(queue: string): Promise<string[]> {
  const items: string[] = [];
  for (;;) {
    const { code, output } = await run('queue', 'poll', queue);
    if (code !== 0) return items;
    items.push(output);
  }
}

const serialized = (type: number, content: Buffer) => ({
  contentType: 'application/binary',
  valueBase64: dataOf(type, content).toString('base64'),
});

test('values are as the REST interface of the original returns them', async () => {
  const eight = Buffer.from('0102030405060708', 'hex');
  const hashed = Buffer.concat([int(7), int(-8), eight]);
  const values: readonly (readonly [key: string, value: Buffer, expected: unknown])[] = [
    ['rest', restValue('Ada', 'text/plain'), { contentType: 'text/plain', value: 'Ada' }],
    ['bytes', restValue(Buffer.of(255, 0), null), { valueBase64: '/wA=' }],
    ['nothing', restValue(null, null), { value: '' }],
    [
      'type',
      restValue('v', Buffer.from('a/é', 'latin1')),
      { contentTypeBase64: 'YS/p', value: 'v' },
    ],
    ['utf8', restValue('v', 'a/ü'), { contentType: 'a/ü', value: 'v' }],
    ['text', text('ä "\\'), { contentType: 'text/plain', value: 'ä "\\' }],
    [
      'array',
      dataOf(-12, array(Buffer.of(1, 255))),
      { contentType: 'application/binary', valueBase64: 'Af8=' },
    ],
    ['json', dataOf(-130, array('{"a":1}')), { contentType: 'application/json', value: '{"a":1}' }],
    ['long', hashed, serialized(-8, eight)],
    ['boolean', dataOf(-4, Buffer.of(1)), serialized(-4, Buffer.of(1))],
    ['date', dataOf(-54, eight), serialized(-54, eight)],
    ['number', dataOf(-26, array(Buffer.of(0, 0, 200))), serialized(-26, array(Buffer.of(0, 200)))],
    ['minus', dataOf(-26, array(Buffer.of(255, 200))), serialized(-26, array(Buffer.of(200)))],
    [
      'decimal',
      dataOf(-27, Buffer.concat([array(Buffer.of(0, 5)), int(2)])),
      serialized(-27, Buffer.concat([array(Buffer.of(5)), int(2)])),
    ],
    ['short number', dataOf(-26, Buffer.of(1)), serialized(-26, Buffer.of(1))],
    ['a/b ü\n', text('key'), { contentType: 'text/plain', value: 'key' }],
  ];
  original.maps.set(
    'all',
    values.map(([key, value]) => ({ key: text(key), value })),
  );
  assert.deepEqual(await migrate(), done('map all: 16 entries\n'));
  const expected = Object.fromEntries(values.map(([key, , value]) => [key, value]));
  assert.deepEqual(await entriesOf('all'), expected);
  assert.equal(existsSync(state), false);
});

test('values of more than a line are whole', async () => {
  const long = Buffer.alloc(3 * MIB, 'Ü \n"');
  const entries = [1, 2, 3].map((number) => ({
    key: text(`k${number}`),
    value: restValue(long.subarray(number), number === 1 ? null : 'a/b'),
  }));
  const almost = Buffer.alloc(MIB - 40, 'x');
  original.maps.set('long', [...entries, { key: text('k4'), value: restValue(almost, null) }]);
  assert.deepEqual(await migrate('--map', 'long'), done('map long: 4 entries\n'));
  for (const number of [1, 2, 3]) {
    const { output } = await run('map', 'get', 'long', `k${number}`, '--json');
    const { contentType, base64 } = JSON.parse(output);
    assert.equal(contentType, number === 1 ? null : 'a/b');
    assert.ok(Buffer.from(base64, 'base64').equals(long.subarray(number)));
  }
  const last = JSON.parse((await run('map', 'get', 'long', 'k4', '--json')).output);
  assert.ok(Buffer.from(last.base64, 'base64').equals(almost));
});

test('the rest of a lifetime comes along', async (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
  const updateTime = 1_700_000_000_000 - 10_000;
  const value = text('v');
  const lifetimes = {
    none: {},
    ttl: { ttl: 100_000, updateTime },
    idle: { maxIdle: 49_001, updateTime },
    both: { ttl: 100_000, maxIdle: 20_000, updateTime },
    longest: { ttl: 2 ** 50, updateTime },
    over: { ttl: 10_000, updateTime },
  };
  original.maps.set(
    'lives',
    Object.entries(lifetimes).map(([key, lifetime]) => ({ key: text(key), value, ...lifetime })),
  );
  assert.deepEqual(await migrate(), done('map lives: 5 entries\n'));
  const entries = await entriesOf('lives');
  const left = (key: string) => {
    const { timeToLiveSeconds, maxIdleSeconds } = entries[key] as Record<string, unknown>;
    return [timeToLiveSeconds, maxIdleSeconds];
  };
  assert.deepEqual(left('none'), [undefined, undefined]);
  assert.deepEqual(left('ttl'), [90, undefined]);
  assert.deepEqual(left('idle'), [undefined, 50]);
  assert.deepEqual(left('both'), [90, 20]);
  assert.deepEqual(left('longest'), [2 ** 31 - 1, undefined]);
});

/** An object in Java's own format. */
const javaObject = (name: string) => {
  const head = Buffer.from('aced00057372', 'hex');
  return dataOf(-100, Buffer.concat([head, Buffer.of(0, name.length), Buffer.from(name)]));
};

test('keys and values of classes are counted and listed', async () => {
  const [one, two] = [int(1), int(2)];
  const odd: readonly (readonly [value: Buffer, reason: string])[] = [
    [javaObject('com.acme.Order'), 'com.acme.Order'],
    [dataOf(-100, Buffer.of(1)), 'Serializable'],
    [dataOf(-101, array('com.acme.Item')), 'com.acme.Item'],
    [dataOf(-1, Buffer.concat([one, two])), 'Portable 1:2'],
    [dataOf(-1), 'Portable'],
    [dataOf(-2, Buffer.concat([Buffer.of(1), one, two])), '1:2'],
    [dataOf(-2, Buffer.concat([Buffer.of(0), array('com.acme.\u{1b}[2J')])), 'com.acme.?[2J'],
    [dataOf(-2), 'DataSerializable'],
    [dataOf(-55, Buffer.from('00000000000000ff', 'hex')), 'Compact, schema 00000000000000ff'],
    [dataOf(-29), 'ArrayList'],
    [dataOf(-110), 'type -110'],
    [dataOf(17), 'type 17'],
    [int(0), 'null'],
    [dataOf(-11, int(5)), 'a value that cannot be read'],
    [dataOf(-11, Buffer.concat([array('x'), int(1)])), 'a value that cannot be read'],
    [dataOf(-12, int(-2)), 'a value that cannot be read'],
    [restValue('v', 't').subarray(0, -1), 'a value that cannot be read'],
    [dataOf(-130, Buffer.of(1)), 'a value that cannot be read'],
  ];
  const entries = odd.map(([value], index) => ({ key: text(`k${index}`), value }));
  original.maps.set('odd', [
    { key: text('good'), value: text('v') },
    ...entries,
    { key: dataOf(-8, Buffer.alloc(8)), value: text('v') },
    { key: text(''), value: text('v') },
    { key: dataOf(-11, int(9)), value: text('v') },
    { key: text('type'), value: restValue('v', 'a\nb') },
    { key: text('other'), value: restValue('v', Buffer.from('a\né', 'latin1')) },
  ]);
  original.queues.set('items', [text('a'), javaObject('com.acme.Order'), restValue('b', 'a\nb')]);
  for (const flags of [['--dry-run'], []]) {
    const { code, output, errors } = await migrate('--json', ...flags);
    assert.deepEqual([code, errors], [1, '']);
    const { maps, queues, notServed } = JSON.parse(output);
    const [{ leftOut, ...map }] = maps;
    assert.deepEqual(map, { name: 'odd', copied: 1 });
    assert.deepEqual(notServed, []);
    const counts = new Map<string, number>();
    for (const { reason, count } of leftOut) counts.set(reason, count);
    for (const [, reason] of odd) {
      const unreadable = reason === 'a value that cannot be read';
      assert.equal(counts.get(`value of ${reason}`), unreadable ? 5 : 1, reason);
    }
    assert.equal(counts.get('key of Long'), 1);
    assert.equal(counts.get('an empty key'), 1);
    assert.equal(counts.get('key of a value that cannot be read'), 1);
    assert.equal(counts.get('a content type that HTTP cannot send'), 2);
    assert.deepEqual(queues, [
      {
        name: 'items',
        copied: 1,
        leftOut: [
          { reason: 'item of com.acme.Order', count: 1, keys: [] },
          { reason: 'a content type that HTTP cannot send', count: 1, keys: [] },
        ],
      },
    ]);
  }
  assert.deepEqual(Object.keys(await entriesOf('odd')), ['good']);
  assert.deepEqual(await itemsOf('items'), ['a']);
});

test('a report lists the first keys, and objects that are not served', async () => {
  const keys = Array.from({ length: 12 }, (_, index) => `k${String(index).padStart(2, '0')}`);
  const value = javaObject('com.acme.Order');
  const classes = Array.from({ length: 120 }, (_, index) => ({
    key: text(`c${index}`),
    value: dataOf(index + 1),
  }));
  original.maps.set(
    'orders',
    keys.map((key) => ({ key: text(key), value })),
  );
  original.maps.set('__sql.catalog', [{ key: text('a'), value: text('v') }]);
  original.others.push(['hz:impl:topicService', 'news\n']);
  const { code, output } = await migrate();
  assert.equal(code, 1);
  assert.match(
    output,
    /^map orders: 0 entries, 12 left out\n {2}12 left out: value of com\.acme\.Order, of ("k\d\d", ){10}…\nnot served here: topic news\\u000a\n$/,
  );
  original.maps.set('orders', classes);
  const { leftOut } = JSON.parse((await migrate('--json', '--map', 'orders')).output).maps[0];
  assert.equal(leftOut.length, 101);
  assert.deepEqual([leftOut[100].reason, leftOut[100].count], ['other reasons', 20]);
  original.maps.clear();
  for (let index = 0; index < 30; index++)
    original.others.push(['hz:impl:listService', `l${index}`]);
  assert.match((await migrate()).output, /not served here: 11 more objects\n$/);
});

test('what the original sends controls no terminal', async () => {
  const control = '\u001b[2J\u007f\u009b2J\n';
  original.maps.set(`m${control}`, [{ key: text(`k${control}`), value: dataOf(9) }]);
  original.queues.set(`q${control}`, [text('a')]);
  original.others.push([`x${control}`, `o${control}`]);
  const { code, output } = await migrate();
  assert.equal(code, 1);
  const shown = '\\u001b[2J\\u007f\\u009b2J';
  assert.deepEqual(output.split('\n'), [
    `map m${shown}\\u000a: 0 entries, 1 left out`,
    `  1 left out: value of type 9, of "k${shown}\\n"`,
    `queue q${shown}\\u000a: 1 item`,
    `not served here: x${shown}\\u000a o${shown}\\u000a`,
    '',
  ]);
  const taken = await migrate();
  assert.equal(taken.code, 4);
  const [, fault = '', rest] = taken.errors.split('\n');
  assert.ok(fault.startsWith(`Cannot copy queue "q${shown}\\n": `), fault);
  assert.equal(rest, '');
  original.faults = [['Connection', `Error: ${control}`]];
  assert.ok((await migrate()).errors.endsWith(`: ${shown}\\u000a\n`));
});

test('a long key is shortened in a report, and one that no path can have is left out', async () => {
  const [long, path] = ['ü'.repeat(200), 'x'.repeat(40_000)];
  original.maps.set('keys', [
    { key: text(long), value: dataOf(9) },
    // A value of this length is not in a bulk request.
    { key: text(path), value: restValue('v'.repeat(1_100_000), 'a/b') },
  ]);
  const { maps } = JSON.parse((await migrate('--json')).output);
  assert.deepEqual(maps[0].leftOut.map(({ reason }: { reason: string }) => reason).sort(), [
    'refused with 414',
    'value of type 9',
  ]);
  for (const { keys } of maps[0].leftOut) assert.equal(keys[0].length, 100);
});

test('names select maps and queues', async () => {
  for (const name of ['a', 'b', '__c']) {
    original.maps.set(name, [{ key: text('k'), value: text(name) }]);
  }
  original.queues.set('q', [text('item')]);
  const some = await migrate('--map', 'b', '--map', '__c', '--map', 'b');
  assert.deepEqual(some, done('map b: 1 entry\nmap __c: 1 entry\n'));
  assert.deepEqual(await migrate('--queue', 'q'), done('queue q: 1 item\n'));
  assert.deepEqual(await itemsOf('q'), ['item']);
  const { code, errors } = await migrate('--queue', 'a');
  assert.deepEqual(
    [code, errors],
    [2, 'Cannot use --queue "a": the original has no queue of that name\n'],
  );
  assert.equal((await migrate('--map', '\u{fffd}')).code, 2);
});

test('a trial writes nothing and needs no member', async () => {
  original.maps.set('a', [{ key: text('k'), value: text('v') }]);
  original.queues.set('q@p', [text('1'), text('2')]);
  const words = [...FROM, '--dry-run', '--address', '127.0.0.1:1'];
  assert.deepEqual(await runCommand(...words), done('map a: 1 entry\nqueue q@p: 2 items\n'));
  assert.equal(existsSync(state), false);
});

test('entries are read at once, fewer if they are long', async () => {
  original.pageKeys = 1000;
  for (const [bytes, most] of [
    [1, 100],
    [5 * MIB, 3],
    [17 * MIB, 1],
  ] as const) {
    // Each of the five partitions has its part.
    const keys = Array.from({ length: 1000 }, (_, index) => text('\u0005'.repeat(index + 1)));
    const value = restValue(Buffer.alloc(bytes), null);
    original.maps.set(
      'm',
      keys.slice(0, bytes === 1 ? 1000 : 40).map((key) => ({ key, value })),
    );
    original.mostPending = 0;
    const { code } = await migrate('--dry-run');
    assert.deepEqual([code, original.mostPending], [0, most]);
  }
  original.pageKeys = 3;
});

/** A map of 9 entries, and a queue of 6 items with their numbers. */
function fill(): string[] {
  const numbers = Array.from({ length: 9 }, (_, index) => String(index));
  original.maps.set(
    'm',
    numbers.map((number) => ({ key: text(number), value: text(number) })),
  );
  const items = numbers.slice(0, 6);
  original.queues.set(
    'q',
    items.map((number, index) => (index === 3 ? dataOf(9) : text(number))),
  );
  return items.filter((_, index) => index !== 3);
}

const WHOLE = 'map m: 9 entries\nqueue q: 5 items, 1 left out\n  1 left out: item of type 9\n';

test('a migration whose original goes away continues', async () => {
  const items = fill();
  for (let requests = 0; requests < 80; requests++) {
    original.requestsLeft = requests;
    const first = await migrate();
    original.requestsLeft = Number.POSITIVE_INFINITY;
    if (first.code === 1) break;
    assert.deepEqual([first.code, first.output], [3, ''], String(requests));
    assert.match(first.errors, /Cannot read from old\.example:5701: the connection has ended\n$/);
    assert.deepEqual(await migrate(), { code: 1, output: WHOLE, errors: '' }, String(requests));
    assert.equal(Object.keys(await entriesOf('m')).length, 9);
    assert.deepEqual(await itemsOf('q'), items);
  }
  assert.deepEqual(await itemsOf('q'), items);
});

/** Changes the address in the state, as the proxy had another one. */
function useAddress(address: string): void {
  const saved = JSON.parse(readFileSync(state, 'utf8'));
  writeFileSync(state, JSON.stringify({ ...saved, address }));
}

test('a migration whose member goes away continues', async () => {
  const items = fill();
  let breaks = 0;
  for (let bytes = 50; bytes < 10_000; bytes += 150) {
    const first = await runCut(member.port, bytes, FROM);
    if (first.code === 1) break;
    breaks++;
    assert.deepEqual([first.code, first.output], [3, ''], String(bytes));
    assert.match(first.errors, /^The migration is not complete: the same command continues it\n/);
    if (existsSync(state)) useAddress(`127.0.0.1:${member.port}`);
    assert.equal((await migrate()).output, WHOLE, String(bytes));
    assert.equal(Object.keys(await entriesOf('m')).length, 9);
    assert.deepEqual(await itemsOf('q'), items, String(bytes));
  }
  assert.ok(breaks > 5, String(breaks));
  await itemsOf('q');
});

/** Copies two queues, and breaks off after the first one. */
async function breakOff(): Promise<void> {
  original.queues.set('q', ['1', '2', '3', '4'].map(text));
  original.queues.set('r', [text('1')]);
  original.requestsLeft = 3;
  assert.equal((await migrate('--queue', 'q', '--queue', 'r')).code, 3);
  original.requestsLeft = Number.POSITIVE_INFINITY;
}

test('a queue that is complete is not copied again', async () => {
  await breakOff();
  const rest = await migrate('--queue', 'q', '--queue', 'r');
  assert.deepEqual(rest, done('queue q: 4 items\nqueue r: 1 item\n'));
  assert.deepEqual(await itemsOf('q'), ['1', '2', '3', '4']);
  assert.deepEqual(await itemsOf('r'), ['1']);
});

test('a map whose entries are lost meanwhile is refused', async () => {
  fill();
  original.requestsLeft = 12;
  assert.equal((await migrate()).code, 3);
  original.requestsLeft = Number.POSITIVE_INFINITY;
  const saved = JSON.parse(readFileSync(state, 'utf8'));
  saved.copies[0].copied = 1;
  writeFileSync(state, JSON.stringify(saved));
  await run('map', 'clear', 'm');
  const { code, errors } = await migrate('--map', 'm');
  assert.equal(code, 4);
  assert.match(
    errors,
    /Cannot copy map "m": the entries of the member have been lost since it began/,
  );
  rmSync(state);
});

test('a queue that others have changed meanwhile is refused', async () => {
  const refusal = async () => {
    const { code, errors } = await migrate('--queue', 'q');
    assert.equal(code, 4, errors);
    return /^The migration is not complete.*\nCannot copy queue "q": (.*); to begin again, empty the queue/.exec(
      errors,
    )?.[1];
  };
  await run('queue', 'offer', 'q', 'mine');
  original.queues.set('q', [text('1')]);
  assert.equal(await refusal(), 'the queue of the member has 1 item already');
  assert.deepEqual(await itemsOf('q'), ['mine']);
  rmSync(state, { force: true });
  await breakOff();
  const saved = JSON.parse(readFileSync(state, 'utf8'));
  await run('queue', 'offer', 'q', 'mine');
  assert.equal(await refusal(), 'the queue of the member has items of others');
  assert.deepEqual(await itemsOf('q'), ['1', '2', '3', '4', 'mine']);
  assert.equal(await refusal(), 'items of the member have been taken or lost since it began');
  for (const items of [
    ['2', '3', '4'],
    ['1', '2', '3', '5'],
    ['1', '2', '34'],
  ]) {
    original.queues.set('q', items.map(text));
    assert.equal(await refusal(), 'the items of the original have changed since it began');
  }
  for (const item of ['1', '2']) await run('queue', 'offer', 'q', item);
  for (const copy of saved.copies) copy.copied = 1;
  writeFileSync(state, JSON.stringify(saved));
  original.queues.set('q', ['1', '2', '3', '4', '5'].map(text));
  assert.deepEqual(await migrate('--queue', 'q'), done('queue q: 5 items\n'));
  assert.deepEqual(await itemsOf('q'), ['1', '2', '3', '4', '5']);
});

test('the state is saved before the first item is offered', async () => {
  const items = Array.from({ length: 700 }, (_, index) => text(String(index)));
  original.queues.set('many', items);
  const running = migrate('--queue', 'many');
  while ((await run('queue', 'size', 'many')).output === '0\n');
  const [{ copied, position, digest }] = JSON.parse(readFileSync(state, 'utf8')).copies;
  assert.deepEqual([copied, position, typeof digest], [0, 700, 'string']);
  assert.deepEqual(await running, done('queue many: 700 items\n'));
});

test('a queue to which others offer during the command is refused', async () => {
  const items = Array.from({ length: 700 }, (_, index) => text(String(index)));
  original.queues.set('shared', items);
  const running = migrate('--queue', 'shared');
  while ((await run('queue', 'size', 'shared')).output === '0\n');
  await run('queue', 'offer', 'shared', 'mine');
  const { code, output, errors } = await running;
  assert.deepEqual([code, output], [4, ''], errors);
  assert.match(errors, /queue "shared": the queue of the member has items of others; to begin/);
  assert.equal((await itemsOf('shared')).length, 701);
  rmSync(state);
});

test('queues that are too long are refused', async () => {
  original.queues.set('short', ['1', '2', '3'].map(text));
  const bounded = await migrate('--queue', 'short', '--queue-items-max', '2');
  assert.equal(bounded.code, 4);
  assert.match(
    bounded.errors,
    /Cannot copy queue "short" of 3 items: the original sends all at once, into the memory of this command; --queue-items-max 3 permits it\n$/,
  );
  const fitting = await migrate('--dry-run', '--queue-items-max', '3');
  assert.deepEqual(fitting, done('queue short: 3 items\n'));
  const full = await migrate();
  assert.equal(full.code, 4);
  assert.match(
    full.errors,
    /\nThe queue "short" of the member is full: its max-size is too small\n$/,
  );
  original.queues.set('short', ['1', '2'].map(text));
  assert.match((await migrate()).errors, /the items of the original have changed/);
  rmSync(state, { force: true });
  assert.deepEqual(await itemsOf('short'), ['1', '2']);
  const wrong = await migrate('--queue-items-max', '-1');
  assert.equal(wrong.code, 2);
});

test('an original that refuses the login says what to give', async () => {
  original.faults = [
    [
      'Connection',
      'Connection{} closed. Reason: Authentication failed - The configured cluster name on the client does not match the one configured in the cluster or the credentials',
    ],
  ];
  const plain = await migrate('--cluster', 'prod');
  assert.deepEqual(plain, {
    ...{ code: 4, output: '' },
    errors:
      'Cannot log in to old.example:5701: --cluster "prod" is wrong, or the original requires --from-user\n',
  });
  const words = [...FROM, '--from-user', 'ann', '--address', `127.0.0.1:${member.port}`];
  const { errors } = await runWith({ GRID_FROM_PASSWORD: 'secret' }, words);
  assert.match(errors, /--cluster "dev" is wrong, or --from-user or its password is wrong\n$/);
  const expected = { usernamePassword: { username: 'ann', password: 'secret' } };
  assert.deepEqual(original.config.security, expected);
  const asked = await runWith({}, words, ['typed']);
  assert.match(asked.errors, /^Password of ann at old\.example:5701: \n/);
  const without = await runWith({}, words);
  assert.match(
    without.errors,
    /Cannot ask for a password: no terminal, and GRID_FROM_PASSWORD is not set/,
  );
});

test('an original with TLS, or none, says what to give', async () => {
  original.isSilent = true;
  original.faults = [
    ['Connection', 'closed. Reason: Connection closed by the other side. - Connection closed'],
  ];
  const { code, errors } = await migrate('--from', '[::1]:5801');
  assert.equal(code, 3);
  assert.equal(
    errors,
    'Cannot connect to [::1]:5801: the original closed the connection; if it uses TLS, --from-ca names the certificates to trust\n',
  );
  const file = join(folder, 'file.pem');
  writeFileSync(file, 'PEM');
  const tls = ['--from-ca', file, '--from-tls-certificate', file, '--from-tls-key', file];
  const closed = await migrate(...tls);
  assert.match(closed.errors, /does it use TLS, and does it require --from-tls-certificate\?\n$/);
  const pem = Buffer.from('PEM');
  const { ssl } = original.config.network as { ssl: unknown };
  assert.deepEqual(ssl, { enabled: true, sslOptions: { ca: pem, cert: pem, key: pem } });
  original.isSilent = false;
  original.faults = [
    ['ConnectionManager', 'Error during initial connection to x Error: 1:wrong version number:'],
  ];
  assert.match((await migrate(...tls)).errors, /the port does not use TLS; leave out --from-ca\n$/);
  original.faults = [
    ['ConnectionManager', 'Error during initial connection to x Error: connect ECONNREFUSED'],
  ];
  const refused = await migrate(...tls.slice(0, 2));
  assert.match(refused.errors, /: connect ECONNREFUSED\n$/);
  for (const words of [
    tls.slice(2),
    tls.slice(0, 4),
    ['--from-ca', '/nowhere'],
    ['--from', 'a b'],
  ]) {
    assert.equal((await migrate(...words)).code, 2, words.join(' '));
  }
});

test('a package that is missing or of another version is named', async () => {
  const empty = temporaryFolder();
  mock.method(process, 'cwd', () => empty);
  const missing = await migrate();
  assert.equal(missing.code, 2);
  assert.match(missing.errors, /"npm install hazelcast-client" in ".*" installs it\n$/);
  for (const version of ['4.2.0', '6.0.0', '']) {
    const other = temporaryFolder();
    new FakeOriginal().install(other, version);
    mock.method(process, 'cwd', () => other);
    assert.match((await migrate()).errors, /"npm install hazelcast-client@5" installs a version/);
  }
  mock.method(process, 'cwd', () => folder);
});

test('a state is saved as a whole, however little the disk takes at once', (context) => {
  const file = join(folder, 'short-writes');
  const ends = { from: 'a', cluster: 'b', partitions: 1, address: 'c' };
  const write = fs.writeSync as (...values: unknown[]) => number;
  context.mock.method(fs, 'writeSync', (descriptor: number, data: Buffer | string, offset = 0) => {
    return write(descriptor, Buffer.from(data), offset, 1);
  });
  syncBuiltinESMExports();
  try {
    const saved = new MigrationState(file, ends);
    saved.copyOf('map', 'm').copied = 7;
    saved.save();
  } finally {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  }
  assert.equal(new MigrationState(file, ends).copyOf('map', 'm').copied, 7);
});

test('a file that is not the state of this migration is refused', async () => {
  original.maps.set('m', [{ key: text('k'), value: text('v') }]);
  const ends = {
    from: 'old.example',
    cluster: 'dev',
    partitions: 5,
    address: `127.0.0.1:${member.port}`,
  };
  const copy = { kind: 'map', name: 'm', position: 5, copied: 7, omissions: [] };
  const files = [
    ...['', 'null', '{}', '{"copies":[null]}'],
    JSON.stringify({ ...ends, copies: [{ ...copy, position: -1 }] }),
    JSON.stringify({ ...ends, copies: [{ ...copy, omissions: [{}] }] }),
    JSON.stringify({ ...ends, copies: [{ ...copy, kind: 'set' }] }),
  ];
  for (const content of files) {
    writeFileSync(state, content);
    const { code, errors } = await migrate();
    assert.deepEqual(
      [code, errors],
      [2, `Cannot use --state ${JSON.stringify(state)}: it is not the state of a migration\n`],
    );
  }
  for (const other of [{ from: 'x' }, { cluster: 'x' }, { partitions: 271 }, { address: 'x' }]) {
    writeFileSync(state, JSON.stringify({ ...ends, ...other, copies: [copy] }));
    const { code, errors } = await migrate();
    assert.equal(code, 2);
    const [[name, value]] = Object.entries(other) as [[string, unknown]];
    assert.ok(
      errors.includes(`it is of a migration whose ${name} is ${JSON.stringify(value)}`),
      errors,
    );
  }
  writeFileSync(state, JSON.stringify({ ...ends, copies: [copy] }));
  await run('map', 'set', 'm', 'k', 'v');
  assert.deepEqual(await migrate(), done('map m: 7 entries\n'));
  const { code, errors } = await run(...FROM.slice(0, 3), '--state', '/nowhere/file');
  assert.equal(code, 5);
  assert.match(errors, /^The migration is not complete.*\nCannot write to "\/nowhere\/file": /);
});

test('a member with TLS is used', async () => {
  original.maps.set('m', [{ key: text('k'), value: restValue(Buffer.alloc(2 * MIB), null) }]);
  original.queues.set('q', ['1', '2'].map(text));
  const secured = await memberWith({
    tlsEnabled: 'true',
    tlsCertificate: tlsFile('server.pem'),
    tlsKey: tlsFile('server-key.pem'),
  });
  const address = ['--address', `https://localhost:${secured.port}`];
  const ca = ['--ca', tlsFile('authority.pem')];
  const expected = done('map m: 1 entry\nqueue q: 2 items\n');
  assert.deepEqual(await runCommand(...FROM, ...address, ...ca), expected);
  const size = await runCommand('queue', 'size', 'q', ...address, ...ca);
  assert.equal(size.output, '2\n');
  await secured.drain();
});

test('a member that refuses entries says why', async () => {
  original.maps.set('m', [{ key: text('k'), value: text('v') }]);
  const refusing = await memberWith({ restEnabled: 'false' });
  const { code, errors } = await runCommand(...FROM, '--address', `127.0.0.1:${refusing.port}`);
  await refusing.drain();
  assert.equal(code, 4);
  assert.match(errors, /\nRefused with 403: /);
});
