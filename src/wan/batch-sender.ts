/**
 * Sends the events of a publisher's queue. A batch contains events of several lanes; a lane has at
 * most one batch in flight, which keeps its order. Lanes are assigned to the usable endpoints by
 * number, so a lane keeps its endpoint until the set of usable endpoints changes.
 *
 *     recorded, acknowledged, released, timer → dispatch → handshakes with endpoints that are due
 *                                                        → batches of lanes that are due
 *
 * The events of a batch stay in the queue until the target responds. A failed batch is sent again,
 * with the same numbers, to any usable endpoint. The entries of a synchronisation are sent in
 * batches of their own, from lanes with the same numbers (sync-lanes.ts), in every state of the
 * publisher. During a synchronisation a paused publisher also sends the queued events that were in
 * a batch before, because they may have arrived. Tested by sync.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { type BatchResponse, MessageTexts, type Section, unsealedBatch } from './batch.ts';
import { BATCH_BYTES_MAX, batchesPerEndpoint } from './batch-limits.ts';
import { DurableGate } from './durable-gate.ts';
import type { BatchRoom, Lane } from './lane.ts';
import { OneShotTimer } from './one-shot-timer.ts';
import type { PublisherQueue } from './publisher-queue.ts';
import { type EpochSender, PublisherTarget, TOO_LONG } from './publisher-target.ts';
import { ResponseCounts } from './response-counts.ts';
import { SyncLanes, type SyncReading } from './sync-lanes.ts';
import type { TargetEndpoint } from './target-endpoint.ts';
import type { WanPublisherOptions } from './wan-config.ts';
import type { WanEngine, WanLog } from './wan-engine.ts';
import type { WanTransport } from './wan-transport.ts';

export interface SenderParts {
  readonly replication: string;
  readonly options: WanPublisherOptions;
  readonly queue: PublisherQueue;
  readonly engine: WanEngine;
  readonly sender: EpochSender;
  readonly transport: WanTransport;
  /** Whether no event may be sent before the next `release`. */
  readonly delaysAll: () => boolean;
  readonly clock: Clock;
  readonly log: WanLog;
  /** Random number from 0 to 1, for the jitter. */
  readonly random: () => number;
}

/** A lane's records in a batch. */
interface RecordSection extends Section<Lane> {
  readonly generation: number;
}

/** A batch in flight: its sections, and the length of their events in bytes. */
interface SentBatch {
  readonly sections: readonly RecordSection[];
  readonly eventBytes: number;
}

