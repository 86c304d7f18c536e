/**
 * Lines of JSON (NDJSON) with bytes: each is a member of its name if it is UTF-8, and otherwise the
 * member of that name with `Base64`. Tested by list-actions.spec.ts.
 */
import { isUtf8 } from 'node:buffer';
import { Span } from '../base/span.ts';
import { NOT_COUNTED, type OperationResult } from '../engine/engine.ts';
import { tagOf } from '../engine/entity-tag.ts';

/** Content type of lines. */
export const NDJSON = Span.of('application/x-ndjson');
/** Maximum length of a line without its end, in bytes. */
export const LINE_BYTES_MAX = 1_048_576;

/** Returns the member of a JSON object that has these bytes. */
export function bytesMember(name: string, { bytes, start, end }: Span): string {
  return isUtf8(bytes.subarray(start, end))
    ? `"${name}":${JSON.stringify(bytes.toString('utf8', start, end))}`
    : `"${name}Base64":"${bytes.toString('base64', start, end)}"`;
}

/**
 * Returns the line of an entry, a result FOUND, without its end. The value is left out if `length`
 * differs from its own, or if the line would be longer than LINE_BYTES_MAX.
 */
export function entryLine(key: Span, entry: OperationResult, length: number): string {
  const { value, contentType, version, timeToLiveMs, maxIdleSeconds } = entry;
  const tag = tagOf(version).slice(1, -1);
  const type = contentType.length === 0 ? '' : `,${bytesMember('contentType', contentType)}`;
  const head = `{${bytesMember('key', key)},"etag":"\\"${tag}\\""${type},"length":${length}`;
  const left = timeToLiveMs === 0 ? '' : `,"timeToLiveSeconds":${secondsLeft(timeToLiveMs)}`;
  const tail = `${left}${maxIdleSeconds === 0 ? '' : `,"maxIdleSeconds":${maxIdleSeconds}`}}`;
  if (value.length !== length || length > LINE_BYTES_MAX) return head + tail;
  const line = `${head},${bytesMember('value', value)}${tail}`;
  return isShort(line) ? line : head + tail;
}

/** Returns the JSON of a map. `bytes`: those of its entries, or NOT_COUNTED. */
export function mapLine(name: Span, size: number, bytes: number): string {
  const known = bytes === NOT_COUNTED ? 'null' : bytes;
  return `{${bytesMember('name', name)},"size":${size},"bytes":${known}}`;
}

/** Returns the time left of an entry that has not expired, in whole seconds. */
export function secondsLeft(timeToLiveMs: number): number {
  return Math.max(1, Math.ceil(timeToLiveMs / 1000));
}

/** A character of JSON takes at most three bytes, as others are pairs. */
function isShort(line: string): boolean {
  return line.length * 3 <= LINE_BYTES_MAX || Buffer.byteLength(line) <= LINE_BYTES_MAX;
}
