/**
 * A publisher of a cluster on servers, as one member has it: its state here, and the sender of its
 * partitions. The keys that wait are on the servers. Tested by server-replications.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { MarkedPublisher } from '../engine/marked-changes.ts';
import { publisherHash } from './message-format.ts';
import type { EventCounts } from './removed-publishers.ts';
import { ServerSender, type ServerSenderParts } from './server-sender.ts';
import type { PublisherState, WanPublisherOptions } from './wan-config.ts';
import type { PublisherStatus } from './wan-status.ts';

const NAME_BYTES = 16;
/** Minimum number of keys that can wait in a partition. */
const PARTITION_CAPACITY_MIN = 64;

interface ServerPublisherParts extends ServerSenderParts {
  /** Events of removed publishers with the same names. */
  readonly earlierCounts: EventCounts;
}

export class ServerPublisher implements MarkedPublisher {
  readonly replication: string;
  readonly options: WanPublisherOptions;
  readonly id: string;
  readonly name: Buffer;
  readonly partitionCapacity: number;
  readonly sender: ServerSender;
  readonly #parts: ServerPublisherParts;
  #state: PublisherState;
  #hasBegun = false;
  #droppedCount = 0;

  constructor(parts: ServerPublisherParts) {
    const { options, replication, changes } = parts;
    const { publisherId, queueCapacity, initialPublisherState } = options;
    this.#parts = parts;
    this.replication = replication;
    this.options = options;
    this.id = publisherId;
    const hash = publisherHash(Buffer.from(replication), Buffer.from(publisherId));
    this.name = hash.subarray(0, NAME_BYTES);
    this.partitionCapacity = partitionCapacity(queueCapacity, changes.partitionCount);
    this.sender = new ServerSender(parts, this);
    this.#state = initialPublisherState;
  }

  get isMarking(): boolean {
    return this.#state !== 'STOPPED';
  }

  get refusesWhenFull(): boolean {
    const { queueFullBehavior } = this.options;
    if (queueFullBehavior === 'DISCARD_AFTER_MUTATION') return false;
    if (queueFullBehavior === 'THROW_EXCEPTION') return this.#state !== 'STOPPED';
    return this.#state === 'REPLICATING';
  }

  get targetDataSet(): Buffer | undefined {
    return this.sender.target.dataSet;
  }

  get status(): PublisherStatus {
    const { options, sender } = this;
    return {
      wanReplicationName: this.replication,
      wanPublisherId: this.id,
      clusterName: options.clusterName,
      state: this.#state,
      queueSize: sender.waitingCount,
      queueCapacity: options.queueCapacity,
      queueBytes: -1,
      eventsSent: sender.sentCount,
      eventsDropped: this.#droppedCount,
      eventsRejected: sender.rejectedCount,
      lagMillis: Math.round(sender.lagMs),
      lastError: sender.target.lastError,
    };
  }

  /** Events since the start of the member, those of removed publishers with the same names included. */
  get eventCounts(): EventCounts {
    const { sent, dropped, rejected } = this.#parts.earlierCounts;
    const { sentCount, rejectedCount } = this.sender;
    return {
      sent: sent + sentCount,
      dropped: dropped + this.#droppedCount,
      rejected: rejected + rejectedCount,
    };
  }

  /** Starts to send, if the state permits it. */
  begin(): void {
    this.#hasBegun = true;
    this.#enter(this.#state);
  }

  /** Called when a change through this member was made without a mark. */
  onNotMarked(): void {
    this.#droppedCount++;
  }

  /** Sends nothing from this member; changes made through it are marked. */
  pause(): void {
    this.#enter('PAUSED');
  }

  resume(): void {
    this.#enter('REPLICATING');
  }

  /** Sends nothing from this member, and marks no changes made through it. */
  stop(): void {
    this.#enter('STOPPED');
  }

  /**
   * Drops what waits in the partitions that this member sends for. Rejects with GridError
   * WAN_CLEAR_NOT_KEPT if some of it may remain.
   */
  async clear(): Promise<void> {
    if (await this.sender.clear()) return;
    throw new GridError('WAN_CLEAR_NOT_KEPT', { reason: 'the servers have not confirmed it' });
  }

  /** Whether keys are left that this member will send. */
  get isDraining(): boolean {
    return this.#state === 'REPLICATING' && this.sender.hasWork;
  }

  close(): void {
    this.sender.close();
  }

  #enter(state: PublisherState): void {
    this.#state = state;
    this.sender.setSending(this.#hasBegun && state === 'REPLICATING');
  }
}

/** The share of a partition, with room for the partitions that get more keys than others. */
function partitionCapacity(queueCapacity: number, partitionCount: number): number {
  const share = queueCapacity / partitionCount;
  return Math.max(PARTITION_CAPACITY_MIN, Math.ceil(share + 4 * Math.sqrt(share)));
}
