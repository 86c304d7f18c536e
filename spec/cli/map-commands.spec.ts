/**
 * The commands of `gridnode map` that use `v1`: conditions, lifetimes, counters, lists, lookup and
 * bulk; against a member, and against servers that are none.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { runCli } from '../../src/cli/main.ts';
import type { Member } from '../../src/member/member.ts';
import { Asker } from '../engine/results.ts';
import { memberWith } from '../integration/member-on.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { run as runCommand } from './run-command.ts';

const folder = temporaryFolder();
let member: Member;

before(async () => {
  member = await memberWith({});
});

after(() => member.drain());

async function run(...words: string[]) {
  return await runCommand(...words, '--address', `127.0.0.1:${member.port}`);
}

const done = (output = '') => ({ code: 0, output, errors: '' });

/** Returns the path of a file with this content. */
function fileOf(content: string | Buffer): string {
  const file = join(folder, String(Math.random()));
  writeFileSync(file, content);
  return file;
}

/** Returns the lines of JSON of an output, without entity tags. */
function objects(output: string): unknown[] {
  const lines = output.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const { etag: _, ...others } = JSON.parse(line);
    return others;
  });
}

/** Sets entries by their keys, each with its key as the value. */
async function fill(map: string, keys: readonly string[]): Promise<void> {
  const lines = keys.map((key) => `${JSON.stringify({ op: 'set', key, value: key })}\n`);
  assert.equal((await run('map', 'bulk', map, fileOf(lines.join('')))).code, 0);
}

test('map set and delete have conditions: exit code 1 if the entry does not meet them', async () => {
  const set = async (...words: string[]) => await run('map', 'set', 'locks', 'l', ...words);
  const first = await set('me', '--if-none-match', '*', '--json');
  const { done, etag } = JSON.parse(first.output);
  assert.deepEqual([first.code, done], [0, true]);
  const second = await set('you', '--if-none-match', '*');
  assert.deepEqual([second.code, second.output], [1, '']);
  assert.match(second.errors, /^Refused with 412: Cannot PUT .*: the entry does not meet If-Match/);
  assert.equal((await run('map', 'get', 'locks', 'l')).output, 'me');
  assert.deepEqual(await set('again', '--if-match', etag), { code: 0, output: '', errors: '' });
  const remove = ['map', 'delete', 'locks', 'l', '--if-match'];
  assert.equal((await run(...remove, etag)).code, 1);
  assert.equal((await run(...remove, '*')).code, 0);
  assert.equal((await run(...remove, '*')).code, 1);
  const bare = await set('me', '--if-match', 'abc');
  assert.deepEqual([bare.code, bare.output], [4, '']);
  assert.match(bare.errors, /^Refused with 400: Cannot use if-match: "abc": neither/i);
  const odd = await set('me', '--if-match', '"é"');
  assert.deepEqual(
    [odd.code, odd.errors],
    [2, 'Cannot use --if-match "\\"é\\"": not printable ASCII\n'],
  );
});

test('map set has a lifetime', async () => {
  await run('map', 'set', 'm', 'k', 'v', '--ttl', '1000', '--max-idle', '500');
  const { output } = await run('map', 'entries', 'm', '--prefix', 'k');
  assert.deepEqual(objects(output), [
    { key: 'k', length: 1, value: 'v', timeToLiveSeconds: 1000, maxIdleSeconds: 500 },
  ]);
  const { code, errors } = await run('map', 'set', 'm', 'k', 'v', '--ttl', '1.5');
  assert.equal(code, 4);
  assert.match(errors, /^Refused with 400: Cannot use grid-time-to-live: "1.5": not an integer/i);
});

