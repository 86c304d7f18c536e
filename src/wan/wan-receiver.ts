/**
 * Receives the messages of other members. A batch is checked as a whole before anything of it is
 * applied; then its events are merged into the engine, lane by lane, in slices. Batches of one lane
 * of a publisher are applied one after the other, and no event twice (received-numbers.ts). An event
 * whose path contains this data set is ignored, and one that no client could have written is
 * skipped (event-rules.ts). A change that is already present here is still passed to this member's
 * own publishers: after a crash between the merge and their queues they would otherwise miss it.
 * Tested by publisher.spec.ts.
 */

import type { Clock } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import { FieldWriter } from '../base/fields.ts';
import { EVERY_PARTITION, NO_PARTITION } from '../base/partition-number.ts';
import { counted } from '../base/quantities.ts';
import { SharedSlices } from '../base/slices.ts';
import type { Span } from '../base/span.ts';
import { exceptionBytes } from '../base/wan-bytes.ts';
import { hasDataSet, policyAt } from '../engine/change-codec.ts';
import {
  APPLIED,
  KNOWN,
  MEMORY_FULL,
  type OperationResult,
  OUTDATED,
  REFUSED,
  type Receiver,
} from '../engine/engine.ts';
import type { MergePolicy } from '../engine/merge-policy.ts';
import {
  CLEAR,
  DATA_SET_ID_BYTES,
  FROM_SOURCE,
  Mutation,
  makerOf,
  PATH_LENGTH_MAX,
} from '../engine/mutation.ts';
import { msOf, Version } from '../engine/version.ts';
import { AHEAD_MS_MAX } from './batch-limits.ts';
import { readEvent } from './event-codec.ts';
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
  numberAt,
  type ReceivedBatch,
  type ReceivedSection,
  type RequestLimits,
  readBatch,
  readHandshake,
} from './received-batch.ts';
import { type LaneNumbers, ReceivedNumbers, type SourceNumbers } from './received-numbers.ts';
import { readTreeRequest } from './tree-messages.ts';
import { type TreeParts, TreeResponder } from './tree-responder.ts';
import type { WanEngine, WanLog } from './wan-engine.ts';
import type { ReceiveResult } from './wan-status.ts';

/** Lead of another member's clock from which it is logged, in ms. */
const AHEAD_WARNED_MS = 60_000;
const WARNING_PERIOD_MS = 60_000;
/** Maximum number of characters of a name in the log and in errors. */
const NAME_LENGTH_SHOWN = 200;

const ALL_APPLIED = 0;
const NO_MEMORY = 1;
const NO_DISK = 2;
const OTHER_DATA_SET = 3;
const ENGINE_CLOSED = 4;
const PASSIVE = 5;

export interface ReceiverParts extends TreeParts {
  readonly engine: WanEngine;
  readonly dataSetId: Buffer;
  /** Returns the name of this member's cluster. */
  readonly clusterName: () => string;
  /** Whether the cluster's state permits changes; it may change while a batch is applied. */
  readonly acceptsWrites: () => boolean;
  readonly clock: Clock;
  readonly log: WanLog;
  /** Maximum size of a message's inflated payload, in bytes. */
  readonly payloadBytesMax: number;
  /** Maximum size of the waiting events of all this member's publishers, in bytes. */
  readonly queueBytesMax: number;
  /** Limits of clients' requests to this member. */
  readonly requestLimits: RequestLimits;
  /** Called if a merged change was already present, with the partition and sequence to wait for. */
  readonly onKnown: (change: Mutation) => void;
}

