/**
 * Types of settings that this member knows and has no use for, so that a wrong value is told all the
 * same: `s` text, `b` yes or no, `i` integer and `n` number (`i0..6`, `i1..`), `a` anything, or
 * words as `READ|WRITE`.
 */

export interface ValueType {
  /** What a value must be, after "not". */
  readonly expects: string;
  accepts(text: string): boolean;
}

export function readValueType(notation: string): ValueType {
  if (notation === 's' || notation === 'a' || notation === 'o') return ANY_TEXT;
  if (notation === 'b') return { expects: 'true or false', accepts: (text) => isBoolean(text) };
  const range = /^([in])(?:(-?\d+)?\.\.(\d+)?)?$/.exec(notation);
  if (range === null) return wordType(notation.split('|'));
  return numberType(range[1] === 'i', Number(range[2] ?? -Infinity), Number(range[3] ?? Infinity));
}

/** YAML's words, in any case; XML Schema's 1 and 0 are taken, too. */
export function isBoolean(text: string): boolean {
  return /^(true|false|1|0)$/i.test(text);
}

const ANY_TEXT: ValueType = { expects: 'a text', accepts: () => true };

function wordType(words: readonly string[]): ValueType {
  return {
    expects: `one of ${words.join(', ')}`,
    accepts: (text) => words.some((word) => word.toUpperCase() === text.toUpperCase()),
  };
}

function numberType(isInteger: boolean, minimum: number, maximum: number): ValueType {
  const kind = isInteger ? 'an integer' : 'a number';
  const from = minimum === -Infinity ? '' : ` from ${minimum}`;
  const to = maximum === Infinity ? '' : ` to ${maximum}`;
  const pattern = isInteger ? /^[+-]?\d+$/ : /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
  return {
    expects: kind + (from === '' ? to : from + (to === '' ? ' up' : to)),
    accepts: (text) => pattern.test(text) && Number(text) >= minimum && Number(text) <= maximum,
  };
}
