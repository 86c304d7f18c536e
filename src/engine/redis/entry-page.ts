/**
 * A page of a list of a map's entries in one partition (scan-script.ts), and the place at which the
 * list continues. A place has, big-endian, the partition in 2 bytes, and the script's position in it:
 * the number of elements in 2, the server's run in 4, the cursor in 8 and the hash in 8.
 * Tested by scanned-entries.spec.ts.
 */
import { LIST_PLACE_BYTES, LISTED_ELEMENT_BYTES } from '../engine.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, FOREIGN } from './failure.ts';
import { type Layout, MAP } from './layout.ts';
import { ARRAY, BULK, INTEGER, kindSet, type Reply } from './reply.ts';
import { READ, runStep } from './run-step.ts';
import { HASH_DIGITS, LIST_ENTRIES } from './scan-script.ts';

/** `valueBytesMax` that leaves out all values. */
export const NO_VALUES = -1;

/** Offsets in a place; the partition is at 0. */
const PASSED_AT = 2;
const RUN_AT = 4;
const CURSOR_AT = 8;
const HASH_AT = 16;

export interface PageOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
}

/** Which entries a page has; scan-script.ts describes the limits. */
interface PageLimits {
  readonly prefix: Buffer;
  readonly count: number;
  readonly bytes: number;
  readonly lookedMax: number;
  readonly lookedBytesMax: number;
  /** Whether the page has an entry that is longer than `bytes`, rather than none. */
  readonly passesAny: boolean;
  /** Longer values are left out. */
  readonly valueBytesMax: number;
}

/** An entry as the script returns it. */
export interface ListedEntry {
  readonly key: Buffer;
  readonly stored: Buffer;
  /** Length of the stored value if `stored` is only its head, otherwise 0. */
  length: number;
}

export interface EntryPage {
  readonly entries: readonly ListedEntry[];
  /** Bytes of the entries, as a call counts them. */
  readonly bytes: number;
  readonly lookedCount: number;
  /** The place at which the list continues in the partition; undefined at its end. */
  readonly place: Buffer | undefined;
  /** Whether the list may pass entries again that it has passed before this page. */
  readonly beganAgain: boolean;
}

export function partitionIn(place: Buffer): number {
  return place.readUInt16BE(0);
}

/** Returns the place at which the list of a partition begins. */
export function startOf(partition: number): Buffer {
  const place = Buffer.alloc(LIST_PLACE_BYTES);
  place.writeUInt16BE(partition);
  return place;
}

/** Calls the script for the map and the place. */
export function requestPage(
  { dispatcher, layout }: PageOptions,
  map: Buffer,
  place: Buffer,
  limits: PageLimits,
  onPage: (page: EntryPage | Failure) => void,
): void {
  const partition = partitionIn(place);
  runStep(dispatcher, {
    partition,
    traits: READ,
    reading: {
      replyKinds: ARRAYS,
      read: (reply) => pageIn(reply, partition),
    },
    write: (commands) => {
      commands.begin(LIST_ENTRIES.header);
      commands.bytes(layout.key(MAP, partition, map));
      commands.bytes(limits.prefix);
      commands.text(`${place.readBigUInt64BE(CURSOR_AT)}`);
      commands.text(place.toString('hex', RUN_AT, CURSOR_AT));
      commands.number(place.readUInt16BE(PASSED_AT));
      const hash = place.toString('hex', HASH_AT);
      commands.text(hash === NO_HASH ? '' : hash);
      commands.number(limits.count);
      commands.number(limits.bytes);
      commands.number(limits.lookedMax);
      commands.number(limits.lookedBytesMax);
      commands.number(limits.passesAny ? 1 : 0);
      commands.text(`${limits.valueBytesMax}`);
    },
    onDone: onPage,
    onFailed: onPage,
  });
}

const ARRAYS = kindSet(ARRAY);
const NO_HASH = '0'.repeat(HASH_DIGITS);
/** Bits of the first number of the reply. */
const IS_END = 1;
const BEGAN_AGAIN = 2;

/** Reads the reply of the script. */
function pageIn(reply: Reply, partition: number): EntryPage | Failure {
  const state = reply.next().integer;
  const place = startOf(partition);
  const cursor = reply.next().text;
  if (!/^\d{1,20}$/.test(cursor)) return FOREIGN;
  place.writeBigUInt64BE(BigInt.asUintN(64, BigInt(cursor)), CURSOR_AT);
  place.write(reply.next().text, RUN_AT, 'hex');
  place.writeUInt16BE(reply.next().integer & 0xffff, PASSED_AT);
  place.write(reply.next().text, HASH_AT, 'hex');
  const lookedCount = reply.next().integer;
  const entries: ListedEntry[] = [];
  let bytes = 0;
  for (reply.next(); reply.kind === BULK; ) {
    const entry = { key: reply.bytes.toBuffer(), stored: reply.next().bytes.toBuffer(), length: 0 };
    if (reply.next().kind === INTEGER) {
      entry.length = reply.integer;
      reply.next();
    }
    bytes += entry.key.length + entry.stored.length + LISTED_ELEMENT_BYTES;
    entries.push(entry);
  }
  return {
    entries,
    bytes,
    lookedCount,
    place: (state & IS_END) !== 0 ? undefined : place,
    beganAgain: (state & BEGAN_AGAIN) !== 0,
  };
}
