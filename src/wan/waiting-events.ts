/**
 * Events of a section, made of the present states of keys that wait in a partition
 * (../engine/marked-changes.ts). A key has one number for the removal that was recorded and one for
 * its entry, twice the number of its last change and the one before, so that both keep their order
 * and a key that is read again has the same ones. Tested by server-sender.spec.ts.
 */
import { crc32 } from 'node:zlib';
import { viewed } from '../base/copy-bytes.ts';
import type { Span } from '../base/span.ts';
import { hasDataSet } from '../engine/change-codec.ts';
import type { WaitingChange, WaitingChanges, WaitingRoom } from '../engine/marked-changes.ts';
import { keepsEarlier } from '../engine/merge-policy.ts';
import { DATA_SET_ID_BYTES, type Mutation, PATH_LENGTH_MAX } from '../engine/mutation.ts';
import { Version } from '../engine/version.ts';
import type { LaneEvents } from './batch.ts';
import { eventBytes, writeEvent } from './event-codec.ts';
import { NUMBER_BYTES } from './message-format.ts';

const PATH_BYTES_MAX = PATH_LENGTH_MAX * DATA_SET_ID_BYTES;

/** How the changes of a partition become events. */
interface EventRule {
  /** Id of the data set that they are sent to: it gets no change that came from it. */
  readonly target: Buffer;
  /** Returns the merge policy of the map's changes; undefined if they are not sent. */
  policyOf(map: Span): number | undefined;
}

export class WaitingEvents implements LaneEvents {
  readonly number: number;
  readonly syncBegan = new Version();
  /** Length of the events, in bytes. */
  bytes = 0;
  /** Whether more keys wait, or may wait. */
  hasMore: boolean;
  /** Number up to which the keys are in the section, or are not sent. */
  #takenTo = 0;
  readonly #events: Buffer[] = [];
  /** By event, the number of its key. */
  readonly #numbers: number[] = [];
  readonly #eventNumbers: number[] = [];
  /** By number, a checksum of the key. */
  readonly keys = new Map<number, number>();

  /** Takes the keys whose events fit; the first one always fits. `room.count`: number of events. */
  constructor(partition: number, waiting: WaitingChanges, rule: EventRule, room: WaitingRoom) {
    this.number = partition;
    this.hasMore = waiting.hasMore;
    for (const change of waiting.changes) {
      const events = eventsOf(change, rule);
      const bytes = events.reduce((sum, { length }) => sum + length + NUMBER_BYTES, 0);
      const isFull = this.roomBytes + bytes > room.bytes || this.count + events.length > room.count;
      if (isFull && this.count > 0) {
        this.hasMore = true;
        return;
      }
      this.#add(change, events);
    }
    this.#takenTo = waiting.readTo;
  }

  /** Number of events. */
  get count(): number {
    return this.#events.length;
  }

  /** Bytes that the events take in a batch, with their numbers. */
  get roomBytes(): number {
    return this.bytes + this.count * NUMBER_BYTES;
  }

  /** Number of keys with events. */
  get keyCount(): number {
    return this.keys.size;
  }

  numberOf(index: number): number {
    return this.#eventNumbers[index]!;
  }

  copyTo(to: Buffer, at: number, count: number): number {
    let next = at;
    for (let index = 0; index < count; index++) next += this.#events[index]!.copy(to, next);
    return next;
  }

  /** Returns the events, each in a section of its own. */
  separately(): readonly (LaneEvents & { readonly bytes: number })[] {
    return this.#events.map((event, index) => ({
      number: this.number,
      syncBegan: this.syncBegan,
      bytes: event.length,
      numberOf: () => this.#eventNumbers[index]!,
      copyTo: (to, at) => at + event.copy(to, at),
    }));
  }

  /** Returns the number up to which keys are done if the first `count` events are; 0 for none. */
  doneTo(count: number): number {
    if (count >= this.count) return this.#takenTo;
    // Both events of a key must be done.
    let index = count - 1;
    while (index >= 0 && this.#numbers[index] === this.#numbers[index + 1]) index--;
    return this.#numbers[index] ?? 0;
  }

  #add({ number, entry, removal }: WaitingChange, events: readonly Buffer[]): void {
    this.#takenTo = number;
    if (events.length === 0) return;
    this.keys.set(number, checksumOf((entry ?? removal)!));
    for (const [index, event] of events.entries()) {
      this.bytes += event.length;
      this.#events.push(event);
      this.#numbers.push(number);
      this.#eventNumbers.push(number * 2 - (events.length - 1 - index));
    }
  }
}

/** Returns the events of a key: the entry, and before it the removal if the target might keep another. */
function eventsOf({ entry, removal }: WaitingChange, { target, policyOf }: EventRule): Buffer[] {
  const events: Buffer[] = [];
  for (const change of [removal, entry]) {
    if (change === undefined) continue;
    const policy = policyOf(change.name);
    const isKept = policy !== undefined && keepsEarlier(policy);
    if (change === removal && entry !== undefined && !isKept) continue;
    const event = eventOf(change, target, policy);
    if (event !== undefined) events.push(event);
  }
  return events;
}

/** Returns the event of a change; undefined if it is not sent to that data set. */
export function eventOf(
  change: Mutation,
  target: Buffer,
  policy: number | undefined,
): Buffer | undefined {
  if (policy === undefined || change.path.length >= PATH_BYTES_MAX) return undefined;
  if (hasDataSet(change.path, target)) return undefined;
  const event = Buffer.allocUnsafe(eventBytes(change));
  writeEvent(viewed(event), 0, change, policy);
  return event;
}

function checksumOf({ name, key }: Mutation): number {
  return crc32(key.toBuffer(), crc32(name.toBuffer()));
}
