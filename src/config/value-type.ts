/**
 * Types of settings that this member recognizes but does not use, so that wrong values are also
 * reported for them: `s` text, `b` boolean, `i` integer and `n` number (`i0..6`, `i1..`), `a`
 * anything, or words such as `READ|WRITE`. Tested by member/load.spec.ts.
 */

export interface ValueType {
  /** Allowed values, as a phrase after "not". */
  readonly expects: string;
  accepts(text: string): boolean;
}

export function readValueType(notation: string): ValueType {
  if (notation === 's' || notation === 'a' || notation === 'o') return ANY_TEXT;
  if (notation === 'b') return { expects: BOOLEAN_TEXTS, accepts: isBoolean };
  const range = /^([in])(?:(-?\d+)?\.\.(\d+)?)?$/.exec(notation);
  if (range === null) return wordType(notation.split('|'));
  return numberType(range[1] === 'i', Number(range[2] ?? -Infinity), Number(range[3] ?? Infinity));
}

/** The texts of a boolean, as a phrase after "not"; 1 and 0, from XML Schema, are also accepted. */
export const BOOLEAN_TEXTS = 'true or false';

/**
 * Reads a boolean, for every source: `true`, `false`, `1`, `0` in any case. Returns undefined for
 * any other text, which is an error wherever a boolean is expected.
 */
export function readBoolean(text: string): boolean | undefined {
  if (/^(true|1)$/i.test(text)) return true;
  return /^(false|0)$/i.test(text) ? false : undefined;
}

export function isBooleanType({ expects }: ValueType): boolean {
  return expects === BOOLEAN_TEXTS;
}

function isBoolean(text: string): boolean {
  return readBoolean(text) !== undefined;
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
