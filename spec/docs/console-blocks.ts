/**
 * The `console` blocks that pages mark with `<!-- run -->` or `<!-- tour -->`: their commands, after
 * `$ `, and the output of each. In the output, `…` matches any text within a line; a line that is
 * only `…` matches any number of lines. A block marked `<!-- file: NAME -->` is a file of that name
 * for the commands of its page.
 */
import assert from 'node:assert/strict';
import { PAGES } from './pages.ts';

/** `NAME=value… gridnode …`, with or without ` &`, and two other commands that need no shell. */
const IN_PROCESS = /^(([A-Z_]+=\S* )*gridnode [^|&;<>$`]*( &)?|echo \$\?|kill %\d)$/;

export interface Step {
  /** The command as typed; continued lines are joined. */
  readonly command: string;
  readonly printed: string;
  /** Page, line and command, such as `docs/faq.md:12: gridnode health`. */
  readonly name: string;
}

/** The commands of a page, in order. */
export interface Session {
  readonly page: string;
  readonly steps: readonly Step[];
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

/** The member of `make run`, which the tour of README uses. */
const MAKE_RUN = { command: 'gridnode serve --enable-group DATA &', printed: '', name: 'make run' };

/** Sessions of marked blocks: those that need no shell if `isInProcess`, otherwise the others. */
export function sessions(isInProcess: boolean): readonly Session[] {
  return PAGES.flatMap(({ path, blocks }) => {
    const stepsIn = (marked: string) =>
      blocks
        .filter(({ mark }) => mark === marked)
        .flatMap(({ text, number }) => stepsOf(text, `${path}:${number}`));
    const files = blocks.flatMap(({ mark, text }) => {
      const name = /^file: (\S+)$/.exec(mark)?.[1];
      return name === undefined ? [] : [{ name, text }];
    });
    const tour = stepsIn('tour');
    return [
      { page: path, steps: stepsIn('run'), files },
      { page: `the tour of ${path}`, steps: tour.length > 0 ? [MAKE_RUN, ...tour] : [], files: [] },
    ];
  }).filter(
    ({ steps }) =>
      steps.length > 0 &&
      steps.every(({ command }) => IN_PROCESS.test(withoutQuoted(command))) === isInProcess,
  );
}

/** Commands that read: with several members they are repeated until they print as in the page. */
const READS = / (map get|wan publishers)/;

export function mayRepeat({ steps }: Session, { command }: Step): boolean {
  return serveStepsOf(steps).length > 1 && READS.test(command);
}

/** The commands that start members. */
export function serveStepsOf(steps: readonly Step[]): readonly Step[] {
  return steps.filter(({ command }) => /^([A-Z_]+=\S* )*gridnode serve .*&$/.test(command));
}

/** The port in the page of the member that the command starts. Specs use a free one instead. */
export function shownPort(command: string): string {
  return / --port (\d+)/.exec(command)?.[1] ?? '5701';
}

function withoutQuoted(command: string): string {
  return command.replace(/'[^']*'|"[^"$`]*"/g, '');
}

export function stepsOf(text: string, where: string): readonly Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const lines = step.split('\n');
      let count = 1;
      while (lines[count - 1]?.endsWith('\\')) count++;
      const command = lines
        .slice(0, count)
        .map((line) => line.replace(/\\$/, '').trim())
        .join(' ');
      const printed = lines.slice(count).join('\n');
      return { command, printed, name: `${where}: ${command}` };
    });
}

/** Fails unless the output equals that in the page, apart from line ends. */
export function assertPrinted(seen: string, { printed, name }: Step): void {
  const pattern = linesOf(printed)
    .map((line, index) => {
      const end = index === 0 ? '' : '\n';
      if (line === '…') return `(?:${end}[^]*?)?`;
      return end + line.split('…').map(escapeRegExp).join('.*?');
    })
    .join('');
  const text = linesOf(seen).join('\n');
  if (!new RegExp(`^${pattern}$`).test(text)) assert.equal(text, linesOf(printed).join('\n'), name);
}

function linesOf(text: string): string[] {
  return text.replaceAll('\r', '').replace(/\n+$/, '').split('\n');
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The words of a command, without quotes. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single = '', double = '') => single + double),
  );
}
