/**
 * Sends the events of a publisher's queue. A batch takes events of several lanes; a lane has one batch under
 * way, so that its order holds. The lanes are spread over the endpoints that are usable, by their numbers, so
 * a lane keeps its endpoint as long as these stay the same.
 *
 *     recorded, answered, released, timer → dispatch → handshakes where nothing failed lately
 *                                                    → batches where a lane may and has to leave
 *
 * The events of a batch stay in the queue until the target has answered. What failed is sent again, with the
 * same numbers, to whichever endpoint is usable.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import { AnswerGate } from './answer-gate.ts';
import {
  batchHead,
  handshakeMessage,
  MessageTexts,
  readBatchAnswer,
  readHandshakeAnswer,
  type Section,
  type Sender,
  unsealedBatch,
} from './batch.ts';
import { BATCH_BYTES_MAX, BATCHES_PER_ENDPOINT } from './batch-limits.ts';
import { AHEAD_MS_MAX, msOf } from './clock-distance.ts';
import type { BatchRoom, Lane } from './lane.ts';
import { type OpenedMessage, sealMessage } from './message-format.ts';
import type { WanPublisherOptions } from './publisher-options.ts';
import type { PublisherQueue } from './publisher-queue.ts';
import { TargetDataSet } from './target-data-set.ts';
import { TargetEndpoint } from './target-endpoint.ts';
import type { WanEngine, WanLog } from './wan-engine.ts';
import type { TransportAnswer, WanTransport } from './wan-transport.ts';

/** Reasons of a batch's answer, from 1 on (message-format.ts). */
const REASONS = [
  '',
  'its memory is used up',
  'its disk takes no more',
  'it has another data set than it had',
  'closed',
  'its cluster is PASSIVE',
];

export interface SenderParts {
  readonly replication: string;
  readonly options: WanPublisherOptions;
  readonly queue: PublisherQueue;
  readonly engine: WanEngine;
  readonly sender: Sender;
  readonly transport: WanTransport;
  /** Whether no event may leave before the next `release`. */
  readonly delaysAll: () => boolean;
  readonly clock: Clock;
  readonly log: WanLog;
  /** From 0 to 1, for the jitter. */
  readonly random: () => number;
}

