/**
 * The entries that a synchronisation sends, lane by lane, beside the queue. A section of entries is
 * read when its lane is free: no batch of the lane is in flight, and no event of the queue is
 * numbered. Until the target has acknowledged the section, the lane sends nothing else. An entry
 * that was read is therefore the latest of its key when it is sent, and later changes wait in the
 * queue:
 *
 *     lane free → entries are read → batch → acknowledged → older events of the keys dropped → free
 *
 * Entries that were in a batch remain until they are acknowledged, even after the synchronisation
 * has ended: they may have arrived, and then no older event of their keys may follow. They are
 * numbered apart from the events of the queue's lanes; of a lane of the queue and the lane here that
 * has its number, at most one has numbered records. Tested by sync.spec.ts.
 */
import { Mutation, SET } from '../engine/mutation.ts';
import { type StoredVisitor, VisitCursor } from '../engine/stored-engine.ts';
import type { Version } from '../engine/version.ts';
import { readEvent } from './event-codec.ts';
import { Lane, type QueueTotals } from './lane.ts';
import type { PublisherQueue } from './publisher-queue.ts';
import type { WanEngine } from './wan-engine.ts';

/**
 * Maximum sizes of a section and of all sections, in bytes. Beyond them no further entry is read.
 */
const SECTION_BYTES_MAX = 2_097_152;
const SECTIONS_BYTES_MAX = 8_388_608;
/** Entries visited per dispatch, and per step. */
const VISITS_A_TURN = 512;
const VISITS_A_STEP = 64;
/** Bytes copied per step; a longer entry is copied in a step of its own. */
const STEP_BYTES_MAX = 524_288;
/** Maximum number of steps of a non-empty section, as most entries may be of other maps. */
const SECTION_STEPS_MAX = 256;

/** Selects the entries of a synchronisation and is notified of its progress. */
export interface SyncReading {
  /** The version at which it began: later than everything the target had then. */
  readonly began: Version;
  /** Returns the merge policy of the entry's map; -1 if the entry is not sent. */
  policyOf(entry: Mutation): number;
  /** Called when the target has acknowledged the entries of one more partition. */
  onPartition(): void;
  /** Called when the target has acknowledged something. */
  onAcknowledged(): void;
  /** Called with the number of entries that were acknowledged but not taken. */
  onNotTaken(count: number): void;
  /** Called when nothing is outstanding that the target could acknowledge. */
  onIdle(): void;
}

/** The progress of reading a lane. */
interface LaneReading {
  partition: number;
  cursor: VisitCursor;
  /** Steps of the current section. */
  steps: number;
  /** Entries of the next step, limited so that it does not copy too much. */
  budget: number;
  /** For each partition that was read but not acknowledged, the position after its entries. */
  readonly ends: number[];
}

export class SyncLanes implements StoredVisitor {
  readonly lanes: readonly Lane[];
  readonly #engine: Pick<WanEngine, 'partitionCount' | 'visit'>;
  readonly #queue: PublisherQueue;
  readonly #batchSize: number;
  readonly #now: () => number;
  readonly #totals: QueueTotals = { events: 0, bytes: 0 };
  readonly #entry = new Mutation();
  #reading: SyncReading | undefined;
  #laneReadings: LaneReading[] = [];
  /** Entries that may still be visited in this dispatch. */
  #visitsLeft = 0;
  /** State of the current step. */
  #lane: Lane;
  #visitedCount = 0;
  #bytes = 0;
  #isLimited = false;
  #isOverflown = false;

