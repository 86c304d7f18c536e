/**
 * The WAN replications of a member: its publishers, and the receiver of other members' messages.
 * Publishers are sinks of the engine, so a member without publishers has no overhead.
 */

import type { Timer } from '../base/clock.ts';
import type { Figures } from '../base/figures.ts';
import { SharedSlices } from '../base/slices.ts';
import { exceptionBytes } from '../base/wan-bytes.ts';
import type { Mutation } from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';
import type { ResponseSender } from '../http/response-delay.ts';
import { EPOCHS_A_MS } from './message-format.ts';
import type { PersistentPublisherQueue } from './persistent-publisher-queue.ts';
import { WanPublisher } from './publisher.ts';
import { PublisherList } from './publisher-list.ts';
import type { EpochSender } from './publisher-target.ts';
import type { EventCounts } from './removed-publishers.ts';
import { StoredSections, type StoredSectionsParts } from './stored-sections.ts';
import { treesOf } from './tree-builder.ts';
import { compareMap } from './tree-comparison.ts';
import { type TreeParts, TreeResponder } from './tree-responder.ts';
import type { WanPublisherOptions } from './wan-config.ts';
import type { RefOf } from './wan-maps.ts';
import { reportWan } from './wan-metrics.ts';
import { type ReceiverParts, WanReceiver } from './wan-receiver.ts';
import type { PublisherStatus, TaskStatus } from './wan-status.ts';
import { WanTasks } from './wan-tasks.ts';
import type { WanTransport } from './wan-transport.ts';

/** Interval between two checks of the queues while they are sent before the end, in ms. */
const DRAIN_STEP_MS = 10;

interface WanReplicationsParts
  extends Omit<ReceiverParts, 'sections' | 'trees' | 'slices'>,
    Omit<StoredSectionsParts, 'onKnown'>,
    Omit<TreeParts, 'source'> {
  /**
   * Whether no event may be sent before the next `release`: this turn's changes are not written.
   */
  readonly delaysAll: () => boolean;
  /** Returns a transport for one publisher, which closes it. */
  readonly transportOf: (options: WanPublisherOptions) => WanTransport;
  /** Returns the function that looks up the maps' references to a replication. */
  readonly refsTo: (replication: string) => RefOf;
  readonly random?: () => number;
  /** Whether nothing is sent before `begin`. */
  readonly waitsForBegin?: boolean;
  /** Set if queues are persisted: called when they have changed. Must not call the engine. */
  readonly onProgress?: () => void;
}

/** The sender of a member whose numbers begin again at each start. */
class MemberSender implements EpochSender {
  readonly dataSetId: Buffer;
  epoch: number;
  readonly now: (version: Version) => void;

  constructor(dataSetId: Buffer, epoch: number, now: (version: Version) => void) {
    this.dataSetId = dataSetId;
    this.epoch = epoch;
    this.now = now;
  }

  onLaterEpoch(recorded: number): string {
    this.epoch = recorded + 1;
    return 'the target has recorded a later start of this data set: was the clock set back?';
  }

  beginEpoch(): void {
    this.epoch++;
  }
}

export class WanReplications implements ResponseSender {
  readonly #parts: WanReplicationsParts;
  readonly #publishers = new PublisherList<WanPublisher>();
  /** Receives the messages of other members. */
  readonly receiver: WanReceiver;
  readonly #tasks: WanTasks;
  #hasBegun: boolean;
  /** First event number of an added publisher: greater than the numbers of removed ones. */
  #firstNumber = 1;
  readonly #sender: MemberSender;

  constructor(parts: WanReplicationsParts) {
    const { engine, dataSetId, clock } = parts;
    this.#parts = parts;
    this.#hasBegun = parts.waitsForBegin !== true;
    const { random = Math.random } = parts;
    const inMs = Math.floor(random() * EPOCHS_A_MS);
    const epoch = Math.max(1, Math.floor(clock.wall()) * EPOCHS_A_MS + inMs);
    this.#sender = new MemberSender(dataSetId, epoch, (version) => engine.now(version));
    this.#tasks = new WanTasks({ ...parts, sender: this.#sender, compare: compareMap, treesOf });
    const onKnown = (change: Mutation): void => {
      for (const publisher of this.#publishers.all) publisher.record(change);
    };
    const slices = new SharedSlices();
    this.receiver = new WanReceiver({
      ...parts,
      sections: new StoredSections({ ...parts, onKnown }, slices),
      trees: new TreeResponder({ ...parts, source: treesOf(engine) }),
      slices,
    });
  }

  /** Returns the publisher; see PublisherList. */
  publisherOf(replication: string, publisherId: string): WanPublisher {
    return this.#publishers.named(replication, publisherId);
  }

  /** Returns every publisher: those of the configuration first, then in the order added. */
  publishers(): readonly PublisherStatus[] {
    return this.#publishers.all.map(({ status }) => status);
  }

  /** Adds the publishers whose ids the replication does not have yet; see PublisherList. */
  add(replication: string, publishers: readonly WanPublisherOptions[]): void {
    this.#publishers.add(replication, publishers, (options, earlierCounts) =>
      this.#made(replication, options, earlierCounts),
    );
    this.#share();
  }