export class BatchSender {
  readonly #parts: SenderParts;
  readonly #texts: MessageTexts;
  readonly #endpoints: readonly TargetEndpoint[];
  readonly #target: TargetDataSet;
  readonly #slots: number;
  readonly #gate: AnswerGate;
  /** Names of the publisher in the log. */
  readonly #names: object;
  sentCount = 0;
  rejectedCount = 0;
  lastError: string | null = null;
  #isSending = false;
  #isDraining = false;
  #isClosed = false;
  #isScheduled = false;
  /** Whether a batch could be sent now, if there were one. */
  #canSend = true;
  /** Records that are not under way. */
  #waitingCount = 0;
  #timer: Timer | undefined;
  /** The lane with which the next batch begins. */
  #nextLane = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    const { options, replication, random, sender } = parts;
    const { clusterName, publisherId, discoveryPeriodSeconds, maxConcurrentInvocations } = options;
    this.#texts = new MessageTexts(clusterName, replication, publisherId);
    this.#names = { replication, publisher: publisherId };
    const periodMs = discoveryPeriodSeconds * 1000;
    this.#endpoints = options.targetEndpoints.map(
      (endpoint) => new TargetEndpoint(endpoint, periodMs, random),
    );
    this.#target = new TargetDataSet(this.#endpoints, sender.dataSetId);
    this.#slots = maxConcurrentInvocations < 2 ? BATCHES_PER_ENDPOINT : maxConcurrentInvocations;
    this.#gate = new AnswerGate(parts.engine);
  }

  /** The data set that the events go to; undefined before the first handshake. */
  get targetDataSet(): Buffer | undefined {
    return this.#target.current;
  }

  /** Whether batches are sent; those under way go on. */
  setSending(isSending: boolean): void {
    this.#isSending = isSending;
    if (isSending) this.#schedule();
    else this.#wakeIn(undefined);
  }

  /** A record has been queued. */
  onQueued(): void {
    this.#waitingCount++;
    if (!this.#isSending) return;
    const { batchSize, batchMaxDelayMs } = this.#parts.options;
    if (this.#timer === undefined) this.#wakeIn(batchMaxDelayMs);
    if (this.#canSend && this.#waitingCount >= batchSize) this.#schedule();
  }

  /** More answers may leave. At the end of the turn there may be new changes that are not written. */
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
    this.#wakeIn(undefined);
    this.#parts.transport.close();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    this.#parts.clock.endOfTurn(() => this.#dispatch());
  }

  #wakeIn(delayMs: number | undefined): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (delayMs === undefined || this.#isClosed) return;
    this.#timer = this.#parts.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    this.#isScheduled = false;
    if (!this.#isSending || this.#isClosed) return;
    const { clock, queue, delaysAll } = this.#parts;
    if (delaysAll()) {
      this.#gate.hasDelayed = true;
      return;
    }
    const nowMs = clock.now();
    this.#gate.hasDelayed = false;
    this.#canSend = true;
    if (queue.oldestMs !== Number.POSITIVE_INFINITY) {
      for (const endpoint of this.#endpoints) {
        if (endpoint.status === 'idle' && endpoint.retryAtMs <= nowMs) this.#greet(endpoint);
      }
      const usable = this.#endpoints.filter(({ status }) => status === 'usable');
      for (const [index, endpoint] of usable.entries()) {
        while (endpoint.underWay < this.#slots) {
          const lanes = queue.lanes.filter(({ number }) => number % usable.length === index);
          if (!this.#sendFrom(endpoint, lanes, nowMs)) break;
        }
      }
      this.#canSend = usable.some(({ underWay }) => underWay < this.#slots);
    }
    this.#waitingCount = 0;
    for (const lane of queue.lanes) if (!lane.isUnderWay) this.#waitingCount += lane.count;
    this.#wakeIn(this.#nextDelayMs(nowMs));
  }

  /** Until something is due by the time alone; undefined for nothing. */
  #nextDelayMs(nowMs: number): number | undefined {
    const { queue, options } = this.#parts;
    if (queue.oldestMs === Number.POSITIVE_INFINITY) return undefined;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { status, retryAtMs } of this.#endpoints) {
      if (status === 'idle') dueMs = Math.min(dueMs, Math.max(nowMs, retryAtMs));
    }
    if (this.#canSend) {
      for (const lane of queue.lanes) {
        const leavesMs = lane.oldestMs + options.batchMaxDelayMs;
        if (!lane.isUnderWay && leavesMs > nowMs) dueMs = Math.min(dueMs, leavesMs);
      }
    }
    return dueMs === Number.POSITIVE_INFINITY ? undefined : Math.ceil(dueMs - nowMs);
  }

  /** Sends a batch of these lanes, if one has to leave. */
  #sendFrom(endpoint: TargetEndpoint, lanes: readonly Lane[], nowMs: number): boolean {
    const free = lanes.filter((lane) => !lane.isUnderWay && lane.count > 0);
    if (!this.#hasToLeave(free, nowMs)) return false;
    const { options, sender } = this.#parts;
    const rule = { gate: this.#gate, target: endpoint.dataSet! };
    const room: BatchRoom = { events: options.batchSize, bytes: endpoint.bytesMax };
    const sections: Section[] = [];
    const lengths: number[] = [];
    const start = Math.max(
      0,
      free.findIndex(({ number }) => number >= this.#nextLane),
    );
    for (let step = 0; step < free.length && room.events > 0; step++) {
      const lane = free[(start + step) % free.length]!;
      const chosen = { bytes: 0 };
      const count = lane.choose(room, sections.length === 0, rule, chosen);
      if (count === 0) continue;
      this.#nextLane = lane.number + 1;
      sections.push({ lane, generation: lane.generation, count });
      lengths.push(chosen.bytes);
      lane.isUnderWay = true;
    }
    if (sections.length === 0) return false;
    const bytes = unsealedBatch(sender, this.#texts, endpoint.dataSet!, sections, lengths);
    endpoint.underWay++;
    const length = lengths.reduce((sum, each) => sum + each, 0);
    void this.#send(endpoint, sections, bytes, length);
    return true;
  }

  #hasToLeave(lanes: readonly Lane[], nowMs: number): boolean {
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
    sections: readonly Section[],
    bytes: Buffer,
    length: number,
  ): Promise<void> {
    const { options, sender } = this.#parts;
    const isOnReceipt = options.acknowledgeType === 'ACK_ON_RECEIPT';
    // Until an answer has said more.
    for (const { lane } of sections) lane.isUrgent = true;
    try {
      const head = batchHead(sender, isOnReceipt);
      const message = await sealMessage(bytes, head, options.compression === 'deflate');
      const answer = await this.#exchange(endpoint, message);
      if (answer.status === 413) this.#onTooLong(endpoint, sections, length);
      else if (answer.status === 200) await this.#onAnswer(endpoint, sections, message, answer);
      else this.#onStatus(endpoint, answer);
    } catch (error) {
      this.#fail(endpoint, `no answer: ${reasonOf(error)}`);
    }
    endpoint.underWay--;
    for (const { lane } of sections) lane.isUnderWay = false;
    this.#schedule();
  }

  async #onAnswer(
    endpoint: TargetEndpoint,
    sections: readonly Section[],
    message: Buffer,
    { body }: TransportAnswer,
  ): Promise<void> {
    const answer = await readBatchAnswer(body, message, sections);
    if (!this.#meet(endpoint, answer)) return;
    for (const [index, { lane, generation, count }] of sections.entries()) {
      if (lane.generation !== generation) continue;
      const done = answer.done[index]!;
      this.sentCount += lane.remove(done);
      lane.isUrgent = done < count;
    }
    if (answer.reason === 0) this.#succeed(endpoint);
    else this.#fail(endpoint, REASONS[answer.reason] ?? `reason ${answer.reason}`);
  }

  /** 413: the next batch is half as long; a single event is skipped. */
  #onTooLong(endpoint: TargetEndpoint, sections: readonly Section[], length: number): void {
    const [first] = sections;
    if (sections.length > 1 || first!.count > 1) {
      endpoint.bytesMax = Math.max(1, Math.floor(length / 2));
      return;
    }
    const { lane, generation } = first!;
    if (lane.generation !== generation) return;
    this.rejectedCount += lane.remove(1);
    lane.isUrgent = false;
    const text = `an event of ${length} bytes is too long for ${endpoint.text}: it is skipped`;
    this.lastError = text;
    this.#parts.log.error({ ...this.#names, bytes: length }, `WAN publisher: ${text}`);
  }

  #onStatus(endpoint: TargetEndpoint, { status, body }: TransportAnswer): void {
    // The body may be anything; the text goes to logs and terminals.
    const text = Buffer.from(body)
      .toString()
      .slice(0, 500)
      .replace(/\p{Cc}+/gu, ' ');
    const isDenied = status === 401 || status === 403;
    this.#fail(endpoint, `it answered ${status}${text === '' ? '' : `, ${text}`}`, isDenied);
  }

  #greet(endpoint: TargetEndpoint): void {
    endpoint.status = 'connecting';
    void this.#greetAndWait(endpoint);
  }

  async #greetAndWait(endpoint: TargetEndpoint): Promise<void> {
    const message = handshakeMessage(this.#parts.sender, this.#texts);
    try {
      const answer = await this.#exchange(endpoint, message);
      if (answer.status !== 200) this.#onStatus(endpoint, answer);
      else this.#onGreeted(endpoint, await readHandshakeAnswer(answer.body, message));
    } catch (error) {
      this.#fail(endpoint, `no answer: ${reasonOf(error)}`);
    }
    this.#schedule();
  }

  #onGreeted(endpoint: TargetEndpoint, answer: OpenedMessage & { epoch: number }): void {
    const { clock, sender, log } = this.#parts;
    if (!this.#meet(endpoint, answer)) return;
    if (answer.epoch > sender.epoch) {
      sender.epoch = answer.epoch + 1;
      const text = 'the target knows a later start of this data set: was the clock set back?';
      log.warn({ ...this.#names, endpoint: endpoint.text }, `WAN publisher: ${text}`);
    }
    const { isUsable, fault, warning } = this.#target.choose(endpoint, answer.dataSet);
    if (warning !== undefined) {
      log.warn(this.#names, `WAN publisher: ${warning}`);
      for (const lane of this.#parts.queue.lanes) lane.renumber();
    }
    if (!isUsable) {
      endpoint.dismiss(clock.now());
      this.#tell(endpoint, fault, true);
      return;
    }
    endpoint.status = 'usable';
    endpoint.bytesMax = BATCH_BYTES_MAX;
  }

  /** Sends the message and waits for the answer, for the response timeout at most. */
  async #exchange(endpoint: TargetEndpoint, message: Buffer): Promise<TransportAnswer> {
    const { clock, options, transport } = this.#parts;
    const abortion = new AbortController();
    const timer = clock.after(options.responseTimeoutMs, () => abortion.abort());
    try {
      return await transport.send(endpoint.endpoint, message, abortion.signal);
    } finally {
      timer.cancel();
    }
  }

  /** The clock goes on from the target's, unless that is too far ahead. */
  #meet(endpoint: TargetEndpoint, answer: OpenedMessage): boolean {
    const aheadMs = msOf(answer.clock) - this.#parts.clock.wall();
    if (aheadMs <= AHEAD_MS_MAX) {
      if (!answer.clock.isNone) this.#parts.engine.observe(answer.clock);
      return true;
    }
    this.#fail(endpoint, `its clock is ${Math.round(aheadMs / 1000)} s ahead`);
    return false;
  }

  #succeed(endpoint: TargetEndpoint): void {
    endpoint.succeed();
    this.lastError = null;
    if (endpoint.isNews('')) {
      const fields = { ...this.#names, endpoint: endpoint.text };
      this.#parts.log.info(fields, `WAN publisher: ${endpoint.text} takes events`);
    }
  }

  #fail(endpoint: TargetEndpoint, fault: string, isDenied = false): void {
    if (this.#isClosed) return;
    // Of several batches under way one failure counts.
    if (endpoint.status !== 'idle') endpoint.fail(this.#parts.clock.now(), isDenied);
    this.#tell(endpoint, `${endpoint.text} does not take events: ${fault}`, false);
  }

  #tell(endpoint: TargetEndpoint, fault: string, isError: boolean): void {
    this.lastError = fault;
    if (!endpoint.isNews(fault)) return;
    const fields = { ...this.#names, endpoint: endpoint.text };
    if (isError) this.#parts.log.error(fields, `WAN publisher: ${fault}`);
    else this.#parts.log.warn(fields, `WAN publisher: ${fault}`);
  }
}
