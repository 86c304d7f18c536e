/**
 * Placeholders in the values of a file. `${NAME}` is replaced by the first environment variable
 * that is set: the one with exactly this name, the one with the name in upper case, or the latter
 * with `_` for dots and dashes. `${NAME:text}` is replaced by `text` if none of them is set. A
 * placeholder without a value remains as it is.
 */
import { booleanSetting } from './setting.ts';
import type { SettingRows } from './setting-table.ts';

export const PLACEHOLDER_SETTINGS = {
  failIfValueMissing: booleanSetting({
    path: 'config-replacers.fail-if-value-missing',
    about: 'Whether a placeholder without a value is an error instead of a warning',
    fallback: false,
  }),
} as const satisfies SettingRows;

interface Replaced {
  readonly text: string;
  /** Names without a value. */
  readonly unset: readonly string[];
}

/** Replaces the placeholders; returns undefined if the text would exceed `lengthMax` characters. */
export function replacePlaceholders(
  text: string,
  environment: NodeJS.ProcessEnv,
  lengthMax = Number.POSITIVE_INFINITY,
): Replaced | undefined {
  const unset: string[] = [];
  let replaced = '';
  let length = 0;
  let from = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, name = '', fallback] = match;
    const value = variableValue(environment, name) ?? fallback;
    if (value === undefined) unset.push(name);
    const piece = text.slice(from, match.index) + (value ?? whole);
    from = match.index + whole.length;
    length += piece.length;
    if (length > lengthMax) return undefined;
    replaced += piece;
  }
  return { text: replaced + text.slice(from), unset };
}

const PLACEHOLDER = /\$\{([^{}:]+)(?::([^{}]*))?\}/g;

/** Returns the names of the variables for a placeholder, in the order in which they are tried. */
function variableNames(name: string): readonly string[] {
  const upper = name.toUpperCase();
  return [...new Set([name, upper, upper.replace(/[.-]/g, '_')])];
}

/** Returns the reason why a placeholder has no value: `no environment variable a.b, A.B or A_B`. */
export function missingVariable(name: string): string {
  const names = variableNames(name);
  const last = names.at(-1) ?? '';
  const others = names.slice(0, -1).join(', ');
  return `no environment variable ${others === '' ? last : `${others} or ${last}`}`;
}

/** Returns the value of the first variable that is set. Inherited properties are not variables. */
function variableValue(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const found = variableNames(name).find((each) => Object.hasOwn(environment, each));
  return found === undefined ? undefined : environment[found];
}
