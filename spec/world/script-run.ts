/** What a function that stands for a script calls. */
import { ErrorReply, type Value } from './fake-data.ts';

/** A run of a script: the commands that it calls. */
export interface ScriptRun {
  /** `redis.call`. Throws ErrorReply. */
  call(...words: readonly (string | number)[]): Value;
  /** A call whose reply is a number. */
  count(...words: readonly (string | number)[]): number;
  /** A call whose reply is a string or nil. */
  text(...words: readonly (string | number)[]): string | undefined;
  /** A call whose reply is an array of strings. */
  texts(...words: readonly (string | number)[]): readonly string[];
}

export type ScriptFunction = (
  run: ScriptRun,
  keys: readonly string[],
  args: readonly string[],
) => Value;

/** The server's time in ms. */
export function nowOf({ texts }: ScriptRun): number {
  const [seconds, micros] = texts('TIME');
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

const cutOff = (): ErrorReply => new ErrorReply('ERR attempt to perform arithmetic on a nil value');

/**
 * Returns the length of the header of a stored value before its origin. Throws ErrorReply if the
 * length of its type is cut off.
 */
export function originAt(value: string): number {
  const flags = value.charCodeAt(0);
  const length = 9 + ((flags & 4) === 0 ? 0 : 6) + ((flags & 8) === 0 ? 0 : 10);
  if ((flags & 1) !== 0) return length + 1;
  if ((flags & 2) === 0) return length;
  if (value.length < length + 2) throw cutOff();
  return length + 2 + value.charCodeAt(length) * 256 + value.charCodeAt(length + 1);
}

/** Returns the length of the header of a stored value. Throws ErrorReply if it is cut off. */
export function headLength(value: string): number {
  const length = originAt(value);
  if (value.charCodeAt(0) < 32) return length;
  if (value.length < length + 5) throw cutOff();
  return length + 5 + 16 * value.charCodeAt(length + 4);
}
