/** The help of every command at several widths of the terminal. Covers src/cli/help-layout.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { helpWidth } from '../../src/cli/help-layout.ts';
import { run, runWith } from './run-command.ts';

/** The helps of a command and of all its subcommands, at a width in columns. */
async function helpsOf(words: readonly string[], columns: string): Promise<string[]> {
  const { code, output } = await runWith({ COLUMNS: columns }, [...words, '--help']);
  assert.equal(code, 0, words.join(' '));
  const [, list = ''] = /\nCommands:\n((?: .*\n)*)/.exec(output) ?? [];
  const names = [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name);
  const below = names.filter((name) => name !== 'help');
  const helps = [output];
  for (const name of below) helps.push(...(await helpsOf([...words, name], columns)));
  return helps;
}

for (const columns of [60, 80, 120]) {
  test(`no line of any help is longer than ${columns} columns, except a word or an example`, async () => {
    const helps = await helpsOf([], String(columns));
    assert.ok(helps.length > 45, String(helps.length));
    for (const help of helps) {
      const [text = '', example = ''] = help.split('\nExample:\n');
      for (const line of text.split('\n')) {
        const isWord = !/\S\s+\S/.test(line);
        assert.ok(line.length <= columns || isWord, line);
      }
      assert.doesNotMatch(example, /\n./, 'an example is one line');
    }
  });
}

test('the lines of long texts are nearly as long as the width', async () => {
  for (const columns of [60, 80, 120]) {
    const { output } = await runWith({ COLUMNS: String(columns) }, ['serve', '--help']);
    const [text = ''] = output.split('\nExample:\n');
    const longest = Math.max(...text.split('\n').map((line) => line.length));
    assert.ok(longest > columns - 5, `${longest} of ${columns}`);
  }
});

test('the width is that of COLUMNS, else of the terminal, else 80, and at least 40', () => {
  assert.equal(helpWidth({ COLUMNS: '100' }, 132), 100);
  assert.equal(helpWidth({}, 132), 132);
  for (const COLUMNS of ['', '0', '-1', 'wide']) assert.equal(helpWidth({ COLUMNS }, 132), 132);
  assert.equal(helpWidth({}, undefined), 80);
  // A terminal that does not know its width reports 0.
  assert.equal(helpWidth({}, 0), 80);
  assert.equal(helpWidth({ COLUMNS: '10' }, 132), 40);
});

test('help contains defaults, variables and required flags', async () => {
  const { output: serving } = await run('serve', '--help');
  const flat = serving.replace(/\s+/g, ' ');
  assert.match(flat, /--data-dir <DIR> [^<]*default none: without persistence\.enabled/);
  assert.match(
    flat,
    /--enable-group <GROUP> [^<]*repeatable; default CLUSTER_READ, HEALTH_CHECK\)/,
  );
  assert.match(
    flat,
    /--disable-group <GROUP> [^<]*default none; those served by default are CLUSTER_READ, HEALTH_CHECK\)/,
  );
  assert.match(flat, /variables of the environment, such as GRID_HOST and GRID_CLUSTER_NAME/);
  const { output: getting } = await run('map', 'get', '--help');
  assert.match(getting, /default dev; variable GRID_CLUSTER_NAME/);
  const { output: pruning } = await run('backup', 'prune', '--help');
  assert.match(pruning, /Directory of the backups \(required\)/);
});

test('a list of commands has their parameters, and the help of a command its options', async () => {
  const { output } = await run('map', '--help');
  assert.match(output, /^ {2}set <map> \[key] \[value] {2}Set the value$/m);
  for (const words of [['serve'], ['map', 'get'], []]) {
    const { code, output: same } = await run('help', ...words);
    assert.deepEqual([code, same], [0, (await run(...words, '--help')).output]);
  }
});
