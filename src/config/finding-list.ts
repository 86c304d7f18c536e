/**
 * Findings of one severity. Only the first FINDINGS_MAX are listed; the others are counted.
 * Composing a message takes time, mostly for the search for the nearest known name, so it is done
 * only for listed findings. Tested by bounds.spec.ts.
 */
import { counted } from '../base/quantities.ts';
import { type Finding, finding, type Severity } from './finding.ts';
import { formatPlace, type Place } from './source.ts';

/** Maximum number of listed findings; no operator reads more. */
export const FINDINGS_MAX = 100;
/** Maximum length of a name or value in a message, in characters. */
const LETTERS_QUOTED_MAX = 200;

/** A section, or a setting with its text, at its place in a document. */
interface Subject {
  readonly path: readonly string[];
  readonly at: Place;
  readonly text?: string;
}

export class FindingList {
  readonly #severity: Severity;
  readonly #listed: Finding[] = [];
  #count = 0;

  constructor(severity: Severity = 'error') {
    this.#severity = severity;
  }

  /** The first FINDINGS_MAX findings, in the order found. */
  get listed(): readonly Finding[] {
    return this.#listed;
  }

  get count(): number {
    return this.#count;
  }

  add(at: Place, message: () => string): void {
    this.#count += 1;
    if (this.#listed.length >= FINDINGS_MAX) return;
    this.#listed.push(finding(this.#severity, message(), formatPlace(at)));
  }

  /** Adds `Cannot use PATH: REASON`. */
  refuse({ path, at }: Subject, reason: () => string): void {
    this.add(at, () => `Cannot use ${pathText(path)}: ${reason()}`);
  }

  /** Adds `Cannot use PATH "TEXT": REASON`. `seen`: shown in place of the text in quotes. */
  refuseText({ path, at, text = '' }: Subject, reason: () => string, seen = quoted(text)): void {
    this.add(at, () => `Cannot use ${pathText(path)} ${seen}: ${reason()}`);
  }

  addAll(others: FindingList): void {
    this.#count += others.count;
    this.#listed.push(...others.listed.slice(0, FINDINGS_MAX - this.#listed.length));
  }
}

type Listed = Pick<FindingList, 'listed' | 'count'>;

/**
 * Returns the first FINDINGS_MAX findings and, if there are more, one with the number of the
 * others.
 */
export function shown({ listed, count }: Listed, thing: string): Finding[] {
  const first = listed.slice(0, FINDINGS_MAX);
  const left = count - first.length;
  const severity = first[0]?.severity ?? 'error';
  return left === 0 ? first : [...first, finding(severity, moreOf(left, thing))];
}

/**
 * Returns the first FINDINGS_MAX texts and, if there are more, one with the number of the others.
 */
export function bounded(texts: readonly string[], thing: string): string[] {
  const first = texts.slice(0, FINDINGS_MAX);
  const left = texts.length - first.length;
  return left === 0 ? first : [...first, moreOf(left, thing)];
}

/** Returns the text about findings that are not listed. */
export function moreOf(count: number, thing: string): string {
  return `${counted(count, `more ${thing} is`, `more ${thing}s are`)} not shown`;
}

/** Compares two findings of the same file by line and column. */
export function byPlace(one: Finding, other: Finding): number {
  const a = PLACE.exec(one.place);
  const b = PLACE.exec(other.place);
  if (!a || !b || a[1] !== b[1]) return 0;
  return Number(a[2]) - Number(b[2]) || Number(a[3]) - Number(b[3]);
}

/** Matches the file, the line and the column of a place. */
const PLACE = /^(.*?):(\d+):(\d+)$/;

/** Returns a user's text in quotes, shortened if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}

export function shortened(text: string): string {
  return text.length <= LETTERS_QUOTED_MAX ? text : `${text.slice(0, LETTERS_QUOTED_MAX)}…`;
}

/** Returns the text of a path for a message, with long names shortened. */
export function pathText(path: readonly string[]): string {
  let text = '';
  for (const [index, step] of path.entries()) {
    text += (index === 0 || step.startsWith('[') ? '' : '.') + shortened(step);
  }
  return text;
}
