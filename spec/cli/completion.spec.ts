/**
 * The output of `gridnode completion` contains every command and flag. spec/peers runs it in the
 * shells.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CP_CALLS } from '../../src/cli/cp-calls.ts';
import { CLUSTER_CALLS } from '../../src/cli/member-calls.ts';
import { SETTING_FLAGS } from '../../src/member/settings.ts';
import { run } from './run-command.ts';

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`gridnode completion ${shell} contains every command and flag`, async () => {
    const { code, output, errors } = await run('completion', shell);
    assert.deepEqual([code, errors], [0, '']);
    const commands = [
      'serve',
      'config',
      'restore',
      'repair',
      'hash-password',
      'completion',
      'migrate',
    ];
    const ofMaps = ['size', 'keys', 'entries', 'add', 'bulk', 'lookup', 'export', 'import'];
    const below = ['map', 'get', ...ofMaps, 'queue', 'offer', 'backup', 'list', 'verify', 'prune'];
    const locks = ['cp', 'lock', 'unlock', 'heartbeat', 'close-session'];
    const calls = [...CLUSTER_CALLS, ...CP_CALLS].map(([{ command }]) => command);
    for (const word of [...commands, ...below, ...locks, ...calls]) {
      assert.match(output, new RegExp(`[' ]${word}[': ]`), word);
    }
    const flags = [...SETTING_FLAGS.map(({ flag }) => flag.name), '--key-base64', '--keep', '--to'];
    flags.push('--if-none-match', '--ttl', '--cursor', '--continue', '--skip');
    flags.push('--group', '--wait', '--session', '--from', '--dry-run');
    for (const flag of flags) {
      const seen = shell === 'fish' ? `-l ${flag.slice(2)} ` : flag;
      assert.ok(output.includes(seen), flag);
    }
  });
}

test('the help of every command has an example; client commands and serve have groups of flags', async () => {
  const commands = [
    ...['serve', 'config', 'restore', 'repair', 'hash-password', 'completion', 'health', 'migrate'],
    ...['map get', 'map set', 'map delete', 'map clear', 'queue offer', 'queue poll', 'queue size'],
    ...['size', 'list', 'keys', 'entries', 'add', 'bulk', 'lookup'].map((word) => `map ${word}`),
    ...['map export', 'map import'],
    ...['backup list', 'backup verify', 'backup prune'],
    ...CLUSTER_CALLS.map(([{ command }]) => `cluster ${command}`),
    ...CP_CALLS.map(([{ command }]) => `cp ${command}`),
    ...['cp lock', 'cp unlock', 'cp heartbeat', 'cp close-session'],
  ];
  for (const command of commands) {
    const { code, output } = await run(...command.split(' '), '--help');
    assert.equal(code, 0, command);
    assert.match(output, new RegExp(`\nExample:\n  gridnode ${command}\\b.*\n$`), command);
  }
  const { output: serving } = await run('serve', '--help');
  for (const title of [
    'Address',
    'Member',
    'What is served',
    'TLS',
    'Data on the disk',
    'Limits',
  ]) {
    assert.match(serving, new RegExp(`\n${title}:\n`));
  }
  for (const { flag } of SETTING_FLAGS) assert.match(serving, new RegExp(` ${flag.name}( <|\n)`));
  const { output: getting } = await run('map', 'get', '--help');
  for (const title of ['Member', 'Login and TLS', 'Options']) {
    assert.match(getting, new RegExp(`\n${title}:\n`));
  }
});
