/**
 * Sends the keys that wait for a publisher in the partitions of servers for which this member is the
 * sender (partition-senders.ts). A batch has sections of several partitions; a partition has at most
 * one batch in flight, which keeps its order. Partitions are assigned to the usable endpoints by
 * number.
 *
 *     marked, announced, counted, acknowledged, timer → dispatch → handshakes that are due
 *                                                        → read partitions that are due → batch → acknowledge
 *
 * Nothing is kept in this member: the present state of the keys is read for each attempt, and their
 * marks are removed when the target has them. So the next sender of a partition goes on from the
 * servers, and two senders send the same numbers.
 */
import type { Clock } from '../base/clock.ts';
import type { Span } from '../base/span.ts';
import type { MarkedChanges, MarkedPublisher, WaitingRoom } from '../engine/marked-changes.ts';
import type { Version } from '../engine/version.ts';
import {
  type BatchResponse,
  type LaneEvents,
  MessageTexts,
  type Section,
  unsealedBatch,
} from './batch.ts';
import { BATCH_BYTES_MAX, batchesPerEndpoint } from './batch-limits.ts';
import { ChunkPool } from './chunk-pool.ts';
import { OneShotTimer } from './one-shot-timer.ts';
import type { PartitionSteps } from './partition-steps.ts';
import { type EpochSender, PublisherTarget, TOO_LONG } from './publisher-target.ts';
import { ResponseCounts } from './response-counts.ts';
import { ServerLane } from './server-lane.ts';
import type { SyncEvents } from './sync-events.ts';
import type { TargetEndpoint } from './target-endpoint.ts';
import { WaitingEvents } from './waiting-events.ts';
import type { WanPublisherOptions } from './wan-config.ts';
import type { WanLog } from './wan-engine.ts';
import type { WanTransport } from './wan-transport.ts';

/** Maximum number of partitions in a batch, and of those that are read at the same time. */
const PARTITIONS_MAX = 64;
const READS_AT_ONCE = 8;
/** Length of a section above which the partition is then read by itself, in bytes. */
const LONG_BYTES = BATCH_BYTES_MAX / READS_AT_ONCE;
/** Delay before a step that the servers have refused is tried again, in ms. */
const RETRY_MS = 500;

export interface ServerSenderParts {
  readonly replication: string;
  readonly options: WanPublisherOptions;
  readonly changes: MarkedChanges;
  /** The clock of versions. */
  readonly engine: { observe(version: Version): void };
  readonly sender: EpochSender;
  readonly transport: WanTransport;
  /** Returns the merge policy of the map's changes; undefined if they are not published. */
  readonly policyOf: (map: Span) => number | undefined;
  /** Returns whether this member may send: it is in the cluster. */
  readonly maySend: () => boolean;
  /** Makes the steps of all publishers. */
  readonly steps: PartitionSteps;
  readonly clock: Clock;
  readonly log: WanLog;
  /** Random number from 0 to 1, for the jitter. */
  readonly random: () => number;
}

/** The events of a partition in a batch. */
interface WaitingSection extends Section<WaitingEvents> {
  readonly from: ServerLane;
  /** Time before the read. */
  readonly readMs: number;
}

export class ServerSender {
  readonly target: PublisherTarget;
  readonly #parts: ServerSenderParts;
  readonly #publisher: MarkedPublisher;
  readonly #texts: MessageTexts;
  readonly #slots: number;
  readonly #timer: OneShotTimer;
  readonly #pool = new ChunkPool();
  readonly #counts = new ResponseCounts<number>();
  /** By partition, those that this member sends for. */
  readonly #lanes = new Map<number, ServerLane>();
  sentCount = 0;
  rejectedCount = 0;
  #isSending = false;
  #isDraining = false;
  #isClosed = false;
  #isScheduled = false;
  /** Number of marks since the last dispatch. */
  #markCount = 0;
  /** The partition at which the next batch begins. */
  #nextPartition = 0;