  constructor(
    engine: Pick<WanEngine, 'partitionCount' | 'visit'>,
    queue: PublisherQueue,
    batchSize: number,
    now: () => number,
  ) {
    this.lanes = queue.lanes.map(({ number, firstNumber }) => {
      const lane = new Lane(number, this.#totals, queue.pool);
      lane.firstNumber = firstNumber;
      return lane;
    });
    this.#engine = engine;
    this.#queue = queue;
    this.#batchSize = batchSize;
    this.#now = now;
    this.#lane = this.lanes[0]!;
  }

  /** Whether a synchronisation is in progress. */
  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  /** Whether entries remain to be sent, of a synchronisation in progress or ended. */
  get hasEntries(): boolean {
    return this.#totals.events > 0;
  }

  /** Whether this dispatch has used up its visits, so that another one is needed. */
  get isExhausted(): boolean {
    return this.isReading && this.#visitsLeft <= 0;
  }

  /** Returns whether the queue's lane of that number has to wait. */
  blocks(number: number): boolean {
    return this.lanes[number]!.count > 0;
  }

  /** Begins to read every partition. No synchronisation may be in progress. */
  begin(reading: SyncReading): void {
    this.#reading = reading;
    this.#laneReadings = this.lanes.map(({ number }) => {
      return { partition: number, cursor: new VisitCursor(), steps: 0, budget: 8, ends: [] };
    });
  }

  /** Ends the synchronisation. Entries that were in a batch remain. */
  end(): void {
    if (this.#reading === undefined) return;
    this.#reading = undefined;
    this.#laneReadings = [];
    for (const lane of this.lanes) {
      if (lane.numberedCount === 0) lane.clear();
      else lane.dropWaiting();
    }
    this.#endSkips();
  }

  /** Drops the entries of an ended synchronisation: the queue has no events of their keys. */
  clearEnded(): void {
    if (this.#reading === undefined) this.clear();
  }

  /** Drops every entry, as the target's data set has changed. */
  clear(): void {
    for (const lane of this.lanes) lane.clear();
    this.#endSkips();
  }

  beginTurn(): void {
    this.#visitsLeft = VISITS_A_TURN;
  }

  /** Returns the lane of that number if it has a section to send now. Reads one if necessary. */
  ready(number: number): Lane | undefined {
    const lane = this.lanes[number]!;
    const queued = this.#queue.lanes[number]!;
    if (queued.isInFlight || queued.numberedCount > 0) return undefined;
    if (lane.numberedCount > 0) return lane;
    const reading = this.#laneReadings[number];
    if (reading !== undefined && !this.#isFull(lane, reading)) this.#read(lane, reading);
    if (lane.count === 0) return undefined;
    if (reading !== undefined && !this.#isFull(lane, reading)) return undefined;
    return lane;
  }

  /** Called when the target has acknowledged an event of the queue or an entry. */
  onAcknowledged(): void {
    this.#reading?.onAcknowledged();
  }

  /** Called with the number of entries that the target has not taken. */
  onNotTaken(count: number): void {
    if (count > 0) this.#reading?.onNotTaken(count);
  }

  /**
   * Drops older queued events of the first `count` entries' keys. The entries were acknowledged.
   */
  skipOlder(lane: Lane, count: number): void {
    const queued = this.#queue.lanes[lane.number]!;
    let left = queued.count === queued.numberedCount ? 0 : count;
    if (left === 0) return;
    lane.eachFrom(lane.head, (position) => {
      const { chunk, at } = lane.eventAt(position);
      readEvent(chunk, at, chunk.bytes.length, this.#entry);
      this.#queue.skip(queued, this.#entry);
      left--;
      return left > 0;
    });
  }

  /** Called after entries of the lane were removed. */
  onRemoved(lane: Lane): void {
    const reading = this.#laneReadings[lane.number];
    if (reading !== undefined) {
      reading.steps = 0;
      this.#settle(lane, reading);
    }
    this.#endSkips();
  }

  /** Called for each visited entry or item. */
  onStored(stored: Mutation): void {
    this.#visitedCount++;
    if (stored.operation !== SET || this.#isOverflown) return;
    const policy = this.#reading!.policyOf(stored);
    if (policy < 0) return;
    const bytes = Lane.recordBytes(stored);
    if (this.#isLimited && this.#bytes > 0 && this.#bytes + bytes > STEP_BYTES_MAX) {
      this.#isOverflown = true;
      return;
    }
    this.#bytes += bytes;
    this.#lane.append(stored, policy, this.#now(), false);
  }

  /** Returns whether the section is to be sent as it is. */
  #isFull({ count, bytes }: Lane, { steps, partition }: LaneReading): boolean {
    if (count >= this.#batchSize || bytes >= SECTION_BYTES_MAX) return true;
    if (partition >= this.#engine.partitionCount) return true;
    return count > 0 && (steps >= SECTION_STEPS_MAX || this.#totals.bytes >= SECTIONS_BYTES_MAX);
  }

  #read(lane: Lane, reading: LaneReading): void {
    if (this.#totals.bytes >= SECTIONS_BYTES_MAX) return;
    // Entries of an earlier synchronisation keep its beginning, so the lane must be empty.
    if (lane.count === 0) lane.syncBegan.copyFrom(this.#reading!.began);
    while (this.#visitsLeft > 0 && !this.#isFull(lane, reading)) {
      const isMore = this.#step(lane, reading);
      reading.steps++;
      if (!isMore) {
        reading.ends.push(lane.tail);
        reading.partition += this.lanes.length;
        reading.cursor = new VisitCursor();
        this.#settle(lane, reading);
      }
      if (!this.hasEntries) this.#reading?.onIdle();
    }
  }

  /** Visits some entries. Returns whether the partition has more. */
  #step(lane: Lane, reading: LaneReading): boolean {
    const { partition, cursor, budget } = reading;
    const { place, item } = cursor;
    const queues = [...cursor.queues];
    this.#lane = lane;
    this.#visitedCount = 0;
    this.#bytes = 0;
    this.#isLimited = budget > 1;
    this.#isOverflown = false;
    const isMore = this.#engine.visit(partition, cursor, budget, this);
    this.#visitsLeft -= isMore ? budget : Math.min(budget, this.#visitedCount + 1);
    if (!this.#isOverflown) {
      const room = STEP_BYTES_MAX / Math.max(1, this.#bytes / Math.max(1, this.#visitedCount));
      reading.budget = Math.max(1, Math.min(VISITS_A_STEP, budget * 2, Math.floor(room / 2)));
      return isMore;
    }
    // Entries that were already copied are sent twice, which is harmless.
    cursor.place = place;
    cursor.item = item;
    cursor.queues.splice(0, cursor.queues.length, ...queues);
    reading.budget = 1;
    return true;
  }

  #settle(lane: Lane, { ends }: LaneReading): void {
    while (ends.length > 0 && ends[0]! <= lane.head) {
      ends.shift();
      this.#reading?.onPartition();
    }
  }

  #endSkips(): void {
    if (!this.isReading && !this.hasEntries) this.#queue.endSkips();
  }
}
