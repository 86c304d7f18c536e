/**
 * The target of a publisher: its endpoints, which of them are usable, and why others are not. An
 * endpoint is usable from a successful handshake until something fails; it is tried again after a
 * delay (target-endpoint.ts). Tested by publisher.spec.ts.
 */

import type { Timer } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import { msOf } from '../engine/version.ts';
import {
  type BatchResponse,
  batchHead,
  handshakeMessage,
  type MessageTexts,
  readBatchResponse,
  readHandshakeResponse,
  type Section,
  type Sender,
} from './batch.ts';
import { AHEAD_MS_MAX, BATCH_BYTES_MAX } from './batch-limits.ts';
import type { SenderParts } from './batch-sender.ts';
import { epochMs, type OpenedMessage, sealDeflated, sealPlain } from './message-format.ts';
import { TargetDataSet } from './target-data-set.ts';
import { TargetEndpoint } from './target-endpoint.ts';
import { statusText, type TransportResponse } from './wan-transport.ts';

const WARNING_PERIOD_MS = 60_000;

/** The result of a batch that is too long for the endpoint. */
export const TOO_LONG = 413;

/** Texts for the reason of a response to a batch, from 1 up (message-format.ts). */
const REASONS = [
  '',
  'its memory is used up',
  'its disk accepts no writes',
  'its data set has changed',
  'its engine is closed',
  'its cluster is PASSIVE',
  'its servers accept no changes',
];

/** A sender that can begin a later epoch. */
export interface EpochSender extends Sender {
  /**
   * Continues with an epoch in which its numbers count, as the target has recorded this later one.
   * Returns a warning for the log, or undefined.
   */
  onLaterEpoch(recorded: number): string | undefined;
  /** Begins the next epoch: the target has recorded numbers that the sender has not assigned. */
  beginEpoch(): void;
}

interface TargetParts extends Omit<SenderParts, 'engine' | 'queue' | 'delaysAll'> {
  readonly engine: Pick<SenderParts['engine'], 'observe'>;
  readonly texts: MessageTexts;
  /** Called when a handshake has ended, so an endpoint may have become usable. */
  readonly onHandshakeEnd: () => void;
  /** Called when the target's data set has changed. */
  readonly onNewDataSet: () => void;
  /** Called when the target may have events whose numbers it has not recorded. */
  readonly onForgotten: () => void;
}

/** A caller that waits for a usable endpoint. */
interface Waiter {
  readonly resolve: (endpoint: TargetEndpoint) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

export class PublisherTarget {
  readonly endpoints: readonly TargetEndpoint[];
  lastError: string | null = null;
  readonly #parts: TargetParts;
  readonly #dataSet: TargetDataSet;
  /** Fields of log lines that identify the publisher. */
  readonly #names: object;
  readonly #waiters = new Set<Waiter>();
  /** Epoch of the batch that got status 409 since the last handshake; 0 for none. */
  #contestedEpoch = 0;
  #isClosed = false;
  /** Events rejected since the last log line, and the time of that line. */
  #rejectedCount = 0;
  #rejectedMs = Number.NEGATIVE_INFINITY;
  /** Time of the last log line about keys that cannot be read. */
  #unreadMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TargetParts) {
    const { options, replication, random, sender } = parts;
    this.#parts = parts;
    this.#names = { replication, publisher: options.publisherId };
    const periodMs = options.discoveryPeriodSeconds * 1000;
    this.endpoints = options.targetEndpoints.map(
      (endpoint) => new TargetEndpoint(endpoint, periodMs, random),
    );
    this.#dataSet = new TargetDataSet(this.endpoints, sender);
  }

  /** The data set that events are sent to; undefined before the first handshake. */
  get dataSet(): Buffer | undefined {
    return this.#dataSet.current;
  }

  /** Whether a caller waits for an endpoint, even if there is nothing to send. */
  get isWanted(): boolean {
    return this.#waiters.size > 0;
  }

