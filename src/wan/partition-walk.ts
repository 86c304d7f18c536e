/**
 * A walk of a synchronisation over the entries of partitions of servers, which sends them to the
 * publisher's target. A page of a partition is read while the partition is held, so that no batch of
 * its changes is in flight, and until the target has acknowledged the page nothing else of the partition
 * is sent. So an entry is the latest of its key when it is sent, and later changes follow it.
 *
 * Each walk has numbers of its own, greater than those of earlier walks: the next sender of a
 * partition begins anew, and none of its entries is mistaken for one that the target already has.
 * Tested by server-tasks.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import type { Span } from '../base/span.ts';
import type { Mutation } from '../engine/mutation.ts';
import type { EntriesRead, PartitionEntries } from '../engine/partition-entries.ts';
import type { Version } from '../engine/version.ts';
import { TOO_LONG } from './publisher-target.ts';
import { ResponseCounts } from './response-counts.ts';
import type { ServerLane } from './server-lane.ts';
import type { ServerSender } from './server-sender.ts';
import { SyncEvents } from './sync-events.ts';
import type { TargetEndpoint } from './target-endpoint.ts';
import { eventOf } from './waiting-events.ts';
import type { WanMapRef } from './wan-maps.ts';

/** Partitions that are read at the same time, and batches that are sent at the same time. */
const READS_AT_ONCE = 4;
const BATCHES_AT_ONCE = 2;
/**
 * Entries and bytes after which a page ends. With more entries at the same time, they outlive collections
 * of short-lived objects, and the heap grows by 30 MiB.
 */
const PAGE_COUNT = 100;
const PAGE_BYTES = 1_048_576;
/** Numbers of a walk; 2^22 walks fit into an integer. */
const NUMBERS_A_WALK = 2 ** 31;
/** Delay before the servers or the target are tried again, in ms. */
const RETRY_MS = 200;
/** How often a list may begin again until entries are counted that it passes again. */
const LISTS_MAX = 20;

interface WalkParts {
  readonly entries: PartitionEntries;
  readonly sender: ServerSender;
  readonly batchSize: number;
  readonly clock: Clock;
  /** Names of the maps to send. */
  readonly maps: readonly Buffer[];
  /** Id of the target's data set. */
  readonly target: Buffer;
  /** The version at which the synchronisation began. */
  readonly began: Version;
  /** Runs the work with long values, one after another. */
  readonly longValues: SerialQueue;
  /** Returns the map's reference; undefined if it is not sent. */
  refOf(map: Buffer): WanMapRef | undefined;
  /** Returns whether the entry is to be sent. */
  isWanted(map: Buffer, partition: number, key: Span): boolean;
  /** Returns whether the walk is to end. */
  isOver(): boolean;
  /** Called when a page was read that has nothing to send, or the target has acknowledged a page. */
  onAdvance(): void;
  /** Called when the target has all entries of the partition; `notTaken` of them were not taken. */
  onDone(partition: number, notTaken: number): void;
}

/** The number of events that were sent, where, and the response, if there is one. */
interface Sent {
  readonly count: number;
  readonly endpoint?: TargetEndpoint;
  readonly response?: (Awaited<ReturnType<ServerSender['sendEntries']>> & object) | undefined;
}

/** A partition that the walk cannot complete: it is over, or another member sends for the partition. */
class WalkEnded extends Error {}

/** The target has another data set, so the synchronisation fails. */
export class NewDataSet extends Error {}

export class PartitionWalk {
  readonly #parts: WalkParts;
  readonly #sending = Array.from({ length: BATCHES_AT_ONCE }, () => new SerialQueue());
  readonly #counts = new ResponseCounts<number>();
  #nextNumber: number;

  /** `walk`: number of the walk, greater than that of each earlier one. */
  constructor(parts: WalkParts, walk: number) {
    this.#parts = parts;
    this.#nextNumber = walk * NUMBERS_A_WALK + 1;
  }