test('map add adds to a number and prints the sum; exit code 1 if there is none', async () => {
  assert.deepEqual(await run('map', 'add', 'c', 'n'), done('1\n'));
  assert.deepEqual(await run('map', 'add', 'c', 'n', '--by', '-43'), done('-42\n'));
  const json = await run('map', 'add', 'c', '--key-base64', 'bg==', '--json');
  assert.match(json.output, /^\{"value":"-41","etag":"\\"[0-9a-f]{16}\\""\}\n$/);
  await run('map', 'set', 'c', 'text', 'one');
  const text = await run('map', 'add', 'c', 'text');
  assert.deepEqual([text.code, text.output], [1, '']);
  assert.match(text.errors, /^Refused with 409: .* is not a 64-bit integer\n$/);
  assert.equal((await run('map', 'add', 'c', 'n', '--by', '1.5')).code, 4);
  assert.deepEqual(await run('map', 'size', 'c'), done('2\n'));
  assert.deepEqual(await run('map', 'size', 'c', '--json'), done('{"size":2}\n'));
});

test('map list, keys and entries print a line for each', async () => {
  await fill('lists-a', ['one', 'line\nfeed']);
  await run('map', 'set', 'lists-a', 'other', '--key-base64', '/wA=', '--content-type', 'a/b');
  await fill('lists-b', ['k']);
  const list = ['map', 'list', '--prefix', 'lists-'];
  const { output } = await run(...list);
  const lines = output.trim().split('\n').sort();
  assert.match(
    lines.join('\n'),
    /^lists-a {2}3 entries {2}\d+ bytes\nlists-b {2}1 entry {2}\d+ bytes$/,
  );
  const { output: json } = await run(...list, '--json');
  const maps = objects(json) as { name?: string; cursor?: null }[];
  assert.deepEqual(maps.map(({ name }) => name).sort(), ['lists-a', 'lists-b', undefined]);
  assert.equal(maps.at(-1)?.cursor, null);

  const keys = await run('map', 'keys', 'lists-a');
  assert.deepEqual(keys.output.trim().split('\n').sort(), [
    'base64:/wA=',
    'line\\u000afeed',
    'one',
  ]);
  const { output: keyLines } = await run('map', 'keys', 'lists-a', '--json');
  assert.deepEqual(keyLines.trim().split('\n').sort(), [
    '{"cursor":null}',
    '{"key":"line\\nfeed"}',
    '{"key":"one"}',
    '{"keyBase64":"/wA="}',
  ]);
  const entries = await run('map', 'entries', 'lists-a');
  assert.equal(objects(entries.output).length, 3);
  const other = { keyBase64: '/wA=', contentType: 'a/b', length: 5, value: 'other' };
  assert.ok(objects(entries.output).some((each) => JSON.stringify(each) === JSON.stringify(other)));
  assert.deepEqual(await run('map', 'keys', 'nothing'), done());
});

test('no command reaches or lists the reserved map', async () => {
  const asker = new Asker(member.inProcess.engine);
  await asker.set('', 'k', 'own');
  const { version } = await asker.get('', 'k');
  const lines = fileOf('{"op":"set","key":"k","value":"v"}\n');
  for (const words of [
    ['get', '', 'k'],
    ['set', '', 'k', 'v'],
    ['delete', '', 'k'],
    ['add', '', 'k'],
    ['clear', ''],
    ['size', ''],
    ['keys', ''],
    ['entries', ''],
    ['lookup', '', 'k'],
    ['bulk', '', lines],
    ['import', '', fileOf('{"key":"k","value":"v"}')],
    ['export', '', join(folder, 'exported')],
  ]) {
    const { code, output, errors } = await run('map', ...words);
    assert.deepEqual([code, output], [2, ''], words.join(' '));
    assert.match(errors, /Cannot use "" as a name below maps: it is empty\n$/);
  }
  await fill('listed', ['k']);
  for (const line of objects((await run('map', 'list', '--json')).output) as { name?: string }[]) {
    assert.notEqual(line.name, '');
  }
  assert.ok((await asker.get('', 'k')).version.is(version));
  assert.equal((await asker.size('')).count, 1);
});