  /** Removes the publisher and drops the waiting events of its queue. Throws like publisherOf. */
  remove(replication: string, publisherId: string): void {
    const publisher = this.publisherOf(replication, publisherId);
    this.#parts.engine.removeSink(publisher);
    publisher.close();
    publisher.clear();
    this.#publishers.remove(publisher);
    this.#firstNumber = Math.max(this.#firstNumber, publisher.nextNumber);
    this.#tasks.drop(publisher);
    this.#share();
  }

  /**
   * Begins to send a map, or all maps that refer to the replication, to the publisher's target.
   * Returns the uuid of the synchronisation. Throws GridError: like publisherOf, WAN_MAP_UNKNOWN,
   * or WAN_TASK_UNDER_WAY.
   */
  synchronise(replication: string, publisherId: string, map: Buffer | undefined): string {
    return this.#tasks.synchronise(this.publisherOf(replication, publisherId), map);
  }

  /** Begins to compare a map with the target's. Like `synchronise`, or throws WAN_CHECK_OFF. */
  check(replication: string, publisherId: string, map: Buffer): string {
    return this.#tasks.check(this.publisherOf(replication, publisherId), map);
  }

  /** Returns the status of a synchronisation or check; undefined if the uuid is not remembered. */
  progressOf(uuid: string): TaskStatus | undefined {
    return this.#tasks.statusOf(uuid);
  }

  figures(to: Figures): void {
    reportWan(to, this.#publishers.all);
  }

  /** Returns the queues of all publishers as persistence sees them. */
  persistentQueues(): readonly PersistentPublisherQueue[] {
    return this.#publishers.all.map(({ persistentQueue }) => persistentQueue);
  }

  /** Starts to send events. */
  begin(): void {
    this.#hasBegun = true;
    for (const publisher of this.#publishers.all) publisher.begin();
  }

  /**
   * Drops cached references of maps, which may have changed. To be called before the engine asks.
   */
  review(): void {
    for (const publisher of this.#publishers.all) publisher.review();
  }

  /** Does nothing: delayed events stay delayed and are never sent. */
  failDelayed(): void {}

  /** Sends more events. To be called whenever the engine's `delays` may have changed. */
  release(): void {
    for (const publisher of this.#publishers.all) publisher.release();
  }

  /**
   * Continues to send waiting events, and to apply those acknowledged on receipt, for up to
   * `graceMs`. After that nothing is sent, and the number of unsent events is logged. Called when
   * clients can make no more changes.
   */
  async close(graceMs: number): Promise<void> {
    const { clock, log, onProgress } = this.#parts;
    this.#tasks.close();
    for (const publisher of this.#publishers.all) publisher.drain();
    const endMs = clock.now() + graceMs;
    while (clock.now() < endMs && this.#isDraining()) {
      await new Promise<void>((resolve) => void (clock.after(DRAIN_STEP_MS, resolve) as Timer));
    }
    for (const publisher of this.#publishers.all) publisher.close();
    // The publishers of a member whose start failed have sent nothing.
    if (!this.#hasBegun) return;
    this.#publishers.logUnsent(log, onProgress === undefined ? '' : '; the queue is kept');
  }

  /** Gives each publisher an equal share, so that no full queue uses the memory of another. */
  #share(): void {
    const { queueBytesMax } = this.#parts;
    const count = Math.max(1, this.#publishers.all.length);
    const further = exceptionBytes(queueBytesMax);
    for (const publisher of this.#publishers.all) {
      publisher.share(Math.floor(queueBytesMax / count), Math.floor(further / count));
    }
  }

  #isDraining(): boolean {
    return this.receiver.isApplying || this.#publishers.all.some(({ isDraining }) => isDraining);
  }

  #made(
    replication: string,
    options: WanPublisherOptions,
    earlierCounts: EventCounts,
  ): WanPublisher {
    const { engine, clock, log, transportOf, refsTo, random = Math.random } = this.#parts;
    const { onProgress, delaysAll } = this.#parts;
    const publisher = new WanPublisher({
      replication,
      options,
      engine,
      clock,
      log,
      random,
      delaysAll,
      sender: this.#sender,
      transport: transportOf(options),
      refOf: refsTo(replication),
      firstNumber: this.#firstNumber,
      earlierCounts,
    });
    if (onProgress !== undefined) publisher.watch(onProgress);
    engine.addSink(publisher);
    if (this.#hasBegun) publisher.begin();
    return publisher;
  }
}
