/**
 * Lists the entries of a map, partition by partition; entry-page.ts lists those of one. A call lists
 * one partition first. It then lists twice as many at the same time, but not more than fit into its
 * limits if they are like those before: a small map needs few round trips, and little is read in vain.
 * A partition whose entries do not fit any more is listed by the next call.
 * Expired entries are omitted here, as by a get. A list is no read of the entries: it does not
 * postpone their expiry.
 */
import { Span } from '../../base/span.ts';
import {
  type EntryReceiver,
  FOUND,
  LISTED,
  LISTED_BYTES,
  LISTED_VALUE_BYTES_MAX,
  type Receiver,
} from '../engine.ts';
import {
  type EntryPage,
  type ListedEntry,
  NO_VALUES,
  type PageOptions,
  partitionIn,
  requestPage,
  startOf,
} from './entry-page.ts';
import { type Failure, FOREIGN } from './failure.ts';
import type { Results } from './redis-result.ts';
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
interface ScannedEntriesOptions extends PageOptions {
  readonly results: Results;
  /** The servers' time, in ms. */
  now(): number;
  /** Notifies the receiver that the operation has no result. */
  fail(receiver: Receiver, failure: Failure): void;
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
    const pages = new Array<EntryPage | Failure>(Math.min(width, partitionCount - first));
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

  /** Only a call that lists a single partition passes an entry of any length. */
  #request(place: Buffer, width: number, onPage: (page: EntryPage | Failure) => void): void {
    const shares = width / Math.min(width, SHARES);
    requestPage(
      this.#options,
      this.#map,
      place,
      {
        prefix: this.#prefix,
        count: shareOf(this.#count - this.#listed, shares),
        bytes: shareOf(LISTED_BYTES - this.#bytes, shares),
        lookedMax: shareOf(LOOKED_MAX, width),
        lookedBytesMax: shareOf(LOOKED_BYTES, width),
        passesAny: width === 1,
        valueBytesMax: this.#receiver.hasNoValues === true ? NO_VALUES : LISTED_VALUE_BYTES_MAX,
      },
      onPage,
    );
  }

  /** Passes the entries of the pages, in the order of the partitions, and continues or ends. */
  #passAll(place: Buffer, pages: readonly (EntryPage | Failure)[], width: number): void {
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
  #pass({ key, stored, length }: ListedEntry): boolean {
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
