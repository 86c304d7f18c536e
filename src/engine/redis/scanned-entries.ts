/**
 * Lists the entries of a map, partition by partition; scan-script.ts lists those of one. A call lists
 * one partition first. It then lists twice as many at the same time, but not more than fit into its
 * limits if they are like those before: a small map needs few round trips, and little is read in vain.
 * A partition whose entries do not fit any more is listed by the next call.
 *
 * A place has, big-endian, the partition in 2 bytes, and the script's position in it: the number of
 * elements in 2, the server's run in 4, the cursor in 8 and the hash in 8. Expired entries are
 * omitted here, as by a get. A list is no read of the entries: it does not postpone their expiry.
 */
import { Span } from '../../base/span.ts';
import {
  type EntryReceiver,
  FOUND,
  LIST_PLACE_BYTES,
  LISTED,
  LISTED_BYTES,
  LISTED_ELEMENT_BYTES,
  type Receiver,
} from '../engine.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, FOREIGN } from './failure.ts';
import { type Layout, MAP } from './layout.ts';
import type { Results } from './redis-result.ts';
import { ARRAY, BULK, INTEGER, kindSet, type Reply } from './reply.ts';
import { READ, runStep } from './run-step.ts';
import { HASH_DIGITS, LIST_ENTRIES } from './scan-script.ts';
import { StoredValue } from './stored-value.ts';

/** Maximum number of partitions that are listed at the same time. */
const WIDTH_MAX = 64;
/** Entries of one of several partitions, in shares of the limits: some have more than others. */
const SHARES = 4;
/**
 * Maximum number of elements that servers look at at the same time, and of their bytes. A partition
 * without entries counts as one.
 */
const LOOKED_MAX = 1000;
const LOOKED_BYTES = 1_048_576;
/** Offsets in a place; the partition is at 0. */
const PASSED_AT = 2;
const RUN_AT = 4;
const CURSOR_AT = 8;
const HASH_AT = 16;

interface ScannedEntriesOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly results: Results;
  /** The servers' time, in ms. */
  now(): number;
  /** Notifies the receiver that the operation has no result. */
  fail(receiver: Receiver, failure: Failure): void;
}

/** An entry as the script returns it. */
interface ScannedEntry {
  readonly key: Buffer;
  readonly stored: Buffer;
  /** Length of the stored value if `stored` is only its head, otherwise 0. */
  length: number;
}

/** The script's reply for one partition. */
interface Page {
  readonly entries: readonly ScannedEntry[];
  /** Bytes of the entries, as a call counts them. */
  readonly bytes: number;
  readonly lookedCount: number;
  /** The place at which the list continues in the partition; undefined at its end. */
  readonly place: Buffer | undefined;
}

export function listEntries(
  options: ScannedEntriesOptions,
  map: Span,
  prefix: Span,
  place: Span,
  count: number,
  receiver: EntryReceiver,
): void {
  const list = new EntryList(options, map.toBuffer(), prefix.toBuffer(), count, receiver);
  const from = place.toBuffer();
  if (partitionIn(from) < options.layout.partitionCount) list.step(from, 1);
  else list.end(undefined);
}

/** One call. */
class EntryList {
  readonly #options: ScannedEntriesOptions;
  readonly #map: Buffer;
  readonly #prefix: Buffer;
  readonly #count: number;
  readonly #receiver: EntryReceiver;
  /** Partitions and entries listed, bytes of the keys and values, and elements looked at. */
  #partitions = 0;
  #listed = 0;
  #bytes = 0;
  #looked = 0;
  readonly #key = new Span();
  readonly #span = new Span();
  readonly #stored = new StoredValue();

  constructor(
    options: ScannedEntriesOptions,
    map: Buffer,
    prefix: Buffer,
    count: number,
    receiver: EntryReceiver,
  ) {
    this.#options = options;
    this.#map = map;
    this.#prefix = prefix;
    this.#count = count;
    this.#receiver = receiver;
  }

