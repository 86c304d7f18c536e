/**
 * Hints for command lines that cannot be used: commands of other programs, options of the JVM, and a
 * request for the help of a command that does not exist. Tested by misuse.spec.ts.
 */
import type { Command } from 'commander';
import { insteadOfJavaOption } from '../config/java-options.ts';

/** Words for which other programs have a command, with the commands here. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  add: 'queue offer',
  del: 'map delete',
  info: 'cluster status',
  pop: 'queue poll',
  push: 'queue offer',
  put: 'map set or queue offer',
  remove: 'map delete',
  rm: 'map delete',
  run: 'serve',
  server: 'serve',
  start: 'serve',
  status: 'cluster status',
  stop: 'cluster shutdown-member',
  take: 'queue poll',
  version: '--version',
};

/** Returns a line with a hint for an error of commander, or an empty text. */
export function usageHint(error: string): string {
  if (error.startsWith('error: too many arguments')) {
    return '(An argument that contains spaces needs quotes)\n';
  }
  const [, word = ''] = /^error: unknown command '([^']*)'\n$/.exec(error) ?? [];
  if (Object.hasOwn(OTHER_WORDS, word)) return `(Did you mean ${OTHER_WORDS[word]}?)\n`;
  const [, option = ''] = /^error: unknown option '(-[DX][^']*)'/.exec(error) ?? [];
  const instead = insteadOfJavaOption(option);
  return instead === undefined ? '' : `(There is no JVM here: ${instead})\n`;
}

/**
 * Returns the words for commander. `help map get` is `map get --help`. A request for the help of an
 * unknown command is the command itself, so that commander reports it.
 */
export function withHelp(words: readonly string[], program: Command): readonly string[] {
  const isHelpFirst = words[0] === 'help';
  if (!isHelpFirst && !words.includes('--help') && !words.includes('-h')) return words;
  const path = isHelpFirst ? words.slice(1) : words;
  let command: Command | undefined = program;
  let depth = 0;
  let last = program;
  while (command !== undefined) {
    last = command;
    const name: string | undefined = path[depth];
    command = command.commands.find((each) => each.name() === name);
    if (command !== undefined) depth += 1;
  }
  const next = path[depth] ?? '';
  const isUnknown = last.commands.length > 0 && /^[^-]/.test(next) && next !== 'help';
  if (isUnknown) return path.slice(0, depth + 1);
  return isHelpFirst ? [...path.slice(0, depth), '--help'] : words;
}
