/** Covers src/cli/map-export.ts, src/cli/map-import.ts and src/cli/entry-lines.ts. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { programWords } from '../../bench/load/program.ts';
import { runCli } from '../../src/cli/main.ts';
import type { Member } from '../../src/member/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { configWith, memberWith, startQuietly } from '../integration/member-on.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runCut } from './cut-connection.ts';
import { run as runCommand } from './run-command.ts';

const MIB = 1_048_576;
const folder = temporaryFolder();
let files = 0;
let member: Member;

before(async () => {
  const lifetimes = { mapTimeToLiveSeconds: new Map([['short', 50]]) };
  member = await startQuietly(
    { ...configWith({}), ...lifetimes },
    createLog('OFF', process.stdout),
  );
});

after(() => member.drain());

async function run(...words: string[]) {
  const address = words.includes('--address') ? [] : ['--address', `127.0.0.1:${member.port}`];
  return await runCommand(...words, ...address);
}

const done = (output = '') => ({ code: 0, output, errors: '' });

function newFile(content?: string | Buffer): string {
  const file = join(folder, String(files++));
  if (content !== undefined) writeFileSync(file, content);
  return file;
}

function linesIn(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** Returns the lines of an export, in a fixed order, without those of cursors. */
function entriesIn(file: string): string[] {
  return linesIn(readFileSync(file, 'latin1'))
    .filter((line) => !line.startsWith('{"cursor"'))
    .sort();
}

/** Returns all entries of a map, in a fixed order, without their tags. */
async function dump(map: string): Promise<unknown[]> {
  const { output } = await run('map', 'entries', map);
  const entries = linesIn(output).map((line) => JSON.parse(line));
  for (const entry of entries) {
    delete entry.etag;
    const { key, keyBase64, value, valueBase64 } = entry;
    if (value !== undefined || valueBase64 !== undefined) continue;
    const words = keyBase64 === undefined ? [key] : ['--key-base64', keyBase64];
    entry.valueBase64 = JSON.parse(
      (await run('map', 'get', map, ...words, '--json')).output,
    ).base64;
  }
  const order = ({ key = '', keyBase64 = '' }) => key + keyBase64;
  return entries.sort((one, other) => (order(one) < order(other) ? -1 : 1));
}

/** Imports lines of JSON. */
async function importLines(map: string, lines: readonly unknown[], ...flags: string[]) {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return await run('map', 'import', map, newFile(text), ...flags);
}

/** Imports entries with these keys. */
async function fill(map: string, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, index) => ({
    key: `key-${index}`,
    value: `${index}`,
  }));
  assert.deepEqual(await importLines(map, lines), done(`${count} entries\n`));
}

/** Returns bytes that are not UTF-8. */
function bytesOf(length: number): Buffer {
  return Buffer.alloc(length, Buffer.from(Array.from({ length: 256 }, (_, index) => 255 - index)));
}

const ODD_ENTRIES = [
  { key: 'type', value: 'v', contentTypeBase64: 'YS/p' },
  { key: 'text', value: 'é "\\ \n\u0001', contentType: 'text/plain; charset=utf-8' },
  { key: 'a/b\nc', value: '' },
  { keyBase64: '/wA=', valueBase64: '/wCA' },
  { key: 'ttl', value: 'v', timeToLiveSeconds: 100_000 },
  { key: 'idle', value: 'v', maxIdleSeconds: 2 ** 31 - 1, timeToLiveSeconds: 0 },
  { key: 'key like a value ,"value":', value: ',"valueBase64":"{"cursor":null}' },
];