test('a list has a prefix and a limit, and continues from its cursor', async () => {
  const keys = Array.from({ length: 30 }, (_, index) => `${index % 2 ? 'odd' : 'a+b &'}${index}`);
  await fill('many', keys);
  const list = ['map', 'keys', 'many', '--prefix', 'a+b &'];
  const seen: unknown[] = [];
  for (let cursor: readonly string[] = []; ; ) {
    const { code, output } = await run(...list, '--limit', '4', '--json', ...cursor);
    assert.equal(code, 0);
    const lines = objects(output) as { key: string; cursor?: string | null }[];
    const { cursor: next } = lines.pop()!;
    assert.ok(lines.length <= 4);
    seen.push(...lines.map(({ key }) => key));
    if (next === null || next === undefined) break;
    cursor = ['--cursor', next];
  }
  assert.deepEqual(seen.sort(), keys.filter((key) => key.startsWith('a')).sort());
  assert.equal((await run(...list, '--limit', '5')).output.trim().split('\n').length, 5);
  const zero = await run(...list, '--limit', '0');
  assert.deepEqual(
    [zero.code, zero.errors],
    [2, 'Cannot use --limit "0": not an integer from 1 up\n'],
  );
  const foreign = await run(...list, '--cursor', 'abc');
  assert.equal(foreign.code, 4);
  assert.match(foreign.errors, /^Refused with 400: Cannot use cursor/);
});

test('a list of more than a page is printed whole', async () => {
  const keys = Array.from({ length: 20_500 }, (_, index) => String(index));
  await fill('pages', keys);
  const { output } = await run('map', 'keys', 'pages');
  assert.deepEqual(output.trim().split('\n').sort(), [...keys].sort());
  const limited = await run('map', 'keys', 'pages', '--limit', '10500');
  assert.equal(limited.output.trim().split('\n').length, 10_500);
});

test('map lookup prints the entries of keys; exit code 1 if one is missing', async () => {
  await fill('found', ['a', 'b']);
  const both = await run('map', 'lookup', 'found', 'b', 'a');
  assert.equal(both.code, 0);
  const entry = (key: string) => ({ key, length: 1, value: key });
  assert.deepEqual(objects(both.output), [entry('b'), entry('a')]);
  const one = await run('map', 'lookup', 'found', 'a', 'no');
  assert.equal(one.code, 1);
  assert.deepEqual(objects(one.output), [entry('a'), { key: 'no', absent: true }]);
  const file = fileOf('{"keyBase64":"YQ=="}\n\n{"key":"b"}');
  const { code, output } = await run('map', 'lookup', 'found', '--file', file);
  assert.equal(code, 0);
  assert.deepEqual(objects(output), [entry('a'), entry('b')]);
  const twice = await run('map', 'lookup', 'found', 'a', '--file', file);
  assert.deepEqual([twice.code, twice.errors], [2, 'Cannot use keys and --file at once\n']);
});

test('map bulk makes the changes of its lines, and prints the result of each', async () => {
  const bulk = async (...lines: unknown[]) => {
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    return await run('map', 'bulk', 'b', fileOf(text));
  };
  const set = { op: 'set', key: 'k', value: 'v' };
  const good = await bulk(set, { op: 'add', key: 'n', by: 7 }, { op: 'delete', key: 'k' });
  assert.deepEqual([good.code, good.errors], [0, '']);
  assert.deepEqual(objects(good.output), [
    { status: 201 },
    { status: 200, value: '7' },
    { status: 204 },
  ]);
  const unmet = await bulk({ ...set, ifMatch: '*' }, set);
  assert.equal(unmet.code, 1);
  assert.deepEqual(
    objects(unmet.output).map((each) => (each as { status: number }).status),
    [412, 201],
  );
  assert.equal((await bulk({ ...set, ifMatch: '*' }, { op: 'unknown' })).code, 4);
  assert.equal((await bulk({ op: 'unknown' }, { ...set, ifNoneMatch: '*' })).code, 4);
  assert.deepEqual(await run('map', 'bulk', 'b', fileOf('\n \n')), done());
  const long = await run('map', 'bulk', 'b', fileOf('x'.repeat(1_200_000)));
  assert.deepEqual([long.code, long.errors], [2, 'Cannot send a line of more than 1 MiB\n']);
  const missing = await run('map', 'bulk', 'b', '/nowhere/file');
  assert.deepEqual(
    [missing.code, missing.errors],
    [2, 'Cannot use "/nowhere/file": no such file\n'],
  );
  const directory = await run('map', 'bulk', 'b', folder);
  assert.deepEqual(directory.code, 2);
  assert.match(directory.errors, /: a directory, not a file\n$/);
});

