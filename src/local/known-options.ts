/**
 * Checks of the options of the calls of an embedding program. A misspelt or wrong option is refused:
 * ignored, it would seem to have an effect. Tested by embedding/wrong-arguments.spec.ts.
 */
import { rangeFault, shownValue, typeFault, valueFault } from '../base/argument-faults.ts';
import { hintOf, nearestNames } from '../config/nearest-name.ts';

/** The part of an AbortSignal that a wait needs. */
export interface GivingUp {
  /** Whether the wait is given up. */
  readonly aborted: boolean;
  /** The error that the wait rejects with. */
  readonly reason: unknown;
  /** Adds a listener that is called when `aborted` becomes true. */
  addEventListener(type: 'abort', listener: () => void): void;
  /** Removes a listener. */
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Throws TypeError if the value is not an object, or has an option that is not among the names.
 * @internal
 */
export function checkOptions(options: object, names: readonly string[], of = 'options'): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw typeFault(`Cannot use ${shownValue(options)} as ${of}: not an object`);
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw valueFault(unknownName('option', name, names));
  }
}

/**
 * Returns the message about an unknown name: with the nearest names, or with all if none is near.
 * @internal
 */
export function unknownName(kind: string, seen: unknown, names: readonly string[]): string {
  const nearest = typeof seen === 'string' ? nearestNames(seen, names) : [];
  const hint = hintOf(nearest) || `; known: ${names.join(', ')}`;
  return `Cannot use ${kind} ${shownValue(seen)}: no such ${kind}${hint}`;
}

/** Throws TypeError for a value that is not a signal. @internal */
export function checkSignal(signal: GivingUp | undefined): void {
  if (signal === undefined) return;
  const isSignal =
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function';
  if (!isSignal) throw typeFault(`Cannot use signal ${shownValue(signal)}: not an AbortSignal`);
}

/** Throws an error if a time to wait is neither 0 to `most` seconds nor Infinity. @internal */
export function checkWait(seconds: number, most: number, verb: string): void {
  if (typeof seconds !== 'number') {
    throw typeFault(`Cannot ${verb} ${shownValue(seconds)} seconds: not a number`);
  }
  if (seconds === Number.POSITIVE_INFINITY || (seconds >= 0 && seconds <= most)) return;
  throw rangeFault(`Cannot ${verb} ${seconds} seconds: not 0 to ${most}, or Infinity`);
}
