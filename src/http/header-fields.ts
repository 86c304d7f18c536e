/**
 * The header fields that are read, one row each. The parser stores the places of all of them but those of
 * framing, and a handler asks its request for a row. All other fields are ignored. So a further field is
 * one row here. A bit mask in one small integer says which rows a request has.
 * Tested by header-fields.spec.ts.
 */
import assert from 'node:assert';
import { equalsIgnoringCase } from './field-values.ts';
import * as failures from './read-failures.ts';

/** Maximum number of rows, so that their bits are a small integer. */
const ROWS_MAX = 31;

/** The field may be repeated: its values are one list, in their order (RFC 9110 section 5.3). */
export const LIST = 0;
/** The parser reads the field itself and stores no places of it. */
const OF_CONNECTION = -1;

export interface HeaderField {
  readonly number: number;
  readonly bit: number;
  /** The name in lower case. */
  readonly name: Buffer;
  /** The failure of a second occurrence; LIST or OF_CONNECTION if there is none. */
  readonly repeated: failures.ReadFailure;
}

const rows: HeaderField[] = [];
/** The rows by the length of their name. */
const rowsByLength: HeaderField[][] = [];

function field(name: string, repeated: failures.ReadFailure): HeaderField {
  const number = rows.length;
  assert(number < ROWS_MAX, 'a bit for each field');
  const row = { number, bit: 1 << number, name: Buffer.from(name), repeated };
  rows.push(row);
  while (rowsByLength.length <= name.length) rowsByLength.push([]);
  rowsByLength[name.length]!.push(row);
  return row;
}

/** The parser checks Host. It stores its place, or that of the target's authority, if WITH_HOST says so. */
export const HOST = field('host', OF_CONNECTION);
export const CONTENT_LENGTH = field('content-length', OF_CONNECTION);
export const TRANSFER_ENCODING = field('transfer-encoding', OF_CONNECTION);
/** Proxy-Connection has no meaning, but the parser treats it as Connection. */
export const PROXY_CONNECTION = field('proxy-connection', OF_CONNECTION);
export const CONTENT_TYPE = field('content-type', failures.CONTENT_TYPE_REPEATED);
export const AUTHORIZATION = field('authorization', failures.AUTHORIZATION_REPEATED);
export const CONTENT_ENCODING = field('content-encoding', LIST);
export const EXPECT = field('expect', LIST);
export const ACCEPT = field('accept', LIST);
export const ORIGIN = field('origin', LIST);
export const SEC_FETCH_SITE = field('sec-fetch-site', LIST);
export const SEC_FETCH_MODE = field('sec-fetch-mode', LIST);
export const UPGRADE_INSECURE_REQUESTS = field('upgrade-insecure-requests', LIST);
export const ACCESS_CONTROL_REQUEST_HEADERS = field('access-control-request-headers', LIST);
export const IF_MATCH = field('if-match', LIST);
export const IF_NONE_MATCH = field('if-none-match', LIST);
export const IF_RANGE = field('if-range', failures.IF_RANGE_REPEATED);
export const RANGE = field('range', failures.RANGE_REPEATED);
export const GRID_TIME_TO_LIVE = field('grid-time-to-live', failures.TIME_TO_LIVE_REPEATED);
export const GRID_MAX_IDLE = field('grid-max-idle', failures.MAX_IDLE_REPEATED);

/** Bits of the fields that are compared with the host of their request. */
export const WITH_HOST = ORIGIN.bit;

/** Returns the row of the field with this name, ignoring case; undefined if the field is not read. */
export function fieldOf(bytes: Buffer, start: number, end: number): HeaderField | undefined {
  const length = end - start;
  if (length >= rowsByLength.length) return undefined;
  const candidates = rowsByLength[length]!;
  for (let index = 0; index < candidates.length; index++) {
    const row = candidates[index]!;
    if (equalsIgnoringCase(bytes, start, end, row.name)) return row;
  }
  return undefined;
}
