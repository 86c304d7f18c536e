/** Runs the completion scripts in their shells. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder();

/** Scripts that print the completions of their arguments after `$1`, the completion script. */
const COMPLETING = {
  bash: `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gridnode
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Replaces the function of zsh, which only draws.
  zsh: `compdef() { : }; source "$1"; shift
    _describe() { print -l -- \${(M)\${(@)\${(P)2}%%:*}:#$words[CURRENT]*} }
    words=("$@"); CURRENT=$#; _gridnode`,
  fish: 'source $argv[1]; complete -C "$argv[2..]" | string split -f1 \\t',
} as const;

const COMPLETIONS: readonly (readonly [words: string, found: readonly string[]])[] = [
  ['que', ['queue']],
  ['map s', ['set', 'size']],
  ['cluster change-s', ['change-state']],
  ['map get --key-', ['--key-base64', '--key-file']],
  ['backup prune --ke', ['--keep']],
  ['migrate --from-tls-', ['--from-tls-certificate', '--from-tls-key']],
  ['serve --header-b', ['--header-bytes-max']],
];

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  test(`${shell} completes commands and flags`, async () => {
    const { code, output } = await run('completion', shell);
    assert.equal(code, 0);
    const script = join(folder, shell);
    writeFileSync(script, output);
    for (const [words, found] of COMPLETIONS) {
      const typed = ['gridnode', ...words.split(' ')];
      const plain = { bash: ['--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
      const name = shell === 'fish' ? [] : [shell];
      const result = spawnSync(shell, [
        ...plain,
        '-c',
        COMPLETING[shell],
        ...name,
        script,
        ...typed,
      ]);
      assert.equal(result.error, undefined, `Cannot run ${shell}: apt-get install ${shell}`);
      assert.equal(String(result.stderr), '');
      assert.deepEqual(String(result.stdout).trim().split('\n').sort(), found, words);
    }
  });
}
