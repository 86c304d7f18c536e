/**
 * Covers src/config/file-text.ts. Files that can be read: regular ones, and a pipe as the first one;
 * each up to its limit.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readPipe, readRegularFile } from '../../src/config/file-text.ts';
import { loadConfig } from '../../src/member/load.ts';
import { loadInThread } from '../../src/member/reading-thread.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { problemsOf, withFindings } from './documents.ts';

const FILE_BYTES_MAX = 16_777_216;

const folder = temporaryFolder();

const inFolder = (name: string) => join(folder, name);

function pipe(name: string): string {
  execFileSync('mkfifo', [inFolder(name)]);
  return inFolder(name);
}

/** Starts a process that writes to the pipe, which waits until the pipe is read. */
function feed(path: string, text: string | Buffer): void {
  const from = `${path}.text`;
  writeFileSync(from, text);
  spawn('sh', ['-c', 'cat "$0" > "$1"', from, path], { stdio: 'ignore' }).unref();
}

const request = (file: string) => ({ file, environment: {}, flags: [] });

test('An imported path that is not a regular file is refused before it is opened', async () => {
  mkdirSync(inFolder('folder'));
  pipe('import.pipe');
  const server = createServer().listen(inFolder('socket'));
  after(() => server.close());
  await once(server, 'listening');
  const refused = async (name: string): Promise<string | undefined> => {
    writeFileSync(inFolder('importing.yaml'), `grid:\n  import: ["${name}"]\n`);
    const [problem, ...more] = await problemsOf(loadConfig(request(inFolder('importing.yaml'))));
    assert.deepEqual(more, []);
    return problem?.replace(`${inFolder('importing.yaml')}:2:12: Cannot import "${name}": `, '');
  };
  assert.equal(await refused('folder'), 'a directory, not a file');
  assert.equal(await refused('import.pipe'), 'a pipe, not a file');
  assert.equal(await refused('socket'), 'a socket, not a file');
  assert.equal(await refused('/dev/zero'), 'a device, not a file');
  assert.equal(await refused('gone'), 'no such file');
});

test('An import by a URL that does not name a local file is a problem with its place', async () => {
  const wrong = [
    ['file:///x/%zz', 'URI malformed'],
    ['file:///x%2fy', 'File URL path must not include encoded / characters'],
    ['file://elsewhere/x', 'File URL host must be "localhost" or empty on linux'],
  ];
  const path = inFolder('urls.yaml');
  const list = wrong.map(([url]) => `\n    - "${url}"`).join('');
  writeFileSync(path, `grid:\n  import:${list}\n`);
  assert.deepEqual(
    await problemsOf(loadConfig(request(path))),
    wrong.map(
      ([url, why], at) =>
        `${path}:${at + 3}:7: Cannot import "${url}": not the URL of a local file: ${why}`,
    ),
  );
});

test('A file that imports itself by another name, or through another file, is refused', async () => {
  const path = inFolder('twice.yaml');
  writeFileSync(path, 'grid: {import: [linked.yaml]}');
  linkSync(path, inFolder('linked.yaml'));
  const [linked = ''] = await problemsOf(loadConfig(request(path)));
  assert.match(linked, /twice.yaml:1:17: Cannot import "linked.yaml": .*imports itself/);
  writeFileSync(inFolder('first.yaml'), 'grid: {import: [second.xml]}');
  writeFileSync(inFolder('second.xml'), '<grid>\n <import resource="first.yaml"/>\n</grid>');
  const [through = ''] = await problemsOf(loadConfig(request(inFolder('first.yaml'))));
  assert.match(through, /second.xml:2:10: Cannot import "first.yaml": .*imports itself/);
});

test('The first file may be a pipe, which imports files beside it, but only at a start', async () => {
  writeFileSync(inFolder('part.yaml'), 'grid: {instance-name: imported}');
  const path = pipe('first');
  feed(path, 'grid: {cluster-name: piped, import: [part.yaml]}');
  const { config, piped, warnings } = withFindings(await loadConfig(request(path)));
  assert.deepEqual([config.clusterName, config.instanceName, warnings], ['piped', 'imported', []]);
  assert.ok(piped);
  writeFileSync(inFolder('part.yaml'), 'grid: {instance-name: again}');
  const again = withFindings(await loadInThread({ ...request(path), file: piped }));
  assert.deepEqual([again.config.clusterName, again.config.instanceName], ['piped', 'again']);
  assert.deepEqual(again.warnings, [
    `${path} is a pipe, which can be read only once: reloads use its content from the start`,
  ]);
  assert.deepEqual(await problemsOf(loadInThread(request(path))), [
    `Cannot read configuration file "${path}": a pipe, not a file`,
  ]);
});

test('A path that is neither a file nor a pipe is refused as the first file', async () => {
  mkdirSync(inFolder('none'));
  for (const [path, kind] of [
    [inFolder('none'), 'a directory'],
    ['/dev/zero', 'a device'],
  ]) {
    assert.deepEqual(await problemsOf(loadConfig(request(path ?? ''))), [
      `Cannot read configuration file "${path}": ${kind}, not a file`,
    ]);
  }
});

test('readRegularFile and readPipe read at most FILE_BYTES_MAX bytes', () => {
  const path = pipe('limit');
  const most = Buffer.alloc(FILE_BYTES_MAX, 'x');
  feed(path, most);
  assert.ok(most.equals(readPipe(path)?.bytes ?? Buffer.alloc(0)));
  assert.ok(most.equals(readRegularFile(`${path}.text`).bytes));
  feed(path, Buffer.concat([most, Buffer.from('y')]));
  const message = `more than ${FILE_BYTES_MAX} bytes`;
  assert.throws(() => readPipe(path), { message });
  assert.throws(() => readRegularFile(`${path}.text`), { message });
  // The system does not report the size of this file.
  assert.ok(readRegularFile('/proc/self/status').bytes.length > 0);
});
