/**
 * The arguments of changes of maps: conditions, versions, lifetimes. Tested by redis-engine.spec.ts.
 */
import { NO_BYTES } from '../../base/span.ts';
import type { Condition, EntryCondition } from '../condition.ts';
import type { Lifetime } from '../engine.ts';
import type { Version } from '../version.ts';
import type { CommandBuffer } from './command-buffer.ts';
import { FOR_EVER, type Life, lifeOf } from './stored-value.ts';

/** Maximum expiry time that fits in the header, in ms; 8,921 years. */
export const END_MS_MAX = 2 ** 48 - 1;

/** Returns the life of an entry that is written `now`. */
export function lifeFrom(now: number, { timeToLiveMs, maxIdleSeconds }: Lifetime): Life {
  if (timeToLiveMs === 0 && maxIdleSeconds === 0) return FOR_EVER;
  const lastMs = timeToLiveMs === 0 ? 0 : Math.min(END_MS_MAX, Math.ceil(now + timeToLiveMs));
  return lifeOf(now, lastMs, maxIdleSeconds);
}

/** Whether a change with the condition may fail. */
export function restricts(condition: Condition): condition is EntryCondition {
  if (condition === undefined) return false;
  const { isPresent, oneOf, noneOf } = condition;
  return isPresent !== undefined || oneOf !== undefined || noneOf !== undefined;
}

/** Writes the arguments of a condition; see map-scripts.ts. */
export function writeCondition(commands: CommandBuffer, condition: Condition): void {
  const { isPresent, oneOf, noneOf }: EntryCondition = condition ?? {};
  commands.bytes(isPresent === undefined ? NO_BYTES : isPresent ? ONE : ZERO);
  commands.bytes(oneOf === undefined ? ANY : versionBytes(oneOf));
  commands.bytes(noneOf === undefined ? NO_BYTES : versionBytes(noneOf));
}

const ONE = Buffer.from('1');
const ZERO = Buffer.from('0');
const ANY = Buffer.from('*');
const VERSION_BYTES = 8;

/** Returns the versions as in the header, without gaps. */
export function versionBytes(versions: readonly Version[]): Buffer {
  const bytes = Buffer.alloc(versions.length * VERSION_BYTES);
  for (const [index, { high, low }] of versions.entries()) {
    bytes.writeInt32BE(high, index * VERSION_BYTES);
    bytes.writeInt32BE(low, index * VERSION_BYTES + 4);
  }
  return bytes;
}