export class BatchSender {
  readonly target: PublisherTarget;
  readonly #parts: SenderParts;
  readonly #texts: MessageTexts;
  readonly #slots: number;
  readonly #batchSize: number;
  readonly #gate: DurableGate;
  readonly #sync: SyncLanes;
  readonly #timer: OneShotTimer;
  #onNewDataSet: (() => void) | undefined;
  sentCount = 0;
  rejectedCount = 0;
  readonly #counts = new ResponseCounts<Lane>();
  #isSending = false;
  #isDraining = false;
  #isClosed = false;
  #isScheduled = false;
  /** Whether an endpoint can accept a batch now. */
  #canSend = true;
  /** Number of records that are not in flight. */
  #waitingCount = 0;
  /** Numbers of the lanes at which the next batches begin. */
  #nextLane = 0;
  #nextSyncLane = 0;
  /** Whether the next batch is preferably one of a synchronisation. */
  #isSyncNext = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    const { options, replication, engine, queue, clock } = parts;
    const { clusterName, publisherId, batchSize, maxConcurrentInvocations } = options;
    this.#texts = new MessageTexts(clusterName, replication, publisherId);
    this.target = new PublisherTarget({
      ...parts,
      texts: this.#texts,
      onHandshakeEnd: () => this.#schedule(),
      onNewDataSet: () => this.#dropNumbers(),
      onForgotten: () => {
        this.#counts.clear();
        queue.onForgotten();
      },
    });
    this.#batchSize = batchSize;
    this.#slots = batchesPerEndpoint(maxConcurrentInvocations);
    this.#gate = new DurableGate(engine);
    this.#timer = new OneShotTimer(clock, () => this.#dispatch());
    this.#sync = new SyncLanes(engine, queue, batchSize, () => clock.now());
  }

  /** Starts or stops the sending of batches. Batches in flight are not affected. */
  setSending(isSending: boolean): void {
    this.#isSending = isSending;
    if (this.#isActive()) this.#schedule();
    else this.#timer.cancel();
  }

  /**
   * Sends the entries of a synchronisation until `endSync`, in every state. `onNewDataSet` is
   * called if the target's data set has changed; the entries are then dropped.
   */
  beginSync(reading: SyncReading, onNewDataSet: () => void): void {
    this.#sync.begin(reading);
    this.#onNewDataSet = onNewDataSet;
    this.#schedule();
  }

  endSync(): void {
    this.#sync.end();
    this.#onNewDataSet = undefined;
  }

  /** Resolves with an endpoint that has just responded to a handshake. Rejects if there is none. */
  async reach(): Promise<TargetEndpoint> {
    const reaching = this.target.reach();
    this.#schedule();
    return await reaching;
  }

  /** A number greater than the number of every sent event. */
  get nextNumber(): number {
    const lanes = [...this.#parts.queue.lanes, ...this.#sync.lanes];
    return Math.max(...lanes.map(({ firstNumber, numberedCount }) => firstNumber + numberedCount));
  }

  /** Called after the events of the queue were dropped. */
  onCleared(): void {
    this.#sync.clearEnded();
  }

  /** Called after a record was queued. */
  onQueued(): void {
    this.#waitingCount++;
    if (!this.#isSending) return;
    if (!this.#timer.isSet) this.#wakeSoon();
    if (this.#canSend && this.#waitingCount >= this.#batchSize) this.#schedule();
  }

  /**
   * Called when more changes are durable. At the end of the turn new ones may not be written yet.
   */
  release(): void {
    if (this.#gate.hasDelayed) this.#dispatch();
  }

  /** From now on batches do not wait for more events. */
  drain(): void {
    this.#isDraining = true;
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer.cancel();
    this.target.close();
  }

  #isActive(): boolean {
    return this.#isSending || this.#sync.isReading || this.target.isWanted;
  }

  /** Whether there is anything to send or an endpoint to connect to. */
  #hasWork(): boolean {
    if (this.#sync.isReading || this.target.isWanted) return true;
    if (!this.#isSending) return false;
    return this.#sync.hasEntries || this.#parts.queue.bytes > 0;
  }

  #dropNumbers(): void {
    this.#counts.clear();
    for (const lane of this.#parts.queue.lanes) lane.renumber();
    this.#sync.clear();
    this.#onNewDataSet?.();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    this.#parts.clock.endOfTurn(() => this.#dispatch());
  }

  /** Arms the timer for the time at which an event queued now has waited long enough. */
  #wakeSoon(): void {
    const { clock, options } = this.#parts;
    if (!this.#isClosed) this.#timer.set(clock.now() + options.batchMaxDelayMs);
  }

  #dispatch(): void {
    this.#isScheduled = false;
    if (!this.#isActive() || this.#isClosed) return;
    const { clock, queue, delaysAll } = this.#parts;
    this.#gate.hasDelayed = delaysAll();
    if (this.#gate.hasDelayed) return;
    const nowMs = clock.now();
    this.#sync.beginTurn();
    this.#canSend = true;
    if (this.#hasWork()) {
      this.target.beginDueHandshakes(nowMs);
      const usable = this.target.endpoints.filter(({ status }) => status === 'usable');
      for (const [index, endpoint] of usable.entries()) {
        const lanes = queue.lanes.filter(({ number }) => number % usable.length === index);
        while (endpoint.inFlightCount < this.#slots) {
          if (!this.#sendFrom(endpoint, lanes, nowMs)) break;
        }
      }
      this.#canSend = usable.some(({ inFlightCount }) => inFlightCount < this.#slots);
    }
    if (this.#sync.isExhausted) this.#schedule();
    this.#waitingCount = 0;
    for (const lane of queue.lanes) if (!lane.isInFlight) this.#waitingCount += lane.count;
    this.#timer.set(this.#nextDueMs(nowMs));
  }

  /** Returns the time of the next action that only the clock triggers; Infinity for none. */
  #nextDueMs(nowMs: number): number {
    const { queue, options } = this.#parts;
    if (!this.#hasWork()) return Number.POSITIVE_INFINITY;
    let dueMs = this.target.nextRetryMs(nowMs);
    if (this.#canSend && this.#isSending) {
      for (const lane of queue.lanes) {
        const sendMs = lane.oldestMs + options.batchMaxDelayMs;
        if (!lane.isInFlight && sendMs > nowMs) dueMs = Math.min(dueMs, sendMs);
      }
    }
    return dueMs;
  }

  /**
   * Sends a batch of these lanes if one is due, alternately from the queue and a synchronisation.
   */
  #sendFrom(endpoint: TargetEndpoint, lanes: readonly Lane[], nowMs: number): boolean {
    const isSync = this.#isSyncNext;
    this.#isSyncNext = !isSync;
    if (isSync) return this.#sendSync(endpoint, lanes) || this.#sendQueued(endpoint, lanes, nowMs);
    return this.#sendQueued(endpoint, lanes, nowMs) || this.#sendSync(endpoint, lanes);
  }

  /** Sends one section with entries of a synchronisation as a batch. */
  #sendSync(endpoint: TargetEndpoint, lanes: readonly Lane[]): boolean {
    if (!this.#sync.isReading && !(this.#isSending && this.#sync.hasEntries)) return false;
    const start = lanes.findIndex(({ number }) => number >= this.#nextSyncLane);
    for (let step = 0; step < lanes.length; step++) {
      const { number } = lanes[(Math.max(0, start) + step) % lanes.length]!;
      const lane = this.#sync.ready(number);
      if (lane === undefined) continue;
      const room = { events: this.#parts.options.batchSize, bytes: endpoint.bytesMax };
      this.#nextSyncLane = number + 1;
      if (this.#sendLanes(endpoint, [lane], room)) return true;
    }
    return false;
  }

  /** Sends a batch of queued events. */
  #sendQueued(endpoint: TargetEndpoint, lanes: readonly Lane[], nowMs: number): boolean {
    const { batchSize } = this.#parts.options;
    const free = lanes.filter(
      ({ number, isInFlight, count }) => !isInFlight && count > 0 && !this.#sync.blocks(number),
    );
    if (!this.#isSending) {
      // Events that may have arrived are sent first; the synchronisation's entries wait for that.
      const lane = this.#sync.isReading && free.find(({ numberedCount }) => numberedCount > 0);
      if (!lane) return false;
      const room = { events: lane.numberedCount, bytes: endpoint.bytesMax };
      return this.#sendLanes(endpoint, [lane], room);
    }
    if (!this.#isDue(free, nowMs)) return false;
    const start = free.findIndex(({ number }) => number >= this.#nextLane);
    const inTurn = [...free.slice(Math.max(0, start)), ...free.slice(0, Math.max(0, start))];
    return this.#sendLanes(endpoint, inTurn, { events: batchSize, bytes: endpoint.bytesMax });
  }

  /** Sends the events that fit into a batch and may be sent. Returns whether there are any. */
  #sendLanes(endpoint: TargetEndpoint, lanes: readonly Lane[], room: BatchRoom): boolean {
    const rule = { gate: this.#gate, target: endpoint.dataSet! };
    const sections: RecordSection[] = [];
    const lengths: number[] = [];
    for (const lane of lanes) {
      if (room.events <= 0) break;
      const chosen = { bytes: 0 };
      const count = lane.choose(room, sections.length === 0, rule, chosen);
      if (count === 0) continue;
      if (!this.#isOfSync(lane)) this.#nextLane = lane.number + 1;
      sections.push({ lane, generation: lane.generation, count });
      lengths.push(chosen.bytes);
    }
    if (sections.length === 0) return false;
    this.#setInFlight(sections, true);
    const { sender, queue } = this.#parts;
    const target = endpoint.dataSet!;
    const batch = unsealedBatch(sender, this.#texts, target, sections, lengths, queue.pool);
    endpoint.inFlightCount++;
    void this.#send(endpoint, { ...batch, sections });
    return true;
  }

  #isOfSync(lane: Lane): boolean {
    return this.#sync.lanes[lane.number] === lane;
  }

  /** Marks the queue lanes with the sections' numbers as in flight or not. */
  #setInFlight(sections: readonly RecordSection[], isInFlight: boolean): void {
    for (const { lane } of sections) {
      this.#parts.queue.lanes[lane.number]!.isInFlight = isInFlight;
    }
  }

  #isDue(lanes: readonly Lane[], nowMs: number): boolean {
    const { batchSize, batchMaxDelayMs } = this.#parts.options;
    let count = 0;
    let bytes = 0;
    for (const lane of lanes) {
      if (lane.isUrgent || this.#isDraining) return true;
      if (lane.oldestMs + batchMaxDelayMs <= nowMs) return true;
      count += lane.count;
      bytes += lane.bytes;
    }
    return count >= batchSize || bytes >= BATCH_BYTES_MAX;
  }

  async #send(
    endpoint: TargetEndpoint,
    batch: SentBatch & ReturnType<typeof unsealedBatch>,
  ): Promise<void> {
    const { sections } = batch;
    const { options, queue } = this.#parts;
    // The response to a synchronisation's entries reports how many were not taken.
    const isOfSync = sections.some(({ lane }) => this.#isOfSync(lane));
    const isOnReceipt = options.acknowledgeType === 'ACK_ON_RECEIPT' && !isOfSync;
    // Urgent until a response reports that all events are done.
    for (const { lane } of sections) lane.isUrgent = true;
    const response = await this.target.deliver(endpoint, batch.bytes, sections, isOnReceipt);
    if (response === TOO_LONG) this.#onTooLong(endpoint, batch);
    else if (response !== undefined) {
      // The response contains the message's checksum, so the whole message has arrived and its
      // memory is free.
      queue.pool.release(batch.memory);
      this.#onResponse(endpoint, batch, response);
    }
    endpoint.inFlightCount--;
    this.#setInFlight(sections, false);
    this.#schedule();
  }

  #onResponse(endpoint: TargetEndpoint, { sections }: SentBatch, response: BatchResponse): void {
    for (const [index, { lane, generation, count }] of sections.entries()) {
      if (lane.generation !== generation) continue;
      const { done, ...counts } = response.sections[index]!;
      const now = this.#counts.newly(lane, lane.firstNumber, counts);
      const { notTaken: notTakenNow, rejected: rejectedNow } = now;
      this.rejectedCount += rejectedNow;
      this.target.onRejected(endpoint, rejectedNow);
      if (done > 0) this.#sync.onAcknowledged();
      if (this.#isOfSync(lane)) {
        this.#sync.onNotTaken(notTakenNow);
        this.#sync.skipOlder(lane, done);
        lane.remove(done);
        this.#sync.onRemoved(lane);
        continue;
      }
      this.sentCount += Math.max(0, lane.remove(done) - rejectedNow);
      lane.isUrgent = done < count;
    }
  }

  /** Handles status 413: halves the size of the next batch, or skips a single event. */
  #onTooLong(endpoint: TargetEndpoint, { sections, eventBytes }: SentBatch): void {
    const { lane, generation, count } = sections[0]!;
    if (sections.length > 1 || count > 1) {
      endpoint.bytesMax = Math.max(1, Math.floor(eventBytes / 2));
      return;
    }
    if (lane.generation !== generation) return;
    this.rejectedCount += lane.remove(1);
    lane.isUrgent = false;
    if (this.#isOfSync(lane)) this.#sync.onRemoved(lane);
    this.target.skip(endpoint, eventBytes);
  }
}