test('map bulk reads standard input, and says so on a terminal', async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const streams = { stdin: Object.assign(stdin, { isTTY: true }), stdout, stderr };
  const words = ['map', 'bulk', 'input', '--address', `127.0.0.1:${member.port}`];
  const running = runCli(words, streams);
  const [prompt] = (await once(stderr, 'data')) as [Buffer];
  assert.match(String(prompt), /^Waiting for the lines; Ctrl-D/);
  stdin.write('{"op":"set",');
  stdin.end('"key":"k","value":"typed"}\n');
  assert.equal(await running, 0);
  assert.deepEqual(await run('map', 'get', 'input', 'k'), done('typed'));
});

/** Runs a command against a server that is no member. */
async function runAgainst(
  respond: (request: IncomingMessage, body: string) => readonly [status: number, body: string],
  ...words: string[]
) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [status, text] = respond(request, Buffer.concat(chunks).toString());
    response.writeHead(status).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const result = await runCommand(...words, '--address', `127.0.0.1:${port}`);
  server.close();
  return result;
}

test('lines are sent in smaller requests if the member refuses them as too long', async () => {
  const sizes: number[] = [];
  const respond = (_: unknown, body: string) => {
    const count = body.split('\n').length - 1;
    sizes.push(count);
    return count > 2 ? ([413, ''] as const) : ([200, '{"status":204}\n'.repeat(count)] as const);
  };
  const lines = '{"op":"delete","key":"k"}\n'.repeat(5);
  const { code, output } = await runAgainst(respond, 'map', 'bulk', 'm', fileOf(lines));
  assert.deepEqual([code, output], [0, '{"status":204}\n'.repeat(5)]);
  assert.deepEqual(sizes, [5, 2, 3, 1, 2]);
  const never = () => [413, ''] as const;
  const refused = await runAgainst(never, 'map', 'bulk', 'm', fileOf(lines));
  assert.deepEqual([refused.code, refused.output], [4, '']);
});

test('a response that is cut off or is no list ends a command with exit code 3', async () => {
  const keys = ['map', 'keys', 'm'];
  for (const [text, message] of [
    ['{"key":"a"}\n', /^Cannot read the list: the response was cut off\n$/],
    ['', /^Cannot read the list: the response was cut off\n$/],
    ['no JSON\n{"cursor":null}\n', /^Cannot read the response: a line of it is not JSON\n$/],
    ['x'.repeat(1_200_000), /^Cannot read the response: a line of it is too long\n$/],
    ['{"cursor":', /^Cannot read the response: a line of it is not JSON\n$/],
  ] as const) {
    const { code, errors } = await runAgainst(() => [200, text], ...keys);
    assert.equal(code, 3, text.slice(0, 20));
    assert.match(errors, message);
  }
  const bulk = ['map', 'bulk', 'm', fileOf('{}\n{}\n')];
  const short = await runAgainst(() => [200, '{"status":204}\n'], ...bulk);
  assert.deepEqual([short.code, short.output], [3, '{"status":204}\n']);
  const absent = await runAgainst(() => [404, ''], ...keys);
  assert.equal(absent.code, 4);
});
