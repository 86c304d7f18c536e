/** The command line as a process: what it prints to which stream, and its exit codes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { VERSION } from '../../src/base/program-version.ts';
import { run, start } from './gridnode-process.ts';

test('gridnode --version prints the version', async () => {
  assert.deepEqual(await run(['--version']), { code: 0, output: `${VERSION}\n`, errors: '' });
});

test('gridnode serve --help lists every flag', async () => {
  const { code, output } = await run(['serve', '--help']);
  assert.equal(code, 0);
  for (const flag of ['--host', '--port', '--enable-group', '--queue', '--pipeline-max']) {
    assert.match(output, new RegExp(`${flag} <`));
  }
});

const wrong: readonly (readonly [readonly string[], RegExp])[] = [
  [['serve', '--prot', '1'], /--prot'\n.*--port/],
  [['serve', '--port'], /--port/],
  [['serve', '--port', 'x'], /^Cannot use --port "x": not an integer from 0 to 65535\n$/],
  [['serve', 'extra'], /too many arguments/],
  [['sreve'], /sreve'\n.*serve/],
  [[], /Usage: gridnode/],
];

for (const [words, message] of wrong) {
  test(`gridnode ${words.join(' ')} exits with 2 and prints the reason to standard error`, async () => {
    const { code, output, errors } = await run(words);
    assert.equal(code, 2);
    assert.equal(output, '');
    assert.match(errors, message);
  });
}

test('gridnode serve exits with 3 if the port is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  try {
    const { code, output } = await run(['serve', '--port', String(port)]);
    assert.equal(code, 3);
    const line = JSON.parse(output) as { code: string; msg: string };
    assert.equal(line.code, 'ADDRESS_IN_USE');
    assert.equal(line.msg, `Cannot listen on 127.0.0.1:${port}: already in use`);
  } finally {
    other.close();
  }
});

test('gridnode serve --port 0 serves on a free port and exits with 0 at SIGTERM', async () => {
  const child = start(['serve', '--port', '0']);
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  const [first] = (await once(lines, 'line')) as [string];
  const { msg, address, port } = JSON.parse(first) as Record<string, unknown>;
  assert.equal(msg, 'listening');
  assert.equal(address, '127.0.0.1');
  const response = await fetch(`http://127.0.0.1:${port}/grid/health/ready`);
  assert.equal(response.status, 200);
  child.kill('SIGTERM');
  for (const expected of ['draining', 'stopped']) {
    const [next] = (await once(lines, 'line')) as [string];
    assert.equal((JSON.parse(next) as Record<string, unknown>).msg, expected);
  }
  assert.deepEqual(await once(child, 'close'), [0, null]);
});
