/**
 * Covers src/cli. Invalid command lines: each with its exit code and its message on standard error;
 * standard output is empty. config.spec.ts has the invalid values of the flags of settings,
 * broken-files.spec.ts the invalid configuration files.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';
import { run } from './run-command.ts';

const folder = temporaryFolder();
const file = join(folder, 'file');
const empty = join(folder, 'empty');
const broken = join(folder, 'broken.yaml');
writeFileSync(file, 'a file');
writeFileSync(empty, '');
writeFileSync(broken, 'grid: {networks: {}}');

const get = 'map get m';
const nowhere = '/nowhere/at/all';

/** Arguments, split at blanks (`{}` is an empty one), the message, and an exit code other than 2. */
const wrong: readonly (readonly [words: string, message: RegExp, code?: number])[] = [
  ['', /^Usage: gridnode/],
  ['sreve', /^error: unknown command 'sreve'\n\(Did you mean serve\?\)/],
  ['version', /^error: unknown command 'version'\n\(Did you mean --version\?\)\n\(Add --help/],
  ['map put m k v', /^error: unknown command 'put'\n\(Did you mean map set or queue offer\?\)/],
  ['map constructor', /^error: unknown command 'constructor'\n\(Add --help for help\)\n$/],
  ['help sreve', /^error: unknown command 'sreve'\n\(Did you mean serve\?\)/],
  ['help map gte', /^error: unknown command 'gte'\n\(Did you mean get\?\)/],
  ['sreve --help', /^error: unknown command 'sreve'\n\(Did you mean serve\?\)/],
  [
    'map set m k two words',
    /^error: too many arguments .*\n\(An argument that contains spaces needs/,
  ],
  ['--nothing', /^error: unknown option '--nothing'/],
  ['map', /^Usage: gridnode map/],
  ['map gte m k', /^error: unknown command 'gte'\n\(Did you mean get\?\)/],
  ['queue', /^Usage: gridnode queue/],
  ['cluster', /^Usage: gridnode cluster/],
  ['cluster stats', /^error: unknown command 'stats'\n\(Did you mean one of (state|status)/],
  ['backup', /^Usage: gridnode backup/],
  ['backup prnue', /^error: unknown command 'prnue'\n\(Did you mean prune\?\)/],
  ['serve --prot 1', /^error: unknown option '--prot'\n\(Did you mean --port\?\)/],
  ['serve --port', /^error: option '--port <PORT>' argument missing/],
  ['serve --port 65536', /^Cannot use --port "65536": not an integer from 0 to 65535\n$/],
  ['serve extra', /^error: too many arguments/],
  [
    'serve -Dhazelcast.config=h.xml',
    /^error: unknown option '-Dhazelcast.config=h.xml'\n\(There is no JVM here: use --config or GRID_CONFIG for/,
  ],
  ['-Dhz.a.b=c serve', /unknown option '-Dhz.a.b=c'\n\(There is no JVM here: use flags, GRID_ /],
  ['config -Xmx1g', /unknown option '-Xmx1g'\n\(There is no JVM here: use --max-memory /],
  ['serve -Dother', /^error: unknown option '-Dother'\n\(Add --help for help\)\n$/],
  [`serve --config ${broken}`, /broken\.yaml:1:8: .*networks.*did you mean "network"\?/],
  [`config --config ${broken}`, /broken\.yaml:1:8: .*networks.*did you mean "network"\?/],
  ['config --port -1', /^Cannot use --port "-1": not an integer from 0 to 65535\n$/],
  ['config --jsn', /^error: unknown option '--jsn'\n\(Did you mean --json\?\)/],
  ['restore', /^error: required option '--from <DIR>' not specified/],
  [`restore --from ${nowhere}`, /^error: required option '--data-dir <DIR>' not specified/],
  [
    `restore --from ${nowhere} --data-dir d`,
    /^Cannot use --from "\/nowhere\/at\/all": no such directory\n$/,
  ],
  [
    `restore --from ${file} --data-dir d`,
    /^Cannot use --from ".*": it, or a directory above it, is a file$/m,
  ],
  [
    `restore --from ${folder} --data-dir ${file}`,
    /^Cannot use data directory ".*": it is a file, not a/,
    3,
  ],
  ['repair', /^error: required option '--data-dir <DIR>' not specified/],
  [
    `repair --data-dir ${nowhere}`,
    /^Cannot use --data-dir "\/nowhere\/at\/all": no such directory\n$/,
  ],
  [
    `repair --data-dir ${folder} --to ${folder}`,
    /^Cannot use --to ".*": it is the directory to repair/,
  ],
  [
    `repair --data-dir ${folder} --partition-count 0`,
    /^Cannot use --partition-count "0": not an int/,
  ],
  ['hash-password', /^Cannot hash a password: it is empty\n$/],
  ['completion', /^error: missing required argument 'shell'/],
  ['completion tcsh', /^error: command-argument value 'tcsh' is invalid .* bash, zsh, fish/],
  ['backup list', /^error: required option '--backup-dir <DIR>' not specified/],
  [
    `backup list --backup-dir ${nowhere}`,
    /^Cannot use --backup-dir "\/nowhere\/at\/all": no such directory\n$/,
  ],
  [
    `backup verify b --backup-dir ${folder}`,
    /^Cannot verify "b": no backup of that name is in ".*"\n$/,
  ],
  [`backup prune --backup-dir ${folder}`, /^error: required option '--keep <N>' not specified/],
  [get, /^error: missing required argument 'key'/],
  [`${get} {}`, /^Cannot use "" as a key: it is empty\n$/],
  ['map get {} k', /^Cannot use "" as a name below maps: it is empty\n$/],
  [`${get} k more`, /^error: too many arguments for 'get'/],
  [
    `${get} \u{fffd}`,
    /^Cannot use ".*" as a key: U\+FFFD .*; --key-base64 and --key-file accept any bytes\n$/,
  ],
  [
    'map get \u{fffd} k',
    /^Cannot use ".*" as a name: U\+FFFD stands for bytes that are not UTF-8\n$/,
  ],
  [
    'map set m k a\u{fffd}',
    /^Cannot use ".*" as a value: U\+FFFD .*; --file and standard input accept/,
  ],
  [`${get} k --key-base64 eA==`, /^Cannot use "k" as a key: --key-base64 has it\n$/],
  [`${get} --key-base64 e`, /^Cannot use --key-base64 "e": not Base64\n$/],
  [`${get} --key-base64 a*b=`, /^Cannot use --key-base64 "a\*b=": not Base64\n$/],
  [
    `${get} --key-base64 eA== --key-file ${file}`,
    /^Cannot use --key-base64 and --key-file at once\n$/,
  ],
  [`${get} --key-file ${nowhere}`, /^Cannot use --key-file "\/nowhere\/at\/all": no such file\n$/],
  [`${get} --key-file ${empty}`, /^Cannot use "" as a key: it is empty\n$/],
  ['map set m {} v', /^Cannot use "" as a key/],
  ['map set m k --file /nowhere/f', /^Cannot use --file "\/nowhere\/f": no such file\n$/],
  ['map set m k v --file f', /^Cannot use a value and --file "f" at once\n$/],
  ['map set m k v --content-type \u{e9}', /^Cannot use --content-type "é": not printable ASCII\n$/],
  ['queue poll q --timeout 1.5', /^Cannot use --timeout "1\.5": not an integer up to 2\^31-1\n$/],
  [
    `${get} k --address http://u:secret@h`,
    /^Cannot use --address: --user logs in, not the address\n$/,
  ],
  [
    `${get} k --address ftp://h`,
    /^Cannot use --address "ftp:\/\/h": not a host and port, or an http or/,
  ],
  [`${get} k --address http://h/path`, /^Cannot use --address/],
  ['health --ca /nowhere/ca', /^Cannot use --ca "\/nowhere\/ca": no such file\n$/],
  ['cluster change-state', /missing required argument 'state'/],
  [`${get} k --path-segment a/b`, /^Cannot use --path-segment "a\/b": not letters, digits/],
  [`${get} k --tls-key k`, /^Cannot use --tls-key "k": --tls-certificate is not given\n$/],
  [
    `${get} k --tls-key k --tls-certificate c`,
    /^Cannot use --tls-certificate "c": --address does not begin with https:\/\/\n$/,
  ],
  [
    `cluster update-config ${nowhere} --address 127.0.0.1:1`,
    /^Cannot use "\/nowhere\/at\/all": no such file\n$/,
  ],
  [
    `${get} k --address nowhere.invalid:1`,
    /^Cannot reach nowhere\.invalid:1: getaddrinfo (EAI_AGAIN .*|ENOTFOUND .*; no host is called .*)\n$/,
    3,
  ],
  [
    `${get} k --address 127.0.0.1:1`,
    /^Cannot reach 127\.0\.0\.1:1: .*ECONNREFUSED .*; is a member running there\?\n$/,
    3,
  ],
];

for (const [words, message, exit = 2] of wrong) {
  test(`gridnode ${words.replaceAll(folder, '')} exits with ${exit}`, async () => {
    const split = words.split(' ').filter((word) => word !== '');
    const typed = split.map((word) => (word === '{}' ? '' : word));
    const { code, output, errors } = await run(...typed);
    assert.deepEqual([code, output], [exit, '']);
    assert.match(errors, message);
  });
}