  /**
   * Walks over the partitions. Resolves once each is done, or is left to others. Rejects with
   * NewDataSet.
   */
  async run(partitions: readonly number[]): Promise<void> {
    const left = [...partitions];
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        await this.#walk(next).catch((error: unknown) => {
          if (error instanceof WalkEnded) return;
          left.length = 0;
          throw error;
        });
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: READS_AT_ONCE }, work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #walk(partition: number): Promise<void> {
    let notTaken = 0;
    for (const map of this.#parts.maps) notTaken += await this.#sendMap(partition, map);
    this.#parts.onDone(partition, notTaken);
  }

  /** Resolves with the number of entries that were not taken. */
  async #sendMap(partition: number, map: Buffer): Promise<number> {
    let notTaken = 0;
    let lists = 1;
    for (let place: Buffer | undefined; ; ) {
      const lane = await this.#held(partition);
      try {
        const page = await this.#read(lane, map, place);
        if (page.beganAgain && lists < LISTS_MAX) {
          lists++;
          notTaken = 0;
          place = undefined;
          continue;
        }
        notTaken += await this.#sendPage(lane, map, page);
        this.#parts.onAdvance();
        if (page.place === undefined) return notTaken;
        place = page.place;
      } finally {
        this.#parts.sender.release(lane);
      }
    }
  }

  async #held(partition: number): Promise<ServerLane> {
    const lane = this.#parts.isOver() ? undefined : await this.#parts.sender.hold(partition);
    if (lane === undefined) throw new WalkEnded();
    return lane;
  }

  async #read(lane: ServerLane, map: Buffer, place: Buffer | undefined): Promise<EntriesRead> {
    const { entries, batchSize } = this.#parts;
    const room = { count: Math.min(batchSize, PAGE_COUNT), bytes: PAGE_BYTES };
    return await this.#again(lane, () => entries.readEntries(map, lane.partition, place, room));
  }

  async #sendPage(lane: ServerLane, map: Buffer, page: EntriesRead): Promise<number> {
    let notTaken = await this.#send(lane, this.#eventsOf(lane, map, page.entries));
    for (const key of page.longKeys) {
      notTaken += await this.#parts.longValues.run(() => this.#sendLong(lane, map, key));
    }
    return notTaken;
  }

  async #sendLong(lane: ServerLane, map: Buffer, key: Buffer): Promise<number> {
    const { entries } = this.#parts;
    const { entry } = await this.#again(lane, () => entries.readEntry(map, key));
    return await this.#send(lane, this.#eventsOf(lane, map, entry === undefined ? [] : [entry]));
  }

  #eventsOf({ partition }: ServerLane, map: Buffer, entries: readonly Mutation[]): SyncEvents {
    const { target, began, refOf, isWanted } = this.#parts;
    const ref = refOf(map);
    const events: Buffer[] = [];
    for (const entry of entries) {
      if (ref?.accepts(entry.key) !== true || !isWanted(map, partition, entry.key)) continue;
      const event = eventOf(entry, target, ref.policy);
      if (event !== undefined) events.push(event);
    }
    const firstNumber = this.#nextNumber;
    this.#nextNumber += events.length;
    return new SyncEvents(partition, began, events, firstNumber);
  }

  /** Sends events until the target has all. Resolves with the number of those not taken. */
  async #send(lane: ServerLane, events: SyncEvents): Promise<number> {
    const queue = this.#sending[lane.partition % BATCHES_AT_ONCE]!;
    let notTaken = 0;
    for (let left = events; left.count > 0; ) {
      const { count, endpoint, response } = await queue.run(() => this.#sendOnce(lane, left));
      if (endpoint === undefined || response === undefined) {
        await this.#pause(lane);
        continue;
      }
      const { done, ...counts } = response;
      const newly = this.#counts.newly(lane.partition, left.numberOf(0), counts);
      this.#parts.sender.onRejected(endpoint, newly.rejected);
      notTaken += newly.notTaken;
      if (done > 0) this.#parts.onAdvance();
      if (done < count) await this.#pause(lane);
      left = left.slice(done);
    }
    return notTaken;
  }

  /** Sends as many of the first events as the target accepts in a batch: `count`. */
  async #sendOnce(lane: ServerLane, events: SyncEvents): Promise<Sent> {
    const { sender, target } = this.#parts;
    for (let { count } = events; ; count = Math.ceil(count / 2)) {
      this.#check(lane);
      const endpoint = await sender.usableEndpoint().catch(() => undefined);
      this.#check(lane);
      if (endpoint === undefined) return { count };
      if (endpoint.dataSet?.equals(target) !== true) throw new NewDataSet();
      const response = await sender.sendEntries(endpoint, events.slice(0, count));
      if (response !== TOO_LONG) return { count, endpoint, response };
    }
  }

  /** Calls `read` until it has a result. */
  async #again<Result>(lane: ServerLane, read: () => Promise<Result | undefined>): Promise<Result> {
    for (;;) {
      const result = await read();
      this.#check(lane);
      if (result !== undefined) return result;
      await this.#pause(lane);
    }
  }

  async #pause(lane: ServerLane): Promise<void> {
    await new Promise<void>((resolve) => void this.#parts.clock.after(RETRY_MS, resolve));
    this.#check(lane);
  }

  /** Throws WalkEnded if the walk is over, or another member sends for the partition. */
  #check(lane: ServerLane): void {
    if (this.#parts.isOver() || !this.#parts.sender.holds(lane)) throw new WalkEnded();
  }
}
