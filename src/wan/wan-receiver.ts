/**
 * Receives the messages of other members. A batch is checked as a whole before anything of it is
 * applied; then its events are merged, lane by lane (section-applier.ts). Batches of one lane of a
 * publisher are applied one after the other, and no event twice (received-numbers.ts). An event that no
 * client could have written is skipped (EventRules). Tested by publisher.spec.ts.
 */

import type { Clock } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import { FieldWriter } from '../base/fields.ts';
import { EVERY_PARTITION, NO_PARTITION } from '../base/partition-number.ts';
import { counted } from '../base/quantities.ts';
import type { SharedSlices } from '../base/slices.ts';
import { exceptionBytes } from '../base/wan-bytes.ts';
import type { Mutation } from '../engine/mutation.ts';
import { msOf, Version } from '../engine/version.ts';
import { AHEAD_MS_MAX } from './batch-limits.ts';
import { InflationLimit } from './inflation-limit.ts';
import {
  BATCH,
  BATCH_RESPONSE,
  epochMs,
  HANDSHAKE,
  HANDSHAKE_RESPONSE,
  HEAD_BYTES,
  inflatedBytes,
  malformed,
  type OpenedMessage,
  openMessage,
  SECTION_RESPONSE_BYTES,
  sealPlain,
  TREES_REQUEST,
  TREES_RESPONSE,
} from './message-format.ts';
import {
  checkEvents,
  EventRules,
  type MessageNames,
  type ReceivedBatch,
  type RequestLimits,
  readBatch,
  readHandshake,
} from './received-batch.ts';
import { type LaneNumbers, ReceivedNumbers, type SourceNumbers } from './received-numbers.ts';
import {
  ALL_APPLIED,
  OTHER_DATA_SET,
  type SectionApplier,
  type SectionOutcome,
  type SectionWork,
} from './section-applier.ts';
import { readTreeRequest } from './tree-messages.ts';
import type { TreeResponder } from './tree-responder.ts';
import type { WanLog } from './wan-engine.ts';
import type { ReceiveResult } from './wan-status.ts';

/** Lead of another member's clock from which it is logged, in ms. */
const AHEAD_WARNED_MS = 60_000;
const WARNING_PERIOD_MS = 60_000;
/** Maximum number of characters of a name in the log and in errors. */
const NAME_LENGTH_SHOWN = 200;

export interface ReceiverParts {
  readonly sections: SectionApplier;
  /** Responds to requests for hash trees. */
  readonly trees: Pick<TreeResponder, 'respond' | 'cachedBytes'>;
  readonly dataSetId: Buffer;
  /** Returns the name of this member's cluster. */
  readonly clusterName: () => string;
  readonly clock: Clock;
  readonly log: WanLog;
  /** Maximum size of a message's inflated payload, in bytes. */
  readonly payloadBytesMax: number;
  /** Maximum size of the waiting events of all this member's publishers, in bytes. */
  readonly queueBytesMax: number;
  /** Limits of clients' requests to this member. */
  readonly requestLimits: RequestLimits;
  /** Slices shared by all batches that are being applied. */
  readonly slices: SharedSlices;
}