test('an export has all entries with their types and lifetimes, and its import is equal', async () => {
  assert.deepEqual(await importLines('odd', ODD_ENTRIES), done(`${ODD_ENTRIES.length} entries\n`));
  const header = ['--content-type', 'a/b'];
  // A line of a list has up to 1 MiB, with the value as text or in base64.
  for (const length of [MIB, MIB + 1, MIB + 2, MIB - 100, (MIB / 4) * 3 - 60, 3 * MIB]) {
    const key = `long-${length}`;
    const set = ['map', 'set', 'odd', key, '--ttl', '50000', ...header];
    assert.equal((await run(...set, '--file', newFile(bytesOf(length)))).code, 0);
    const text = newFile(Buffer.alloc(length, 'text\n'));
    assert.equal((await run('map', 'set', 'odd', `${key}-text`, '--file', text)).code, 0);
  }
  const file = newFile();
  const count = ODD_ENTRIES.length + 12;
  assert.deepEqual(await run('map', 'export', 'odd', file), done(`${count} entries\n`));
  assert.match(readFileSync(file, 'latin1'), /\n\{"cursor":null\}\n$/);
  assert.deepEqual(await run('map', 'import', 'copy', file), done(`${count} entries\n`));
  const left = (entries: unknown[]) =>
    entries.map((each) => {
      const { timeToLiveSeconds: seconds = 0, ...others } = each as { timeToLiveSeconds?: number };
      return { ...others, timeToLiveSeconds: Math.ceil(seconds / 1000) };
    });
  assert.deepEqual(left(await dump('copy')), left(await dump('odd')));
  const again = await run('map', 'import', 'copy', file, '--json');
  assert.deepEqual(again, done(`{"entries":${count}}\n`));
});

test('a prefix exports the entries whose keys begin with it, also to standard output', async () => {
  await fill('some', 20);
  const { code, output } = await run('map', 'export', 'some', '--prefix', 'key-1');
  assert.equal(code, 0);
  assert.equal(linesIn(output).length, 12);
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(output);
  const words = ['map', 'import', 'less', '--address', `127.0.0.1:${member.port}`];
  assert.equal(await runCli(words, { stdin, stdout, stderr }), 0);
  assert.equal(String(stdout.read()), '11 entries\n');
  const nothing = await run('map', 'export', 'nothing', newFile(), '--json');
  assert.deepEqual(nothing, done('{"entries":0}\n'));
});

test('an entry without a lifetime has none after an import into a map with one', async () => {
  const config = {
    mapLifetimes: new Map([['short', { timeToLiveMs: 50_000, maxIdleSeconds: 7 }]]),
  };
  assert.ok(config);
  await importLines('short', [
    { key: 'k', value: 'v' },
    { key: 'l', value: 'v', maxIdleSeconds: 5 },
  ]);
  assert.deepEqual(await dump('short'), [
    { key: 'k', length: 1, value: 'v' },
    { key: 'l', length: 1, value: 'v', maxIdleSeconds: 5 },
  ]);
});

