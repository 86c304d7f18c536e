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

/** Returns the origin of a stored value; empty if it has none. Throws ErrorReply if it is cut off. */
export function originIn(value: string): string {
  return value.charCodeAt(0) < 32 ? '' : value.slice(originAt(value), headLength(value));
}

/** A version as one number. */
export function versionIn(text: string, at = 0): bigint {
  return Buffer.from(text.slice(at, at + 8), 'latin1').readBigUInt64BE();
}

export function packed(version: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(version);
  return bytes.toString('latin1');
}

/** The expiry time in a stored value; undefined if it has none. Throws ErrorReply if it is cut off. */
export function endOf(value: string): number | undefined {
  const hasEnd = (value.charCodeAt(0) & 4) !== 0;
  if (value === '' || (hasEnd && value.length < 15)) {
    throw new ErrorReply('ERR attempt to perform arithmetic on a nil value');
  }
  if (!hasEnd) return undefined;
  return Buffer.from(value.slice(9, 15), 'latin1').readUIntBE(0, 6);
}

/** Returns the value unless it has expired. */
export function present(run: ScriptRun, value: string | undefined): string | undefined {
  const end = value === undefined ? undefined : endOf(value);
  return end !== undefined && end <= nowOf(run) ? undefined : value;
}

/** Whether an entry with the version, empty for none, meets the condition of the arguments. */
export function isMet(
  version: string,
  [presence = '', oneOf = '', noneOf = '']: readonly string[],
) {
  const isIn = (versions: string): boolean =>
    version !== '' && (versions.match(/.{8}/gs) ?? []).some((each) => each === version);
  if (presence !== '' && (presence === '1') === (version === '')) return false;
  return (oneOf === '*' || isIn(oneOf)) && !isIn(noneOf);
}