  /** Lists `width` partitions from the place on. */
  step(place: Buffer, width: number): void {
    const first = partitionIn(place);
    const { partitionCount } = this.#options.layout;
    const pages = new Array<Page | Failure>(Math.min(width, partitionCount - first));
    let left = pages.length;
    for (let index = 0; index < pages.length; index++) {
      const from = index === 0 ? place : startOf(first + index);
      this.#request(from, width, (page) => {
        pages[index] = page;
        if (--left === 0) this.#passAll(place, pages, width);
      });
    }
  }

  /** `place`: the place at which the list continues; undefined at its end. */
  end(place: Buffer | undefined): void {
    const { results } = this.#options;
    const result = results.begin(LISTED);
    if (place !== undefined) result.place.set(place, 0, place.length);
    results.deliver(this.#receiver, result);
  }

  /** Calls the script. Only one that lists a single partition passes an entry of any length. */
  #request(place: Buffer, width: number, onPage: (page: Page | Failure) => void): void {
    const { dispatcher, layout } = this.#options;
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
        commands.bytes(layout.key(MAP, partition, this.#map));
        commands.bytes(this.#prefix);
        commands.text(`${place.readBigUInt64BE(CURSOR_AT)}`);
        commands.text(place.toString('hex', RUN_AT, CURSOR_AT));
        commands.number(place.readUInt16BE(PASSED_AT));
        const hash = place.toString('hex', HASH_AT);
        commands.text(hash === NO_HASH ? '' : hash);
        for (const left of [this.#count - this.#listed, LISTED_BYTES - this.#bytes]) {
          commands.number(shareOf(left, width / Math.min(width, SHARES)));
        }
        commands.number(shareOf(LOOKED_MAX, width));
        commands.number(shareOf(LOOKED_BYTES, width));
        commands.number(width === 1 ? 1 : 0);
        commands.number(this.#receiver.hasNoValues === true ? 1 : 0);
      },
      onDone: onPage,
      onFailed: onPage,
    });
  }

  /** Passes the entries of the pages, in the order of the partitions, and continues or ends. */
  #passAll(place: Buffer, pages: readonly (Page | Failure)[], width: number): void {
    const first = partitionIn(place);
    for (const [index, page] of pages.entries()) {
      const from = index === 0 ? place : startOf(first + index);
      const isFirst = index === 0 && width === 1;
      if (typeof page === 'number') return isFirst ? this.#fail(page) : this.end(from);
      const isTooMuch =
        this.#listed + page.entries.length > this.#count || this.#bytes + page.bytes > LISTED_BYTES;
      if (isTooMuch && width > 1) return this.end(from);
      this.#bytes += page.bytes;
      for (const entry of page.entries) if (!this.#pass(entry)) return this.#fail(FOREIGN);
      if (page.place !== undefined) return this.end(page.place);
      this.#looked += page.lookedCount;
    }
    const next = first + pages.length;
    if (next === this.#options.layout.partitionCount) return this.end(undefined);
    this.#partitions += pages.length;
    const room = Math.min(2 * width, WIDTH_MAX, this.#fitting());
    if (room < 1) this.end(startOf(next));
    else this.step(startOf(next), room);
  }

  /** Returns the number of partitions that fit if they are like those listed. */
  #fitting(): number {
    const room = Math.min(
      (this.#count - this.#listed) / Math.max(this.#listed, 1),
      (LISTED_BYTES - this.#bytes) / Math.max(this.#bytes, 1),
      (LOOKED_MAX - this.#looked) / Math.max(this.#looked, 1),
    );
    return Math.floor(this.#partitions * room);
  }

  /** Passes an entry unless it has expired. Returns false if it is not an entry. */
  #pass({ key, stored, length }: ScannedEntry): boolean {
    const { results, now } = this.#options;
    const read = this.#stored;
    if (!read.read(this.#span.set(stored, 0, stored.length))) return false;
    const headLength = length === 0 ? 0 : length - stored.length;
    this.#listed++;
    if (read.endMs !== 0 && read.endMs <= now()) return true;
    const entry = results.begin(FOUND).setEntry(read, now());
    const valueLength = entry.value.length + headLength;
    results.deliverEntry(this.#receiver, this.#key.set(key, 0, key.length), entry, valueLength);
    return true;
  }

  #fail(failure: Failure): void {
    this.#options.fail(this.#receiver, failure);
  }
}

/** Returns the share of a limit; at least 1. */
function shareOf(limit: number, count: number): number {
  return Math.max(1, Math.floor(limit / count));
}

const ARRAYS = kindSet(ARRAY);
const NO_HASH = '0'.repeat(HASH_DIGITS);

function partitionIn(place: Buffer): number {
  return place.readUInt16BE(0);
}

/** Returns the place at which the list of a partition begins. */
function startOf(partition: number): Buffer {
  const place = Buffer.alloc(LIST_PLACE_BYTES);
  place.writeUInt16BE(partition);
  return place;
}

/** Reads the reply of the script. */
function pageIn(reply: Reply, partition: number): Page | Failure {
  const isEnd = reply.next().integer === 1;
  const place = startOf(partition);
  const cursor = reply.next().text;
  if (!/^\d{1,20}$/.test(cursor)) return FOREIGN;
  place.writeBigUInt64BE(BigInt.asUintN(64, BigInt(cursor)), CURSOR_AT);
  place.write(reply.next().text, RUN_AT, 'hex');
  place.writeUInt16BE(reply.next().integer & 0xffff, PASSED_AT);
  place.write(reply.next().text, HASH_AT, 'hex');
  const lookedCount = reply.next().integer;
  const entries: ScannedEntry[] = [];
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
  return { entries, bytes, lookedCount, place: isEnd ? undefined : place };
}