test('an export continues wherever its file was cut off', async () => {
  await fill('cut', 25_000);
  const whole = newFile();
  await run('map', 'export', 'cut', whole);
  const bytes = readFileSync(whole);
  const entries = entriesIn(whole);
  assert.equal(entries.length, 25_000);
  const cursors = [...bytes.toString('latin1').matchAll(/\{"cursor".*\n/g)];
  assert.equal(cursors.length, 3);
  const [first = 0, second = 0] = cursors.map(({ index }) => index);
  const ends = [first + cursors[0]![0].length, bytes.length - 1];
  for (const cut of [0, 1, first - 1, first + 20, second + 30, ...ends]) {
    const file = newFile(bytes.subarray(0, cut));
    const { code, errors } = await run('map', 'export', 'cut', file, '--continue');
    assert.deepEqual([code, errors], [0, ''], String(cut));
    assert.deepEqual(entriesIn(file), entries, String(cut));
  }
  const file = newFile();
  assert.deepEqual(await run('map', 'export', 'cut', file, '--continue'), done('25000 entries\n'));
  assert.deepEqual(await run('map', 'export', 'cut', file, '--continue'), done('0 entries\n'));
});

test('an export overwrites no file', async () => {
  const file = newFile('mine');
  for (const flags of [[], ['--continue']]) {
    const { code, errors } = await run('map', 'export', 'some', file, ...flags);
    assert.equal(code, 2);
    assert.match(
      errors,
      flags.length === 0
        ? /: it exists; --continue continues/
        : /: it is not an export of a map\n$/,
    );
    assert.equal(readFileSync(file, 'utf8'), 'mine');
  }
  const other = await run('map', 'export', 'some', '--continue');
  assert.deepEqual([other.code, other.errors], [2, 'Cannot use --continue without a file\n']);
  assert.equal((await run('map', 'export', 'some', '/nowhere/file')).code, 2);
  const foreign = newFile('{"key":"k","value":"v"}\n{"cursor":"abc"}\n');
  const refused = await run('map', 'export', 'some', foreign, '--continue');
  assert.equal(refused.code, 4);
  assert.match(
    refused.errors,
    /^The export is not complete: --continue continues it\nRefused with 400: Cannot use cursor/,
  );
});

test('an export whose connection ends says so, and continues', async () => {
  await fill('ends', 21_000);
  const whole = newFile();
  await run('map', 'export', 'ends', whole);
  for (const bytes of [100, 1_300_000]) {
    const file = newFile();
    const { code, output, errors } = await runCut(member.port, bytes, [
      'map',
      'export',
      'ends',
      file,
    ]);
    assert.deepEqual([code, output], [3, '']);
    assert.match(
      errors,
      /^The export is not complete: --continue continues it\nCannot reach .*: (the connection ended within the response|socket hang up)/,
    );
    assert.equal((await run('map', 'export', 'ends', file, '--continue')).code, 0);
    assert.deepEqual(entriesIn(file), entriesIn(whole));
  }
});

test('an import whose connection ends says how many lines are imported, and continues', async () => {
  await fill('whole', 12_000);
  const file = newFile();
  await run('map', 'export', 'whole', file);
  const lines = linesIn(readFileSync(file, 'latin1')).length;
  // The result of a line has 45 bytes: the limit of 470,000 is within those of the second request.
  for (const bytes of [100, 470_000]) {
    await run('map', 'clear', 'part');
    const { code, output, errors } = await runCut(member.port, bytes, [
      'map',
      'import',
      'part',
      file,
    ]);
    assert.deepEqual([code, output], [3, '']);
    const counts = /^(\d+) lines are imported: --skip (\d+) continues\n/.exec(errors) ?? [];
    const [, count = '0', skip = '0'] = counts;
    assert.equal(count, skip);
    assert.ok(Number(skip) < lines && Number(skip) >= (bytes > 1000 ? 1 : 0), skip);
    const rest = await run('map', 'import', 'part', file, '--skip', skip);
    assert.equal(rest.code, 0);
    assert.equal((await run('map', 'size', 'part')).output, '12000\n');
  }
  assert.deepEqual(await dump('part'), await dump('whole'));
});

test('content types that are not UTF-8 are imported in bulk requests', async () => {
  const lines = Array.from({ length: 1000 }, (_, index) => {
    const type = Buffer.from(`a/\xe9${index}`, 'latin1').toString('base64');
    return `{"key":"${index}","value":"v","contentTypeBase64":"${type}"}\n`;
  });
  const file = newFile(lines.join(''));
  const done = await runCut(member.port, Number.POSITIVE_INFINITY, [
    'map',
    'import',
    'latin1',
    file,
  ]);
  assert.deepEqual([done.output, done.connections], ['1000 entries\n', 1]);
  const exported = newFile();
  await run('map', 'export', 'latin1', exported);
  const types = new Set(entriesIn(exported).map((line) => JSON.parse(line).contentTypeBase64));
  assert.equal(types.size, 1000);
});

test('an import that is interrupted says how many lines are imported', async () => {
  const words = ['map', 'import', 'signal', '--address', `127.0.0.1:${member.port}`];
  const child = spawn(process.execPath, [...programWords('bin/gridnode'), ...words]);
  const exited = once(child, 'close');
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  // Two requests: the second one is sent once the first one is confirmed.
  for (let number = 0; number < 20_000; number++) {
    child.stdin.write(`{"key":"${number}","value":""}\n`);
  }
  while ((await run('map', 'size', 'signal')).output !== '20000\n');
  child.kill('SIGINT');
  assert.deepEqual(await exited, [null, 'SIGINT']);
  assert.match(errors, /^([12]0000) lines are imported: --skip \1 continues\n$/);
});

test('a line that cannot be imported is named; those before it are imported', async () => {
  const good = ['{"key":"a","value":"1"}', '', '{"cursor":"x"}', '{"key":"b","value":"2"}'];
  const long = (value: string, length: number) =>
    `{"key":"long","length":${length},"valueBase64":"${value}`;
  const base64 = Buffer.alloc(MIB).toString('base64');
  for (const [line, code, message] of [
    ['no JSON', 2, 'Cannot import line 5: it is not a JSON object'],
    ['[]', 2, 'Cannot import line 5: it is not a JSON object'],
    [Buffer.from('{"key":"\xff"}', 'latin1'), 2, 'Cannot import line 5: it is not UTF-8'],
    ['{"value":"v"}', 2, 'Cannot import line 5: it has no key'],
    [
      '{"key":"k","length":1048576}',
      2,
      'Cannot import line 5: it has no value; only map export writes',
    ],
    // Lines that are too long for a bulk request.
    [
      `{"key":"k","value":7,"contentType":"${'x'.repeat(MIB - 50)}"}`,
      2,
      'Cannot import line 5: a member has not the type',
    ],
    [
      `{"key":"k","valueBase64":"${'x'.repeat(MIB - 51)}"}`,
      2,
      'Cannot import line 5: "valueBase64" is not base64',
    ],
    ['{"key":"k","valueBase64":"a","contentTypeBase64":"YQ=="}', 4, 'Line 5 is refused with 400: '],
    ['{"key":"k","value":"","contentTypeBase64":"Cg=="}', 4, 'Line 5 is refused with 400: '],
    ['{"key":"k","value":7}', 4, 'Line 5 is refused with 400: '],
    ['{"key":"k","value":"","timeToLiveSeconds":-1}', 4, 'Line 5 is refused with 400: Cannot use'],
    [
      '{"key":"k","value":"","more":1}',
      2,
      'Cannot import line 5: it has an unknown member, "more"',
    ],
    [
      `{"key":"k","value":"${'x'.repeat(2 * MIB)}"}`,
      2,
      'Cannot import line 5: it has more than 1 MiB',
    ],
    [
      `${long(base64, 7)}"}`,
      2,
      'Cannot import line 5: it does not end with "valueBase64" of 7 bytes',
    ],
    [
      `${long(base64, MIB + 1)}"}`,
      2,
      'Cannot import line 5: it does not end with "valueBase64" of 1048577',
    ],
    [`${long(base64, MIB)}`, 2, 'Cannot import line 5: it does not end with'],
    [`${long(base64, MIB)}"}}`, 2, 'Cannot import line 5: it does not end with'],
    [`${long(base64, MIB)}"${'x'.repeat(MIB)}}`, 2, 'Cannot import line 5: it does not end with'],
    [`${long(`!${base64.slice(1)}`, MIB)}"}`, 2, 'Cannot import line 5: it does not end with'],
  ] as const) {
    await run('map', 'clear', 'good');
    const text = [...good, line, '{"key":"c","value":"3"}'].map((each) => Buffer.from(each));
    const file = newFile(Buffer.concat(text.flatMap((each) => [each, Buffer.from('\n')])));
    const bad = await run('map', 'import', 'good', file);
    const shown = String(line).slice(0, 50);
    assert.deepEqual([bad.code, bad.output], [code, ''], shown);
    assert.ok(bad.errors.includes(message), `${shown}: ${bad.errors}`);
    assert.ok(bad.errors.includes('4 lines are imported: --skip 4 continues\n'), bad.errors);
    const keys = (await dump('good')).map((each) => (each as { key: string }).key);
    // A line that the member refuses does not hold up those after it.
    assert.deepEqual(keys.slice(0, 2), ['a', 'b'], shown);
    assert.deepEqual(await run('map', 'import', 'good', file, '--skip', '5'), done('1 entry\n'));
    assert.equal((await dump('good')).length, 3, shown);
  }
  const json = await importLines('good', [{ key: 'k', value: 7 }], '--json');
  assert.equal(json.code, 4);
  const { message, ...refusal } = JSON.parse(json.output);
  assert.deepEqual(refusal, { line: 1, status: 400 });
  assert.match(message, /^Cannot use value=7/);
  const skip = await importLines('good', [], '--skip', '1.5');
  assert.deepEqual(
    [skip.code, skip.errors],
    [2, 'Cannot use --skip "1.5": not an integer from 0 up\n'],
  );
});

test('an import is refused without permission or by a member that accepts no changes', async () => {
  const refusing = await memberWith({ restEnabled: 'false' });
  const file = newFile('{"key":"a","value":"1"}\n');
  const words = ['map', 'import', 'm', file, '--address', `127.0.0.1:${refusing.port}`];
  const { code, errors } = await run(...words);
  await refusing.drain();
  assert.equal(code, 4);
  assert.match(errors, /^Refused with 403: /);
});
