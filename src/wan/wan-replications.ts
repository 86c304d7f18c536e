/**
 * The WAN replications of a member: its publishers, and the receiver of what others send. Publishers join the
 * engine as sinks, so a member without any costs nothing.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import { exceptionBytes } from '../base/wan-bytes.ts';
import type { RequestLimits } from './event-rules.ts';
import type { KeptPublisherQueue } from './kept-publisher-queue.ts';
import { EPOCHS_A_MS } from './message-format.ts';
import { WanPublisher } from './publisher.ts';
import {
  type MapTree,
  PUBLISHERS_MAX,
  type RefOf,
  type WanPublisherOptions,
} from './publisher-options.ts';
import { compareMap } from './tree-comparison.ts';
import type { WanEngine, WanLog } from './wan-engine.ts';
import { WanReceiver } from './wan-receiver.ts';
import type {
  AddedPublishers,
  PublisherStatus,
  ReceiveAnswer,
  TaskStatus,
  WanService,
} from './wan-service.ts';
import { WanTasks } from './wan-tasks.ts';
import type { WanTransport } from './wan-transport.ts';

/** Between two looks at the queues while they are sent before the end. */
const DRAIN_STEP_MS = 10;

interface WanReplicationsParts {
  readonly engine: WanEngine;
  /** The member's uuid. */
  readonly dataSetId: Buffer;
  readonly clusterName: () => string;
  /** Whether the state of the cluster permits changes. */
  readonly acceptsWrites: () => boolean;
  readonly clock: Clock;
  readonly log: WanLog;
  /** Whether no event may leave before the next `release`: changes of this turn are still to be written. */
  readonly delaysAll: () => boolean;
  /** Of a received batch, inflated. */
  readonly payloadBytesMax: number;
  /** Bytes of what waits for all publishers. */
  readonly queueBytesMax: number;
  /** Of clients' requests to this member. */
  readonly requestLimits: RequestLimits;
  /** A transport of its own for each publisher, which closes it. */
  readonly transportOf: (options: WanPublisherOptions) => WanTransport;
  /** The references of maps to a replication. */
  readonly refsTo: (replication: string) => RefOf;
  /** The tree of a map. */
  readonly treeOf: (map: Buffer) => MapTree;
  readonly random?: () => number;
  /** Whether nothing is sent before `begin`. */
  readonly isHeld?: boolean;
  /** Given where queues outlive the process: called when they have changed. Must not call the engine. */
  readonly onProgress?: () => void;
}

export class WanReplications implements WanService {
  readonly #parts: WanReplicationsParts;
  readonly #publishers: WanPublisher[] = [];
  readonly #receiver: WanReceiver;
  readonly #tasks: WanTasks;
  #hasBegun: boolean;
  /** The first number of the events of a publisher that is added: greater than those of removed ones. */
  #firstNumber = 1;
  readonly #sender: { readonly dataSetId: Buffer; epoch: number; now: WanEngine['now'] };

