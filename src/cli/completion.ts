/**
 * `gridnode completion bash|zsh|fish`: prints a script that completes commands and flags. It is generated
 * from the commands, so it always matches this version. Each shell gets a table of the words that can
 * follow each command; if none matches, files are completed.
 */
import type { Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A command: its words after the program's name, and the words that can follow. */
interface Completed {
  readonly words: readonly string[];
  readonly commands: readonly Described[];
  readonly flags: readonly Described[];
}

interface Described {
  readonly word: string;
  readonly about: string;
}

/** Returns the script for the shell. `program`: the program with its commands. */
export function completionScript(shell: Shell, program: Command): string {
  return WRITERS[shell](completedOf(program, []));
}

const WRITERS: Readonly<Record<Shell, (all: readonly Completed[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function completedOf(command: Command, words: readonly string[]): readonly Completed[] {
  const own: Completed = {
    words,
    commands: command.commands.map((each) => ({
      word: each.name(),
      about: each.summary() || each.description(),
    })),
    flags: [
      ...command.options.map(({ long, description }) => ({ word: long ?? '', about: description })),
      { word: '--help', about: 'Help' },
    ],
  };
  const below = command.commands.flatMap((each) => completedOf(each, [...words, each.name()]));
  return [own, ...below];
}

/**
 * The script looks up the words typed so far that are not flags; arguments of flags may be among them.
 */
function bashScript(all: readonly Completed[]): string {
  const rows = all.map(
    ({ words, commands, flags }) =>
      `    ${quoted(words.join(' '))}) words=${quoted([...commands, ...flags].map(({ word }) => word).join(' '))} ;;`,
  );
  return `_gridnode() {
  local command='' word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${command:+$command }$word" in
      ${patterns(all)}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command" in
${rows.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gridnode gridnode
`;
}

function zshScript(all: readonly Completed[]): string {
  const rows = all.map(({ words, commands, flags }) => {
    const items = [...commands, ...flags].map(({ word, about }) =>
      quoted(`${word.replaceAll(':', '\\:')}:${about}`),
    );
    return `    ${quoted(words.join(' '))}) items=(${items.join(' ')}) ;;`;
  });
  return `#compdef gridnode
_gridnode() {
  local command='' word
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${command:+$command }$word" in
      ${patterns(all)}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command" in
${rows.join('\n')}
  esac
  _describe gridnode items || _files
}
compdef _gridnode gridnode
`;
}

function fishScript(all: readonly Completed[]): string {
  const lines = all.flatMap(({ words, commands, flags }) => {
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
    const none =
      commands.length === 0
        ? []
        : [`not __fish_seen_subcommand_from ${commands.map(({ word }) => word).join(' ')}`];
    const where = [...seen, ...none].join('; and ');
    return [
      ...commands.map(({ word, about }) => `-f -n ${quoted(where)} -a ${word} -d ${quoted(about)}`),
      ...flags.map(
        ({ word, about }) => `-n ${quoted(where)} -l ${word.slice(2)} -d ${quoted(about)}`,
      ),
    ];
  });
  return `${lines.map((line) => `complete -c gridnode ${line}`).join('\n')}\n`;
}

/** The words of all commands, as a pattern of `case`. */
function patterns(all: readonly Completed[]): string {
  const paths = all.map(({ words }) => words.join(' ')).filter((path) => path !== '');
  return paths.map(quoted).join('|');
}

/**
 * Quotes a text for all three shells. Only the quote itself is special: another character replaces it.
 */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’').replaceAll('\n', ' ')}'`;
}
