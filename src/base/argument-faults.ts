/**
 * Errors for wrong arguments of a program, with the codes of Node's own functions.
 * Tested by embedding/wrong-arguments.spec.ts.
 */
import { inspect } from 'node:util';

/** Maximum length of a value in a message, in characters. */
const SHOWN_LENGTH_MAX = 100;

/** Returns the error for an argument of the wrong type. */
export function typeFault(message: string, options?: ErrorOptions): TypeError {
  return Object.assign(new TypeError(message, options), { code: 'ERR_INVALID_ARG_TYPE' });
}

/** Returns the error for an argument of the right type that is not accepted. */
export function valueFault(message: string, options?: ErrorOptions): TypeError {
  return Object.assign(new TypeError(message, options), { code: 'ERR_INVALID_ARG_VALUE' });
}

/** Returns the error for a number outside its range. */
export function rangeFault(message: string): RangeError {
  return Object.assign(new RangeError(message), { code: 'ERR_OUT_OF_RANGE' });
}

/** Returns a text that shows the value in a message. */
export function shownValue(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  const text = typeof value === 'string' ? JSON.stringify(value) : inspect(value, { depth: 0 });
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
