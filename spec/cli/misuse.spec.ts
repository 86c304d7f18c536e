/**
 * Covers src/cli. Invalid command lines: each with its exit code and its message on standard error;
 * standard output is empty.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { run } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'misuse-'));
const file = join(folder, 'file');
const empty = join(folder, 'empty');
const broken = join(folder, 'broken.yaml');
writeFileSync(file, 'a file');
writeFileSync(empty, '');
writeFileSync(broken, 'grid: {networks: {}}');

/** Writes an invalid configuration. Returns its path. */
function config(name: string, text: string | Buffer): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

after(() => rmSync(folder, { recursive: true }));

const get = 'map get m';
const nowhere = '/nowhere/at/all';

/** Arguments, split at blanks; `{}` is an empty argument. */
const wrong: readonly (readonly [words: string, code: number, message: RegExp])[] = [
  ['', 2, /^Usage: gridnode/],
  ['sreve', 2, /^error: unknown command 'sreve'\n\(Did you mean serve\?\)/],
  ['--nothing', 2, /^error: unknown option '--nothing'/],
  ['map', 2, /^Usage: gridnode map/],
  ['map gte m k', 2, /^error: unknown command 'gte'\n\(Did you mean get\?\)/],
  ['queue', 2, /^Usage: gridnode queue/],
  ['cluster', 2, /^Usage: gridnode cluster/],
  ['cluster stats', 2, /^error: unknown command 'stats'\n\(Did you mean one of (state|status)/],
  ['backup', 2, /^Usage: gridnode backup/],
  ['backup prnue', 2, /^error: unknown command 'prnue'\n\(Did you mean prune\?\)/],
  ['serve --prot 1', 2, /^error: unknown option '--prot'\n\(Did you mean --port\?\)/],
  ['serve --port', 2, /^error: option '--port <PORT>' argument missing/],
  ['serve --port x', 2, /^Cannot use --port "x": not an integer from 0 to 65535\n$/],
  ['serve --port 65536', 2, /^Cannot use --port "65536": not an integer from 0 to 65535\n$/],
  ['serve extra', 2, /^error: too many arguments/],
  [
    'serve -Dhazelcast.config=h.xml',
    2,
    /^error: unknown option '-Dhazelcast.config=h.xml'\n\(There is no JVM here: use --config or GRID_CONFIG for/,
  ],
  ['-Dhz.a.b=c serve', 2, /unknown option '-Dhz.a.b=c'\n\(There is no JVM here: use flags, GRID_ /],
  ['config -Xmx1g', 2, /unknown option '-Xmx1g'\n\(There is no JVM here: use --max-memory /],
  ['serve -Dother', 2, /^error: unknown option '-Dother'\n$/],
  [
    'serve --enable-group DATE',
    2,
    /^Cannot use --enable-group "DATE": .*; did you mean "DATA"\?\n$/,
  ],
  [
    'serve --disable-group WANN',
    2,
    /^Cannot use --disable-group "WANN": .*; did you mean "WAN"\?\n$/,
  ],
  ['serve --queue q', 2, /^Cannot use --queue "q": not /],
  ['serve --queue q=x', 2, /^Cannot use --queue "q=x": not /],
  ['serve --max-memory 1', 2, /^Cannot use --max-memory "1": not a number of bytes from 1m up/],
  ['serve --max-memory 2t', 2, /^Cannot use --max-memory "2t": not a number of bytes/],
  [
    'serve --body-bytes-max 2g',
    2,
    /^Cannot use --body-bytes-max "2g": not an integer from 1 to 1073741824/,
  ],
  [
    'serve --header-bytes-max 1x',
    2,
    /^Cannot use --header-bytes-max "1x": not an integer from 1 to/,
  ],
  ['serve --log-level LOUD', 2, /^Cannot use --log-level "LOUD": not one of OFF, SEVERE/],
  [
    'serve --compatibility other',
    2,
    /^Cannot use --compatibility "other": not one of none, hazelcast/,
  ],
  ['serve --path-segment a/b', 2, /^Cannot use --path-segment "a\/b": not letters/],
  ['serve --tls-key k', 2, /^Cannot use --tls-key "k": --tls-certificate is not given\n$/],
  ['serve --config /nowhere/at/all', 2, /nowhere\/at\/all/],
  [`serve --config ${broken}`, 2, /broken\.yaml:1:8: .*networks.*did you mean "network"\?/],
  [`config --config ${broken}`, 2, /broken\.yaml:1:8: .*networks.*did you mean "network"\?/],
  [
    `serve --config ${folder}`,
    2,
    /^Cannot read configuration file ".*": a directory, not a file\n$/,
  ],
  ['serve --config /dev/zero', 2, /^Cannot read configuration file "\/dev\/zero": a device, not /],
  [
    `serve --config ${config('root.yaml', 'map: {}')}`,
    2,
    /:1:1: .* "map": .*; put it below grid:\n$/,
  ],
  [
    `serve --config ${config('client.xml', '<hazelcast-client/>')}`,
    2,
    /:1:1: Cannot use root "hazelcast-client": .*; the file is a client's\n$/,
  ],
  [
    `serve --config ${config('latin.yaml', Buffer.from('grid:\n  a: \xe9', 'latin1'))}`,
    2,
    /:2:6: Cannot read text: byte 0xE9 at offset 11 is not valid UTF-8\n$/,
  ],
  [
    `serve --config ${config('utf7.xml', '<?xml version="1.0" encoding="UTF-7"?><grid/>')}`,
    2,
    /:1:31: Cannot use encoding "UTF-7": not UTF-8, ISO-8859-1 or US-ASCII\n$/,
  ],
  [
    `serve --config ${config('utf16.xml', Buffer.from('\ufeff<grid/>', 'utf16le'))}`,
    2,
    /:1:1: Cannot read text: it is UTF-16; write it as UTF-8\n$/,
  ],
  [
    `serve --config ${config('twice.yaml', 'grid: {map: {}, map: {}}')}`,
    2,
    /:1:17: Cannot read YAML: "map" occurs twice; names in a mapping must be unique\n$/,
  ],
  [
    `serve --config ${config('open.xml', '<grid><map name="m"></grid>')}`,
    2,
    /:1:21: .* <\/grid> in place of <\/map>: <map> of 1:7 is not closed\n$/,
  ],
  [
    `serve --config ${config('unnamed.yaml', 'grid: {queue: {"": {max-size: 1}}}')}`,
    2,
    /^\S*:1:16: Cannot use "" as a name: it is empty\n$/,
  ],
  [
    `serve --config ${config('url.yaml', 'grid: {import: ["file:///x/%zz"]}')}`,
    2,
    /:1:17: Cannot import "file:\/\/\/x\/%zz": not the URL of a local file: URI malformed\n$/,
  ],
  [
    `serve --config ${config('device.yaml', 'grid: {import: [/dev/zero]}')}`,
    2,
    /:1:17: Cannot import "\/dev\/zero": a device, not a file\n$/,
  ],
  [
    'serve --in-flight-bytes-max 1k',
    2,
    /^Cannot use --in-flight-bytes-max "1024": less than network\.http\.body-bytes-max, which is \d+\n$/,
  ],
  [
    'serve --body-bytes-max 2k --in-flight-bytes-max 1k',
    2,
    /^Cannot use --body-bytes-max "2048": more than --in-flight-bytes-max, which is 1024\n$/,
  ],
  ['config --port -1', 2, /^Cannot use --port "-1": not an integer from 0 to 65535\n$/],
  ['config --jsn', 2, /^error: unknown option '--jsn'\n\(Did you mean --json\?\)/],
  ['restore', 2, /^error: required option '--from <DIR>' not specified/],
  [`restore --from ${nowhere}`, 2, /^error: required option '--data-dir <DIR>' not specified/],
  [`restore --from ${nowhere} --data-dir d`, 2, /^Cannot use --from "\/nowhere\/at\/all": ENOENT/],
  [
    `restore --from ${file} --data-dir d`,
    2,
    /^Cannot use --from ".*": it, or a directory above it, is a file$/m,
  ],
  [
    `restore --from ${folder} --data-dir ${file}`,
    3,
    /^Cannot use data directory ".*": it is a file, not a/,
  ],
  ['repair', 2, /^error: required option '--data-dir <DIR>' not specified/],
  [`repair --data-dir ${nowhere}`, 2, /^Cannot use --data-dir "\/nowhere\/at\/all": ENOENT/],
  [
    `repair --data-dir ${folder} --to ${folder}`,
    2,
    /^Cannot use --to ".*": it is the directory to repair/,
  ],
  [
    `repair --data-dir ${folder} --partition-count 0`,
    2,
    /^Cannot use --partition-count "0": not an int/,
  ],
  ['hash-password', 2, /^Cannot hash a password: it is empty\n$/],
  ['completion', 2, /^error: missing required argument 'shell'/],
  ['completion tcsh', 2, /^error: command-argument value 'tcsh' is invalid .* bash, zsh, fish/],
  ['backup list', 2, /^error: required option '--backup-dir <DIR>' not specified/],
  [
    `backup list --backup-dir ${nowhere}`,
    2,
    /^Cannot use --backup-dir "\/nowhere\/at\/all": ENOENT/,
  ],
  [
    `backup verify b --backup-dir ${folder}`,
    2,
    /^Cannot verify "b": no backup of that name is in ".*"\n$/,
  ],
  [`backup prune --backup-dir ${folder}`, 2, /^error: required option '--keep <N>' not specified/],
  [
    `backup prune --keep 0 --backup-dir ${folder}`,
    2,
    /^Cannot use --keep "0": not an integer from 1 up\n$/,
  ],
  [get, 2, /^error: missing required argument 'key'/],
  [`${get} {}`, 2, /^Cannot use "" as a key: it is empty\n$/],
  ['map get {} k', 2, /^Cannot use "" as a name below maps: it is empty\n$/],
  [`${get} k more`, 2, /^error: too many arguments for 'get'/],
  [
    `${get} \u{fffd}`,
    2,
    /^Cannot use ".*" as a key: U\+FFFD .*; --key-base64 and --key-file accept any bytes\n$/,
  ],
  [
    'map get \u{fffd} k',
    2,
    /^Cannot use ".*" as a name: U\+FFFD stands for bytes that are not UTF-8\n$/,
  ],
  [
    'map set m k a\u{fffd}',
    2,
    /^Cannot use ".*" as a value: U\+FFFD .*; --file and standard input accept/,
  ],
  [`${get} k --key-base64 eA==`, 2, /^Cannot use "k" as a key: --key-base64 has it\n$/],
  [`${get} --key-base64 e`, 2, /^Cannot use --key-base64 "e": not Base64\n$/],
  [`${get} --key-base64 a*b=`, 2, /^Cannot use --key-base64 "a\*b=": not Base64\n$/],
  [
    `${get} --key-base64 eA== --key-file ${file}`,
    2,
    /^Cannot use --key-base64 and --key-file at once\n$/,
  ],
  [`${get} --key-file ${nowhere}`, 2, /^Cannot use --key-file "\/nowhere\/at\/all": ENOENT/],
  [`${get} --key-file ${empty}`, 2, /^Cannot use "" as a key: it is empty\n$/],
  ['map set m k v --file f', 2, /^Cannot use a value and --file "f" at once\n$/],
  [
    'map set m k v --content-type \u{e9}',
    2,
    /^Cannot use --content-type "é": not printable ASCII\n$/,
  ],
  [
    'queue poll q --timeout 1.5',
    2,
    /^Cannot use --timeout "1\.5": not an integer up to 2\^31-1\n$/,
  ],
  [
    `${get} k --address http://u:secret@h`,
    2,
    /^Cannot use --address: --user logs in, not the address\n$/,
  ],
  [`${get} k --address ftp://h`, 2, /^Cannot use --address "ftp:\/\/h": not a host and port\n$/],
  [`${get} k --path-segment a/b`, 2, /^Cannot use --path-segment "a\/b": not letters, digits/],
  [`${get} k --tls-key k`, 2, /^Cannot use --tls-key "k": --tls-certificate is not given\n$/],
  [
    `${get} k --tls-key k --tls-certificate c`,
    2,
    /^Cannot use --tls-certificate "c": --address does not begin with https:\/\/\n$/,
  ],
  [
    `cluster update-config ${nowhere} --address 127.0.0.1:1`,
    2,
    /^Cannot use "\/nowhere\/at\/all": ENOENT/,
  ],
  [
    `${get} k --address 127.0.0.1:1`,
    3,
    /^Cannot reach 127\.0\.0\.1:1: .*; is a member running there\?\n$/,
  ],
];

for (const [words, exit, message] of wrong) {
  test(`gridnode ${words.replaceAll(folder, '')} exits with ${exit}`, async () => {
    const split = words.split(' ').filter((word) => word !== '');
    const typed = split.map((word) => (word === '{}' ? '' : word));
    const { code, output, errors } = await run(...typed);
    assert.deepEqual([code, output], [exit, '']);
    assert.match(errors, message);
  });
}
