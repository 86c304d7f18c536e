/**
 * The layout of help: texts are wrapped at the width of the terminal. Each list has two columns. A
 * term that is longer than its column is on a line of its own, above its description, so that one
 * long flag does not narrow all descriptions. Examples are never wrapped.
 */
import type { Help } from 'commander';

/** Width of help that is not written to a terminal, in columns. */
const DEFAULT_WIDTH = 80;
/** Least width; a narrower terminal breaks the lines itself. */
const LEAST_WIDTH = 40;
/** Widest column of terms, without the spaces around it. */
const TERM_WIDTH_MAX = 26;
const INDENT = '  ';

/**
 * Returns the width for help: that of COLUMNS, else of the terminal. `columns`: those of the
 * terminal, undefined if there is none.
 */
export function helpWidth(environment: NodeJS.ProcessEnv, columns: number | undefined): number {
  const { COLUMNS = '' } = environment;
  const width = /^[1-9]\d{0,3}$/.test(COLUMNS) ? Number(COLUMNS) : columns || DEFAULT_WIDTH;
  return Math.max(width, LEAST_WIDTH);
}

/** The methods of commander's help that differ from its own. */
export const HELP_LAYOUT: Partial<Help> = {
  // commander does not wrap texts for less than this width, in columns.
  minWidthToWrap: 1,

  formatItem(term, termWidth, description, helper) {
    if (description === '') return INDENT + term;
    const column = Math.min(termWidth, TERM_WIDTH_MAX);
    const indent = ' '.repeat(column + 2 * INDENT.length);
    const width = (helper.helpWidth ?? DEFAULT_WIDTH) - indent.length;
    const lines = helper.boxWrap(description, width).replaceAll('\n', `\n${indent}`);
    if (term.length > column) return `${INDENT}${term}\n${indent}${lines}`;
    return INDENT + term.padEnd(column) + INDENT + lines;
  },

  optionDescription({ description, mandatory, envVar, defaultValue }) {
    const notes = [
      ...(mandatory ? ['required'] : []),
      ...(defaultValue === undefined ? [] : [`default ${defaultValue}`]),
      ...(envVar === undefined ? [] : [`variable ${envVar}`]),
    ];
    return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
  },

  styleUsage(usage) {
    const indent = 'Usage: '.length;
    const lines = this.boxWrap?.(usage, (this.helpWidth ?? DEFAULT_WIDTH) - indent) ?? usage;
    return lines.replaceAll('\n', `\n${' '.repeat(indent)}`);
  },

  // Every subcommand has options, which its own help lists.
  subcommandTerm(command) {
    const parameters = command.registeredArguments.map((each) =>
      each.required ? `<${each.name()}>` : `[${each.name()}]`,
    );
    return [command.name(), ...parameters].join(' ');
  },
};