  /**
   * Makes a new handshake with every endpoint and resolves with the first usable one. After the
   * response timeout it rejects with an Error whose message is the reason.
   */
  async reach(): Promise<TargetEndpoint> {
    if (this.#isClosed) throw new Error('the publisher has ended');
    const { clock, options } = this.#parts;
    const met = new Promise<TargetEndpoint>((resolve, reject) => {
      const timer = clock.after(options.responseTimeoutMs, () => {
        this.#waiters.delete(waiter);
        reject(
          new Error(
            `no target responded within ${options.responseTimeoutMs} ms${this.errorSuffix}`,
          ),
        );
      });
      const waiter: Waiter = { resolve, reject, timer };
      this.#waiters.add(waiter);
    });
    for (const endpoint of this.endpoints) {
      if (endpoint.status !== 'connecting') this.#beginHandshake(endpoint);
    }
    return await met;
  }

  /** The last error as the end of a sentence; empty if there is none. */
  get errorSuffix(): string {
    return this.lastError === null ? '' : `: ${this.lastError}`;
  }

  /** Begins handshakes with the endpoints that are due. */
  beginDueHandshakes(nowMs: number): void {
    for (const endpoint of this.endpoints) {
      if (endpoint.status === 'idle' && endpoint.retryAtMs <= nowMs) this.#beginHandshake(endpoint);
    }
  }

  /** Returns when the next endpoint is tried again; Infinity for none. */
  nextRetryMs(nowMs: number): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { status, retryAtMs } of this.endpoints) {
      if (status === 'idle') dueMs = Math.min(dueMs, Math.max(nowMs, retryAtMs));
    }
    return dueMs;
  }

  /** Sends the message. Resolves with the response, or rejects after the response timeout. */
  exchange(endpoint: TargetEndpoint, message: Buffer): Promise<TransportResponse> {
    const { options, transport } = this.#parts;
    return transport.send(endpoint.endpoint, message, options.responseTimeoutMs);
  }

  /**
   * Sends the batch, whose head is not written yet. Resolves with the response if its counts apply,
   * with TOO_LONG, or with undefined if the batch failed. Never rejects.
   */
  async deliver(
    endpoint: TargetEndpoint,
    batch: Buffer,
    sections: readonly Pick<Section, 'count'>[],
    isOnReceipt: boolean,
  ): Promise<BatchResponse | typeof TOO_LONG | undefined> {
    const { options, sender } = this.#parts;
    const { epoch } = sender;
    try {
      const head = batchHead(sender, isOnReceipt);
      const isCompressed = options.compression === 'deflate';
      const message = isCompressed ? await sealDeflated(batch, head) : sealPlain(batch, head);
      const answer = await this.exchange(endpoint, message);
      if (answer.status === TOO_LONG) return TOO_LONG;
      if (answer.status === 409) this.#contestedEpoch = epoch;
      if (answer.status !== 200) this.refuse(endpoint, answer);
      else {
        const response = await readBatchResponse(answer.body, message, sections);
        if (!this.accepts(endpoint, response)) return undefined;
        const { reason } = response;
        if (reason === 0) this.succeed(endpoint);
        else this.fail(endpoint, REASONS[reason] ?? `reason ${reason}`);
        return response;
      }
    } catch (error) {
      this.fail(endpoint, `no response: ${reasonOf(error)}`);
    }
    return undefined;
  }

  /** Advances the clock to the target's. If that is too far ahead, the endpoint fails instead. */
  accepts(endpoint: TargetEndpoint, response: OpenedMessage): boolean {
    const aheadMs = msOf(response.clock.low, response.clock.high) - this.#parts.clock.wall();
    if (aheadMs <= AHEAD_MS_MAX) {
      if (!response.clock.isNone) this.#parts.engine.observe(response.clock);
      return true;
    }
    this.fail(endpoint, `its clock is ${Math.round(aheadMs / 1000)} s ahead`);
    return false;
  }

  succeed(endpoint: TargetEndpoint): void {
    endpoint.succeed();
    this.lastError = null;
    if (endpoint.isNew('')) {
      const fields = { ...this.#names, endpoint: endpoint.text };
      this.#parts.log.info(fields, `WAN publisher: ${endpoint.text} takes events`);
    }
  }

  fail(endpoint: TargetEndpoint, fault: string, isDenied = false): void {
    if (this.#isClosed) return;
    // If several batches in flight fail, this counts as one failure.
    if (endpoint.status !== 'idle') endpoint.fail(this.#parts.clock.now(), isDenied);
    this.#logFault(endpoint, `${endpoint.text} does not take events: ${fault}`, false);
  }

  /** Called if the endpoint has responded with a status other than 200. */
  refuse(endpoint: TargetEndpoint, response: TransportResponse): void {
    const isDenied = response.status === 401 || response.status === 403;
    this.fail(endpoint, `it responded with ${statusText(response)}`, isDenied);
  }

  /** Called if an event is too long for the endpoint. */
  skip(endpoint: TargetEndpoint, length: number): void {
    const text = `an event of ${length} bytes is too long for ${endpoint.text}: it is skipped`;
    this.lastError = text;
    this.#parts.log.error({ ...this.#names, bytes: length }, `WAN publisher: ${text}`);
  }

  /**
   * Logs that the endpoint has skipped events that no client could have written, once per minute.
   */
  onRejected(endpoint: TargetEndpoint, count: number): void {
    if (count === 0) return;
    const { clock, log } = this.#parts;
    this.#rejectedCount += count;
    if (clock.now() < this.#rejectedMs + WARNING_PERIOD_MS) return;
    this.#rejectedMs = clock.now();
    const fields = { ...this.#names, endpoint: endpoint.text, events: this.#rejectedCount };
    const events = counted(this.#rejectedCount, 'event');
    const text = `${endpoint.text} skipped ${events} that no client could have written`;
    this.#rejectedCount = 0;
    log.warn(fields, `WAN publisher: ${text}`);
  }

  /** Called if the servers do not return the keys that wait in the partition. Logged once per minute. */
  onUnread(partition: number): void {
    const { clock, log } = this.#parts;
    const text = `the keys that wait in partition ${partition} cannot be read`;
    this.lastError = text;
    if (clock.now() < this.#unreadMs + WARNING_PERIOD_MS) return;
    this.#unreadMs = clock.now();
    log.warn({ ...this.#names, partition }, `WAN publisher: ${text}: they are not sent yet`);
  }

  close(): void {
    this.#isClosed = true;
    for (const { reject, timer } of this.#waiters) {
      timer.cancel();
      reject(new Error('the publisher has ended'));
    }
    this.#waiters.clear();
    this.#parts.transport.close();
  }

  #beginHandshake(endpoint: TargetEndpoint): void {
    endpoint.status = 'connecting';
    void this.#handshake(endpoint);
  }

  async #handshake(endpoint: TargetEndpoint): Promise<void> {
    const message = handshakeMessage(this.#parts.sender, this.#parts.texts);
    try {
      const response = await this.exchange(endpoint, message);
      if (response.status !== 200) this.refuse(endpoint, response);
      else this.#onHandshake(endpoint, await readHandshakeResponse(response.body, message));
    } catch (error) {
      this.fail(endpoint, `no response: ${reasonOf(error)}`);
    }
    this.#parts.onHandshakeEnd();
  }

  #onHandshake(endpoint: TargetEndpoint, response: OpenedMessage & { epoch: number }): void {
    const { clock, sender, log } = this.#parts;
    if (!this.accepts(endpoint, response)) return;
    const aheadMs = epochMs(response.epoch) - clock.wall();
    if (aheadMs > AHEAD_MS_MAX) {
      const seconds = Math.round(aheadMs / 1000);
      return this.fail(
        endpoint,
        `it has recorded a start of this data set that is ${seconds} s ahead`,
      );
    }
    if (response.epoch > sender.epoch) {
      const text = sender.onLaterEpoch(response.epoch);
      if (text !== undefined) {
        log.warn({ ...this.#names, endpoint: endpoint.text }, `WAN publisher: ${text}`);
      }
    } else if (response.epoch === sender.epoch && response.epoch === this.#contestedEpoch) {
      sender.beginEpoch();
    }
    this.#contestedEpoch = 0;
    const { isUsable, fault, warning } = this.#dataSet.choose(endpoint, response.dataSet);
    if (warning !== undefined) {
      log.warn(this.#names, `WAN publisher: ${warning}`);
      this.#parts.onNewDataSet();
    }
    if (!isUsable) {
      endpoint.dismiss(clock.now());
      this.#logFault(endpoint, fault, true);
      return;
    }
    if (response.epoch < sender.epoch) this.#parts.onForgotten();
    endpoint.status = 'usable';
    endpoint.bytesMax = BATCH_BYTES_MAX;
    for (const { resolve, timer } of this.#waiters) {
      timer.cancel();
      resolve(endpoint);
    }
    this.#waiters.clear();
  }

  #logFault(endpoint: TargetEndpoint, fault: string, isError: boolean): void {
    this.lastError = fault;
    if (!endpoint.isNew(fault)) return;
    const fields = { ...this.#names, endpoint: endpoint.text };
    if (isError) this.#parts.log.error(fields, `WAN publisher: ${fault}`);
    else this.#parts.log.warn(fields, `WAN publisher: ${fault}`);
  }
}
