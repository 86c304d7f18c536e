/** Runs each command of the tour in README in a shell, except for the port as written. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ServerProcess } from '../../bench/load/server-process.ts';

const ROOT = join(import.meta.dirname, '../..');

const member = new ServerProcess('member', [
  join(ROOT, 'dist/bin/gridnode.js'),
  ...['serve', '--port', '0', '--enable-group', 'DATA'],
]);

before(async () => {
  try {
    execFileSync('curl', ['--version']);
  } catch (cause) {
    throw new Error('Cannot run the tour without curl: apt-get install curl', {
      cause,
    });
  }
  await member.serving();
});

after(() => member.stop());

test('every command of the tour prints the output shown in README', () => {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const readme = text.replaceAll('5701', String(member.port));
  const tour = /<!-- tour -->\n```console\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const steps = tour.split(/^\$ /m).slice(1);
  assert(steps.length >= 10, 'README has a tour');
  for (const step of steps) {
    const [command = '', ...lines] = step.split('\n');
    const printed = execFileSync('bash', ['-c', command], { encoding: 'utf8' });
    assert.equal(masked(printed), masked(lines.join('\n')), command);
  }
});

/** Removes the date and uuid, which differ in each run, and the line ends of HTTP. */
function masked(text: string): string {
  return text
    .replaceAll('\r', '')
    .replace(/^Date: .* GMT$/m, 'Date')
    .replace(/"uuid":"[0-9a-f-]{36}"/, '"uuid"')
    .replace(/\n$/, '');
}
