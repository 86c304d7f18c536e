/**
 * The programs of examples/: each prints the expected output, reports an unexpected response, and
 * sends no offer or poll twice. An example whose interpreter is missing is skipped, unless `.ci/run`
 * installs it.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { freePort } from '../free-port.ts';
import { serve } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { RequestCutter } from './request-cutter.ts';
import { killAll, running, type Served } from './served-members.ts';
import { until } from './server-process.ts';
import { type ProgramResult, ROOT, runProgram } from './tools.ts';

const FOLDER = join(ROOT, 'examples');
const RUN = join(FOLDER, 'run.sh');
const EXAMPLES = execFileSync(RUN, ['--list'], { encoding: 'utf8' }).trim().split('\n');
const TEN_CALLS = EXAMPLES.filter((example) => example.startsWith('ten-calls/'));
/** Examples whose interpreters `.ci/run` does not install. */
const OPTIONAL = /\.(java|go|c|cs|ps1)$/;
/** Exit code of run.sh for an example whose interpreter is missing. */
const MISSING = 77;

let member: Served;
/** A member that refuses requests for maps and queues. */
let refusing: Served;
/** A member on which the queue of the ten calls is full. */
let full: Served;

before(async () => {
  member = await served('--config', join(FOLDER, 'member.yaml'));
  refusing = await served();
  full = await served('--enable-group', 'DATA', '--queue', 'example-jobs=1');
  await fetch(queueOf(full), { method: 'POST', body: 'an item' });
});

after(killAll);

function queueOf({ port }: Served): string {
  return `http://127.0.0.1:${port}/grid/rest/queues/example-jobs`;
}

async function served(...words: string[]): Promise<Served> {
  const started = await serve('--host', '127.0.0.1', ...words);
  running.push(started);
  return started;
}

/** Runs an example; skips the test if its interpreter may be missing. */
async function outputOf(
  t: TestContext,
  example: string,
  port: number,
  segment = 'grid',
): Promise<ProgramResult> {
  const GRIDNODE_URL = `http://127.0.0.1:${port}/${segment}`;
  const env = { ...process.env, LC_ALL: 'C', GRIDNODE_URL, PORT: String(await freePort()) };
  const result = await runProgram(RUN, ['--start', example], { env });
  if (result.code !== MISSING) return result;
  assert.match(example, OPTIONAL, result.output);
  t.skip(result.output.trim());
  return { code: MISSING, output: '' };
}

function assertFailure({ code, output }: ProgramResult, ...patterns: readonly RegExp[]): void {
  if (code === MISSING) return;
  assert.equal(code, 1, output);
  for (const pattern of patterns) assert.match(output, pattern);
  assert.doesNotMatch(output, /Traceback|^\s+at .*:\d+/m, 'a message, not a stack');
}

function expectedOutput(example: string): string {
  return readFileSync(join(FOLDER, dirname(example), 'expected.txt'), 'utf8');
}

test('run.sh lists every program for the ten calls', () => {
  const found = readdirSync(join(FOLDER, 'ten-calls'))
    .filter((name) => name !== 'expected.txt')
    .map((name) => `ten-calls/${name}`);
  assert.deepEqual([...TEN_CALLS].sort(), found.sort());
});

for (const example of EXAMPLES) {
  test(`${example} prints the expected output`, async (t) => {
    const { code, output } = await outputOf(t, example, member.port);
    if (code === MISSING) return;
    assert.equal(output, expectedOutput(example));
    assert.equal(code, 0);
  });

  test(`${example} reports that no member is there`, async (t) => {
    const result = await outputOf(t, example, await freePort());
    assertFailure(result, /refused|connect|no response/i);
  });

  test(`${example} reports a refusal with its message`, async (t) => {
    assertFailure(await outputOf(t, example, refusing.port), /403/, /DATA/);
  });
}

for (const example of TEN_CALLS) {
  for (const [step, pattern] of [
    ['offer', /^POST .*\/queues\//],
    ['poll', /^DELETE .*\/queues\//],
  ] as const) {
    test(`${example} sends the ${step} once, even if its connection ends`, async (t) => {
      const cutter = await RequestCutter.start(member.port, pattern);
      try {
        const result = await outputOf(t, example, cutter.port);
        assertFailure(result, new RegExp(`^${step}: no response`, 'm'));
        if (result.code === MISSING) return;
        assert.equal(cutter.cut.length, 1, cutter.cut.join('\n'));
      } finally {
        cutter.stop();
        await fetch(`${queueOf(member)}/0`, { method: 'DELETE' });
      }
    });
  }

  test(`${example} reports a full queue`, async (t) => {
    assertFailure(await outputOf(t, example, full.port), /^offer: status 503/m);
  });
}

test('the ten calls have the same output from a member that is compatible with the original', async (t) => {
  const words = ['--compatibility', 'hazelcast', '--enable-group', 'DATA'];
  const { port } = await served(...words);
  const example = 'ten-calls/curl.sh';
  const { output } = await outputOf(t, example, port, 'hazelcast');
  assert.equal(output, expectedOutput(example));
});

test('run.sh starts a member, and counts what passed and was skipped', async () => {
  const { GRIDNODE_URL: _, ...others } = process.env;
  const words = ['ten-calls/curl.sh', 'ten-calls/powershell.ps1'];
  const skipping = await runProgram(RUN, words, { env: others });
  assert.match(skipping.output, /^passed {3}ten-calls\/curl\.sh$/m);
  assert.equal(skipping.code, 0, skipping.output);
  if (/^2 passed, 0 failed, 0 skipped$/m.test(skipping.output)) return;
  assert.match(skipping.output, /^skipped {2}ten-calls\/powershell\.ps1: needs PowerShell/m);
  assert.match(skipping.output, /^1 passed, 0 failed, 1 skipped$/m);
  const failing = await runProgram(RUN, words, { env: { ...others, ALL: '1' } });
  assert.match(failing.output, /^1 passed, 1 failed, 0 skipped$/m);
  assert.equal(failing.code, 1);
});

test('a session of the example ends after its idle time', async (t) => {
  const folder = temporaryFolder();
  const file = join(folder, 'member.yaml');
  const settings = readFileSync(join(FOLDER, 'member.yaml'), 'utf8');
  assert.match(settings, /max-idle-seconds: 1800/);
  writeFileSync(file, settings.replace('max-idle-seconds: 1800', 'max-idle-seconds: 1'));
  const { port } = await served('--config', file);
  const grid = `http://127.0.0.1:${port}/grid`;
  const pagePort = await freePort();
  const words = ['-S', `127.0.0.1:${pagePort}`, join(FOLDER, 'sessions/index.php')];
  const env = { ...process.env, GRIDNODE_URL: grid };
  const server = spawn('php', words, { env, stdio: 'ignore' });
  t.after(async () => {
    server.kill();
    await once(server, 'exit');
  });
  const page = `http://127.0.0.1:${pagePort}/`;
  let cookie = '';
  await until(async () => {
    const response = await fetch(page);
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    return (await response.text()) === 'visit 1\n';
  });
  await until(async () => {
    const metrics = await (await fetch(`${grid}/metrics`)).text();
    return /^gridnode_expired_entries_total [1-9]/m.test(metrics);
  });
  const response = await fetch(page, { headers: { cookie } });
  assert.equal(await response.text(), 'visit 1\n');
});