  constructor(parts: ServerSenderParts, publisher: MarkedPublisher) {
    this.#parts = parts;
    this.#publisher = publisher;
    const { options, replication, clock } = parts;
    this.#texts = new MessageTexts(options.clusterName, replication, options.publisherId);
    this.target = new PublisherTarget({
      ...parts,
      texts: this.#texts,
      onHandshakeEnd: () => this.#schedule(),
      onNewDataSet: () => this.#counts.clear(),
      onForgotten: () => this.#counts.clear(),
    });
    this.#slots = batchesPerEndpoint(options.maxConcurrentInvocations);
    this.#timer = new OneShotTimer(clock, () => this.#dispatch());
  }

  /**
   * Sets the partitions that this member sends for. New ones are read at once, in a new epoch: only their
   * last sender knew which numbers it had sent, and a failover may lose them.
   */
  setPartitions(partitions: readonly number[]): void {
    const sent = new Set(partitions);
    for (const partition of this.#lanes.keys()) {
      if (sent.has(partition)) continue;
      this.#lanes.get(partition)!.free();
      this.#lanes.delete(partition);
    }
    const nowMs = this.#parts.clock.now();
    const taken = partitions.filter((partition) => !this.#lanes.has(partition));
    for (const partition of taken) this.#lanes.set(partition, new ServerLane(partition, nowMs));
    if (taken.length > 0) this.#parts.sender.beginEpoch();
    this.#schedule();
  }

  /** Starts or stops the sending of batches. Batches in flight are not affected. */
  setSending(isSending: boolean): void {
    this.#isSending = isSending;
    const nowMs = this.#parts.clock.now();
    for (const lane of this.#lanes.values()) if (lane.count > 0) lane.expectBy(nowMs);
    this.#schedule();
  }

  /**
   * Called when a key of the partition was marked: it is sent after the delay, or in a full batch.
   * Returns whether this member sends for the partition.
   */
  onMarked(partition: number, delayMs: number): boolean {
    const lane = this.#lanes.get(partition);
    if (lane === undefined) return false;
    this.#markCount++;
    const isFull = this.#markCount === this.#parts.options.batchSize;
    if (!isFull && lane.dueMs !== Number.POSITIVE_INFINITY) return true;
    const dueMs = this.#parts.clock.now() + delayMs;
    lane.expectBy(dueMs);
    if (isFull || this.#isDraining) this.#schedule();
    else if (!this.#isClosed) this.#timer.set(dueMs);
    return true;
  }

  /** Counts the keys that wait, and sends those that no member has announced. */
  look(): Promise<void> {
    return this.#count([...this.#lanes.values()]);
  }

  /** Number of keys that waited when they were last counted. */
  get waitingCount(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) count += lane.count;
    return count;
  }

  /** Time since the last moment whose changes are known to be acknowledged, in ms. */
  get lagMs(): number {
    const nowMs = this.#parts.clock.now();
    let lagMs = 0;
    for (const { count, currentMs } of this.#lanes.values()) {
      if (count > 0) lagMs = Math.max(lagMs, nowMs - currentMs);
    }
    return lagMs;
  }

  /** Whether keys are known to wait, or a batch is in flight. */
  get hasWork(): boolean {
    for (const { count, isBusy, dueMs } of this.#lanes.values()) {
      if (count > 0 || isBusy || dueMs !== Number.POSITIVE_INFINITY) return true;
    }
    return false;
  }

  /**
   * Drops the keys that wait; those in flight may still arrive. Resolves with whether all are dropped.
   */
  async clear(): Promise<boolean> {
    const lanes = [...this.#lanes.values()];
    let isDone = true;
    await eachAtOnce(lanes, PARTITIONS_MAX, async (lane) => {
      const { partition } = lane;
      if (await this.#parts.changes.dropWaiting(this.#publisher, partition)) lane.count = 0;
      else isDone = false;
    });
    return isDone;
  }

  /**
   * Keeps the partition from being sent until `release`, once no batch of it is in flight. Resolves with
   * undefined if this member does not send for it.
   */
  async hold(partition: number): Promise<ServerLane | undefined> {
    for (;;) {
      const lane = this.#lanes.get(partition);
      if (lane === undefined || this.#isClosed) return undefined;
      if (!lane.isBusy) {
        lane.isBusy = true;
        return lane;
      }
      await lane.freed();
    }
  }

  release(lane: ServerLane): void {
    lane.free();
    this.#schedule();
  }

  /** Returns whether this member still sends for the partition that it holds. */
  holds(lane: ServerLane): boolean {
    return !this.#isClosed && this.#parts.maySend() && this.#lanes.get(lane.partition) === lane;
  }

  /** Resolves with a usable endpoint. Rejects like PublisherTarget.reach. */
  async usableEndpoint(): Promise<TargetEndpoint> {
    const { target } = this;
    const usable = target.endpoints.filter(({ status }) => status === 'usable');
    if (usable.length === 0) return await target.reach();
    return usable.reduce((one, other) => (other.inFlightCount < one.inFlightCount ? other : one));
  }

  /**
   * Sends entries of a synchronisation, in every state of the publisher. Resolves with the response to
   * their section, with TOO_LONG, or with undefined if they have to be sent again.
   */
  async sendEntries(
    endpoint: TargetEndpoint,
    events: SyncEvents,
  ): Promise<BatchResponse['sections'][number] | typeof TOO_LONG | undefined> {
    const sections = [{ lane: events, count: events.count }];
    endpoint.inFlightCount++;
    const data = endpoint.dataSet!;
    const { response, eventBytes } = await this.#deliver(endpoint, data, sections, false);
    endpoint.inFlightCount--;
    this.#schedule();
    if (response === TOO_LONG) {
      if (events.count > 1) return TOO_LONG;
      this.target.skip(endpoint, eventBytes);
      return { done: 1, notTaken: 0, rejected: 1 };
    }
    return response?.sections[0];
  }

  /** Counts entries of a synchronisation that the endpoint has rejected. */
  onRejected(endpoint: TargetEndpoint, rejected: number): void {
    this.rejectedCount += rejected;
    this.target.onRejected(endpoint, rejected);
  }

  /** From now on batches do not wait for more events. */
  drain(): void {
    this.#isDraining = true;
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer.cancel();
    for (const lane of this.#lanes.values()) lane.free();
    this.target.close();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    this.#parts.clock.endOfTurn(() => this.#dispatch());
  }

  #dispatch(): void {
    this.#isScheduled = false;
    if (this.#isClosed) return;
    const { clock, options } = this.#parts;
    const nowMs = clock.now();
    const known = [...this.#lanes.values()].filter(({ dueMs }) => Number.isFinite(dueMs));
    if (this.#isDraining || this.#markCount >= options.batchSize) {
      for (const lane of known) lane.expectBy(nowMs);
    }
    this.#markCount = 0;
    const due = known.filter(({ isBusy, dueMs }) => !isBusy && dueMs <= nowMs);
    if (known.length > 0 && this.#sendsNow()) this.#send(due, nowMs);
    this.#timer.set(this.#nextDueMs(nowMs));
  }

  /** Sends batches of these partitions, as far as the endpoints accept any. */
  #send(due: readonly ServerLane[], nowMs: number): void {
    this.target.beginDueHandshakes(nowMs);
    const usable = this.target.endpoints.filter(({ status }) => status === 'usable');
    const start = due.findIndex(({ partition }) => partition >= this.#nextPartition);
    const inTurn = [...due.slice(Math.max(0, start)), ...due.slice(0, Math.max(0, start))];
    for (const [index, endpoint] of usable.entries()) {
      const lanes = inTurn.filter(({ partition }) => partition % usable.length === index);
      while (endpoint.inFlightCount < this.#slots && lanes.length > 0) {
        const chosen = this.#choose(lanes);
        this.#nextPartition = chosen.at(-1)!.lane.partition + 1;
        endpoint.inFlightCount++;
        void this.#sendFrom(endpoint, chosen);
      }
    }
  }

  /** Returns the time of the next action that only the clock triggers; Infinity for none. */
  #nextDueMs(nowMs: number): number {
    let dueMs = Number.POSITIVE_INFINITY;
    let isDue = this.target.isWanted;
    for (const lane of this.#lanes.values()) {
      if (lane.dueMs > nowMs) dueMs = Math.min(dueMs, lane.dueMs);
      else isDue = true;
    }
    if (!this.#sendsNow() || !isDue) return dueMs;
    return Math.min(dueMs, this.target.nextRetryMs(nowMs));
  }

  /** Takes partitions from the front of `lanes`, with the number of keys to read of each. */
  #choose(lanes: ServerLane[]): { lane: ServerLane; count: number }[] {
    const { batchSize } = this.#parts.options;
    const chosen: { lane: ServerLane; count: number }[] = [];
    let left = batchSize;
    while (lanes.length > 0 && left > 0 && chosen.length < PARTITIONS_MAX) {
      const lane = lanes[0]!;
      if (lane.isLong && chosen.length > 0) break;
      lanes.shift();
      const count = Math.min(left, Math.max(1, lane.count));
      left -= count;
      chosen.push({ lane, count });
      lane.isBusy = true;
      lane.dueMs = Number.POSITIVE_INFINITY;
      if (lane.isLong) break;
    }
    // The counts are those of the last look.
    const further = Math.floor(left / chosen.length);
    return chosen.map(({ lane, count }) => ({ lane, count: count + further }));
  }

  async #sendFrom(
    endpoint: TargetEndpoint,
    chosen: readonly { lane: ServerLane; count: number }[],
  ): Promise<void> {
    const target = endpoint.dataSet!;
    const sections = await this.#read(endpoint, target, chosen);
    await this.#sendSections(endpoint, target, sections);
    endpoint.inFlightCount--;
    for (const { lane } of chosen) lane.free();
    this.#schedule();
  }

  async #sendSections(
    endpoint: TargetEndpoint,
    target: Buffer,
    read: readonly WaitingSection[],
  ): Promise<void> {
    const { options, sender } = this.#parts;
    const sections = this.#maySend(endpoint, target)
      ? read.filter(({ from }) => this.#lanes.get(from.partition) === from)
      : [];
    if (sections.length === 0) return this.#retry(read);
    if (sections.some(({ lane, from }) => from.repeatsNumbers(lane, sender.epoch))) {
      sender.beginEpoch();
    }
    for (const { lane, from } of sections) from.onSent(lane, sender.epoch);
    const isOnReceipt = options.acknowledgeType === 'ACK_ON_RECEIPT';
    const { response, eventBytes } = await this.#deliver(endpoint, target, sections, isOnReceipt);
    if (response === TOO_LONG) return await this.#onTooLong(endpoint, target, sections, eventBytes);
    if (response === undefined) return this.#retry(sections);
    await this.#onResponse(endpoint, sections, response);
  }

  /** Resolves with the response, TOO_LONG or undefined, and the length of the events in bytes. */
  async #deliver<Events extends LaneEvents & { readonly bytes: number }>(
    endpoint: TargetEndpoint,
    target: Buffer,
    sections: readonly Section<Events>[],
    isOnReceipt: boolean,
  ) {
    const { sender } = this.#parts;
    const lengths = sections.map(({ lane }) => lane.bytes);
    const batch = unsealedBatch(sender, this.#texts, target, sections, lengths, this.#pool);
    const response = await this.target.deliver(endpoint, batch.bytes, sections, isOnReceipt);
    // The response contains the message's checksum, so the whole message has arrived.
    if (response !== undefined && response !== TOO_LONG) this.#pool.release(batch.memory);
    return { response, eventBytes: batch.eventBytes };
  }

  /** Reads the partitions of the sections again as soon as an endpoint accepts them. */
  #retry(sections: readonly WaitingSection[]): void {
    const nowMs = this.#parts.clock.now();
    for (const { from } of sections) from.expectBy(nowMs);
  }

  #sendsNow(): boolean {
    return this.#isSending && !this.#isClosed && this.#parts.maySend();
  }

  /** Returns whether the events that were read for the endpoint may still be sent. */
  #maySend({ status, dataSet }: TargetEndpoint, target: Buffer): boolean {
    return this.#sendsNow() && status === 'usable' && dataSet?.equals(target) === true;
  }

  /** Reads partitions until a batch is full. Those that do not fit remain due. */
  async #read(
    endpoint: TargetEndpoint,
    target: Buffer,
    chosen: readonly { lane: ServerLane; count: number }[],
  ): Promise<readonly WaitingSection[]> {
    const sections: WaitingSection[] = [];
    let left = endpoint.bytesMax;
    let eventsLeft = this.#parts.options.batchSize;
    const share = Math.max(1, Math.floor(left / chosen.length));
    await eachAtOnce(chosen, READS_AT_ONCE, async ({ lane, count }) => {
      if (left <= 0 || eventsLeft <= 0) return lane.expectBy(this.#parts.clock.now());
      const section = await this.#readFrom(lane, target, { count, bytes: share });
      if (section === undefined) return;
      const bytes = section.lane.roomBytes;
      if (bytes > LONG_BYTES) lane.isLong = true;
      const fits = bytes <= left && section.count <= eventsLeft;
      if (!fits && sections.length > 0) return lane.expectBy(this.#parts.clock.now());
      left -= bytes;
      eventsLeft -= section.count;
      sections.push(section);
    });
    return sections;
  }

  /** Resolves with the events of a partition, or undefined if there are none to send. */
  async #readFrom(
    lane: ServerLane,
    target: Buffer,
    room: WaitingRoom,
  ): Promise<WaitingSection | undefined> {
    const { clock, changes, steps, policyOf } = this.#parts;
    const readMs = clock.now();
    const { partition } = lane;
    lane.isLong = false;
    if (lane.remainsTo > 0 && !(await this.#acknowledge(lane, lane.remainsTo))) return undefined;
    const waiting = await steps.read(partition, () =>
      changes.readWaiting(this.#publisher, partition, 0, room),
    );
    if (waiting === undefined) {
      this.target.onUnread(partition);
      lane.expectBy(clock.now() + RETRY_MS);
      return undefined;
    }
    const first = waiting.changes[0];
    if (first !== undefined) lane.onOldest(clock.now() - clock.wall() + first.number / 1000);
    const events = new WaitingEvents(partition, waiting, { target, policyOf }, room);
    if (events.count > 0) return { lane: events, count: events.count, from: lane, readMs };
    const doneTo = events.doneTo(0);
    if (doneTo === 0) lane.onEmpty(readMs);
    else await this.#onDone(lane, doneTo, events.hasMore, readMs);
    return undefined;
  }

  async #onResponse(
    endpoint: TargetEndpoint,
    sections: readonly WaitingSection[],
    response: BatchResponse,
  ): Promise<void> {
    await eachAtOnce([...sections.entries()], PARTITIONS_MAX, async ([index, section]) => {
      const { lane, from, count, readMs } = section;
      const done = this.#onSection(endpoint, lane, response.sections[index]!);
      const doneTo = lane.doneTo(done);
      const hasMore = lane.hasMore || done < count;
      if (doneTo > 0) await this.#onDone(from, doneTo, hasMore, readMs);
      else this.#retry([section]);
    });
  }

  /** Counts the events of a section. Returns how many the target has processed. */
  #onSection(
    endpoint: TargetEndpoint,
    lane: LaneEvents,
    { done, ...counts }: BatchResponse['sections'][number],
  ): number {
    const { rejected } = this.#counts.newly(lane.number, lane.numberOf(0), counts);
    this.rejectedCount += rejected;
    this.target.onRejected(endpoint, rejected);
    this.sentCount += Math.max(0, done - rejected);
    return done;
  }

  /**
   * Handles status 413: halves the size of the next batch. The events of a single key are sent one by
   * one, and those that are too long by themselves are skipped.
   */
  async #onTooLong(
    endpoint: TargetEndpoint,
    target: Buffer,
    sections: readonly WaitingSection[],
    eventBytes: number,
  ): Promise<void> {
    const { lane, from, count, readMs } = sections[0]!;
    if (sections.length > 1 || lane.keyCount > 1) {
      endpoint.bytesMax = Math.max(1, Math.floor(eventBytes / 2));
      return this.#retry(sections);
    }
    for (const event of lane.separately()) {
      const section = { lane: event, count: 1 };
      const { response } =
        count === 1
          ? ({ response: TOO_LONG } as const)
          : await this.#deliver(endpoint, target, [section], false);
      if (response === TOO_LONG) {
        this.rejectedCount++;
        this.target.skip(endpoint, event.bytes);
      } else {
        const [counts] = response?.sections ?? [];
        if (counts === undefined) return this.#retry(sections);
        if (this.#onSection(endpoint, event, counts) === 0) return this.#retry(sections);
      }
    }
    await this.#onDone(from, lane.doneTo(count), lane.hasMore, readMs);
  }

  /** Removes the marks up to that number: the target has the keys. */
  async #onDone(lane: ServerLane, number: number, hasMore: boolean, readMs: number): Promise<void> {
    lane.onDone(number);
    if (!(await this.#acknowledge(lane, number))) return;
    if (hasMore) lane.expectBy(this.#parts.clock.now());
    else lane.onEmpty(readMs);
  }

  /** Resolves with whether the marks were removed. */
  async #acknowledge(lane: ServerLane, number: number): Promise<boolean> {
    const { changes, steps, clock } = this.#parts;
    const { partition } = lane;
    lane.remainsTo = number;
    const removed = await steps.run(partition, () =>
      changes.acknowledgeMarks(this.#publisher, partition, number),
    );
    if (removed === undefined) {
      lane.expectBy(clock.now() + RETRY_MS);
      return false;
    }
    lane.remainsTo = 0;
    lane.count = Math.max(0, lane.count - removed);
    return true;
  }

  /** Counts the keys that wait in the partitions, and sends them. */
  async #count(lanes: readonly ServerLane[]): Promise<void> {
    if (lanes.length === 0) return;
    const sends = this.#sendsNow();
    for (const lane of lanes) if (!sends) lane.dueMs = Number.POSITIVE_INFINITY;
    await Promise.all(lanes.map((lane) => this.#countIn(lane)));
    this.#schedule();
  }

  async #countIn(lane: ServerLane): Promise<void> {
    const { clock, changes, steps } = this.#parts;
    const { partition } = lane;
    const countMs = clock.now();
    const count = await steps.run(partition, async () => {
      const [found] = await changes.waitingCounts(this.#publisher, [partition]);
      return found;
    });
    if (count === undefined) return;
    if (count === 0) return lane.onEmpty(countMs);
    lane.count = count;
    if (!lane.isBusy && this.#sendsNow()) lane.expectBy(clock.now());
  }
}

/** Calls `work` for each item in order, that many at the same time. */
async function eachAtOnce<Item>(
  items: readonly Item[],
  count: number,
  work: (item: Item) => Promise<void> | void,
): Promise<void> {
  const left = [...items];
  const run = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(count, left.length) }, run));
}
