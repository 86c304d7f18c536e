/**
 * Cursors: places in a list, as text that a client passes back. A cursor is valid for one list and,
 * on the embedded engine, in one run. Tested by list-actions.spec.ts.
 */
import { createHash } from 'node:crypto';
import { Span } from '../base/span.ts';
import { LIST_PLACE_BYTES } from '../engine/engine.ts';

/** Length of the checksum that follows the place, in bytes. */
const CHECK_BYTES = 8;
const LENGTH = LIST_PLACE_BYTES + CHECK_BYTES;

/** A list: the map, or undefined for that of the maps; and the engine's number of its run. */
export interface ListIdentity {
  readonly map: Buffer | undefined;
  readonly run: number;
}

export function cursorOf(place: Span, list: ListIdentity): string {
  const bytes = place.toBuffer();
  return Buffer.concat([bytes, checkOf(bytes, list)]).toString('base64url');
}

/** Returns the place of a cursor; undefined if it is not one of this list. */
export function placeIn(cursor: Buffer, list: ListIdentity): Span | undefined {
  const text = cursor.toString('latin1');
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== LENGTH || bytes.toString('base64url') !== text) return undefined;
  const place = bytes.subarray(0, LIST_PLACE_BYTES);
  const isOwn = checkOf(place, list).equals(bytes.subarray(LIST_PLACE_BYTES));
  return isOwn ? Span.of(place) : undefined;
}

function checkOf(place: Buffer, { map, run }: ListIdentity): Buffer {
  const hash = createHash('sha256')
    .update(place)
    .update(`${run} ${map === undefined ? '' : 'map'} `);
  if (map !== undefined) hash.update(map);
  return hash.digest().subarray(0, CHECK_BYTES);
}
