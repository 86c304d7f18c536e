/**
 * The work of the changes of maps: sets, additions, deletes and touches, which may be marked
 * (marked-scripts.ts). Tested by redis-engine.spec.ts.
 */
import { Span } from '../../base/span.ts';
import { APPLIED, CONDITION_FAILED, NO_NUMBER, NOBODY, REFUSED, type Receiver } from '../engine.ts';
import type { MarkedPublisher } from '../marked-changes.ts';
import { REPLICATION_FULL } from '../mutation-sink.ts';
import { Version } from '../version.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, UNCONFIRMED } from './failure.ts';
import { REPLICATION_REFUSED } from './marked-scripts.ts';
import type { Marking } from './marking.ts';
import { Operation, OperationPool, type Work } from './operation.ts';
import type { Results } from './redis-result.ts';
import { ARRAY, BULK, INTEGER, kindSet, type Reply } from './reply.ts';
import type { TombstoneLimits } from './tombstone-limits.ts';

const INTEGERS = kindSet(INTEGER);
const INTEGERS_AND_TEXTS = kindSet(INTEGER, BULK);
const ANY_OF_MARKED = kindSet(INTEGER, BULK, ARRAY);

export interface MapChangesOptions {
  readonly dispatcher: Dispatcher;
  readonly results: Results;
  readonly marking: Marking;
  readonly tombstones: TombstoneLimits;
  /** Notifies the receiver that the operation has no result. */
  fail(receiver: Receiver, failure: Failure): void;
}

/** The data of a change. */
export interface MapChange {
  readonly version: Version;
  receiver: Receiver;
  hasCondition: boolean;
  wasPresent: boolean;
  isAddition: boolean;
  isDelete: boolean;
  /** The sum of an addition, as text. */
  sum: string;
  /** Whether the map has a reference: the script is one of marked-scripts.ts. */
  isMarked: boolean;
  /** The publishers that it is marked for, if the change is made. */
  readonly publishers: MarkedPublisher[];
}

export class MapChanges implements Work<MapChange> {
  readonly replyKinds = INTEGERS;
  readonly #options: MapChangesOptions;
  readonly #changes = new OperationPool<MapChange>(() => this.#new());

  constructor(options: MapChangesOptions) {
    this.#options = options;
  }

  begin(receiver: Receiver, replicaCount: number, hasCondition: boolean): Operation<MapChange> {
    const change = this.#changes.take();
    change.needReplicas(replicaCount);
    change.subject.receiver = receiver;
    change.subject.hasCondition = hasCondition;
    change.subject.isAddition = false;
    change.subject.isMarked = false;
    change.replyKinds = hasCondition ? INTEGERS_AND_TEXTS : INTEGERS;
    change.subject.version.clear();
    return change;
  }

  /** Begins an addition. */
  beginAddition(receiver: Receiver, replicaCount: number): Operation<MapChange> {
    const change = this.begin(receiver, replicaCount, false);
    change.subject.isAddition = true;
    change.replyKinds = INTEGERS_AND_TEXTS;
    return change;
  }

  /** Makes it a change of marked-scripts.ts, marked for the publishers that the caller adds. */
  mark(change: Operation<MapChange>, isDelete: boolean): void {
    change.subject.isMarked = true;
    change.subject.isDelete = isDelete;
    change.subject.publishers.length = 0;
    change.replyKinds = ANY_OF_MARKED;
  }

  onResult(reply: Reply, change: Operation<MapChange>): void {
    const { subject } = change;
    const { isAddition } = subject;
    if (subject.isMarked && !this.#isMade(reply, change)) return;
    const { bytes, start, end, length } = reply.bytes;
    // An addition returns a text if it is made, the others a number.
    if ((reply.kind === BULK) === isAddition) {
      subject.wasPresent = subject.hasCondition && reply.integer === 0;
      if (isAddition) subject.sum = bytes.toString('latin1', start, end);
      if (change.group === undefined) this.onConfirmed(change);
      return;
    }
    change.group = undefined;
    const { results } = this.#options;
    const result = results.begin(isAddition ? NO_NUMBER : CONDITION_FAILED);
    if (!isAddition && length > 0) readVersion(reply.bytes, result.version);
    this.#changes.give(change);
    results.deliver(change.subject.receiver, result);
  }

  /**
   * Reads what a script of marked changes returns in addition. Returns false if a publisher has refused
   * the change; otherwise the reply is at the node that other scripts return.
   */
  #isMade(reply: Reply, change: Operation<MapChange>): boolean {
    const { marking, tombstones, results } = this.#options;
    const { subject, partition } = change;
    const { publishers } = subject;
    if (reply.kind === INTEGER && reply.integer === REPLICATION_REFUSED) {
      change.group = undefined;
      const result = results.begin(REFUSED);
      result.veto = REPLICATION_FULL;
      this.#changes.give(change);
      results.deliver(subject.receiver, result);
      return false;
    }
    let markedCount = publishers.length;
    const hasMore = reply.kind === ARRAY;
    if (hasMore) {
      reply.next();
      const version = reply.next().bytes;
      if (version.length > 0) readVersion(version, subject.version);
      const { bytes, start, end } = reply.next().bytes;
      for (let at = start; at < end; at++) {
        markedCount--;
        marking.onNotMarked(publishers[bytes[at]! - 1]!);
      }
      tombstones.drop(reply.next().integer);
      reply.begin().next();
    }
    // A delete that has found nothing is not marked.
    const isMade = (reply.kind === BULK) === subject.isAddition;
    if (isMade && markedCount > 0 && (!subject.isDelete || reply.integer === 1))
      marking.onMarked(partition);
    return true;
  }

  onConfirmed(change: Operation<MapChange>): void {
    const { results } = this.#options;
    const { receiver, version, wasPresent, isAddition, sum } = change.subject;
    const result = results.begin(APPLIED);
    result.version.copyFrom(version);
    result.wasPresent = wasPresent && !version.isNone;
    if (isAddition) result.value.copyFrom(Span.of(sum));
    this.#changes.give(change);
    results.deliver(receiver, result);
  }

  onUnconfirmed(change: Operation<MapChange>): void {
    this.onFailed(UNCONFIRMED, change);
  }

  onFailed(failure: Failure, change: Operation<MapChange>): void {
    this.#changes.give(change);
    this.#options.fail(change.subject.receiver, failure);
  }

  #new(): Operation<MapChange> {
    const subject = {
      version: new Version(),
      receiver: NOBODY,
      hasCondition: false,
      wasPresent: false,
      isAddition: false,
      isDelete: false,
      sum: '',
      isMarked: false,
      publishers: [],
    };
    return new Operation(this.#options.dispatcher, this, subject);
  }
}

function readVersion({ bytes, start }: Span, version: Version): void {
  version.set(bytes.readInt32BE(start + 4), bytes.readInt32BE(start));
}