export class WanReceiver implements Receiver {
  readonly #parts: ReceiverParts;
  readonly #sources = new ReceivedNumbers();
  readonly #change = new Mutation();
  /** The path of the change: that of the event, then the sender. */
  readonly #path = Buffer.alloc(PATH_LENGTH_MAX * DATA_SET_ID_BYTES);
  /** The result of the current merge. */
  #reason = ALL_APPLIED;
  #isKnown = false;
  #isOutdated = false;
  /** Bytes of batches that were acknowledged on receipt but not applied yet, and their limit. */
  #receivedBytes = 0;
  readonly #receivedBytesMax: number;
  readonly #rules: EventRules;
  /** This data set as a maker of versions. */
  readonly #own: number;
  /** Events rejected since the last log line, and the time of that line. */
  #rejectedCount = 0;
  #rejectedMs = Number.NEGATIVE_INFINITY;
  /** Time of the last log line about a message for another cluster. */
  #otherClusterMs = Number.NEGATIVE_INFINITY;
  readonly #room = new InflationLimit();
  /** Slices shared by all batches that are being applied. */
  readonly #slices = new SharedSlices();
  readonly #trees: TreeResponder;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
    this.#receivedBytesMax = exceptionBytes(parts.queueBytesMax);
    this.#trees = new TreeResponder(parts);
    this.#rules = new EventRules(parts.requestLimits);
    this.#own = makerOf(parts.dataSetId);
  }

  /** Whether events that were acknowledged on receipt are not applied yet. */
  get isApplying(): boolean {
    return this.#receivedBytes > 0;
  }

  /** Bytes of the hash trees cached for comparisons in progress. */
  get cachedTreeBytes(): number {
    return this.#trees.cachedBytes;
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

  onResult({ outcome, partition, sequence }: OperationResult): void {
    this.#isKnown = outcome === KNOWN;
    this.#isOutdated = outcome === OUTDATED;
    if (outcome === APPLIED || outcome === OUTDATED) this.#reason = ALL_APPLIED;
    else if (outcome === MEMORY_FULL) this.#reason = NO_MEMORY;
    else if (outcome === REFUSED) this.#reason = NO_DISK;
    else if (outcome !== KNOWN) this.#reason = ENGINE_CLOSED;
    else {
      this.#reason = ALL_APPLIED;
      this.#change.partition = partition;
      this.#change.sequence = sequence;
    }
  }

  #onHandshake(opened: OpenedMessage): ReceiveResult {
    const { clusterName, epoch } = readHandshake(opened);
    this.#checkCluster(clusterName);
    this.#checkEpoch(epoch);
    this.#parts.engine.observe(opened.clock);
    const bytes = Buffer.alloc(HEAD_BYTES + 8);
    new FieldWriter(bytes, HEAD_BYTES).count(this.#sources.source(opened.dataSet).epoch);
    return this.#respond(opened, HANDSHAKE_RESPONSE, bytes, NO_PARTITION);
  }

  /** The compared entries may still be lost, so the response depends on all of them. */
  async #compare(opened: OpenedMessage): Promise<ReceiveResult> {
    const request = readTreeRequest(opened);
    this.#checkCluster(request.clusterName);
    const bytes = await this.#trees.respond(opened.dataSet, request);
    return this.#respond(opened, TREES_RESPONSE, bytes, EVERY_PARTITION);
  }

  async #receiveBatch(opened: OpenedMessage): Promise<ReceiveResult> {
    const { engine, dataSetId } = this.#parts;
    const batch = readBatch(opened);
    this.#checkCluster(batch.clusterName);
    this.#checkEpoch(batch.epoch);
    const latest = await checkEvents(batch, this.#slices);
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
    engine.observe(opened.clock);
    if (!opened.isOnReceipt) return await this.#apply(opened, batch, source, lanes);
    const { length } = opened.payload;
    const hasRoom =
      this.#receivedBytes === 0 || this.#receivedBytes + length <= this.#receivedBytesMax;
    this.#receivedBytes += length;
    const work = this.#apply(opened, batch, source, lanes).catch((error: unknown) =>
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
  ): Promise<ReceiveResult> {
    const done: number[] = [];
    let reason = ALL_APPLIED;
    for (const [index, section] of batch.sections.entries()) {
      const lane = lanes[index]!;
      const work = this.#applySection(lane.work, opened, batch, section, source, lane);
      const end = work.then(ended, ended);
      lane.work = end;
      const outcome = await work;
      if (lane.work === end) lane.work = undefined;
      done.push(outcome.done);
      if (outcome.reason !== ALL_APPLIED) reason = outcome.reason;
    }
    if (reason !== ALL_APPLIED && opened.isOnReceipt) {
      this.#parts.log.error({ reason }, 'WAN: events that were acknowledged on receipt are lost');
    }
    return this.#report(opened, lanes, reason, done, opened.isOnReceipt);
  }

  async #applySection(
    before: Promise<void> | undefined,
    opened: OpenedMessage,
    { payload, epoch }: ReceivedBatch,
    { numbersAt, count, syncBegan, start, end }: ReceivedSection,
    source: SourceNumbers,
    lane: LaneNumbers,
  ): Promise<{ done: number; reason: number }> {
    if (before !== undefined) await before;
    let at = start;
    for (let index = 0; index < count; index++) {
      // The source may have begun a new epoch during the pause.
      const pause = index % 16 === 15 ? this.#slices.pause() : undefined;
      if (pause !== undefined) await pause;
      this.#enter(source, epoch);
      // Batches acknowledged on receipt were accepted before.
      if (!opened.isOnReceipt && !this.#parts.acceptsWrites())
        return { done: index, reason: PASSIVE };
      const policy = policyAt(payload.bytes, at) as MergePolicy;
      const change = this.#change;
      at = readEvent(payload, at, end, change);
      const number = numberAt(payload.view, numbersAt, index);
      if (number <= lane.lastNumber) continue;
      const fault = this.#rules.faultOf(change);
      if (fault === undefined) {
        const reason = this.#merge(change, policy, opened.dataSet, syncBegan);
        if (reason !== ALL_APPLIED) return { done: index, reason };
        if (this.#isOutdated && !syncBegan.isNone) lane.notTaken++;
      } else {
        lane.rejected++;
        this.#onRejected(change, opened.dataSet, fault);
      }
      lane.lastNumber = number;
    }
    return { done: count, reason: ALL_APPLIED };
  }

  /** Merges the change. Returns ALL_APPLIED, or the reason why it was not applied. */
  #merge(change: Mutation, policy: MergePolicy, sender: Buffer, syncBegan: Version): number {
    const { dataSetId, engine, onKnown } = this.#parts;
    const { path } = change;
    if (change.maker === 0 && change.operation !== CLEAR) change.maker = makerOf(sender);
    if (change.maker === this.#own) change.maker = 0;
    this.#isOutdated = false;
    // Most changes were made by the sender itself.
    if (path.length === 0) path.set(sender, 0, DATA_SET_ID_BYTES);
    else this.#appendSender(path, sender);
    if (hasDataSet(path, dataSetId)) return ALL_APPLIED;
    change.origin = FROM_SOURCE;
    this.#reason = ENGINE_CLOSED;
    this.#isKnown = false;
    engine.merge(change, policy, this, syncBegan);
    if (this.#isKnown) {
      if (change.operation === CLEAR) change.partition = EVERY_PARTITION;
      onKnown(change);
    }
    return this.#reason;
  }

  /** Appends the sender to the path. */
  #appendSender(path: Span, sender: Buffer): void {
    path.bytes.copy(this.#path, 0, path.start, path.end);
    sender.copy(this.#path, path.length);
    path.set(this.#path, 0, path.length + DATA_SET_ID_BYTES);
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
    const { engine, dataSetId } = this.#parts;
    const clock = new Version();
    engine.now(clock);
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