  constructor(parts: WanReplicationsParts) {
    const { engine, dataSetId, clock } = parts;
    this.#parts = parts;
    this.#hasBegun = parts.isHeld !== true;
    const { random = Math.random } = parts;
    const inMs = Math.floor(random() * EPOCHS_A_MS);
    const epoch = Math.max(1, Math.floor(clock.wall()) * EPOCHS_A_MS + inMs);
    this.#sender = { dataSetId, epoch, now: (version) => engine.now(version) };
    this.#tasks = new WanTasks({ ...parts, sender: this.#sender, compare: compareMap });
    this.#receiver = new WanReceiver({
      ...parts,
      onKnown: (change) => {
        for (const publisher of this.#publishers) publisher.record(change);
      },
    });
  }

  publisherOf(replication: string, publisherId: string): WanPublisher {
    const own = this.#publishers.filter((each) => each.replication === replication);
    if (publisherId === '' && own.length > 1) {
      const publisherIds = own.map(({ id }) => id).join(', ');
      throw new GridError('WAN_AMBIGUOUS', { replication, publisherIds });
    }
    const found = publisherId === '' ? own[0] : own.find(({ id }) => id === publisherId);
    if (found === undefined) throw new GridError('WAN_UNKNOWN', { replication, publisherId });
    return found;
  }

  publishers(): readonly PublisherStatus[] {
    return this.#publishers.map(({ status }) => status);
  }

  add(replication: string, publishers: readonly WanPublisherOptions[]): AddedPublishers {
    const known = this.#publishers.filter((each) => each.replication === replication);
    const isKnown = ({ publisherId }: WanPublisherOptions) =>
      known.some(({ id }) => id === publisherId);
    const added = publishers.filter((each) => !isKnown(each));
    if (this.#publishers.length + added.length > PUBLISHERS_MAX) {
      throw new GridError('WAN_PUBLISHERS_MAX', { replication, max: PUBLISHERS_MAX });
    }
    for (const options of added) this.#join(replication, options);
    const idsOf = (all: readonly WanPublisherOptions[]) => all.map((each) => each.publisherId);
    return { added: idsOf(added), ignored: idsOf(publishers.filter(isKnown)) };
  }

  /** Removes the publisher, and drops what waits in its queue. Throws as publisherOf. */
  remove(replication: string, publisherId: string): void {
    const publisher = this.publisherOf(replication, publisherId);
    this.#publishers.splice(this.#publishers.indexOf(publisher), 1);
    this.#parts.engine.removeSink(publisher);
    publisher.close();
    publisher.clear();
    this.#firstNumber = Math.max(this.#firstNumber, publisher.nextNumber);
    this.#tasks.drop(publisher);
    this.#share();
  }

  synchronise(replication: string, publisherId: string, map: Buffer | undefined): string {
    return this.#tasks.synchronise(this.publisherOf(replication, publisherId), map);
  }

  check(replication: string, publisherId: string, map: Buffer): string {
    return this.#tasks.check(this.publisherOf(replication, publisherId), map);
  }

  progressOf(uuid: string): TaskStatus | undefined {
    return this.#tasks.statusOf(uuid);
  }

  /** The queues of all publishers, as ones that outlive the process. */
  keptQueues(): readonly KeptPublisherQueue[] {
    return this.#publishers.map(({ kept }) => kept);
  }

  /** From now on events are sent. */
  begin(): void {
    this.#hasBegun = true;
    for (const publisher of this.#publishers) publisher.begin();
  }

  receive(message: Span): Promise<ReceiveAnswer> {
    return this.#receiver.receive(message.toBuffer());
  }

  /** The references of maps may have changed. To be called before the engine asks again. */
  review(): void {
    for (const publisher of this.#publishers) publisher.review();
  }

  /** More answers may leave. To be called whenever the engine's `delays` may have changed. */
  release(): void {
    for (const publisher of this.#publishers) publisher.release();
  }

  /**
   * Goes on sending what waits, and applying what was acknowledged on receipt, up to `graceMs`; then nothing
   * is sent any more, and the log has the number of the events that are left. Called when clients make no
   * changes any more.
   */
  async close(graceMs: number): Promise<void> {
    const { clock, log, onProgress } = this.#parts;
    this.#tasks.close();
    for (const publisher of this.#publishers) publisher.drain();
    const endMs = clock.now() + graceMs;
    while (clock.now() < endMs && this.#isDraining()) {
      await new Promise<void>((resolve) => void (clock.after(DRAIN_STEP_MS, resolve) as Timer));
    }
    for (const publisher of this.#publishers) {
      publisher.close();
      const { queueSize: events, wanReplicationName, wanPublisherId } = publisher.status;
      if (events === 0) continue;
      const names = { replication: wanReplicationName, publisher: wanPublisherId };
      const stay = onProgress === undefined ? '' : ': they stay queued';
      log.warn({ ...names, events }, `WAN publisher: ${events} events were not sent${stay}`);
    }
  }

  /** Each publisher has an equal share, so that no full queue takes that of another. */
  #share(): void {
    const { queueBytesMax } = this.#parts;
    const count = Math.max(1, this.#publishers.length);
    const further = exceptionBytes(queueBytesMax);
    for (const publisher of this.#publishers) {
      publisher.share(Math.floor(queueBytesMax / count), Math.floor(further / count));
    }
  }

  #isDraining(): boolean {
    return this.#receiver.isApplying || this.#publishers.some(({ isDraining }) => isDraining);
  }

  #join(replication: string, options: WanPublisherOptions): void {
    const { engine, clock, log, transportOf, refsTo, random = Math.random } = this.#parts;
    const { onProgress, delaysAll } = this.#parts;
    const publisher = new WanPublisher({
      ...{ replication, options, engine, clock, log, random, delaysAll },
      sender: this.#sender,
      transport: transportOf(options),
      refOf: refsTo(replication),
      firstNumber: this.#firstNumber,
    });
    if (onProgress !== undefined) publisher.watch(onProgress);
    this.#publishers.push(publisher);
    this.#share();
    engine.addSink(publisher);
    if (this.#hasBegun) publisher.begin();
  }
}