export class WanReceiver {
  readonly #parts: ReceiverParts;
  readonly #sources = new ReceivedNumbers();
  /** Bytes of batches that were acknowledged on receipt but not applied yet, and their limit. */
  #receivedBytes = 0;
  readonly #receivedBytesMax: number;
  readonly #rules: EventRules;
  /** Events rejected since the last log line, and the time of that line. */
  #rejectedCount = 0;
  #rejectedMs = Number.NEGATIVE_INFINITY;
  /** Time of the last log line about a message for another cluster. */
  #otherClusterMs = Number.NEGATIVE_INFINITY;
  readonly #room = new InflationLimit();

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
    this.#receivedBytesMax = exceptionBytes(parts.queueBytesMax);
    this.#rules = new EventRules(parts.requestLimits);
  }

  /** Whether events that were acknowledged on receipt are not applied yet. */
  get isApplying(): boolean {
    return this.#receivedBytes > 0;
  }

  /** Bytes of the hash trees cached for comparisons in progress. */
  get cachedTreeBytes(): number {
    return this.#parts.trees.cachedBytes;
  }

  /** Resolves with the response; never rejects. The message's bytes are read until then. */
  async receive(message: Buffer): Promise<ReceiveResult> {
    const inflated = inflatedBytes(message);
    // Over-long messages are not inflated.
    const bytes = inflated > this.#parts.payloadBytesMax ? 0 : inflated;
    try {
      if (bytes === 0) return await this.#open(message);
      await this.#room.enter(bytes);
      return await this.#open(message).finally(() => this.#room.leave(bytes));
    } catch (error) {
      if (error instanceof GridError) return { error };
      throw error;
    }
  }

  async #open(message: Buffer): Promise<ReceiveResult> {
    const opened = await openMessage(message, this.#parts.payloadBytesMax);
    const { kind } = opened;
    if (kind !== HANDSHAKE && kind !== BATCH && kind !== TREES_REQUEST) {
      throw malformed(`its kind is ${kind}`);
    }
    this.#checkClock(opened.clock, opened);
    if (kind === TREES_REQUEST) return await this.#compare(opened);
    return kind === HANDSHAKE ? this.#onHandshake(opened) : await this.#receiveBatch(opened);
  }

  #onHandshake(opened: OpenedMessage): ReceiveResult {
    const { clusterName, epoch } = readHandshake(opened);
    this.#checkCluster(clusterName);
    this.#checkEpoch(epoch);
    this.#parts.sections.observe(opened.clock);
    const bytes = Buffer.alloc(HEAD_BYTES + 8);
    new FieldWriter(bytes, HEAD_BYTES).count(this.#sources.source(opened.dataSet).epoch);
    return this.#respond(opened, HANDSHAKE_RESPONSE, bytes, NO_PARTITION);
  }

  /** The compared entries may still be lost, so the response depends on all of them. */
  async #compare(opened: OpenedMessage): Promise<ReceiveResult> {
    const request = readTreeRequest(opened);
    this.#checkCluster(request.clusterName);
    const bytes = await this.#parts.trees.respond(opened.dataSet, request);
    return this.#respond(opened, TREES_RESPONSE, bytes, EVERY_PARTITION);
  }

  async #receiveBatch(opened: OpenedMessage): Promise<ReceiveResult> {
    const { sections: applier, dataSetId, slices } = this.#parts;
    const batch = readBatch(opened);
    this.#checkCluster(batch.clusterName);
    this.#checkEpoch(batch.epoch);
    const latest = await checkEvents(batch, applier.countsReads, slices);
    this.#checkClock(latest, opened);
    const none = batch.sections.map(() => 0);
    const source = this.#sources.source(opened.dataSet);
    const { publisher, sections, epoch } = batch;
    const lanes = sections.map((each) => this.#sources.lane(opened.dataSet, publisher, each));
    if (!batch.target.equals(dataSetId)) {
      return this.#report(opened, lanes, OTHER_DATA_SET, none, true);
    }
    this.#enter(source, epoch);
    for (const [index, section] of sections.entries()) lanes[index]!.check(section, epoch);
    for (const [index, section] of sections.entries()) lanes[index]!.enter(section, epoch);
    applier.observe(opened.clock);
    const isOnReceipt = opened.isOnReceipt && applier.acknowledgesOnReceipt;
    if (!isOnReceipt) return await this.#apply(opened, batch, source, lanes, false);
    const { length } = opened.payload;
    const hasRoom =
      this.#receivedBytes === 0 || this.#receivedBytes + length <= this.#receivedBytesMax;
    this.#receivedBytes += length;
    const work = this.#apply(opened, batch, source, lanes, true).catch((error: unknown) =>
      this.#parts.log.error(
        {},
        `WAN: a batch acknowledged on receipt could not be applied: ${reasonOf(error)}`,
      ),
    );
    const end = work.finally(() => {
      this.#receivedBytes -= length;
    });
    if (!hasRoom) await end;
    const all = batch.sections.map(({ count }) => count);
    return this.#report(opened, lanes, ALL_APPLIED, all, true);
  }

  /** Throws GridError WAN_OLDER_EPOCH if the sender has started again since. */
  #enter(source: SourceNumbers, epoch: number): void {
    if (epoch < source.epoch) throw new GridError('WAN_OLDER_EPOCH', {});
    source.epoch = epoch;
  }

  async #apply(
    opened: OpenedMessage,
    batch: ReceivedBatch,
    source: SourceNumbers,
    lanes: readonly LaneNumbers[],
    isOnReceipt: boolean,
  ): Promise<ReceiveResult> {
    const done: number[] = [];
    let reason = ALL_APPLIED;
    for (const [index, section] of batch.sections.entries()) {
      const lane = lanes[index]!;
      const work = this.#applySection(lane.work, {
        sender: opened.dataSet,
        batch,
        section,
        lane,
        isOnReceipt,
        assertCurrent: () => this.#enter(source, batch.epoch),
        onEpoch: (epoch) => {
          source.epoch = Math.max(source.epoch, epoch);
        },
        faultOf: (change) => this.#faultOf(change, opened.dataSet),
      });
      const end = work.then(ended, ended);
      lane.work = end;
      const outcome = await work;
      if (lane.work === end) lane.work = undefined;
      done.push(outcome.done);
      if (outcome.reason !== ALL_APPLIED) reason = outcome.reason;
    }
    if (reason !== ALL_APPLIED && isOnReceipt) {
      this.#parts.log.error({ reason }, 'WAN: events that were acknowledged on receipt are lost');
    }
    return this.#report(opened, lanes, reason, done, isOnReceipt);
  }

  async #applySection(
    before: Promise<void> | undefined,
    work: SectionWork,
  ): Promise<SectionOutcome> {
    if (before !== undefined) await before;
    return await this.#parts.sections.apply(work);
  }

  #faultOf(change: Mutation, sender: Buffer): string | undefined {
    const fault = this.#rules.faultOf(change);
    if (fault !== undefined) this.#onRejected(change, sender, fault);
    return fault;
  }

  /** Logs the first skipped event, then at most one line in WARNING_PERIOD_MS. */
  #onRejected({ name }: Mutation, sender: Buffer, fault: string): void {
    const { clock, log } = this.#parts;
    this.#rejectedCount++;
    if (clock.now() < this.#rejectedMs + WARNING_PERIOD_MS) return;
    this.#rejectedMs = clock.now();
    const map = shortened(name.toBuffer().toString());
    const fields = { dataSet: sender.toString('hex'), map, events: this.#rejectedCount };
    const events = counted(this.#rejectedCount, 'event was', 'events were');
    const text = `WAN: ${events} skipped that no client could have written; the last one: ${fault}`;
    this.#rejectedCount = 0;
    log.warn(fields, text);
  }

  /** The error does not reveal this cluster's name, which may be the only credential elsewhere. */
  #checkCluster(expected: MessageNames['clusterName']): void {
    const clusterName = this.#parts.clusterName();
    if (expected === clusterName) return;
    const { clock, log } = this.#parts;
    const error = new GridError('WAN_OTHER_CLUSTER', { expected: shortened(expected) });
    if (clock.now() >= this.#otherClusterMs + WARNING_PERIOD_MS) {
      this.#otherClusterMs = clock.now();
      log.warn({ expected: shortened(expected), clusterName }, `WAN: ${error.message}`);
    }
    throw error;
  }

  /** Epochs are times: one far ahead would lock the sender out, as its next ones are earlier. */
  #checkEpoch(epoch: number): void {
    const aheadMs = epochMs(epoch) - this.#parts.clock.wall();
    if (aheadMs <= AHEAD_MS_MAX) return;
    throw new GridError('WAN_CLOCK_AHEAD', { seconds: Math.round(aheadMs / 1000) });
  }

  #checkClock(version: Version, { dataSet }: OpenedMessage): void {
    const { clock, log } = this.#parts;
    const aheadMs = msOf(version.low, version.high) - clock.wall();
    if (aheadMs <= AHEAD_WARNED_MS) return;
    const seconds = Math.round(aheadMs / 1000);
    if (aheadMs > AHEAD_MS_MAX) throw new GridError('WAN_CLOCK_AHEAD', { seconds });
    const source = this.#sources.source(dataSet);
    if (clock.now() < source.warnedMs + WARNING_PERIOD_MS) return;
    source.warnedMs = clock.now();
    const text = `WAN: the clock of a sender is ${seconds} s ahead of this member's`;
    log.warn({ dataSet: dataSet.toString('hex'), seconds }, text);
  }

  #report(
    opened: OpenedMessage,
    lanes: readonly LaneNumbers[],
    reason: number,
    done: readonly number[],
    isIndependent: boolean,
  ): ReceiveResult {
    const bytes = Buffer.alloc(HEAD_BYTES + 4 + lanes.length * SECTION_RESPONSE_BYTES);
    const writer = new FieldWriter(bytes, HEAD_BYTES).short(reason).short(lanes.length);
    for (const [index, lane] of lanes.entries()) {
      writer.word(done[index]!).count(lane.notTaken).count(lane.rejected);
      lane.onReported();
    }
    const partition = isIndependent ? NO_PARTITION : EVERY_PARTITION;
    return this.#respond(opened, BATCH_RESPONSE, bytes, partition);
  }

  #respond(
    opened: OpenedMessage,
    kind: 3 | 4 | 6,
    bytes: Buffer,
    partition: -1 | -2,
  ): ReceiveResult {
    const { sections, dataSetId } = this.#parts;
    const clock = new Version();
    sections.now(clock);
    const head = {
      kind,
      isOnReceipt: false,
      clock,
      dataSet: dataSetId,
      respondsTo: opened.checksum,
    };
    return { status: 200, body: sealPlain(bytes, head), partition };
  }
}

function shortened(name: string): string {
  return name.slice(0, NAME_LENGTH_SHOWN);
}

function ended(): void {}
