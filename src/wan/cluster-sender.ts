/**
 * A cluster on servers as the sender of changes. The id of its data set and its epoch are in the
 * record that the members share, so that each of them continues what another one has sent: the
 * numbers of changes are those of the servers. The first member that needs them stores them.
 * Tested by server-replications.spec.ts.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { SharedRecord, SharedValues } from '../cluster/shared-record.ts';
import type { Version } from '../engine/version.ts';
import { EPOCHS_A_MS } from './message-format.ts';
import type { EpochSender } from './publisher-target.ts';

interface ClusterSenderParts {
  readonly record: SharedRecord;
  readonly clock: Clock;
  /** Sets the version to the latest one of the clock and of the changes. */
  readonly now: (version: Version) => void;
}

export class ClusterSender implements EpochSender {
  readonly now: (version: Version) => void;
  readonly #record: SharedRecord;
  readonly #clock: Clock;
  #dataSetId: Buffer = Buffer.alloc(0);
  /** The uuid of which `#dataSetId` is made. */
  #uuid = '';
  /** The latest epoch that this member has begun or learned of. */
  #raised = 0;

  constructor({ record, clock, now }: ClusterSenderParts) {
    this.#record = record;
    this.#clock = clock;
    this.now = now;
  }

  get dataSetId(): Buffer {
    const { dataSetId = this.#uuid } = this.#record.values;
    if (dataSetId !== this.#uuid) {
      this.#uuid = dataSetId;
      this.#dataSetId = Buffer.from(dataSetId.replaceAll('-', ''), 'hex');
    }
    return this.#dataSetId;
  }

  get epoch(): number {
    return Math.max(this.#raised, this.#record.values.wanEpoch ?? 0);
  }

  /** Resolves once the record has the id and an epoch. Rejects as the record does. */
  async ready(): Promise<void> {
    await this.#change(({ dataSetId, wanEpoch }) => {
      if (dataSetId !== undefined && wanEpoch !== undefined) return undefined;
      const epoch = Math.max(1, this.#raised, Math.floor(this.#clock.wall()) * EPOCHS_A_MS);
      return { dataSetId: dataSetId ?? randomUUID(), wanEpoch: wanEpoch ?? epoch };
    });
  }

  /** Another member has begun that epoch; its numbers are the same. */
  onLaterEpoch(recorded: number): undefined {
    this.#raise(recorded);
  }

  beginEpoch(): void {
    this.#raise(this.epoch + 1);
  }

  /** If the record cannot be changed, the other members learn of the epoch from the target. */
  #raise(epoch: number): void {
    this.#raised = Math.max(this.#raised, epoch);
    void this.#change(({ wanEpoch = 0 }) =>
      wanEpoch < this.#raised ? { wanEpoch: this.#raised } : undefined,
    ).catch(() => {});
  }

  /** Makes the change for the record's values, until nobody else changes them meanwhile. */
  async #change(
    changeOf: (values: SharedValues) => Partial<SharedValues> | undefined,
  ): Promise<void> {
    for (;;) {
      const { revision, values } = this.#record;
      const change = changeOf(values);
      if (change === undefined || (await this.#record.compareAndSet(revision, change))) return;
    }
  }
}
